"""Rows of a mixture problem laid out for compiled loops."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.engine._product import LOG_2PI
from latentclass.engine._product_mixture import MixtureParams, MixtureProblem
from latentclass.mixture._searches import row_units

RUN = 256
"""Number of rows that are processed together."""

LOST = 1e-6
"""A sum of squares is the difference of two larger terms. If it is less than this fraction of them,
it has lost six of its sixteen digits and is computed again."""


class PaddedRows(NamedTuple):
    """Rows in the layout of the loops.

    Attributes
    ----------
    values, seen : arrays of shape (p, n_padded)
        Values of the continuous columns, 0 where missing; and 1 where observed, 0 where missing.
        Rows of missing cells are added at the end, up to a multiple of `RUN`.
    whole, holed : arrays of int
        Continuous columns without missing cells, and with some.
    levels : array of shape (n_discrete, n_padded)
        Places in the table of log probabilities. A missing cell has the last place, which holds 0.
    levels_by_row : array of shape (n_rows, n_discrete)
        The same, without the added rows.
    powers : array of shape (n_rows, n_sums)
        What is summed over the rows of a component, side by side: the values minus the column's
        `shift`, their squares, and, if cells are missing, which ones are observed.
    shift : array of shape (p,)
        The most frequent value, so that sums over rows that all have it are exact.
    weight : array of shape (n_rows,)
    plain : bool
        Whether all weights are 1.
    light : array of shape (n_rows,)
        Weight of the rows that choose one component; 0 for the heavy ones.
    heavy, units : arrays of shape (n_heavy,)
        Rows, in ascending order, that stand for several rows, and for how many (see `row_units`).
    log_unit : array of shape (p,)
        Logarithm of the columns' units.
    """

    values: FloatArray
    seen: FloatArray
    whole: IndexArray
    holed: IndexArray
    levels: CodeArray
    levels_by_row: CodeArray
    powers: FloatArray
    shift: FloatArray
    weight: FloatArray
    plain: bool
    light: FloatArray
    heavy: IndexArray
    units: FloatArray
    log_unit: FloatArray


def pad_rows(mixture: MixtureProblem) -> PaddedRows:
    """Lay out the rows of all blocks of a problem."""
    numeric, codes = (np.concatenate([rows[part] for rows, _ in mixture.blocks]) for part in (0, 1))
    weight = np.concatenate([weight for _, weight in mixture.blocks])
    missing = np.isnan(numeric)
    holes = missing.any(axis=0)
    values, seen = np.where(missing, 0.0, numeric), (~missing).astype(np.float64)
    offsets = mixture.layout.offsets
    levels = np.where(codes < 0, int(offsets[-1]), codes + offsets[:-1]).astype(np.int32)
    units = row_units(weight)
    heavy = np.flatnonzero(units > 1)
    shift = np.array([_most_frequent(column) for column in numeric.T])
    about = np.where(missing, 0.0, numeric - shift)
    powers = [about, about * about]
    if holes.any():
        powers.append(seen)
    return PaddedRows(
        values=_by_run(values, 0.0),
        seen=_by_run(seen, 0.0),
        whole=np.flatnonzero(~holes),
        holed=np.flatnonzero(holes),
        levels=_by_run(levels, int(offsets[-1])),
        levels_by_row=np.ascontiguousarray(levels),
        powers=np.ascontiguousarray(np.hstack(powers)),
        shift=shift,
        weight=weight,
        plain=bool(np.all(weight == 1.0)),
        light=np.where(units > 1, 0.0, weight),
        heavy=heavy,
        units=units[heavy],
        log_unit=np.log(mixture.layout.unit),
    )


def _by_run(array: npt.NDArray[Any], empty: float) -> npt.NDArray[Any]:
    """Put columns on the first axis and pad the rows to a multiple of `RUN`."""
    n_rows, n_columns = array.shape
    out = np.full((n_columns, -(-n_rows // RUN) * RUN), empty, dtype=array.dtype)
    out[:, :n_rows] = array.T
    return out


def _most_frequent(column: FloatArray) -> float:
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    return float(values[counts.argmax()]) if len(values) else 0.0


def with_place(params: MixtureParams) -> MixtureParams:
    """Add a place to `log_prob` for missing cells."""
    nothing = np.zeros((*params.log_weight.shape, 1))
    return params._replace(log_prob=np.concatenate([params.log_prob, nothing], axis=2))


class Spares(NamedTuple):
    """Components made in advance, for a start that loses some (see `MixtureProblem.reseed`).

    Attributes
    ----------
    params : MixtureParams
        Of one start, with an extra place; the weights are not used.
    used : array of shape (1,)
        How many of them have been used.
    """

    params: MixtureParams
    used: IndexArray


def make_spares(mixture: MixtureProblem, n: int, rng: np.random.Generator) -> Spares:
    """Make components near random rows."""
    fresh = mixture.fresh_components(n, rng)
    params = MixtureParams(np.zeros((1, n)), *(array[None] for array in fresh))
    return Spares(with_place(params), np.zeros(1, dtype=np.intp))


def no_spares(params: MixtureParams) -> Spares:
    """Make none, for a start that has not lost any component yet."""
    return Spares(
        MixtureParams(*(np.empty((1, 0, *array.shape[2:])) for array in params)),
        np.zeros(1, dtype=np.intp),
    )


def log_constants(rows: PaddedRows, params: MixtureParams) -> FloatArray:
    """log(scale * unit * sqrt(2 pi)), the constant of each Gaussian, shape (S, K, p)."""
    return np.asarray(np.log(params.scale) + (rows.log_unit + 0.5 * LOG_2PI))
