"""How far new rows have moved: distances, tests and counts against hand calculation and scipy."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from latentclass import LatentMixture, drift
from latentclass.exceptions import TableWarning
from latentclass.monitoring import _drift
from latentclass.monitoring._drift import (
    _compare_levels,
    _compare_numbers,
    chi_square,
    worth_of_draws,
)
from latentclass.monitoring._summary import ColumnDrift, DriftSummary, correct_by_holm
from plain import NaiveBayes


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    group = np.arange(300) % 2
    X = pd.DataFrame(
        {
            "size": rng.normal(3.0 * group),
            "weight": rng.normal(size=300),
            "town": np.where(rng.random(300) < 0.3 + 0.4 * group, "Oslo", "Rome"),
            "band": np.array(["I", "II", "III"])[rng.integers(0, 3, 300)],
        }
    )
    return X, np.array(["<low>", "high"])[group]


@pytest.fixture(scope="module")
def model(table):
    return NaiveBayes(random_state=0).fit(*table)


def test_rows_of_the_model_have_not_moved(model):
    drawn, _ = model.sample(1000, random_state=5)
    found = drift(model, drawn)
    assert found.moved() == []
    assert (found.n_rows, found.n_judged, found.n_reference) == (1000, 1000, 10_000)
    assert found.against == "model"
    assert abs(found.unusual - 0.05) < 0.02
    assert found.expected_unusual == 0.05
    assert found.unusual_p_value > 0.01
    assert found.class_distance < 0.05
    assert max(column.distance for column in found.columns) < 0.06


def test_p_values_are_uniform_if_nothing_has_moved(monkeypatch):
    """One column, so that no correction is needed; 150 small tables against one of many rows."""
    monkeypatch.setattr(_drift, "N_DRAWN", 5000)
    monkeypatch.setattr(_drift, "N_DRAWS", 50)
    rng = np.random.default_rng(0)
    model = NaiveBayes().fit(rng.normal(size=(20_000, 1)), np.arange(20_000) % 2)
    p = [
        drift(model, rng.normal(size=(100, 1)), random_state=seed).columns[0].p_value
        for seed in range(150)
    ]
    assert stats.kstest(p, "uniform").pvalue > 0.02


def test_the_column_that_moved_is_named(model, table):
    X, _ = table
    found = drift(model, X.assign(weight=X["weight"] + 1.0))
    assert found.moved() == ["weight"]
    moved = found.columns[1]
    # two Gaussians one standard deviation apart
    assert_allclose(moved.distance, 2 * stats.norm.cdf(0.5) - 1, atol=0.06)
    assert moved.change == f"mean {moved.change.split()[1]} -> {X['weight'].mean() + 1:.4g}"
    far = drift(model, X.assign(weight=X["weight"] + 9.0))
    assert far.unusual == 1.0
    assert found.unusual == np.mean(model.unusual(X.assign(weight=X["weight"] + 1.0)) <= 0.05)
    assert far.unusual_p_value < 1e-6


def test_against_reference_rows(model, table):
    X, _ = table
    new = X.assign(
        size=X["size"] + 0.5, town=np.where(np.arange(300) < 60, "Oslo", X["town"])
    ).iloc[:200]
    new.loc[new.index[:50], "band"] = None
    found = drift(model, new, reference=X)
    assert found.against == "reference"
    assert found.n_reference == 300
    by_name = {column.name: column for column in found.columns}
    raw = [
        *(
            stats.kstwobign.sf(stats.ks_2samp(new[name], X[name]).statistic * np.sqrt(120))
            for name in ("size", "weight")
        ),
        stats.chi2_contingency(
            [[np.sum(t["town"] == v) for v in ("Oslo", "Rome")] for t in (new, X)], correction=False
        ).pvalue,
        stats.chi2_contingency(
            [[np.sum(t["band"] == v) for v in ("I", "II", "III")] for t in (new, X)],
            correction=False,
        ).pvalue,
    ]
    assert_allclose([column.p_value for column in found.columns], correct_by_holm(raw))
    share = [np.mean(t["town"] == "Oslo") for t in (new, X)]
    assert_allclose(by_name["town"].distance, abs(share[0] - share[1]))
    assert by_name["town"].change in (
        f"Oslo {100 * share[1]:.1f} % -> {100 * share[0]:.1f} %",
        f"Rome {100 - 100 * share[1]:.1f} % -> {100 - 100 * share[0]:.1f} %",
    )
    assert (by_name["band"].missing, by_name["band"].expected_missing) == (0.25, 0.0)
    expected = [model.predict_proba(t).mean(axis=0) for t in (X, new)]
    assert_allclose(list(found.classes.values()), np.transpose(expected))
    assert_allclose(found.class_distance, abs(expected[0] - expected[1]).sum() / 2)
    assert "25.0 % (0.0 %)" in str(found)
    assert drift(model, X, reference=X).moved() == []


@pytest.mark.parametrize("handle_unknown", ["missing", "error"])
def test_unseen_categories_are_counted_and_are_no_missing_cells(table, handle_unknown):
    X, y = table
    model = NaiveBayes(handle_unknown=handle_unknown).fit(X, y)
    new = X.copy()
    new.loc[:29, "town"] = "Bonn"
    new.loc[30:32, "town"] = "<Wien>"
    new.loc[290:, "town"] = None
    found = drift(model, new)
    town = found.columns[2]
    assert (town.unseen, town.unseen_values) == (33, {"Bonn": 30, "<Wien>": 3})
    assert_allclose(town.missing, 10 / 300)
    assert town.expected_missing is None
    assert found.moved() == ["town"]
    assert town.distance >= 33 / 290
    assert "not seen in fit, town: Bonn (30), <Wien> (3)" in str(found).splitlines()
    assert model.handle_unknown == handle_unknown


def test_columns_without_cells(model, table):
    X, _ = table
    found = drift(model, X.assign(weight=np.nan, band=None))
    for column in (found.columns[1], found.columns[3]):
        assert np.isnan(column.distance)
        assert np.isnan(column.p_value)
        assert column.missing == 1.0
        assert column.change == "no cells to compare"
    assert {line.split()[0] for line in str(found).splitlines()[4:6]} == {"weight", "band"}
    plain = found.to_dict()
    assert plain["columns"][1]["distance"] is None
    json.dumps(plain, allow_nan=False)


def test_text_html_frame_and_dict(model, table):
    X, _ = table
    found = drift(model, X.assign(size=X["size"] + 2))
    lines = str(found).splitlines()
    assert lines[0] == (
        "300 new rows against 10,000 rows drawn from the model: 1 of 4 columns have moved "
        "(p <= 0.01)"
    )
    assert lines[1].split() == ["column", "distance", "p-value", "missing", "unseen", "change"]
    assert lines[2].startswith("size ")
    assert lines[6].startswith("predicted shares, expected and new: ")
    assert lines[7].startswith("unusual rows (p <= 0.05): ")
    html = found._repr_html_()
    assert "&lt;low&gt;" in html
    assert "<low>" not in html
    frame = found.to_frame()
    assert frame["name"].tolist() == list(X)
    assert frame["distance"].tolist() == [column.distance for column in found.columns]
    plain = found.to_dict()
    assert plain["classes"]["high"]["found"] == found.classes["high"][1]
    assert json.loads(json.dumps(plain)) == plain


def test_many_columns_and_classes_are_counted():
    one = ColumnDrift("x", "continuous", 0.1, 0.5, 0.0, None, 0, {}, "")
    found = DriftSummary(
        (one,) * 23, {str(k): (0.1, 0.1) for k in range(10)}, 0.0, 0.0, 0.05, 1.0, 9, 9, 9, "model"
    )
    lines = str(found).splitlines()
    assert lines[22] == "... and 3 more columns"
    assert lines[23].endswith(", and 2 more")


def test_many_rows_are_judged_by_a_sample(model, monkeypatch):
    monkeypatch.setattr(_drift, "MOST_JUDGED", 50)
    drawn, _ = model.sample(400, random_state=0)
    found = drift(model, drawn)
    assert (found.n_rows, found.n_judged) == (400, 50)
    assert drift(model, drawn) == found
    assert drift(model, drawn, random_state=1) != found


def test_all_containers_and_kinds_of_model(table):
    X, y = table
    numbers = X[["size", "weight"]]
    by_frame = drift(NaiveBayes().fit(numbers, y), numbers + 1)
    by_array = drift(NaiveBayes().fit(numbers.to_numpy(), y), numbers.to_numpy() + 1)
    assert [c.distance for c in by_frame.columns] == [c.distance for c in by_array.columns]
    by_polars = drift(NaiveBayes().fit(pl.from_pandas(numbers), y), pl.from_pandas(numbers) + 1)
    assert by_polars == by_frame
    bits = sp.csr_array((np.random.default_rng(0).random((300, 3)) < 0.3).astype(float))
    sparse = NaiveBayes(categorical_features=[0, 1, 2]).fit(bits, y)
    assert drift(sparse, bits).moved() == []
    flipped = bits.toarray()
    flipped[:, 1] = 1 - flipped[:, 1]
    assert drift(sparse, sp.csr_array(flipped)).moved() == ["x1"]
    mixture = LatentMixture(2, random_state=0).fit(X)
    found = drift(mixture, X)
    assert list(found.classes) == ["0", "1"]
    assert found.moved() == []
    search = GridSearchCV(NaiveBayes(), {"alpha": [1.0]}, cv=2).fit(X, y)
    assert drift(search, X).moved() == []


def test_models_of_others_and_unfitted_ones_are_refused(table):
    message = (
        "drift needs a fitted classifier or LatentMixture of latentclass, got LogisticRegression. "
        "For a pipeline, pass its last step and the rows it receives."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        drift(LogisticRegression(), table[0])
    with pytest.raises(NotFittedError):
        drift(NaiveBayes(), table[0])


def test_a_column_that_is_lacking_counts_as_missing(table):
    model = NaiveBayes().fit(*table)
    with pytest.warns(TableWarning, match=r"X lacks 1 of the 4 columns seen in fit: \['band'\]"):
        found = drift(model, table[0].drop(columns="band"))
    hidden = drift(model, table[0].assign(band=None))
    assert found.to_dict() == hidden.to_dict()


# ----------------------------------------------------------------------- the tests


def test_numbers_by_hand():
    found = _compare_numbers(np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.5, 4.5, 5.5, 6.5]), 1.0)
    assert found.distance == 0.75  # three of four lie below 3.5
    assert found.change == "mean 5 -> 2.5"
    assert_allclose(found.p_value, stats.kstwobign.sf(0.75 * np.sqrt(2)))


def test_levels_by_hand():
    found = _compare_levels(np.array([10, 30, 0]), np.array([50, 50, 0]), ["a", "b", "new"], 1.0)
    assert found.distance == 0.25
    assert found.change == "a 50.0 % -> 25.0 %"
    # pooled share of a: 60 of 140
    a, b = 60 / 140, 80 / 140
    chi2 = sum((o - e) ** 2 / e for o, e in ((10, 40 * a), (30, 40 * b), (50, 100 * a),
                                             (50, 100 * b)))  # fmt: skip
    assert_allclose(found.p_value, stats.chi2.sf(chi2, 1))
    # 3 of 40 cells are new, none of 100: hypergeometric; the other test says less
    found = _compare_levels(np.array([20, 17, 3]), np.array([50, 50, 0]), ["a", "b", "new"], 1.0)
    assert_allclose(found.p_value, 2 * stats.hypergeom.sf(2, 140, 3, 40))
    assert_allclose(found.distance, 3 / 40)
    only = _compare_levels(np.array([0, 0, 3]), np.array([50, 50, 0]), ["a", "b", "new"], 1.0)
    assert_allclose(only.p_value, 2 / (103 * 102 * 101 / 6))


def test_a_model_of_few_rows_knows_little():
    """The mean of 40 training rows and 10,000 drawn ones varies as that of 1 / (1/40 + 1e-4)."""
    assert_allclose(10_000 * worth_of_draws(10_000, 40), 1 / (1 / 40 + 1e-4))
    assert worth_of_draws(10_000, None) == 1.0
    new, expected = np.array([20, 20, 0]), np.array([60, 40, 0])
    found = _compare_levels(new, expected, ["a", "b", "new"], 0.5)
    whole = stats.chi2_contingency([[20, 20], [30, 20]], correction=False)
    assert_allclose(found.p_value, whole.pvalue)
    half = _compare_numbers(np.arange(4.0), np.arange(2.0, 10.0), 0.5)
    assert_allclose(half.p_value, stats.kstwobign.sf(half.distance * np.sqrt(2)))


def test_new_rows_like_those_of_fit_have_not_moved(monkeypatch):
    """Not even if there are many of them, and few to learn from."""
    monkeypatch.setattr(_drift, "N_DRAWS", 9)
    monkeypatch.setattr(_drift, "MOST_JUDGED", 10)
    rng = np.random.default_rng(0)
    p = []
    for _ in range(100):
        X = pd.DataFrame({"x": rng.normal(size=2040), "a": rng.choice(list("uvw"), 2040)})
        model = NaiveBayes().fit(X[:40], np.arange(40) % 2)
        p.append([column.p_value for column in drift(model, X[40:]).columns])
    assert np.mean(np.array(p).min(axis=1) <= 0.05) <= 0.1
    assert np.mean(np.array(p).min(axis=1) <= 0.3) > 0.02  # and the test is not blind


def test_rare_levels_are_joined():
    """The rarest are joined until five are expected in the smaller table, here of 100 rows."""
    new, expected = np.array([40, 3, 3, 0, 54]), np.array([400, 30, 30, 0, 540])
    joined = [[40, 6, 54], [400, 60, 540]]
    p_value = stats.chi2_contingency(joined, correction=False).pvalue
    assert_allclose(chi_square(new, expected), p_value)
    new = np.array([40, 1, 9, 0, 50])
    joined = [[40, 10, 50], [400, 60, 540]]
    p_value = stats.chi2_contingency(joined, correction=False).pvalue
    assert_allclose(chi_square(new, expected), p_value)
    assert chi_square(np.array([2, 1]), np.array([100, 3])) == 1.0
    assert chi_square(np.array([5, 0]), np.array([500, 0])) == 1.0


def test_rare_levels_do_not_make_p_values_too_small():
    rng = np.random.default_rng(0)
    shares = np.array([0.6, 0.3, 0.05, 0.02, 0.02, 0.01])
    p = [
        chi_square(rng.multinomial(80, shares), rng.multinomial(2000, shares)) for _ in range(2000)
    ]
    for level in (0.01, 0.05, 0.2):
        assert np.mean(np.array(p) <= level) < level + 2.5 * np.sqrt(level / 2000)


def test_holm_by_hand():
    found = correct_by_holm([0.01, 0.04, np.nan, 0.03, 0.9])
    assert_allclose(found, [0.04, 0.09, np.nan, 0.09, 0.9])
    assert correct_by_holm([0.6, 0.7]) == [1.0, 1.0]
    assert correct_by_holm([]) == []
