"""The search for the most probable levels, on a function whose best places are known."""

import itertools

import numpy as np
import pytest

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
