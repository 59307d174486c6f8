"""LatentMixture: scikit-learn's mixture, closed forms, verbs, weights, tables of all sorts."""

import os
import re
import warnings

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import trapezoid
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from latentclass import LatentMixture
from latentclass.datasets import load_dataset
from latentclass.engine._em import run_restarts
from latentclass.engine._mixture_rows import MixtureRows
from latentclass.exceptions import EmptyComponentWarning

SEARCHES = ["em", "kmeans", "era", "anneal", "mcem"]


@parametrize_with_checks(
    [
        LatentMixture(2, random_state=0),
        LatentMixture(2, "era", max_iter=30, random_state=0),
        LatentMixture([1, 2], "kmeans", criterion="cv", n_folds=3, random_state=0),
        LatentMixture(2, "anneal", polish=True, max_iter=100, random_state=0),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture
def table():
    """120 rows of three groups: numbers, a flag, text, with holes."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 120)
    X = pd.DataFrame(
        {
            "height": rng.normal(3.0 * group, 1.0),
            "weight": 1e4 * rng.normal(1 + 0.5 * group, 0.2),
            "happy": pd.array(rng.random(120) < 0.1 + 0.4 * group, dtype="boolean"),
            "town": np.array(["Oslo", "Rome", "Kyiv"])[(group + (rng.random(120) < 0.2)) % 3],
        }
    )
    return X.mask(rng.random(X.shape) < 0.1)


# --------------------------------------------------------------------- other implementations


def overlapping(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, 3)) * [1, 2, 0.5] + 1.5 * rng.integers(0, 3, n_rows)[:, None]


@pytest.mark.parametrize("n_steps", [1, 4, 40])
def test_em_takes_the_steps_of_gaussian_mixture(n_steps):
    """From the same start, the same parameters after 1, 4, and 40 steps."""
    X = overlapping()
    rows = MixtureRows.measure(
        X, np.zeros((300, 0), np.int32), np.ones(300), np.array([], int), alpha=0, strength=0
    )
    problem = rows.problem(3, [slice(0, 150), slice(150, 300)])
    start = rows.starts(problem, [np.random.default_rng(4)])
    ours = run_restarts(
        problem, start, tol=-np.inf, max_iter=n_steps + 1, rngs=[np.random.default_rng(0)]
    )
    centre, unit = rows.layout.centre, rows.layout.unit
    theirs = GaussianMixture(
        3, covariance_type="diag", reg_covar=0.0, tol=0.0, max_iter=n_steps,
        weights_init=np.exp(start.log_weight[0]),
        means_init=centre + unit * start.mean[0],
        precisions_init=(unit * start.scale[0]) ** -2.0,
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning):
        theirs.fit(X)
    assert_allclose(np.exp(ours.params.log_weight[0]), theirs.weights_, rtol=1e-6)
    assert_allclose(centre + unit * ours.params.mean[0], theirs.means_, rtol=1e-6, atol=1e-9)
    assert_allclose((unit * ours.params.scale[0]) ** 2, theirs.covariances_, rtol=1e-6)
    assert_allclose(rows.log_density(ours.params), theirs.score_samples(X), rtol=1e-7)


def test_the_fit_is_an_optimum_of_gaussian_mixture():
    X = overlapping()
    ours = LatentMixture(3, prior=None, tol=1e-10, max_iter=3000, random_state=0).fit(X)
    theirs = GaussianMixture(
        3, covariance_type="diag", reg_covar=0.0, tol=1e-10, max_iter=3000,
        weights_init=ours.weights_, means_init=ours.means_, precisions_init=ours.scales_**-2.0,
    ).fit(X)  # fmt: skip
    assert_allclose(ours.score(X), theirs.score(X), atol=1e-7)
    assert_allclose(ours.bic(X), theirs.bic(X), rtol=1e-7)
    assert_allclose(ours.aic(X), theirs.aic(X), rtol=1e-7)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)
    assert ours.score(X) >= GaussianMixture(
        3, covariance_type="diag", n_init=5, tol=1e-8, max_iter=2000, random_state=0
    ).fit(X).score(X) - 1e-4  # fmt: skip


def closed_form(X):
    """Log-likelihood of one Gaussian product at its maximum."""
    X = np.asarray(X, dtype=float)
    return -0.5 * len(X) * np.sum(np.log(2 * np.pi * X.var(axis=0)) + 1)


@pytest.mark.parametrize("search", SEARCHES)
def test_one_component_has_a_closed_form(search):
    X = load_dataset("iris", container="numpy").X
    model = LatentMixture(1, search, prior=None).fit(X)
    assert_allclose(model.log_likelihood_, closed_form(X), rtol=1e-10)
    assert_allclose(model.log_likelihood_, -741.0, atol=0.1)  # Davidson's Table 2: -741
    assert model.converged_


@pytest.mark.skipif("LATENTCLASS_DATA" not in os.environ, reason="needs LATENTCLASS_DATA")
@pytest.mark.parametrize(("name", "expected"), [("diabetes", -22986.7), ("breast-w", -15152.1)])
def test_one_component_on_the_papers_other_data(name, expected):
    X = load_dataset(name, container="pandas").X.astype(float)
    X = X.fillna(X.mean())
    model = LatentMixture(1, prior=None).fit(X.to_numpy())
    assert_allclose(model.log_likelihood_, closed_form(X), rtol=1e-10)
    assert_allclose(model.log_likelihood_, expected, atol=0.1)


# ------------------------------------------------------------------------------- searches


@pytest.mark.parametrize("search", SEARCHES)
def test_groups_far_apart_are_found(search):
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    group = rng.integers(0, 3, 300)
    model = LatentMixture(3, search, random_state=0).fit(rng.normal(centres[group]))
    order = np.lexsort((model.means_[:, 1], model.means_[:, 0].round()))
    assert_allclose(model.means_[order], [[0, 0], [0, 9], [9, 0]], atol=0.3)
    assert np.all(np.diff(model.weights_) <= 0)
    assert model.entropy_ > 0.98
    assert model.average_posterior_.min() > 0.99


def test_the_best_so_far_and_the_trace_are_kept():
    X = load_dataset("iris", container="numpy").X
    model = LatentMixture(4, "era", n_init=5, max_iter=80, random_state=0).fit(X)
    assert len(model.traces_) == 5
    assert all(len(trace) == 80 for trace in model.traces_)
    best = int(np.flatnonzero(model.restarts_["kept"])[0])
    assert_allclose(model.history_, np.maximum.accumulate(model.traces_[best]))
    assert model.history_[-1] == max(max(trace) for trace in model.traces_)
    assert np.any(np.diff(model.traces_[best]) < 0)
    assert model.converged_
    assert model.n_iter_ == 80


@pytest.mark.parametrize("search", ["kmeans", "era", "anneal", "mcem"])
def test_polish_climbs_from_there(search):
    X = load_dataset("iris", container="numpy").X
    rough = LatentMixture(4, search, max_iter=60, random_state=0).fit(X)
    smooth = clone(rough).set_params(polish=True, tol=1e-8, max_iter=500)
    smooth.set_params(search=search).fit(X)
    assert smooth.history_[-1] >= rough.history_[-1]
    assert np.all(np.diff(smooth.history_) >= -1e-9)
    again = LatentMixture(4, tol=1e-8, max_iter=500, n_init=30, random_state=0).fit(X)
    assert smooth.log_likelihood_ <= again.log_likelihood_ + 12.0


def test_all_starts_of_em_run_to_the_end_if_none_is_dropped():
    X = overlapping()
    dropping = LatentMixture(3, random_state=0).fit(X).restarts_
    assert not dropping["converged"].all()
    model = LatentMixture(3, drop_starts=False, random_state=0).fit(X)
    assert model.restarts_["converged"].all()
    assert model.restarts_["kept"].argmax() == model.restarts_["objective"].argmax()


def test_cold_annealing_is_kmeans():
    X = overlapping()
    cold = LatentMixture(3, "anneal", temperatures=(1e-9, 1e-9), n_init=1, random_state=0).fit(X)
    best = LatentMixture(3, "kmeans", n_init=1, random_state=0).fit(X)
    n = best.n_iter_
    assert_allclose(cold.traces_[0][:n], best.traces_[0], rtol=1e-10)
    assert_allclose(cold.traces_[0][n:], best.traces_[0][-1], rtol=1e-9)


def test_without_prior_no_component_stands_on_equal_values():
    rng = np.random.default_rng(2)
    for search, n_equal in (("em", 2), ("era", 15)):
        X = np.r_[np.zeros(n_equal), rng.normal(5, 2, 60)][:, None]
        model = LatentMixture(2, search, prior=None, n_init=20, random_state=0).fit(X)
        assert model.scales_.min() > 1e-3 * X.std()


def test_same_seed_same_result_for_any_number_of_jobs(table):
    for search in SEARCHES:
        one, two = (
            LatentMixture(3, search, max_iter=50, n_jobs=jobs, random_state=3).fit(table)
            for jobs in (1, 2)
        )
        assert one.traces_ == two.traces_


def test_a_stopped_search_warns(table):
    with pytest.warns(ConvergenceWarning, match=r'"em" was stopped at max_iter=2 after 2 iter'):
        LatentMixture(3, max_iter=2, tol=0.0, random_state=0).fit(table)


# ------------------------------------------------------------------------ number of components


@pytest.mark.parametrize("criterion", ["bic", "aic", "cv"])
def test_the_number_of_components_is_found(criterion):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(240, 2)) + 6.0 * rng.integers(0, 3, 240)[:, None]
    model = LatentMixture(range(1, 6), criterion=criterion, random_state=0).fit(X)
    assert sorted(model.criteria_) == [1, 2, 3, 4, 5]
    assert model.n_components_ == min(model.criteria_, key=model.criteria_.get)
    assert model.n_components_ == 3 if criterion == "bic" else model.n_components_ >= 3
    if criterion != "cv":
        assert_allclose(
            model.criteria_[model.n_components_], getattr(model, criterion)(X), rtol=1e-9
        )


def test_of_equal_criteria_the_fewest_components_are_kept():
    """One value alone: any mixture of it is the same, but for rounding."""
    X = np.full((12, 1), "a", dtype=object)
    model = LatentMixture(range(1, 6), criterion="cv", random_state=0).fit(X)
    assert_allclose(list(model.criteria_.values()), 0.0, atol=1e-12)
    assert model.n_components_ == 1


def test_held_out_folds_by_hand():
    """k = 1, where the folds' mixtures have closed forms: total weight is tested once."""
    X = np.random.default_rng(4).normal(size=(50, 1))
    model = LatentMixture([1, 2], criterion="cv", n_folds=5, prior=None, random_state=0).fit(X)
    # about the log-likelihood of 50 standard normal values, a little worse than in the sample
    inside = -2 * closed_form(X)
    assert inside < model.criteria_[1] < inside + 10


def test_parameters_are_counted():
    X = pd.DataFrame({"a": [1.0, 2, 4, 8], "b": list("xyzx"), "c": [True, False, True, True]})
    model = LatentMixture(2, random_state=0).fit(X.assign(constant=3.0))
    assert model.n_parameters_ == 1 + 2 * (2 + 2 + 1)


# ---------------------------------------------------------------------------- rows and columns


@pytest.mark.parametrize("search", SEARCHES)
def test_weight_two_is_the_row_twice_in_any_order(table, search):
    weight = np.random.default_rng(1).integers(1, 4, 120)
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(120), weight))
    model = LatentMixture(3, search, max_iter=60, random_state=0)
    weighted = clone(model).fit(table, sample_weight=weight)
    copied = clone(model).fit(table.iloc[rows])
    assert_allclose(weighted.predict_proba(table), copied.predict_proba(table), atol=1e-9)
    assert_allclose(weighted.log_likelihood_, copied.log_likelihood_, rtol=1e-11)


@pytest.mark.parametrize("search", SEARCHES)
def test_columns_units_and_constants_do_not_matter(table, search):
    model = LatentMixture(3, search, max_iter=60, random_state=0)
    expected = clone(model).fit(table).predict_proba(table)
    other = table[table.columns[::-1]].assign(weight=7e-3 * table["weight"] + 5, same=4.0, word="a")
    assert_allclose(clone(model).fit(other).predict_proba(other), expected, atol=1e-7)


def test_weight_zero_is_no_row(table):
    strange = table.iloc[:2].assign(town="Atlantis", height=1e9)
    both = pd.concat([table, strange], ignore_index=True)
    weight = np.r_[np.ones(120), 0, 0]
    model = LatentMixture(2, random_state=0)
    fitted = clone(model).fit(both, sample_weight=weight)
    assert "Atlantis" not in fitted.schema_.columns[3].categories
    expected = clone(model).fit(table).score_samples(table)
    assert_allclose(fitted.score_samples(table), expected, rtol=1e-12)


def test_frames_of_all_sorts_give_the_same(table):
    fitted = LatentMixture(2, random_state=0).fit(table)
    other = LatentMixture(2, random_state=0).fit(pl.from_pandas(table))
    assert_allclose(other.score_samples(pl.from_pandas(table)), fitted.score_samples(table))
    drawn, component = other.sample(7, random_state=0)
    assert isinstance(drawn, pl.DataFrame)
    assert drawn.shape == (7, 4)
    assert component.shape == (7,)


cells = st.one_of(st.sampled_from([0.0, 1.0, 7.5]), st.floats(-1e6, 1e6, width=32), st.just(np.nan))


@given(
    numbers=arrays(float, (10, 2), elements=cells),
    words=arrays(object, (10, 2), elements=st.sampled_from(["a", "b", None])),
    copies=st.integers(1, 3),
    k=st.integers(1, 14),
    search=st.sampled_from(SEARCHES),
    prior=st.sampled_from([None, 1.0]),
)
@settings(max_examples=120)
@pytest.mark.filterwarnings(
    "ignore:Columns .* have no value",
    "ignore:The search",
    "ignore::latentclass.exceptions.EmptyComponentWarning",
)
def test_any_table_gives_a_density(numbers, words, copies, k, search, prior):
    """Holes, duplicates, constant columns, more components than rows."""
    X = np.repeat(np.concatenate([numbers.astype(object), words], axis=1), copies, axis=0)
    model = LatentMixture(k, search, prior=prior, n_init=3, max_iter=25, random_state=0).fit(X)
    assert np.isfinite(model.score_samples(X)).all()
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert_allclose(model.weights_.sum(), 1.0)
    assert_allclose(model.score(X) * len(X), model.log_likelihood_, rtol=1e-8, atol=1e-8)
    if search != "em":
        assert np.all(np.diff(model.history_) >= 0) or prior is None
    hole = np.full((1, 4), None)
    assert_allclose(model.score_samples(hole), 0.0, atol=1e-12)


# --------------------------------------------------------------------------------------- verbs


def test_density_integrates_out_a_missing_number(table):
    model = LatentMixture(3, random_state=0).fit(table)
    row = table.iloc[[4]]
    grid = np.linspace(-15, 25, 4001)
    rows = pd.concat([row] * len(grid), ignore_index=True).assign(height=grid)
    density = np.exp(model.score_samples(rows))
    hidden = row.assign(height=np.nan)
    assert_allclose(trapezoid(density, grid), np.exp(model.score_samples(hidden)), rtol=1e-6)
    mean = trapezoid(density * grid, grid) / trapezoid(density, grid)
    assert_allclose(model.complete(hidden)["height"], [mean], rtol=1e-5)


def test_completion_fills_only_the_holes(table):
    model = LatentMixture(3, random_state=0).fit(table)
    for how in ("expected", "most_probable"):
        filled = model.complete(table, how=how)
        assert filled.notna().all(axis=None)
        seen = table.notna().to_numpy()
        before, after = (f.astype(object).to_numpy()[seen] for f in (table, filled))
        assert np.all(before == after)
    best = model.score_samples(model.complete(table, how="most_probable"))
    assert np.all(best >= model.score_samples(model.complete(table)) - 1e-9)


def test_samples_look_like_the_data(table):
    model = LatentMixture(3, random_state=0).fit(table)
    drawn, component = model.sample(4000, random_state=1)
    assert list(drawn.columns) == list(table.columns)
    assert_allclose(np.bincount(component) / 4000, model.weights_, atol=0.03)
    assert_allclose(drawn["height"].mean(), table["height"].mean(), atol=0.25)
    assert_allclose((drawn["town"] == "Oslo").mean(), (table["town"] == "Oslo").mean(), atol=0.08)
    again, _ = model.sample(4000, random_state=1)
    pd.testing.assert_frame_equal(drawn, again)


def test_entropy_and_average_posterior_by_hand(table):
    model = LatentMixture(3, random_state=0).fit(table)
    posterior = model.predict_proba(table)
    entropy = -sum(p * np.log(p) for row in posterior for p in row if p > 0)
    assert_allclose(model.entropy_, 1 - entropy / (120 * np.log(3)), rtol=1e-9)
    own = posterior.argmax(axis=1)
    expected = [posterior[own == k, k].mean() for k in range(3)]
    assert_allclose(model.average_posterior_, expected, rtol=1e-9)
    assert_array_equal(model.predict(table), own)
    assert_array_equal(clone(model).fit_predict(table), own)
    assert LatentMixture().fit(table).entropy_ == 1.0


def test_a_fixed_size_that_leaves_components_empty_warns_once():
    equal = pd.DataFrame({"a": [1.0] * 30 + [2.0] * 30, "c": ["u"] * 30 + ["v"] * 30})
    message = (
        "The rows belong most probably to only 2 of the 6 components; the rest are empty. Use "
        "n_components=2, or n_components=range(1, 7) to let the criterion choose."
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LatentMixture(6, random_state=0).fit(equal)
    assert [(one.category, str(one.message)) for one in caught] == [
        (EmptyComponentWarning, message)
    ]
    assert caught[0].filename == __file__
    assert (model.n_components_, model.n_occupied_) == (6, 2)
    assert_array_equal(model.average_posterior_[2:], 0.0)
    assert_allclose(model.average_posterior_[:2], model.predict_proba(equal)[[0, 30]].max(axis=1))
    chosen = LatentMixture(range(1, 7), random_state=0).fit(equal)  # warnings are errors here
    assert (chosen.n_components_, chosen.n_occupied_) == (2, 2)


def test_categories_have_probabilities(table):
    model = LatentMixture(1, alpha=0.0).fit(table)
    towns = table["town"].value_counts(normalize=True)
    assert_allclose(model.probabilities_["town"][0], towns.sort_index(), rtol=1e-9)


# ------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        *(
            (
                {"n_components": k},
                f"n_components={k!r} must be a whole number of at least 1, or several of them to "
                "try, such as range(1, 6).",
            )
            for k in (0, [2, 0.5], "auto", None, True)
        ),
        (
            {"n_components": []},
            "n_components is empty: pass a number of components, or several to try.",
        ),
        ({"search": "sem"}, "search='sem' must be one of 'em', 'kmeans', 'era', 'anneal', 'mcem'."),
        ({"criterion": "dic"}, "criterion='dic' must be one of 'bic', 'aic', 'cv'."),
        ({"n_folds": 1}, "n_folds=1 must be a whole number of at least 2."),
        *(
            (
                {"temperatures": value},
                f"temperatures={value!r} must be two numbers above 0: the first and the last "
                "temperature.",
            )
            for value in (3.0, (1.0, 0.0), (-1, 0.1), "ab")
        ),
        ({"prior": -1.0}, "prior=-1.0 must be a number of at least 0, or None."),
        ({"n_init": 0}, "n_init=0 must be a whole number of at least 1."),
        ({"polish": 1}, "polish=1 must be one of True, False."),
        (
            {"handle_unknown": "drop"},
            "handle_unknown='drop' must be one of 'missing', 'error', 'smooth'.",
        ),
        ({"verbose": -1}, "verbose=-1 must be a number of at least 0."),
        ({"n_jobs": 0}, "n_jobs=0 has no meaning: use None, 1 or more, or -1 for all cores."),
        ({"n_jobs": "a"}, "n_jobs='a' must be a whole number."),
        ({"n_jobs": 1.5}, "n_jobs=1.5 must be a whole number."),
    ],
)
def test_parameters_that_make_no_sense_are_refused(table, parameters, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        LatentMixture(**parameters).fit(table)


def test_sparse_tables_and_wrong_weights_are_refused(table):
    with pytest.raises(TypeError, match=r"LatentMixture needs a dense table: pass X.toarray\(\)"):
        LatentMixture().fit(sp.csr_array(np.eye(3)))
    with pytest.raises(ValueError, match=r"sample_weight\[1\] is -1; weights must be finite"):
        LatentMixture().fit(table, sample_weight=np.r_[1.0, -1.0, np.ones(118)])
    with pytest.raises(ValueError, match="X has 120 rows, but there are 7 weights"):
        LatentMixture().fit(table, sample_weight=np.ones(7))
    with pytest.raises(ValueError, match="how='guess' must be one of"):
        LatentMixture().fit(table).complete(table, how="guess")


@pytest.mark.parametrize("how", ["expected", "most_probable"])
def test_an_impossible_row_is_filled_like_one_without_any_cell(how):
    X = pd.DataFrame({"letter": list("pq") * 10, "word": list("uv") * 10, "size": [0.0, 9.0] * 10})
    model = LatentMixture(2, alpha=0.0, random_state=0).fit(X)
    rows = pd.DataFrame({"letter": ["p", None], "word": ["v", None], "size": [np.nan, np.nan]})
    assert np.isneginf(model.score_samples(rows)).tolist() == [True, False]
    filled = model.complete(rows, how=how)
    assert filled["size"].iloc[0] == filled["size"].iloc[1]


def test_numbers_that_would_overflow_are_refused():
    with pytest.raises(ValueError, match=r"^Column 'x1' holds numbers beyond 1e\+205"):
        LatentMixture(2).fit([[0.0, 1.7e308], [1.0, 0.0], [2.0, 1.0]])


def test_transform_gives_the_probability_of_each_component(table):
    model = LatentMixture(3, random_state=0).fit(table)
    values = model.transform(table)
    assert_array_equal(values, model.predict_proba(table))
    assert_allclose(values.sum(axis=1), 1.0)
    names = model.get_feature_names_out()
    assert list(names) == [f"latentmixture_component{k}" for k in range(3)]
    framed = model.set_output(transform="pandas").transform(table)
    pd.testing.assert_frame_equal(framed, pd.DataFrame(values, columns=names, index=table.index))
    assert type(model.predict_proba(table)) is np.ndarray
    model.set_output(transform="default")
    assert_array_equal(clone(model).fit_transform(table), values)
