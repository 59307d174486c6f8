"""Latent variables, samples, completion and explanation, for every generative classifier."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from rules import number_grid
from scipy.integrate import trapezoid
from scipy.special import logsumexp
from sklearn.base import clone

from estimators import CLASSIFIERS
from latentclass.baselines import NaiveBayes

NEED_ALPHA = {"K2", "AODE", "HiddenNaiveBayes"}
"""Classifiers that are not defined without smoothing, and refuse alpha=0."""

NEVER_IMPOSSIBLE = {"BinaryLCMClassifier", "BinaryLCMClassifierCV", "HybridLCMClassifier"}
"""Classifiers in which every category has some probability, as log-odds are finite."""

UNSMOOTHED = {}


@pytest.fixture(
    params=[one for one in CLASSIFIERS if type(one).__name__ not in NEED_ALPHA],
    ids=lambda model: type(model).__name__,
)
def unsmoothed(request):
    """Fitted without smoothing on classes that never share a letter, a sign or a word."""
    name = type(request.param).__name__
    if name not in UNSMOOTHED:
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1, 2], 12)
        X = pd.DataFrame(
            {
                "letter": np.array(list("pqr"))[y],
                "sign": np.array(list("xyz"))[y],
                "word": np.array(list("uvw"))[y],
                "size": rng.normal(y),
            }
        )
        model = clone(request.param)
        if name == "AutoLatentClassifier":
            model.families = {"NaiveBayes": NaiveBayes(alpha=0.0)}
        else:
            model.set_params(alpha=0.0)
        UNSMOOTHED[name] = model.fit(X, y)
    return UNSMOOTHED[name]


def test_transform_is_named_and_sums_up(model, fitted, table):
    X, y = table
    values = fitted.transform(X)
    names = fitted.get_feature_names_out()
    assert values.shape == (80, len(names))
    assert all(name.startswith(type(model).__name__.lower() + "_") for name in names)
    framed = clone(model).set_output(transform="pandas").fit(X, y).transform(X)
    assert list(framed.columns) == list(names)
    assert_allclose(framed, values)


def test_samples_look_like_the_data(fitted, table):
    X, _ = table
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


def test_samples_of_a_class(fitted):
    assert set(fitted.sample(5, y="mid")[1]) == {"mid"}
    assert fitted.sample(2, y=["top", "low"])[1].tolist() == ["top", "low"]
    with pytest.raises(ValueError, match="y holds 'huge', which is not a class"):
        fitted.sample(2, y="huge")
    with pytest.raises(ValueError, match="y has 2 labels for 3 rows"):
        fitted.sample(3, y=["top", "low"])
    with pytest.raises(ValueError, match="n_samples=0 must be a whole number of at least 1"):
        fitted.sample(0)
    with pytest.raises(ValueError, match=r"is too large: pass at most 1,000,000,000\.$"):
        fitted.sample(10**30)


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_samples_come_in_the_container_of_fit(model, table, convert):
    X, y = table
    fitted = model.fit(convert(X), y)
    drawn, _ = fitted.sample(10)
    assert type(drawn) is type(convert(X))
    fitted.predict(drawn)


@pytest.mark.parametrize("how", ["expected", "most_probable"])
def test_completion_fills_only_the_holes(fitted, table, how):
    X, _ = table
    filled = fitted.complete(X, how=how)
    assert filled.notna().all(axis=None)
    assert filled.index.equals(X.index)
    seen = X.notna().to_numpy()
    before, after = (frame.astype(object).to_numpy()[seen] for frame in (X, filled))
    assert np.all(before == after)
    assert fitted.predict(filled).shape == (80,)


def test_expected_category_is_the_most_probable_given_the_rest(fitted, table):
    X, _ = table
    rows = X.iloc[:20].assign(band=None)
    levels = list(fitted.schema_.columns[4].categories)
    by_level = np.stack([fitted.score_samples(rows.assign(band=v)) for v in levels])
    filled = fitted.complete(rows)
    assert filled["band"].tolist() == [levels[i] for i in by_level.argmax(axis=0)]


def test_expected_number_is_the_mean_given_the_rest(fitted, table):
    X, _ = table
    row = X.iloc[[3]]
    grid = number_grid(fitted, "height")
    rows = pd.concat([row] * len(grid), ignore_index=True).assign(height=grid)
    density = np.exp(fitted.score_samples(rows))
    mean = trapezoid(density * grid, grid) / trapezoid(density, grid)
    filled = fitted.complete(row.assign(height=np.nan))
    assert_allclose(filled["height"].iloc[0], mean, rtol=1e-4)


def test_most_probable_completion_is_the_best_of_all(fitted, table):
    X, _ = table
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


@pytest.mark.usefixtures("proper")
def test_probabilities_are_those_of_all_ways_to_fill_the_row(fitted, table):
    X, _ = table
    rows = X.iloc[:6].assign(band=None, town=None)
    found = fitted.complete(rows, how="probability")
    bands = list(fitted.schema_.columns[4].categories)
    # P(band, town | rest) by the density of every row that could be meant
    ways = [(band, town) for band in bands for town in ("Oslo", "Rome")]
    joint = np.stack([fitted.score_samples(rows.assign(band=b, town=t)) for b, t in ways])
    joint = np.exp(joint - joint.max(axis=0)).reshape(4, 2, 6)
    joint /= joint.sum(axis=(0, 1))
    assert_allclose(found["town"], joint.sum(axis=0)[1], rtol=1e-5)
    assert_allclose(found[[f"band={band}" for band in bands]].T, joint.sum(axis=1), rtol=1e-5)
    assert_allclose(found[[f"band={band}" for band in bands]].sum(axis=1), 1.0)
    assert found.index.equals(X.index[:6])
    assert list(found)[:4] == ["height", "weight", "happy", "town"]
    seen = rows["happy"].notna()
    assert_allclose(found["happy"][seen], rows["happy"][seen].astype(float), atol=1e-12)
    assert_allclose(found["height"], fitted.complete(rows)["height"])


@pytest.mark.filterwarnings("ignore:Columns .* repeat the labels")
@pytest.mark.parametrize("how", ["expected", "most_probable"])
def test_an_impossible_row_is_filled_like_one_without_any_cell(unsmoothed, how):
    """Without smoothing, a category that a class never had is impossible in it."""
    rows = pd.DataFrame(
        {
            "letter": ["p", None, None, None],
            "sign": ["z", "x", None, None],
            "word": [None, "w", None, "u"],
            "size": [np.nan, np.nan, np.nan, 1.0],
        }
    )
    filled = unsmoothed.complete(rows, how=how)
    assert not filled.isna().any(axis=None)
    impossible = np.isneginf(unsmoothed.score_samples(rows))
    if type(unsmoothed).__name__ in NEVER_IMPOSSIBLE:
        assert not impossible.any()
        return
    assert impossible.tolist() == [True, True, False, False]
    holes = rows.iloc[:2].isna()
    blank = pd.concat([filled.iloc[[2]]] * 2).set_axis([0, 1])
    pd.testing.assert_frame_equal(filled.iloc[:2].where(holes), blank.where(holes))


def test_unknown_how_is_refused(fitted, table):
    with pytest.raises(ValueError, match="how='guess' must be one of 'expected', 'most_probable'"):
        fitted.complete(table[0], how="guess")


def test_weight_of_evidence_is_the_change_in_log_odds(fitted, table):
    """As it is found column by column, with holes, a temperature, priors and classes given."""
    X, _ = table
    rows = X.iloc[5:15].copy()
    rows.iloc[3] = None
    rows.iloc[4, 0] = 40.0  # unlike anything in fit
    fitted.temperature_ = 1.7
    asked = np.resize(fitted.classes_, len(rows))
    priors = dict(zip(fitted.classes_.tolist(), (0.5, 0.2, 0.3), strict=True))

    def log_odds(data):
        log_p = fitted.predict_log_proba(data, priors=priors)
        own = fitted.classes_ == asked[:, None]
        return log_p[own] - logsumexp(np.where(own, -np.inf, log_p), axis=1)

    told = fitted.explain(rows, y=asked, priors=priors)
    assert told.target.tolist() == asked.tolist()
    assert told.feature_names == list(X.columns)
    assert_allclose(told.log_odds, log_odds(rows), rtol=1e-9, atol=1e-9)
    for j, name in enumerate(X.columns):
        expected = log_odds(rows) - log_odds(rows.assign(**{name: None}))
        assert_allclose(told.weights[:, j], expected, rtol=1e-9, atol=1e-9)
        assert np.all(told.weights[rows[name].isna(), j] == 0.0)


def test_explain_does_not_ask_column_by_column(fitted, table, monkeypatch):
    family, calls = type(fitted._model), []
    answer = family.log_likelihood
    monkeypatch.setattr(
        family, "log_likelihood", lambda model, block: calls.append(1) or answer(model, block)
    )
    fitted.explain(table[0])
    assert len(calls) <= 3  # the rows, their copies, and their copies by the rules of HNB


def test_explanations_name_the_predicted_classes_and_the_rows(fitted, table):
    rows = table[0].iloc[5:15]
    default = fitted.explain(rows)
    assert default.target.tolist() == fitted.predict(rows).tolist()
    frame = default.to_frame()
    assert list(frame.columns) == ["target", *rows.columns]
    assert list(frame.index) == list(range(5, 15))
    assert str(default).startswith(f"row 5: {default.target[0]} with log-odds")
