"""What fit learns, for every generative classifier."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from rules import change, proba
from sklearn.base import clone

from latentclass.engine._em import _Contest


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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_start_is_dropped_if_asked_not_to(model, table, monkeypatch):
    if "drop_starts" not in model.get_params():
        assert type(model).__name__ in {
            "AutoLatentClassifier",
            "LatentTreeClassifier",
            "LatentVariableClassifier",
        }
        return
    options = {"n_init": 3, "drop_starts": False, "select": "likelihood", "axes": "clusters"}
    options |= {"max_iter": 4, "max_components": 2}  # soon done
    change(model, **options)
    contests = []
    run = _Contest.run

    def watch(contest):
        contests.append((contest.rules.halving, len(contest.groups) > contest.n_kept))
        return run(contest)

    monkeypatch.setattr(_Contest, "run", watch)
    X, y = table
    model.fit(X, np.where(np.arange(80) % 3 == 0, None, y))
    assert (False, True) in contests, "no contest between starts"
    assert (True, True) not in contests


def test_weight_zero_is_no_row_whatever_it_holds(model, fitted, table):
    X, y = table
    strange = X.iloc[:3].copy()
    strange["town"], strange["height"] = "Atlantis", 1e9
    both = pd.concat([X, strange], ignore_index=True)
    weight = np.r_[np.ones(80), np.zeros(3)]
    other = clone(model).fit(both, np.r_[y, ["no such class"] * 3], sample_weight=weight)
    assert other.classes_.tolist() == ["low", "mid", "top"]
    assert "Atlantis" not in other.schema_.columns[3].categories
    assert_allclose(proba(other, X), proba(fitted, X), rtol=1e-12)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(80), "Sample weights are all zero"),
        (np.r_[np.ones(79), -2.0], r"sample_weight\[79\] is -2; weights must be finite"),
        (np.r_[np.nan, np.ones(79)], r"sample_weight\[0\] is nan; weights must be finite"),
        (np.r_[np.ones(79), 1e-300], "sample_weight goes from 1e-300 to 1: .* Rescale"),
        (np.ones(7), r"sample_weight.shape == \(7,\), expected \(80,\)"),
        (["a"] * 80, "sample_weight must hold one number per row: could not convert string"),
    ],
)
def test_impossible_weights_are_refused(model, table, weight, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*table, sample_weight=weight)


def test_column_order_does_not_matter(model, fitted, table):
    X, y = table
    turned = X[X.columns[::-1]]
    assert_allclose(proba(clone(model).fit(turned, y), turned), proba(fitted, X), rtol=1e-8)


def test_units_of_measurement_do_not_matter(model, fitted, table):
    X, y = table
    other = X.assign(height=X["height"] * 1e-3 + 70, weight=X["weight"] * 1e6)
    assert_allclose(proba(clone(model).fit(other, y), other), proba(fitted, X), rtol=1e-6)


@pytest.mark.parametrize(
    "new_names",
    [{"low": 30, "mid": 20, "top": 10}, {"low": "z", "mid": "y", "top": "x"}],
    ids=["integers", "strings"],
)
def test_relabelled_classes_permute_the_columns(model, fitted, table, new_names):
    X, y = table
    before = proba(fitted, X)
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
        change(clone(model), random_state=3, n_init=4, n_jobs=jobs).fit(X, y) for jobs in (1, 1, 2)
    )
    assert proba(one, X).tolist() == proba(again, X).tolist() == proba(parallel, X).tolist()
    assert one.history_ == parallel.history_


def test_small_blocks_change_only_rounding(model, table, monkeypatch):
    X, y = table
    y = np.where(np.random.default_rng(2).random(80) < 0.4, None, y)
    whole = proba(clone(model).fit(X, y), X)
    monkeypatch.setattr("latentclass.data._schema.BLOCK_CELLS", 1)
    assert_allclose(proba(clone(model).fit(X, y), X), whole, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:y has a single class")
def test_one_class_is_certain(model, table):
    X, _ = table
    fitted = model.fit(X, ["only"] * 80)
    assert proba(fitted, X).tolist() == [[1.0]] * 80
    assert set(fitted.predict(X)) == {"only"}


@pytest.mark.filterwarnings("ignore:y has a single class")
@pytest.mark.filterwarnings("ignore::latentclass.exceptions.UnseenValueWarning")
def test_one_row_and_a_class_of_one_row(model):
    assert model.fit([[1.0, "a"]], ["x"]).predict([[2.0, "b"]]).tolist() == ["x"]
    X = [[1.0, "a"], [1.1, "a"], [1.2, "b"], [9.0, "b"]]
    fitted = model.fit(X, ["x", "x", "x", "y"])
    assert fitted.predict([[9.0, "b"], [1.1, "a"]]).tolist() == ["y", "x"]


def test_constant_columns_change_nothing(model, fitted, table):
    X, y = table
    more = X.assign(zero=0.0, name="same", big=1e200)
    assert_allclose(proba(clone(model).fit(more, y), more), proba(fitted, X), rtol=1e-8)


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


def test_values_beyond_all_bounds_give_probabilities(fitted, table):
    X, _ = table
    proba(fitted, X.assign(height=1e160, weight=-1e300))


def test_all_missing_columns_are_ignored_with_a_warning(model, fitted, table):
    X, y = table
    more = X.assign(nothing=np.nan, nobody=None)
    words = r"Columns \['nothing', 'nobody'\] have no value in any row: they are ignored"
    with pytest.warns(UserWarning, match=words) as caught:
        other = clone(model).fit(more, y)
    assert caught[0].filename == __file__
    expected = proba(fitted, X)
    assert_allclose(proba(other, more), expected, rtol=1e-8)
    assert_allclose(proba(other, more.assign(nothing=5.0, nobody="someone")), expected, rtol=1e-8)


@pytest.mark.parametrize("unit", [1e-200, 1e204])
def test_extreme_units_give_numbers(model, unit):
    rng = np.random.default_rng(4)
    X = unit * np.r_[rng.normal(0, 1, (20, 2)), rng.normal(4, 1, (20, 2))]
    y = np.repeat([0, 1], 20)
    assert np.mean(model.fit(X, y).predict(X) == y) > 0.9
    assert np.isfinite(model.score_samples(X)).all()
    assert np.isfinite(model.sample(50)[0]).all()
    rows = [[np.nan, np.nan], [X[0, 0], np.nan], [np.nan, 1e5 * unit / (1 + unit)]]
    for how in ("expected", "most_probable"):
        assert np.isfinite(model.complete(rows, how=how)).all()


def test_numbers_that_would_overflow_are_refused(model, table):
    X, y = table
    X.loc[17, "weight"] = -1.7e308
    words = r"^Column 'weight' holds numbers beyond 1e\+205, .* Rescale the column\.$"
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)


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
    if not hasattr(fitted, "leaderboard_"):  # an average may lose by another candidate
        assert np.all(np.diff(fitted.history_) >= -1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_single_step_of_em_gives_class_shares_that_sum_to_one(model, table):
    X, y = table
    hidden = np.where(np.random.default_rng(5).random(80) < 0.5, y, None)
    fitted = change(clone(model), max_iter=1).fit(X, hidden)
    assert_allclose(fitted.class_prior_.sum(), 1.0, rtol=1e-12)
    proba(fitted, X)


def test_minus_one_marks_unlabelled_rows_and_says_so(model, table):
    X, y = table
    codes = np.searchsorted(["low", "mid", "top"], y)
    with pytest.warns(
        UserWarning, match=f"y is -1 in {np.sum(codes == 0)} rows, which are read as unl"
    ):
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
    with pytest.raises(ValueError, match=r"X has 80 rows, y has 79 labels. Pass one label per row"):
        model.fit(table[0], table[1][:79])


def test_folds_of_calibrate_leave_the_warning_filters_alone(model, table):
    """Filters belong to the process: fits in other threads would see a change, and keep it."""
    import warnings

    X, y = table
    seen = []

    class Filters(list):
        def insert(self, *args):
            seen.append(args)
            super().insert(*args)

    model = clone(model).set_params(calibrate=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filters = Filters(warnings.filters)
        model.fit(X, y)
    assert not seen
