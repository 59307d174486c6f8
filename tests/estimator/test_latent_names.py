import pickle
import re

import matplotlib
import numpy as np
import pytest

import latentclass
from latentclass import (
    BinaryLCMClassifier,
    BinaryLCMClassifierCV,
    HNBClassifier,
    HybridLCMClassifier,
    LatentMixture,
    LatentVariableClassifier,
    LCMClassifier,
    LCMClassifierCV,
)
from latentclass.datasets import load_dataset
from latentclass.estimator._latent_names import check_latent_names, renamed_latents
from latentclass.plots import (
    ComponentsDisplay,
    LatentSpaceDisplay,
    LoadingsDisplay,
    ModelGraphDisplay,
)
from latentclass.reports._structure import describe_structure
from latentclass.reports._table import read_rows

matplotlib.use("Agg")


def test_names_can_be_changed_and_exchanged():
    names = (("Y1",), ("Y2", "Y3"))
    assert renamed_latents(names, {"Y3": "size"}, ["a"]) == (("Y1",), ("Y2", "size"))
    assert renamed_latents(names, {"Y1": "Y2", "Y2": "Y1"}, ["a"]) == (("Y2",), ("Y1", "Y3"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Y9": "x"}, "names has 'Y9', which is not a latent variable. There are: ['Y1', 'Y2']."),
        ({"Y1": "a"}, "The name 'a' is taken by a column or another latent variable. Choose"),
        ({"Y1": "Y2"}, "The name 'Y2' is taken by a column or another latent variable. Choose"),
        ({"Y1": " "}, "names={'Y1': ' '} must map current names of latent variables to new,"),
        (["Y1"], "names=['Y1'] must map current names of latent variables to new,"),
    ],
)
def test_names_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        renamed_latents((("Y1",), ("Y2",)), changes, ["a"])


def test_a_model_needs_one_name_for_each_latent_variable():
    check_latent_names((), 2)
    check_latent_names((("a", "b"),), 2)
    for names in [(("a",),), (("a", "b"), ("c",)), ((),)]:
        with pytest.raises(ValueError, match=r"but there are 2 latent variables\.$"):
            check_latent_names(names, 2)


# ------------------------------------------------------------- families of models


@pytest.fixture(scope="module")
def wine():
    data = load_dataset("wine", container="pandas")
    return data.X[["Alcohol", "Malic_acid", "Hue", "Proline"]], data.y


MODELS = {
    "LCMClassifier": LCMClassifier(2, n_init=1, random_state=0),
    "LCMClassifierCV": LCMClassifierCV([2], [1], n_init=1, random_state=0),
    "HybridLCMClassifier": HybridLCMClassifier(2, n_init=1, max_iter=5, tol=1, random_state=0),
    "BinaryLCMClassifier": BinaryLCMClassifier(
        2, n_init=1, max_iter=5, tol=1, discriminative=False, random_state=0
    ),
    "BinaryLCMClassifierCV": BinaryLCMClassifierCV(
        [2], [1], n_init=1, max_iter=5, tol=1, random_state=0
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_own_names_show_everywhere_and_survive_a_file(name, wine, tmp_path):
    X, y = wine
    if "Binary" in name:
        X = X.median() < X
    elif "Hybrid" in name:
        X = X.assign(Hue=X["Hue"] > 1)
    model = MODELS[name].fit(X, y)
    before = model.predict_proba(X)
    assert model.latent_names_ == ("z0", "z1")
    assert "named" not in model.summary().structure
    assert model.rename_latents({"z1": "body"}) is model
    for one in (model, _through_file(model, tmp_path), pickle.loads(pickle.dumps(model))):
        assert one.latent_names_ == ("z0", "body")
        assert list(one.get_feature_names_out()) == [
            f"{name.lower()}_z0",
            f"{name.lower()}_body",
        ]
        assert one.summary().structure["named"] == "body"
        assert np.array_equal(one.predict_proba(X), before)
    loadings = LoadingsDisplay.from_estimator(model)
    assert [text.get_text() for text in loadings.ax_.get_xticklabels()] == ["z0", "body"]
    graph = ModelGraphDisplay.from_estimator(model)
    assert {"z0", "body"} <= {text.get_text() for text in graph.ax_.texts}
    space = LatentSpaceDisplay.from_estimator(model, X, y)
    assert space.ax_.get_ylabel() == "latent variable body"
    found = describe_structure(model, read_rows(model, X, y, None))
    assert all("body" in _heads(one) and "z1" not in _heads(one) for one in found.findings)
    with pytest.raises(ValueError, match="The name 'Hue' is taken by a column"):
        model.rename_latents({"body": "Hue"})
    assert model.fit(X, y).latent_names_ == ("z0", "z1")


def _heads(finding):
    return getattr(finding, "axes", None) or finding.heads


def _through_file(model, folder):
    latentclass.save(model, folder / "model.lc")
    return latentclass.load(folder / "model.lc")


@pytest.fixture(scope="module")
def corral():
    data = load_dataset("corral", container="pandas")
    return data.X, data.y


def test_own_names_are_in_rules_networks_and_explanations(corral, tmp_path):
    X, y = corral
    model = HNBClassifier(random_state=0).fit(X, y)
    before = model.rules()
    assert model.latent_names_ == ("L1", "L2", "L3", "L4")
    model.rename_latents({"L1": "both A", "L3": "a pair"})
    for one in (model, _through_file(model, tmp_path), pickle.loads(pickle.dumps(model))):
        rules = one.rules()
        assert one.latent_names_ == ("both A", "L2", "a pair", "L4")
        assert rules["latent"].unique().tolist() == ["both A", "L2", "a pair", "L4"]
        assert rules.drop(columns="latent").equals(before.drop(columns="latent"))
        assert "both A = 0" in one.rules(max_length=0)["rule"].to_string()
        assert "hnbclassifier_both A=1" in one.get_feature_names_out()
        assert one.summary().structure["named"] == "both A, a pair"
        assert "a pair" in one.latent_children_
        assert 'property name = "a pair" ;' in one.to_bif()
    found = describe_structure(model, read_rows(model, X, y, None))
    assert "both A" in str(found.findings)
    with pytest.raises(ValueError, match="The name 'A0' is taken by a column"):
        model.rename_latents({"L2": "A0"})


def test_an_average_of_hierarchies_has_no_names_of_its_own(corral):
    model = HNBClassifier(n_models=2, random_state=0).fit(*corral)
    for ask in (lambda: model.latent_names_, lambda: model.rename_latents({"L1": "x"})):
        with pytest.raises(AttributeError, match="n_models=2 averages several hierarchies: ask"):
            ask()
    assert "named" not in model.summary().structure
    first = model.models_[0].rename_latents({"L1": "x"})
    assert first.latent_names_[0] == "x"


def test_components_of_a_mixture_have_names(wine, tmp_path):
    X, _ = wine
    model = LatentMixture(2, n_init=1, random_state=0).fit(X)
    assert model.latent_names_ == ("0", "1")
    assert list(model.summary().classes) == [0, 1]
    before = model.predict_proba(X)
    model.rename_latents({1: "strong"})
    for one in (model, _through_file(model, tmp_path), pickle.loads(pickle.dumps(model))):
        assert one.latent_names_ == ("0", "strong")
        assert list(one.get_feature_names_out()) == [
            "latentmixture_component0",
            "latentmixture_strong",
        ]
        assert list(one.summary().classes) == [0, "strong"]
        assert np.array_equal(one.predict_proba(X), before)
    labels = ComponentsDisplay.from_estimator(model).ax_.get_xticklabels()
    assert [text.get_text().partition("\n")[0] for text in labels] == ["0", "strong"]


def test_components_with_classifiers_have_names(wine, tmp_path):
    X, y = wine
    model = LatentVariableClassifier(None, 2, n_init=1, calibrate=False, random_state=0).fit(X, y)
    assert model.latent_names_ == ("0", "1")
    before = model.predict_proba(X)
    model.rename_latents({"0": "strong"})
    for one in (model, _through_file(model, tmp_path), pickle.loads(pickle.dumps(model))):
        assert one.latent_names_ == ("strong", "1")
        assert one.get_feature_names_out()[0] == "latentvariableclassifier_strong"
        assert one.summary().structure["named"] == "strong"
        assert np.array_equal(one.predict_proba(X), before)
    found = describe_structure(model, read_rows(model, X, y, None))
    assert "component strong is mostly" in found.sentence
    assert all("component 0" not in str(one) for one in found.findings)
