"""handle_unknown="smooth": an unseen category counts as one more, which no training row has."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import latentclass
from estimators import CLASSIFIERS, IMPROPER
from latentclass import (
    AutoLatentClassifier,
    BinaryLCMClassifier,
    HNBClassifier,
    HybridLCMClassifier,
    LatentMixture,
    LatentTreeClassifier,
    LatentVariableClassifier,
    Parts,
    drift,
)
from latentclass.baselines import AODE, BAN, TAN, HiddenNaiveBayes
from latentclass.data._rare import UNSEEN_LEVEL
from plain import NaiveBayes

REFUSE = {
    "AutoLatentClassifier",
    "BinaryLCMClassifier",
    "BinaryLCMClassifierCV",
    "HybridLCMClassifier",
}
"""Classifiers without tables of counts in all their parts."""

COUNTING = [model for model in CLASSIFIERS if type(model).__name__ not in REFUSE]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    table = pd.DataFrame(
        {
            "size": rng.normal(y),
            "coat": np.where(rng.random(90) < 0.3 + 0.2 * y, "short", "long"),
            "tail": rng.choice(["none", "stub", "long"], 90),
            "tame": rng.random(90) < 0.5,
        }
    )
    table.loc[3, "coat"] = None
    return table, np.array(["a", "b", "c"])[y]


def smooth(model):
    return clone(model).set_params(handle_unknown="smooth")


@pytest.mark.parametrize("model", COUNTING, ids=lambda model: type(model).__name__)
def test_probabilities_of_all_categories_and_the_unseen_one_sum_to_1(model, rows):
    """p(row without coat) is the sum over coats; without a level of its own, nothing is left."""
    table, y = rows
    fitted = smooth(model).fit(table, y)
    some = table.iloc[[0, 5, 10]]
    density = {
        coat: np.exp(fitted.score_samples(some.assign(coat=coat)))
        for coat in ("short", "long", "curly", "wire", None)
    }
    assert_array_equal(density["curly"], density["wire"])
    assert np.all(density["curly"] > 0)
    assert np.isfinite(fitted.predict_log_proba(some.assign(coat="curly"))).all()
    if type(model).__name__ not in IMPROPER:
        assert np.all(density["curly"] < np.minimum(density["short"], density["long"]))
        total = density["short"] + density["long"] + density["curly"]
        assert_allclose(total, density[None], rtol=1e-6)


def test_naive_bayes_has_the_dirichlet_predictive(rows):
    table, y = rows
    model = NaiveBayes(alpha=0.5, handle_unknown="smooth").fit(table, y)
    one = table.iloc[[7]].assign(size=np.nan, coat="curly", tail=None, tame=None)
    joint = np.exp(model.predict_joint_log_proba(one))[0]
    seen = table["coat"].notna().to_numpy()
    for k, label in enumerate("abc"):
        count = int(np.sum(seen & (y == label)))  # three levels: long, short, unseen
        assert_allclose(joint[k], (1 / 3) * 0.5 / (count + 3 * 0.5), rtol=1e-9)


def test_a_category_that_is_rarer_in_a_large_class_speaks_for_a_small_one():
    table = pd.DataFrame({"coat": ["long", "short"] * 50})
    y = np.where(np.arange(100) < 10, "few", "many")
    model = NaiveBayes(alpha=1, handle_unknown="smooth").fit(table, y)
    found = model.predict_proba(pd.DataFrame({"coat": ["curly"]}))[0]
    odds = (0.1 / 13) / (0.9 / 93)  # shares times 1 / (count + 3)
    assert_allclose(found[0] / found[1], odds, rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (HybridLCMClassifier(2, 1), "this HybridLCMClassifier: it does not count categories"),
        (BinaryLCMClassifier(2), "this BinaryLCMClassifier: it does not count categories"),
        (AutoLatentClassifier(5), "this AutoLatentClassifier: it does not count categories"),
        (LatentVariableClassifier(), "this LatentVariableClassifier: it does not count categories"),
        (NaiveBayes(alpha=0), "but NaiveBayes has alpha=0. Set alpha=1"),
        (LatentMixture(2, alpha=0), "but LatentMixture has alpha=0. Set alpha=1"),
    ],
)
def test_models_that_could_only_pretend_refuse(model, reason, rows):
    table, y = rows
    with pytest.raises(ValueError, match=reason):
        smooth(model).fit(table, y)


def test_yes_no_columns_and_companions_have_no_other_value(rows):
    table, y = rows
    model = NaiveBayes(handle_unknown="smooth", missing_indicator=True).fit(table, y)
    kinds = model.schema_.kinds
    assert kinds["tame"] == kinds["coat is missing"] == "binary"
    assert kinds["coat"] == "nominal"
    assert model.schema_.columns[1].categories == ("long", "short", UNSEEN_LEVEL)


def test_codes_as_numbers():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 60), rng.normal(size=60)])
    y = rng.integers(0, 2, 60)
    model = NaiveBayes(categorical_features=[0], handle_unknown="smooth").fit(X, y)
    nan, known, new = (model.score_samples([[value, 0.5]])[0] for value in (np.nan, 1.0, 7.0))
    assert new < known < nan
    assert new > -np.inf


def test_rare_values_keep_their_level():
    rng = np.random.default_rng(0)
    names = [f"v{i}" for i in range(300)]
    column = ["v0"] * 200 + names
    y = rng.integers(0, 2, 500)
    model = NaiveBayes(handle_unknown="smooth").fit(pd.DataFrame({"code": column}), y)
    (code,) = model.schema_.columns
    assert code.categories == ("v0", "rare values", UNSEEN_LEVEL)
    rare, other, new = (
        model.score_samples(pd.DataFrame({"code": [value]}))[0] for value in ("v7", "v8", "x")
    )
    assert rare == other > new
    drawn = model.sample(2000, random_state=0)[0]["code"]
    assert set(drawn.dropna()) <= set(names)
    assert drawn.dropna().nunique() > 100


def test_samples_and_completions_hold_no_made_up_value(rows):
    table, y = rows
    model = NaiveBayes(alpha=50.0, handle_unknown="smooth").fit(table, y)
    drawn, _ = model.sample(500, random_state=0)
    assert set(drawn["coat"].dropna()) == {"long", "short"}
    assert drawn["coat"].isna().any()  # which unseen value it would be, nobody knows
    filled = model.complete(table.assign(coat=None), how="most_probable")
    assert set(filled["coat"]) <= {"long", "short"}


def test_without_any_warning_but_drift_counts_them(rows):
    table, y = rows
    model = NaiveBayes(handle_unknown="smooth").fit(table, y)
    new = table.assign(coat="curly")
    model.predict(new)  # warnings are errors here
    found = {one.name: one for one in drift(model, new).columns}
    assert (found["coat"].unseen, found["coat"].unseen_values) == (90, {"curly": 90})
    assert found["coat"].missing == 0
    assert found["tail"].unseen == 0


def test_files_and_parts_keep_the_level(rows, tmp_path):
    table, y = rows
    model = NaiveBayes(handle_unknown="smooth").fit(table, y)
    latentclass.save(model, tmp_path / "model.lc")
    new = table.assign(coat="curly")
    assert_array_equal(
        latentclass.load(tmp_path / "model.lc").predict_proba(new), model.predict_proba(new)
    )
    halves = Parts([(table[:45], y[:45]), (table[45:], y[45:])], sample_rows=40)
    parted = NaiveBayes(handle_unknown="smooth").fit(halves)
    assert_allclose(parted.predict_proba(new), model.predict_proba(new), rtol=1e-9)


def test_partial_fit_still_refuses_new_categories(rows):
    table, y = rows
    model = NaiveBayes(calibrate=False, handle_unknown="smooth").partial_fit(table, y)
    assert model.predict_proba(table.head(1).assign(coat="curly")).max() < 1
    with pytest.raises(ValueError, match="holds 'curly', which was not seen in fit"):
        model.partial_fit(table.assign(coat="curly"), y)


def test_rules_and_mixtures_name_it(rows):
    table, y = rows
    hierarchy = HNBClassifier(handle_unknown="smooth", random_state=0).fit(table, y)
    text = hierarchy.explain(table.head(1).assign(coat="curly")).describe(0)
    assert "log-odds" in text
    mixture = LatentMixture(2, handle_unknown="smooth", random_state=0).fit(table)
    assert mixture.probabilities_["coat"].shape == (2, 3)
    assert np.all(mixture.probabilities_["coat"][:, 2] > 0)


@pytest.mark.parametrize("how", ["expected", "most_probable"])
@pytest.mark.parametrize(
    "model",
    [TAN(alpha=30.0), HiddenNaiveBayes(alpha=30.0), BAN(alpha=30.0), AODE(alpha=30.0),
     LatentTreeClassifier(alpha=30.0, search="fast", random_state=0)],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_cells_are_filled_with_values_that_were_seen(model, how):
    """Beside an unseen value such a model finds another unseen one the most probable."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 120)
    other = np.where(rng.random(120) < 0.9, codes, rng.integers(0, 3, 120))
    letters = np.array(["a", "b", "c"], dtype=object)
    table = pd.DataFrame({"u": letters[codes], "v": letters[other], "w": letters[codes]})
    model = smooth(model).fit(table, codes % 2)
    new = pd.DataFrame({"u": ["new", "a", None], "v": [None, None, "new"], "w": ["new", "b", None]})
    filled = model.complete(new, how=how)
    assert set(filled["v"][:2]) | set(filled["u"][2:]) | set(filled["w"][2:]) <= {"a", "b", "c"}
    assert filled["u"][0] == filled["w"][0] == filled["v"][2] == "new"


def test_a_category_with_the_name_of_the_unseen_one():
    table = pd.DataFrame({"u": ["a", "b", "c", UNSEEN_LEVEL] * 10})
    y = np.arange(40) % 3
    model = smooth(NaiveBayes()).fit(table, y)
    assert model.schema_.columns[0].categories[-2:] == (UNSEEN_LEVEL, f"{UNSEEN_LEVEL} (other)")
