"""Computed and bundled sets, against their definitions written out the slow way."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from latentclass.datasets import load_dataset
from latentclass.datasets._generate import waveform


def rows(name):
    data = load_dataset(name, container="numpy")
    return [(*x, y) for x, y in zip(data.X, data.y, strict=True)]


def test_balance_scale_is_the_torque_rule():
    expected = []
    for lw, ld, rw, rd in product(range(1, 6), repeat=4):
        side = "L" if lw * ld > rw * rd else "R" if lw * ld < rw * rd else "B"
        expected.append((lw, ld, rw, rd, side))
    assert rows("balance-scale") == expected
    assert Counter(load_dataset("balance-scale").y) == {"L": 288, "R": 288, "B": 49}


def test_corral_has_every_combination_four_times_and_one_wrong_bit():
    found = Counter(rows("corral"))
    assert sum(found.values()) == 128
    for a0, a1, b0, b1, irrelevant in product("01", repeat=5):
        y = "1" if (a0 == a1 == "1") or (b0 == b1 == "1") else "0"
        wrong = "0" if y == "1" else "1"
        assert found[(a0, a1, b0, b1, irrelevant, y, y)] == 3
        assert found[(a0, a1, b0, b1, irrelevant, wrong, y)] == 1


@pytest.mark.parametrize(
    ("concept", "rule"),
    [
        (1, lambda a: a[0] == a[1] or a[4] == 1),
        (2, lambda a: sum(value == 1 for value in a) == 2),
        (3, lambda a: (a[4] == 3 and a[3] == 1) or (a[4] != 4 and a[1] != 3)),
    ],
)
def test_monks_test_halves_are_all_robots(concept, rule):
    robots = product(*(range(1, n + 1) for n in (3, 3, 2, 3, 4, 2)))
    expected = [(*map(str, robot), str(int(rule(robot)))) for robot in robots]
    assert rows(f"monks-{concept}/test") == expected


def test_mofn_test_half_is_every_combination():
    expected = [(*bits, str(int(bits[2:9].count("1") >= 3))) for bits in product("01", repeat=10)]
    assert rows("mofn-3-7-10/test") == expected


def test_generated_halves_say_that_they_are_test_rows():
    data = load_dataset("monks-1/test")
    assert set(data.split) == {"test"}
    assert data.kinds == dict.fromkeys(("a1", "a2", "a4", "a5"), "nominal") | {
        "a3": "binary",
        "a6": "binary",
    }
    assert data.source == "generated"
    assert data.differs is None


def test_waveform_has_the_moments_of_its_definition():
    table = waveform(200_000, 2, seed=3)
    x = np.column_stack(list(table.columns.values()))
    # Mean of class 0 at point 7: half of the first wave's peak, nothing of the second.
    outer, left, right = (x[table.y == label] for label in "012")
    np.testing.assert_allclose(outer[:, [6, 14, 10]].mean(axis=0), [3, 3, 2], atol=0.03)
    np.testing.assert_allclose(left[:, [6, 10, 14]].mean(axis=0), [4, 4, 1], atol=0.03)
    np.testing.assert_allclose(right[:, [14, 10, 6]].mean(axis=0), [4, 4, 1], atol=0.03)
    # Noise 1, and 6² times the variance 1/12 of the share at a peak that stands alone.
    assert outer[:, 6].var() == pytest.approx(1 + 36 / 12, rel=0.02)
    np.testing.assert_allclose(x[:, 21:].std(axis=0), 1, rtol=0.02)
    np.testing.assert_allclose(np.unique(table.y, return_counts=True)[1] / 2e5, 1 / 3, atol=0.01)


def test_waveform_is_one_fixed_draw_and_says_so():
    small, wide = load_dataset("waveform-21"), load_dataset("waveform-5000")
    assert small.X.shape == (5000, 21)
    assert wide.X.shape == (5000, 40)
    assert small.X.equals(load_dataset("waveform-21").X)
    assert "draw of our own" in small.differs


def test_two_normals_are_those_of_lvc():
    data = load_dataset("two-normals", container="numpy")
    assert data.X.shape == (1000, 1)
    assert "first rows" in data.differs
    for label in ("0", "3"):
        x = data.X[data.y == label, 0]
        assert len(x) == pytest.approx(500, abs=50)
        assert x.mean() == pytest.approx(float(label), abs=0.15)
        assert x.std() == pytest.approx(1, abs=0.1)


def test_bundled_iris_tells_of_the_other_edition():
    fisher, uci = load_dataset("iris"), load_dataset("iris/uci")
    assert fisher.source.startswith("scikit-learn")
    assert "iris/uci" in fisher.differs
    assert uci.differs is None
    changed = fisher.X.to_numpy() != uci.X.to_numpy()
    assert changed.sum() == 3
    assert set(np.flatnonzero(changed.any(axis=1)) + 1) == {35, 38}


def test_lvc_used_the_iris_of_fisher():
    """LVC, table 2, k = 1: log-likelihood -741 of one diagonal Gaussian, in closed form."""

    def log_likelihood(name):
        variance = load_dataset(name, container="numpy").X.var(axis=0)
        return -75 * (np.log(2 * np.pi * variance) + 1).sum()

    assert log_likelihood("iris") == pytest.approx(-741.02, abs=0.01)
    assert log_likelihood("iris/uci") == pytest.approx(-740.34, abs=0.01)


def test_bundled_wine():
    wine = load_dataset("wine")
    assert wine.X.shape == (178, 13)
    assert Counter(wine.y) == {"1": 59, "2": 71, "3": 48}
    assert wine.X.loc[0, "Proline"] == 1065
