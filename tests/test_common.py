"""Rules that hold for every generative classifier. A new one joins by its line in `estimators`."""

import inspect
import pickle
import re

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import latentclass.baselines
from estimators import CLASSIFIERS, IMPROPER
from latentclass.models._base import GenerativeClassifier


@parametrize_with_checks(CLASSIFIERS)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_every_generative_classifier_is_listed():
    public = {
        thing
        for module in (latentclass, latentclass.baselines)
        for name in module.__all__
        if inspect.isclass(thing := getattr(module, name))
        and issubclass(thing, GenerativeClassifier)
    }
    assert {type(model) for model in CLASSIFIERS} == public


@pytest.fixture(params=CLASSIFIERS, ids=lambda model: type(model).__name__)
def model(request):
    return clone(request.param)


@pytest.fixture
def table():
    """80 rows of numbers, a flag, text and categories with holes; labels in three classes."""
    rng = np.random.default_rng(0)
    y = rng.choice(["low", "mid", "top"], 80, p=[0.2, 0.3, 0.5])
    level = np.searchsorted(["low", "mid", "top"], y)
    X = pd.DataFrame(
        {
            "height": rng.normal(level, 1.0),
            "weight": 1e4 * rng.normal(1 + 0.2 * level, 0.2),
            "happy": pd.array(rng.random(80) < 0.3 + 0.2 * level, dtype="boolean"),
            "town": np.where(rng.random(80) < 0.5, "Oslo", "Rome"),
            "band": pd.Categorical(
                np.array(["I", "II", "III", "IV"])[rng.integers(0, 2, 80) + level]
            ),
        }
    )
    return X.mask(rng.random(X.shape) < 0.1), y


def proba(model, X):
    values = model.predict_proba(X)
    assert np.isfinite(values).all()
    assert_allclose(values.sum(axis=1), 1.0, rtol=1e-12)
    return values


@pytest.fixture
def proper(request, model):
    """Expect failure of models that are known to have no proper joint distribution."""
    if reason := IMPROPER.get(type(model).__name__):
        request.applymarker(pytest.mark.xfail(strict=True, reason=reason))


def number_grid(fitted, name):
    """Numbers to integrate over, both sides of every cut of a discretised column included."""
    cuts = np.asarray(getattr(fitted, "cut_points_", {}).get(name, []))
    return np.sort(np.r_[np.linspace(-15, 15, 4001), cuts, np.nextafter(cuts, np.inf)])


# ------------------------------------------------------------------ what fit learns


@pytest.mark.parametrize("unlabelled", [0.0, 0.4])
def test_weight_two_is_the_row_twice(model, table, unlabelled):
    X, y = table
    y = np.where(np.random.default_rng(9).random(80) < unlabelled, None, y)
    weight = np.random.default_rng(1).integers(1, 4, 80)
    rows = np.repeat(np.arange(80), weight)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    copied = clone(model).fit(X.iloc[rows], y[rows])
    assert_allclose(proba(weighted, X), proba(copied, X), rtol=1e-8, atol=1e-12)
    assert_allclose(weighted.log_likelihood_, copied.log_likelihood_, rtol=1e-10)


def test_weight_zero_is_no_row_whatever_it_holds(model, table):
    X, y = table
    strange = X.iloc[:3].copy()
    strange["town"], strange["height"] = "Atlantis", 1e9
    both = pd.concat([X, strange], ignore_index=True)
    weight = np.r_[np.ones(80), np.zeros(3)]
    fitted = clone(model).fit(both, np.r_[y, ["no such class"] * 3], sample_weight=weight)
    assert fitted.classes_.tolist() == ["low", "mid", "top"]
    assert "Atlantis" not in fitted.schema_.columns[3].categories
    assert_allclose(proba(fitted, X), proba(clone(model).fit(X, y), X), rtol=1e-12)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(80), "Sample weights are all zero"),
        (np.r_[np.ones(79), -2.0], r"sample_weight\[79\] is -2; weights must be finite"),
        (np.r_[np.nan, np.ones(79)], r"sample_weight\[0\] is nan; weights must be finite"),
        (np.r_[np.ones(79), 1e-300], "sample_weight goes from 1e-300 to 1: .* Rescale"),
        (np.ones(7), r"sample_weight.shape == \(7,\), expected \(80,\)"),
    ],
)
def test_impossible_weights_are_refused(model, table, weight, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*table, sample_weight=weight)


def test_column_order_does_not_matter(model, table):
    X, y = table
    turned = X[X.columns[::-1]]
    assert_allclose(
        proba(clone(model).fit(turned, y), turned), proba(clone(model).fit(X, y), X), rtol=1e-8
    )


def test_units_of_measurement_do_not_matter(model, table):
    X, y = table
    other = X.assign(height=X["height"] * 1e-3 + 70, weight=X["weight"] * 1e6)
    assert_allclose(
        proba(clone(model).fit(other, y), other), proba(clone(model).fit(X, y), X), rtol=1e-6
    )


@pytest.mark.parametrize(
    "new_names",
    [{"low": 30, "mid": 20, "top": 10}, {"low": "z", "mid": "y", "top": "x"}],
    ids=["integers", "strings"],
)
def test_relabelled_classes_permute_the_columns(model, table, new_names):
    X, y = table
    before = proba(clone(model).fit(X, y), X)
    after = clone(model).fit(X, np.array([new_names[label] for label in y]))
    assert_allclose(proba(after, X), before[:, ::-1], rtol=1e-8, atol=1e-12)
    assert after.classes_.tolist() == sorted(new_names.values())


@pytest.mark.parametrize("labels", [[False, True], [-1, 1], ["no", "yes"], [0.0, 1.0], [3, 8]])
def test_labels_of_any_type_come_back(model, table, labels):
    X, y = table
    two = np.array(labels)[(y == "top").astype(int)]
    fitted = model.fit(X, two)
    assert fitted.classes_.tolist() == labels
    assert set(fitted.predict(X).tolist()) <= set(labels)
    assert fitted.predict(X).dtype == two.dtype


def test_same_seed_same_result_for_any_number_of_jobs(model, table):
    X, y = table
    y = np.where(np.random.default_rng(2).random(80) < 0.4, None, y)
    one, again, parallel = (
        clone(model).set_params(random_state=3, n_init=4, n_jobs=jobs).fit(X, y)
        for jobs in (1, 1, 2)
    )
    assert proba(one, X).tolist() == proba(again, X).tolist() == proba(parallel, X).tolist()
    assert one.history_ == parallel.history_


def test_small_blocks_change_only_rounding(model, table, monkeypatch):
    X, y = table
    y = np.where(np.random.default_rng(2).random(80) < 0.4, None, y)
    whole = proba(clone(model).fit(X, y), X)
    monkeypatch.setattr("latentclass.data._schema.BLOCK_CELLS", 1)
    assert_allclose(proba(clone(model).fit(X, y), X), whole, rtol=1e-9)


def test_one_class_is_certain(model, table):
    X, _ = table
    fitted = model.fit(X, ["only"] * 80)
    assert proba(fitted, X).tolist() == [[1.0]] * 80
    assert set(fitted.predict(X)) == {"only"}


def test_one_row_and_a_class_of_one_row(model):
    assert model.fit([[1.0, "a"]], ["x"]).predict([[2.0, "b"]]).tolist() == ["x"]
    X = [[1.0, "a"], [1.1, "a"], [1.2, "b"], [9.0, "b"]]
    fitted = model.fit(X, ["x", "x", "x", "y"])
    assert fitted.predict([[9.0, "b"], [1.1, "a"]]).tolist() == ["y", "x"]


def test_constant_columns_change_nothing(model, table):
    X, y = table
    more = X.assign(zero=0.0, name="same", big=1e200)
    assert_allclose(
        proba(clone(model).fit(more, y), more), proba(clone(model).fit(X, y), X), rtol=1e-8
    )


def test_another_value_in_a_constant_column_changes_no_answer(model, table):
    X, y = table
    more = X.assign(zero=0.0, level=3.7)
    fitted = clone(model).fit(more, y)
    later = more.assign(zero=1.0, level=4.2)
    assert_allclose(proba(fitted, later), proba(fitted, more), rtol=1e-6)
    assert np.all(fitted.score_samples(later) < fitted.score_samples(more))


def test_rare_classes_are_learned(model):
    X = np.random.default_rng(10).normal(size=(5000, 2))
    X[-1] = 9.0
    fitted = model.fit(X, np.r_[np.zeros(4999), 1.0])
    assert_allclose(fitted.class_prior_, [4999 / 5000, 1 / 5000])
    if not hasattr(fitted, "cut_points_"):  # one row in 5000 is not worth a cut
        assert fitted.predict([[9.0, 9.0]]).tolist() == [1.0]
    heavy = clone(model).fit(X[-4:], [0, 0, 1, 1], sample_weight=[1e12, 1e12, 1, 1])
    assert_allclose(heavy.class_prior_, [1.0, 1e-12], rtol=1e-6)


def test_values_beyond_all_bounds_give_probabilities(model, table):
    X, y = table
    fitted = model.fit(X, y)
    proba(fitted, X.assign(height=1e160, weight=-1e300))


def test_all_missing_columns_are_ignored_with_a_warning(model, table):
    X, y = table
    more = X.assign(nothing=np.nan, nobody=None)
    words = r"Columns \['nothing', 'nobody'\] have no value in any row: they are ignored"
    with pytest.warns(UserWarning, match=words) as caught:
        fitted = clone(model).fit(more, y)
    assert caught[0].filename == __file__
    expected = proba(clone(model).fit(X, y), X)
    assert_allclose(proba(fitted, more), expected, rtol=1e-8)
    assert_allclose(proba(fitted, more.assign(nothing=5.0, nobody="someone")), expected, rtol=1e-8)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_extreme_units_give_numbers(model, unit):
    rng = np.random.default_rng(4)
    X = unit * np.r_[rng.normal(0, 1, (20, 2)), rng.normal(4, 1, (20, 2))]
    y = np.repeat([0, 1], 20)
    assert np.mean(model.fit(X, y).predict(X) == y) > 0.9
    assert np.isfinite(model.score_samples(X)).all()


# ----------------------------------------------------------------- unlabelled rows


@pytest.mark.parametrize("mark", [None, np.nan, pd.NA])
def test_rows_without_label_are_learned_from(model, table, mark):
    X, y = table
    hidden = y.astype(object)
    hidden[np.random.default_rng(5).random(80) < 0.5] = mark
    fitted = clone(model).fit(X, hidden)
    labelled = np.array([isinstance(label, str) for label in hidden])
    assert fitted.n_unlabelled_ == np.sum(~labelled)
    assert fitted.classes_.tolist() == ["low", "mid", "top"]
    alone = clone(model).fit(X[labelled], y[labelled])
    assert not np.allclose(proba(fitted, X), proba(alone, X))
    assert np.all(np.diff(fitted.history_) >= -1e-9)


def test_minus_one_marks_unlabelled_rows_and_says_so(model, table):
    X, y = table
    codes = np.searchsorted(["low", "mid", "top"], y)
    with pytest.warns(UserWarning, match=f"y is -1 in {np.sum(codes == 0)} rows: read as unlab"):
        fitted = clone(model).fit(X, codes - 1)
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.n_unlabelled_ == np.sum(codes == 0)


def test_no_label_at_all_is_refused(model, table):
    with pytest.raises(ValueError, match="y has no labelled row: all 80 labels are missing"):
        model.fit(table[0], [None] * 80)


def test_a_label_of_weight_zero_decides_nothing(model):
    X, y, weight = np.arange(5.0)[:, None], [-1, -1, 0, 0, 1], [1, 1, 1, 1, 0]
    assert model.fit(X, y, sample_weight=weight).classes_.tolist() == [-1, 0]


def test_labels_that_do_not_match_the_rows_are_refused(model, table):
    with pytest.raises(ValueError, match=r"X has 80 rows, y has 79 labels. Give one label a row"):
        model.fit(table[0], table[1][:79])


# -------------------------------------------------------------------- tables of all sorts


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_all_data_frames_give_the_same(model, table, convert):
    X, y = table
    expected = clone(model).fit(X, y)
    other = convert(X)
    fitted = clone(model).fit(other, y)
    assert fitted.feature_names_in_.tolist() == list(X.columns)
    assert_allclose(proba(fitted, other), proba(expected, X), rtol=1e-12)
    assert_allclose(proba(expected, other), proba(expected, X), rtol=1e-12)


def test_an_object_array_gives_the_same(model, table):
    X, y = table
    array = X.astype(object).to_numpy()
    expected = proba(clone(model).fit(X, y), X)
    assert_allclose(proba(clone(model).fit(array, y), array), expected, rtol=1e-12)


def test_memory_layout_and_precision_do_not_matter(model):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(60, 3)).astype(np.float32).astype(float), rng.integers(0, 2, 60)
    expected = proba(clone(model).fit(X, y), X)
    locked = X.copy()
    locked.flags.writeable = False
    for other in (np.asfortranarray(X), X[::-1][::-1], locked, X.astype(np.float32), X.tolist()):
        assert_allclose(proba(clone(model).fit(other, y), other), expected, rtol=1e-12)


def test_input_is_left_as_it_was(model, table):
    X, y = table
    before = X.copy()
    fitted = model.fit(X, y)
    fitted.predict(X)
    fitted.complete(X)
    fitted.explain(X.iloc[:5])
    pd.testing.assert_frame_equal(X, before)


def test_renamed_columns_are_refused_by_name(model, table):
    X, y = table
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- tall\n.*missing:\n- height\nSel"):
        model.predict(X.rename(columns={"height": "tall"}))


def test_reordered_columns_are_refused_with_a_remedy(model, table):
    X, y = table
    model.fit(X, y)
    remedy = r"must be in the same order .*\n.*X\[model.feature_names_in_\]"
    with pytest.raises(ValueError, match=remedy):
        model.predict(X[X.columns[::-1]])


def test_unknown_categories_are_missing_or_refused(model, table):
    X, y = table
    fitted = clone(model).fit(X, y)
    assert_allclose(
        proba(fitted, X.assign(town="Paris")), proba(fitted, X.assign(town=None)), rtol=1e-12
    )
    strict = clone(model).set_params(handle_unknown="error").fit(X, y)
    words = (
        r"Row 0, column 'town' holds 'Paris', not seen in fit \(levels: 'Oslo', 'Rome'\). "
        r'Use handle_unknown="missing" to treat it as missing.'
    )
    with pytest.raises(ValueError, match=words):
        strict.predict(X.assign(town="Paris"))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_cells_are_named(model, table, value):
    X, y = table
    X.loc[17, "weight"] = value
    with pytest.raises(ValueError, match="Column 'weight', row 17 is infinity"):
        model.fit(X, y)


def test_text_in_a_continuous_column_is_named(model, table):
    X, y = table
    model.fit(X, y)
    X["height"] = X["height"].astype(object)
    X.loc[5, "height"] = "tall"
    with pytest.raises(ValueError, match=r"Column 'height' mixes .*row 5 holds 'tall'"):
        model.predict(X)


def test_duplicate_names_are_refused(model, table):
    X, y = table
    X.columns = ["height", "height", *X.columns[2:]]
    with pytest.raises(ValueError, match=r"Column names must differ, but \['height'\] occur more"):
        model.fit(X, y)


cells = st.one_of(st.floats(-1e6, 1e6, width=32), st.just(np.nan))


@given(
    numbers=arrays(float, (12, 3), elements=cells),
    words=arrays(object, (12, 2), elements=st.sampled_from(["a", "b", "c", None])),
    y=st.lists(st.sampled_from(["p", "q", None]), min_size=12, max_size=12),
)
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("prototype", CLASSIFIERS, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings("ignore:Columns .* have no value", "ignore:EM was stopped")
def test_any_table_with_holes_gives_probabilities(prototype, numbers, words, y):
    if all(label is None for label in y):
        y[0] = "p"
    X = np.concatenate([numbers.astype(object), words], axis=1)
    fitted = clone(prototype).fit(X, y)
    proba(fitted, X)
    assert np.isfinite(fitted.score_samples(X)).all()
    assert np.isfinite(fitted.explain(X[:3]).weights).all()
    hole = np.full((1, 5), None)
    assert_allclose(proba(fitted, hole)[0], fitted.class_prior_, rtol=1e-9)


# ------------------------------------------------------------------- prediction


def test_a_row_without_values_gets_the_prior(model, table):
    X, y = table
    for calibrate in (False, True):
        fitted = clone(model).set_params(calibrate=calibrate).fit(X, y)
        empty = X.iloc[:1].mask(np.ones((1, 5), dtype=bool))
        assert_allclose(proba(fitted, empty)[0], fitted.class_prior_, rtol=1e-12)
        assert_allclose(fitted.score_samples(empty), 0.0, atol=1e-12)


def test_verbs_agree_with_the_joint_probability(model, table):
    X, y = table
    fitted = model.fit(X, y)
    joint = fitted.predict_joint_log_proba(X)
    density = np.logaddexp.reduce(joint, axis=1)
    assert_allclose(fitted.score_samples(X), density, rtol=1e-10)
    assert_allclose(proba(fitted, X), np.exp(joint - density[:, None]), rtol=1e-9)
    assert_allclose(np.exp(fitted.predict_log_proba(X)), proba(fitted, X), rtol=1e-12)
    assert fitted.predict(X).tolist() == fitted.classes_[joint.argmax(axis=1)].tolist()


@pytest.mark.usefixtures("proper")
def test_density_integrates_to_one_over_a_missing_category(model, table):
    X, y = table
    fitted = model.fit(X, y)
    row = X.iloc[[7]]
    levels = fitted.schema_.columns[4].categories
    total = np.logaddexp.reduce([fitted.score_samples(row.assign(band=v))[0] for v in levels])
    assert_allclose(total, fitted.score_samples(row.assign(band=None))[0], rtol=1e-10)


@pytest.mark.usefixtures("proper")
def test_density_integrates_to_one_over_a_missing_number(model, table):
    X, y = table
    fitted = model.fit(X, y)
    row = X.iloc[[7]]
    grid = number_grid(fitted, "height")
    rows = pd.concat([row] * len(grid), ignore_index=True).assign(height=grid)
    total = trapezoid(np.exp(fitted.score_samples(rows)), grid)
    hidden = np.exp(fitted.score_samples(row.assign(height=np.nan))[0])
    assert_allclose(total, hidden, rtol=1e-5)


def test_other_priors_follow_bayes_rule(model, table):
    X, y = table
    fitted = model.fit(X, y)
    priors = np.array([0.6, 0.3, 0.1])
    expected = proba(fitted, X) / fitted.class_prior_ * priors
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(fitted.predict_proba(X, priors=priors), expected, rtol=1e-9)
    named = dict(zip(fitted.classes_, priors, strict=True))
    assert_allclose(fitted.predict_proba(X, priors=named), expected, rtol=1e-9)
    series = pd.Series(named)[::-1]  # by its index, not by position
    assert_allclose(fitted.predict_proba(X, priors=series), expected, rtol=1e-9)
    assert fitted.predict(X, priors=priors).tolist() == (
        fitted.classes_[expected.argmax(axis=1)].tolist()
    )
    assert_allclose(proba(fitted, X), fitted.predict_proba(X, fitted.class_prior_), rtol=1e-12)


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        ([0.5, 0.5], r"priors has shape \(2,\), but there are 3 classes: \['low', 'mid', 'top'\]"),
        ([0.5, 0.5, 0.5], "must be probabilities that sum to 1, got .* with sum 1.5"),
        ([1.5, -0.5, 0.0], "must be probabilities that sum to 1"),
        ("balanced", "priors must be probabilities, in the order of classes_ or by label"),
        ({"low": 1.0}, r"must name each class once: unknown \[\], lacking \['mid', 'top'\]"),
        ({"low": 0.5, "mid": 0.2, "top": 0.2, "tip": 0.1}, r"unknown \['tip'\], lacking \[\]"),
    ],
)
def test_impossible_priors_are_refused(model, table, priors, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*table).predict_proba(table[0], priors=priors)


def test_calibration_is_kept_only_where_it_helps_on_held_out_folds(model):
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 400)
    signal = rng.normal(y, 1.5)
    copies = np.column_stack([signal] * 8)  # one attribute eight times over: far too sure
    fitted = clone(model).set_params(calibrate=True).fit(copies, y)
    facts = fitted.calibration_
    assert fitted.temperature_ == facts["temperature"]
    if type(model).__name__ == "NaiveBayes":
        assert 4 < fitted.temperature_ < 16  # the truth is eight
    assert facts["log_loss_after"] < facts["log_loss_before"]

    alone = clone(model).set_params(calibrate=True).fit(signal[:, None], y)
    kept = alone.calibration_["log_loss_after"] < alone.calibration_["log_loss_before"]
    assert alone.temperature_ == (alone.calibration_["temperature"] if kept else 1.0)


def test_calibrated_predictions_are_the_most_probable(model):
    rng = np.random.default_rng(11)
    y = (rng.random(600) < 0.15).astype(int)
    X = np.column_stack([rng.normal(y, 1.5)] * 8)
    fitted = model.set_params(calibrate=True).fit(X, y)
    if type(model).__name__ == "NaiveBayes":  # others see that the columns are copies
        assert fitted.temperature_ > 2
    most_probable = fitted.classes_[fitted.predict_proba(X).argmax(axis=1)]
    assert fitted.predict(X).tolist() == most_probable.tolist()


def test_calibration_is_modest_where_no_row_is_wrong(model):
    X, y = np.r_[0:3, 10:13][:, None] * 1.0, [0, 0, 0, 1, 1, 1]
    assert 0.3 <= model.set_params(calibrate=True).fit(X, y).temperature_ <= 2.0


def test_calibration_with_too_few_rows_is_left_out(model):
    fitted = model.set_params(calibrate=True).fit([[1.0], [2.0]], ["a", None])
    assert fitted.temperature_ == 1.0
    assert fitted.calibration_ == {}


def test_calibration_with_a_class_of_one_row_and_unlabelled_rows(model, table):
    X, y = table
    labels = np.where(np.arange(80) % 2, None, np.where(y == "top", "top", "mid"))
    labels[0] = "single"
    fitted = model.set_params(calibrate=True, n_init=3).fit(X, labels)
    assert np.isfinite(fitted.temperature_)
    proba(fitted, X)


# ------------------------------------------------- latent variables, samples, completion


def test_transform_is_named_and_sums_up(model, table):
    X, y = table
    fitted = model.fit(X, y)
    values = fitted.transform(X)
    names = fitted.get_feature_names_out()
    assert values.shape == (80, len(names))
    assert all(name.startswith(type(model).__name__.lower() + "_") for name in names)
    framed = clone(model).set_output(transform="pandas").fit(X, y).transform(X)
    assert list(framed.columns) == list(names)
    assert_allclose(framed, values)


def test_samples_look_like_the_data(model, table):
    X, y = table
    fitted = model.fit(X, y)
    drawn, labels = fitted.sample(4000, random_state=1)
    assert type(drawn) is pd.DataFrame
    assert list(drawn.columns) == list(X.columns)
    assert drawn["band"].dtype == "category"
    assert drawn.notna().all(axis=None)
    shares = [np.mean(labels == label) for label in fitted.classes_]
    assert_allclose(shares, fitted.class_prior_, atol=0.03)
    assert_allclose(drawn["height"].mean(), X["height"].mean(), atol=0.15)
    assert_allclose(
        (drawn["town"] == "Oslo").mean(), (X["town"].dropna() == "Oslo").mean(), atol=0.05
    )
    again, _ = fitted.sample(4000, random_state=1)
    pd.testing.assert_frame_equal(drawn, again)


def test_samples_of_a_class(model, table):
    fitted = model.fit(*table)
    assert set(fitted.sample(5, y="mid")[1]) == {"mid"}
    assert fitted.sample(2, y=["top", "low"])[1].tolist() == ["top", "low"]
    with pytest.raises(ValueError, match="y holds 'huge', which is not a class"):
        fitted.sample(2, y="huge")
    with pytest.raises(ValueError, match="y has 2 labels for 3 rows"):
        fitted.sample(3, y=["top", "low"])
    with pytest.raises(ValueError, match="n_samples=0 must be a whole number of at least 1"):
        fitted.sample(0)


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_samples_come_in_the_container_of_fit(model, table, convert):
    X, y = table
    fitted = model.fit(convert(X), y)
    drawn, _ = fitted.sample(10)
    assert type(drawn) is type(convert(X))
    fitted.predict(drawn)


@pytest.mark.parametrize("how", ["expected", "most_probable"])
def test_completion_fills_only_the_holes(model, table, how):
    X, y = table
    filled = model.fit(X, y).complete(X, how=how)
    assert filled.notna().all(axis=None)
    assert filled.index.equals(X.index)
    seen = X.notna().to_numpy()
    before, after = (frame.astype(object).to_numpy()[seen] for frame in (X, filled))
    assert np.all(before == after)
    assert model.predict(filled).shape == (80,)


def test_expected_category_is_the_most_probable_given_the_rest(model, table):
    X, y = table
    fitted = model.fit(X, y)
    rows = X.iloc[:20].assign(band=None)
    levels = list(fitted.schema_.columns[4].categories)
    by_level = np.stack([fitted.score_samples(rows.assign(band=v)) for v in levels])
    filled = fitted.complete(rows)
    assert filled["band"].tolist() == [levels[i] for i in by_level.argmax(axis=0)]


def test_expected_number_is_the_mean_given_the_rest(model, table):
    X, y = table
    fitted = model.fit(X, y)
    row = X.iloc[[3]]
    grid = number_grid(fitted, "height")
    rows = pd.concat([row] * len(grid), ignore_index=True).assign(height=grid)
    density = np.exp(fitted.score_samples(rows))
    mean = trapezoid(density * grid, grid) / trapezoid(density, grid)
    filled = fitted.complete(row.assign(height=np.nan))
    assert_allclose(filled["height"].iloc[0], mean, rtol=1e-4)


def test_most_probable_completion_is_the_best_of_all(model, table):
    X, y = table
    fitted = model.fit(X, y)
    rows = X.iloc[:10].assign(band=None, town=None)
    filled = fitted.complete(rows, how="most_probable")
    best = fitted.predict_joint_log_proba(filled.astype({"band": str})).max(axis=1)
    for band in fitted.schema_.columns[4].categories:
        for town in ("Oslo", "Rome"):
            other = filled.astype({"band": str}).assign(
                band=np.where(rows["band"].isna(), band, filled["band"]),
                town=np.where(rows["town"].isna(), town, filled["town"]),
            )
            assert np.all(fitted.predict_joint_log_proba(other).max(axis=1) <= best + 1e-9)


def test_unknown_how_is_refused(model, table):
    with pytest.raises(ValueError, match="how='guess' must be one of 'expected', 'most_probable'"):
        model.fit(*table).complete(table[0], how="guess")


def test_weight_of_evidence_is_the_change_in_log_odds(model, table):
    X, y = table
    fitted = model.fit(X, y)
    rows = X.iloc[5:15]

    def log_odds(data, label):
        p = fitted.predict_proba(data)[:, fitted.classes_.tolist().index(label)]
        return np.log(p / (1 - p))

    told = fitted.explain(rows, y="mid")
    assert told.feature_names == list(X.columns)
    assert_allclose(told.log_odds, log_odds(rows, "mid"), rtol=1e-8)
    for j, name in enumerate(X.columns):
        without = rows.assign(**{name: None})
        expected = log_odds(rows, "mid") - log_odds(without, "mid")
        assert_allclose(told.weights[:, j], expected, rtol=1e-6, atol=1e-9)
        assert np.all(told.weights[rows[name].isna(), j] == 0.0)
    default = fitted.explain(rows)
    assert default.target.tolist() == fitted.predict(rows).tolist()
    frame = default.to_frame()
    assert list(frame.columns) == ["target", *X.columns]
    assert list(frame.index) == list(range(5, 15))
    assert str(default).startswith(f"row 5: {default.target[0]} with log-odds")


# ------------------------------------------------------------------------- manners


def test_pickles_and_clones(model, table):
    X, y = table
    fitted = model.fit(X, y)
    copy = pickle.loads(pickle.dumps(fitted))
    assert proba(copy, X).tolist() == proba(fitted, X).tolist()
    assert not hasattr(clone(fitted), "classes_")


def test_works_in_a_pipeline_with_search_and_routing(model, table):
    from sklearn import config_context

    X, y = table
    weight = np.random.default_rng(8).uniform(0.5, 2, 80)
    with config_context(enable_metadata_routing=True):
        step = clone(model).set_fit_request(sample_weight=True)
        scoring = get_scorer("accuracy").set_score_request(sample_weight=True)
        pipe = make_pipeline(FunctionTransformer(), step)
        name = type(model).__name__.lower()
        search = GridSearchCV(pipe, {f"{name}__calibrate": [False, True]}, cv=3, scoring=scoring)
        search.fit(X, y, sample_weight=weight)
    assert search.best_score_ > 0.4


def test_cross_validation_on_frames(model, table):
    X, y = table
    predicted = cross_val_predict(model, X, y, cv=4, method="predict_proba")
    assert_allclose(predicted.sum(axis=1), 1.0)


def test_documented_defaults_are_the_real_ones(model):
    documented = dict(
        re.findall(r"^ {4}(\w+) : .*?default=([^\n]+)$", inspect.getdoc(type(model)) or "", re.M)
        or re.findall(r"^(\w+) : .*?default=([^\n]+)$", inspect.getdoc(type(model)), re.M)
    )
    real = {
        name: parameter.default
        for name, parameter in inspect.signature(type(model)).parameters.items()
    }
    assert documented.keys() == real.keys()
    for name, text in documented.items():
        assert eval(text) == real[name], name
