"""The search for the most probable levels, on a function whose best places are known."""

import itertools

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from latentclass.baselines import NaiveBayes
from latentclass.estimator import _completion
from latentclass.estimator._completion import best_levels

N_LEVELS = np.array([2, 3, 1, 2, 4, 2])


@pytest.fixture
def height():
    """A function of rows and codes in which the cells pull at each other."""
    rng = np.random.default_rng(0)
    pulls = rng.normal(size=(12, 6, 4, 6, 4))

    def measure(rows, codes):
        places = np.arange(6)
        return np.array(
            [
                pulls[r][places[:, None], c[:, None], places, c].sum()
                for r, c in zip(rows, codes, strict=True)
            ]
        )

    return measure


@pytest.fixture
def hidden():
    return np.random.default_rng(1).random((12, 6)) < 0.7


START = np.zeros((12, 6), dtype=np.int32)


def ways(row_hidden):
    """All rows that differ from the start in hidden cells only."""
    levels = [range(n) if h else [0] for n, h in zip(N_LEVELS, row_hidden, strict=True)]
    return np.array(list(itertools.product(*levels)), dtype=np.int32)


def test_few_ways_are_all_tried(height, hidden, monkeypatch):
    monkeypatch.setattr(_completion, "BATCH", 7)
    found = best_levels(height, START, hidden, N_LEVELS)
    for r, row in enumerate(found):
        every = ways(hidden[r])
        values = height(np.full(len(every), r), every)
        assert row.tolist() == every[values.argmax()].tolist()


def test_of_many_ways_no_change_of_one_cell_improves_the_one_found(height, hidden, monkeypatch):
    monkeypatch.setattr(_completion, "MOST_WAYS", 1)
    monkeypatch.setattr(_completion, "BATCH", 3)
    found = best_levels(height, START, hidden, N_LEVELS)
    assert np.all(found[~hidden] == 0)
    reached = height(np.arange(12), found)
    assert np.all(reached >= height(np.arange(12), START))
    assert reached.sum() > height(np.arange(12), START).sum()
    for r, row in enumerate(found):
        near = [way for way in ways(hidden[r]) if (way != row).sum() == 1]
        assert np.all(height(np.full(len(near), r), near) <= reached[r] + 1e-8)


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas, pd.DataFrame])
def test_probabilities_come_in_the_container_of_the_table(convert):
    X = pd.DataFrame({"n": [1.0, 2.0, 3.0] * 4, "c": list("abcc") * 3, "d": list("xy") * 6})
    model = NaiveBayes().fit(convert(X), [0, 1] * 6)
    X.loc[0, "c"] = None
    found = model.complete(convert(X), how="probability")
    assert type(found) is type(convert(X))
    assert [str(name) for name in nw.from_native(found).columns] == ["n", "c=a", "c=b", "c=c", "d"]
    rows = np.asarray(nw.from_native(found).to_numpy())
    assert rows[1].tolist() == [2.0, 0.0, 1.0, 0.0, 1.0]
    assert 0.0 < rows[0, 1] < 1.0


def test_of_one_category_none_is_the_second_and_of_none_nothing_is_known():
    X = pd.DataFrame({"one": ["a", None, "a", "a"], "none": [None] * 4})
    with pytest.warns(UserWarning, match="have no value in any row"):
        model = NaiveBayes(categorical_features=["one", "none"]).fit(X, [0, 1, 1, 0])
    found = model.complete(X, how="probability")
    assert found["one"].tolist() == [0.0] * 4
    assert found["none"].isna().all()


def test_probabilities_of_arrays_are_arrays_and_names_must_differ():
    X = np.array([[0.0, 1.0], [1.0, np.nan], [1.0, 0.0], [0.0, 1.0]])
    model = NaiveBayes(categorical_features=[0, 1], alpha=0.0).fit(X, [0, 1, 1, 0])
    # in class 1 the second column is always 0
    assert model.complete(X[1:2], how="probability").tolist() == [[1.0, 0.0]]
    frame = pd.DataFrame({"c": list("abc") * 2, "c=a": [1.0, 2.0, 3.0] * 2})
    with pytest.raises(ValueError, match="Two columns of the result would be named 'c=a'"):
        NaiveBayes().fit(frame, [0, 1] * 3).complete(frame, how="probability")
    with pytest.raises(TypeError, match="complete needs a dense table"):
        model.complete(sp.csr_array(np.eye(2)), how="probability")
