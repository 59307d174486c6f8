"""A model that was saved and loaded is the same, and so are all its answers."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from golden_models import make_table, named_models
from same import differences
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import latentclass
from estimators import ESTIMATORS
from latentclass import HNBClassifier, LatentTreeClassifier, LatentVariableClassifier, LCMClassifier
from latentclass.baselines import TAN, NaiveBayes
from latentclass.exceptions import ModelFileError
from latentclass.files import _classes

MODELS = {name: model for name, model in named_models().items() if not name.endswith("_wide")}
NOT_HELD = {"BackpropagationNetwork", "LeaveOneOutKNN", "TableClassifier", "WekaClassifier"}
"""Estimators that are made of other programs."""


def table_of(kind):
    """A table, its labels and weights."""
    X, y = make_table(24)
    weight = None
    if kind == "mixed":
        X = X.ffill().bfill().astype({"happy": bool, "town": "category"})
    elif kind == "unlabelled":
        y = np.where(np.arange(len(y)) % 4 == 0, None, y)
    elif kind == "weights":
        y, weight = np.unique(y, return_inverse=True)[1], 0.5 + np.arange(len(y)) % 3
    elif kind == "sparse":
        rng = np.random.default_rng(0)
        X = sp.csr_array(np.where(rng.random((24, 4)) < 0.4, rng.normal(1, 1, (24, 4)), 0.0))
        X, y = X + sp.csr_array((y == "top").astype(float)[:, None] * np.ones(4)), y == "top"
    elif kind == "polars":
        X = as_polars(X)
    elif kind == "all at once":
        X, y = as_polars(X), np.where(np.arange(len(y)) % 4 == 0, None, y)
        weight = 0.5 + np.arange(len(y)) % 3
    return X, y, weight


def as_polars(X):
    cells = {name: [None if cell != cell else cell for cell in X[name]] for name in X}
    return pl.DataFrame(cells)


SLOW = ("mixed", "holes", "unlabelled", "weights", "polars")
KINDS = ("all at once", "sparse", *(pytest.param(kind, marks=pytest.mark.slow) for kind in SLOW))


def answers(model, X):
    """What all verbs say."""
    found = {}
    for verb in (
        *("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"),
        *("score_samples", "transform", "get_feature_names_out"),
    ):
        if hasattr(model, verb):
            found[verb] = getattr(model, verb)(*([] if verb == "get_feature_names_out" else [X]))
    if hasattr(model, "sample"):
        found["sample"] = model.sample(5, random_state=0)
        dense = X.toarray() if sp.issparse(X) else X
        found["complete"] = model.complete(dense)
        found["most probable"] = model.complete(dense, "most_probable")
    if hasattr(model, "explain"):
        found["explain"] = model.explain(X)
    return found


def same_answers(one, other):
    assert list(one) == list(other)
    for verb, mine in one.items():
        theirs = other[verb]
        if verb == "explain":
            assert not differences(vars(mine), vars(theirs)), verb
            continue
        for a, b in zip(
            *((x if isinstance(x, tuple) else (x,)) for x in (mine, theirs)), strict=True
        ):
            assert type(a) is type(b)
            if isinstance(a, pd.DataFrame):
                pd.testing.assert_frame_equal(a, b, check_exact=True)
            elif isinstance(a, pl.DataFrame):
                assert a.equals(b)
            else:
                assert not differences(np.asarray(a), np.asarray(b)), verb


@pytest.mark.filterwarnings("ignore::latentclass.exceptions.UnseenValueWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_every_estimator_on_six_tables(tmp_path, name, kind):
    X, y, weight = table_of(kind)
    model = clone(MODELS[name])
    if "max_iter" in model.get_params():
        model.set_params(max_iter=4)
    if kind == "sparse" and name in ("MDLDiscretizer", "LatentMixture"):
        X = X.toarray()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, **({} if weight is None else {"sample_weight": weight}))
    latentclass.save(model, tmp_path / "model.lc")
    again = latentclass.load(tmp_path / "model.lc")
    assert not differences(model, again)
    few = X[:5]
    if name == "LatentVariableClassifier_kernel" and kind == "sparse":
        few = few.toarray()
    same_answers(answers(model, few), answers(again, few))


def test_every_public_estimator_is_held_or_named_here():
    assert set(_classes.ESTIMATORS) == set(ESTIMATORS) - NOT_HELD


def test_several_models_in_one_file(tmp_path):
    X, y = make_table(24)
    models = {"first": NaiveBayes().fit(X, y), "second": TAN().fit(X, y), "unfitted": TAN(alpha=2)}
    latentclass.save(models, tmp_path / "models.lc")
    again = latentclass.load(tmp_path / "models.lc")
    assert list(again) == ["first", "second", "unfitted"]
    assert not differences(models, again)


def test_a_model_goes_on_learning_by_partial_fit(tmp_path):
    X, y = make_table(24)
    X["month"] = X["month"].where(X["month"].isin(X["month"][8:]))
    for table in (X, X[["height", "weight"]].to_numpy(), sp.csr_array(X[["height"]].fillna(0.0))):
        model = NaiveBayes(calibrate=False).partial_fit(table[8:], y[8:], classes=np.unique(y))
        latentclass.save(model, tmp_path / "model.lc")
        again = latentclass.load(tmp_path / "model.lc").partial_fit(table[:8], y[:8])
        model.partial_fit(table[:8], y[:8])
        assert not differences(model.predict_proba(table), again.predict_proba(table))


def test_a_search_goes_on_by_warm_start(tmp_path):
    X, y = make_table(24)
    model = LatentTreeClassifier(n_cuts=1, warm_start=True, calibrate=False, random_state=0)
    model.fit(X, y)
    latentclass.save(model, tmp_path / "model.lc")
    again = latentclass.load(tmp_path / "model.lc").fit(X, y)
    assert not differences(model.fit(X, y).predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize(
    "labels",
    [[0, 1, 2], [-5, 0, 2**62], [1.0, 2.0, 4.0], ["é", "ß", "漢字\ud800"], [False, True, True]],
)
@pytest.mark.parametrize("kind", [None, "int8", "uint16", "float32"])
def test_labels_of_all_types(tmp_path, labels, kind):
    X, y = make_table(24)
    labels = np.array(labels)
    if kind is not None:
        if labels.dtype.kind not in "if" or labels.max() > 100:
            labels = np.array([0, 1, 2])
        labels = labels.astype(kind)
    y = labels[np.unique(y, return_inverse=True)[1]]
    model = NaiveBayes().fit(X, y)
    latentclass.save(model, tmp_path / "model.lc")
    assert not differences(model, latentclass.load(tmp_path / "model.lc"))


def test_a_column_with_very_many_values(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"name": [f"person [{i % 700}], ü" for i in rng.integers(0, 700, 900)]})
    y = rng.integers(0, 2, 900)
    model = NaiveBayes(calibrate=False).fit(X, y)
    assert model.schema_.columns[0].rare
    latentclass.save(model, tmp_path / "model.lc")
    assert not differences(model, latentclass.load(tmp_path / "model.lc"))


def test_random_states_are_stored_with_their_place(tmp_path):
    X, y = make_table(24)
    model = NaiveBayes(random_state=np.random.RandomState(3)).fit(X, y)
    model.sample(3)
    latentclass.save(model, tmp_path / "model.lc")
    again = latentclass.load(tmp_path / "model.lc")
    pd.testing.assert_frame_equal(model.sample(4)[0], again.sample(4)[0], check_exact=True)


def test_an_output_container_is_kept(tmp_path):
    X, y = make_table(24)
    model = NaiveBayes().fit(X, y).set_output(transform="pandas")
    latentclass.save(model, tmp_path / "model.lc")
    assert isinstance(latentclass.load(tmp_path / "model.lc").transform(X), pd.DataFrame)


def test_wide_tables_are_stored_column_by_column(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    sparse = sp.csr_array((rng.random((30, 9000)) < 0.02).astype(float))
    words = pd.DataFrame({f"word {j}": rng.choice(["a", "b", "c"], 30) for j in range(40)})
    for model, X in (
        (NaiveBayes(categorical_features=range(9000)), sparse),
        (NaiveBayes(), sparse),
        (NaiveBayes(), words),
        (TAN(), rng.normal(y[:, None], 1.0, (30, 40))),
    ):
        model.set_params(calibrate=False).fit(X, y)
        latentclass.save(model, tmp_path / "model.lc")
        assert not differences(model, latentclass.load(tmp_path / "model.lc"))
        assert (tmp_path / "model.lc").stat().st_size < len(pickle.dumps(model))


def test_folds_given_as_lists_are_kept(tmp_path):
    X, y = make_table(24)
    folds = [(np.arange(0, 24, 2), np.arange(1, 24, 2)), (np.arange(1, 24, 2), np.arange(0, 24, 2))]
    model = HNBClassifier(cv=folds, n_candidates=1, calibrate=False).fit(X, y)
    latentclass.save(model, tmp_path / "model.lc")
    assert not differences(model, latentclass.load(tmp_path / "model.lc"))


# ------------------------------------------------------------------------ refusals


def refusal(model, tmp_path, **options):
    with pytest.raises(ModelFileError) as caught:
        latentclass.save(model, tmp_path / "model.lc", **options)
    assert not list(tmp_path.iterdir())
    return str(caught.value)


def test_a_splitter_is_refused_with_a_remedy(tmp_path):
    X, y = make_table(24)
    model = HNBClassifier(cv=KFold(2), n_candidates=1, calibrate=False).fit(X, y)
    assert refusal(model, tmp_path) == (
        "The model cannot be saved: HNBClassifier.cv: a model file cannot hold a KFold of sklearn. "
        "Set it to a plain value before saving, with set_params(cv=...): what was learned stays as "
        "it is."
    )


def test_a_pipeline_is_refused_with_a_remedy(tmp_path):
    model = make_pipeline(StandardScaler(), LCMClassifier())
    assert refusal(model, tmp_path) == (
        "A model file holds estimators of latentclass, not 'Pipeline' of 'sklearn'. Save the last "
        "step of a pipeline: model[-1]."
    )


def test_other_estimators_are_refused(tmp_path):
    assert refusal(StandardScaler(), tmp_path) == (
        "A model file holds estimators of latentclass, not 'StandardScaler' of 'sklearn'. Use "
        "pickle or joblib for it."
    )


def test_a_subclass_is_refused(tmp_path):
    class Mine(NaiveBayes):
        pass

    assert "not 'Mine' of" in refusal(Mine(), tmp_path)


def test_wrong_arguments_are_refused(tmp_path):
    with pytest.raises(ValueError, match="A dict of models needs at least one, and text as their"):
        latentclass.save({}, tmp_path / "model.lc")
    with pytest.raises(ValueError, match="foreign must be None or \"skops\", got 'pickle'\\."):
        latentclass.save(NaiveBayes(), tmp_path / "model.lc", foreign="pickle")


# ------------------------------------------------------------ parts of other libraries


@pytest.fixture
def foreign():
    from sklearn.linear_model import LogisticRegression

    X, y = make_table(24)
    X = X[["height"]].fillna(0.0)
    return LatentVariableClassifier(
        LogisticRegression(), 2, n_init=1, calibrate=False, max_iter=3, random_state=0
    ).fit(X, y), X


def test_foreign_parts_are_refused_by_default(foreign, tmp_path):
    message = refusal(foreign[0], tmp_path)
    assert message.startswith(
        "The model cannot be saved: LatentVariableClassifier.estimator: a model file cannot hold a "
        "LogisticRegression of sklearn."
    )


def test_our_own_classifiers_inside_others_need_no_trust(tmp_path):
    X, y = make_table(24)
    X = X[["height", "happy"]].fillna({"height": 0.0, "happy": False})
    model = LatentVariableClassifier(
        NaiveBayes(calibrate=False), 2, n_init=1, calibrate=False, max_iter=3, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    latentclass.save(model, tmp_path / "model.lc")
    again = latentclass.load(tmp_path / "model.lc")
    assert not differences(model.predict_proba(X), again.predict_proba(X))


def test_foreign_parts_need_trust_to_be_loaded(foreign, tmp_path):
    model, X = foreign
    latentclass.save(model, tmp_path / "model.lc", foreign="skops")
    with pytest.raises(ModelFileError) as caught:
        latentclass.load(tmp_path / "model.lc")
    assert str(caught.value) == (
        "The file holds a 'LogisticRegression' of another library, which is loaded only if you "
        "trust it: load(path, trusted=[...]) with the full names of its types."
    )
    again = latentclass.load(tmp_path / "model.lc", trusted=[])
    assert not differences(model.predict_proba(X), again.predict_proba(X))
    shown = latentclass.describe_file(tmp_path / "model.lc")
    assert shown.models[""].class_name == "LatentVariableClassifier"
