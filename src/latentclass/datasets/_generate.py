"""Data sets that are computed from their definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from latentclass.datasets._table import Nominal, Table, text_array

# Never change it: all results on randomly drawn data sets depend on it.
SEED = 0


def _grid(sizes: Sequence[int], first: int) -> NDArray[np.int64]:
    """Return every combination of values first, first + 1, ..., the last column fastest."""
    return np.indices(sizes).reshape(len(sizes), -1).T + first


def _coded(values: NDArray[np.int64], names: Sequence[str], y: NDArray[np.bool_]) -> Table:
    """Make nominal columns from consecutive whole numbers, each of which occurs."""
    columns = {}
    for name, column in zip(names, values.T, strict=True):
        levels = tuple(str(value) for value in range(column.min(), column.max() + 1))
        codes = (column - column.min()).astype(np.int32)
        columns[name] = Nominal(codes, levels, len(levels))
    return Table(dict(columns), text_array(y.astype(int)))


def _balance_scale() -> Table:
    grid = _grid([5] * 4, first=1)
    names = ("left-weight", "left-distance", "right-weight", "right-distance")
    tilt = grid[:, 0] * grid[:, 1] - grid[:, 2] * grid[:, 3]
    y = np.array(["R", "B", "L"], dtype=object)[np.sign(tilt) + 1]
    return Table({name: grid[:, i].astype(float) for i, name in enumerate(names)}, y)


def _corral() -> Table:
    # Each combination of the five free bits occurs four times. In one of the four, the correlated
    # bit is wrong.
    grid = _grid([2] * 5 + [4], first=0)
    a0, a1, b0, b1, irrelevant, copy = grid.T
    y = (a0 & a1) | (b0 & b1)
    correlated = np.where(copy == 3, 1 - y, y)
    values = np.column_stack([a0, a1, b0, b1, irrelevant, correlated])
    return _coded(values, ("A0", "A1", "B0", "B1", "Irrelevant", "Correlated"), y == 1)


def _monks(concept: int) -> Table:
    grid = _grid([3, 3, 2, 3, 4, 2], first=1)
    head, body, _, holding, jacket, _ = grid.T
    if concept == 1:
        y = (head == body) | (jacket == 1)
    elif concept == 2:
        y = (grid == 1).sum(axis=1) == 2
    else:
        y = ((jacket == 3) & (holding == 1)) | ((jacket != 4) & (body != 3))
    return _coded(grid, [f"a{i}" for i in range(1, 7)], y)


def _mofn() -> Table:
    grid = _grid([2] * 10, first=0)
    y = grid[:, 2:9].sum(axis=1) >= 3
    return _coded(grid, [f"Bit.{i}" for i in range(10)], y)


def waveform(n_rows: int, n_noise: int, seed: int) -> Table:
    """Draw from the three-wave problem of Breiman, Friedman, Olshen and Stone (1984)."""
    rng = np.random.default_rng(seed)
    points = np.arange(1, 22)
    waves = np.maximum(6 - np.abs(points - np.array([[7], [15], [11]])), 0)
    # Class 0 mixes the outer waves, class 1 the left and middle, class 2 the right and middle:
    # the numbering of the UCI files.
    first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    y = rng.integers(3, size=n_rows)
    share = rng.random((n_rows, 1))
    values = rng.standard_normal((n_rows, 21 + n_noise))
    values[:, :21] += share * waves[first[y]] + (1 - share) * waves[second[y]]
    columns = {f"x{i + 1}": values[:, i].copy() for i in range(values.shape[1])}
    return Table(dict(columns), text_array(y))


def _two_normals() -> Table:
    rng = np.random.default_rng(SEED)
    y = rng.integers(2, size=1000)
    return Table({"x": rng.standard_normal(1000) + 3.0 * y}, text_array(3 * y))


def _half(make: Callable[[], Table]) -> Callable[[], Table]:
    """Mark all rows as test rows, so that the half is the same as from a file."""

    def generate() -> Table:
        table = make()
        return Table(table.columns, table.y, np.full(len(table.y), "test", dtype=object))

    return generate


GENERATED: dict[str, Callable[[], Table]] = {
    "balance-scale": _balance_scale,
    "corral": _corral,
    "monks-1/test": _half(lambda: _monks(1)),
    "monks-2/test": _half(lambda: _monks(2)),
    "monks-3/test": _half(lambda: _monks(3)),
    "mofn-3-7-10/test": _half(_mofn),
    "two-normals": _two_normals,
    "waveform-21": lambda: waveform(5000, 0, SEED),
    "waveform-5000": lambda: waveform(5000, 19, SEED),
}
