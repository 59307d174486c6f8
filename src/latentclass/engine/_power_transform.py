"""Power transforms that bring continuous columns nearer to a Gaussian.

A column with a long tail is far from Gaussian. Its few large values would dominate all others, and
a single larger value in a new row would outweigh all other columns. The power transform of Yeo and
Johnson (2000) bends a column about 0,

    ((1 + v)^p - 1) / p  for v >= 0,     -((1 - v)^(2 - p) - 1) / (2 - p)  for v < 0,

with p between 0 (the logarithm of a long right tail) and 2 (the mirror image); p = 1 bends nothing.
The power maximises the likelihood of a Gaussian. Then the column is standardised again, and all of
this is repeated a few times: one transform is not enough for a tail of several powers of ten. The
transform is linear beyond the values seen in `fit`, so it maps all numbers to all numbers.

In all arrays the first axis is the column, the second the row; NaN is missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray, IndexArray

N_ROUNDS = 3
"""Number of transforms of a column, one after the other."""

N_SECTIONS = 25
"""Number of golden sections of the interval of powers."""

GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)

N_NODES = 31
"""Number of points at which a Gaussian is transformed back, to average over it."""


class Round(NamedTuple):
    """One transform of n columns: by `power` from `low` to `high`, and linear beyond. All (n,).

    `centre` and `unit` are mean and standard deviation of the transformed columns.
    """

    power: FloatArray
    low: FloatArray
    high: FloatArray
    centre: FloatArray
    unit: FloatArray

    def apply(self, values: FloatArray) -> FloatArray:
        """Return values (n, R), transformed and standardised."""
        inside = np.clip(values, self.low[:, None], self.high[:, None])
        bent = _bend(inside, self.power) + (values - inside) * np.exp(self._log_slope(inside))
        return np.asarray((bent - self.centre[:, None]) / self.unit[:, None])

    def undo(self, bent: FloatArray) -> FloatArray:
        """Return the values whose transforms these are."""
        raw = bent * self.unit[:, None] + self.centre[:, None]
        ends = _bend(np.stack([self.low, self.high], axis=1), self.power)
        within = np.clip(raw, ends[:, :1], ends[:, 1:])
        inside = _undo(within, self.power)
        return np.asarray(inside + (raw - within) * np.exp(-self._log_slope(inside)))

    def log_slope(self, values: FloatArray) -> FloatArray:
        """Return the logarithm of the derivative of `apply`, (n, R)."""
        inside = np.clip(values, self.low[:, None], self.high[:, None])
        return np.asarray(self._log_slope(inside) - np.log(self.unit)[:, None])

    def _log_slope(self, inside: FloatArray) -> FloatArray:
        return np.asarray((self.power[:, None] - 1.0) * _signed_log(inside))


class PowerTransform(NamedTuple):
    """Power transforms of n columns, one after the other; without any, columns stay as they are."""

    rounds: tuple[Round, ...] = ()

    def apply(self, values: FloatArray) -> FloatArray:
        """Return standardised columns (n, R), transformed and standardised again."""
        for one in self.rounds:
            values = one.apply(values)
        return values

    def undo(self, bent: FloatArray) -> FloatArray:
        """Return the columns whose transforms these are."""
        for one in reversed(self.rounds):
            bent = one.undo(bent)
        return bent

    def log_slope(self, values: FloatArray) -> FloatArray:
        """Return the logarithm of the derivative of `apply`, (n, R)."""
        total = np.zeros_like(values)
        for one in self.rounds:
            total = total + one.log_slope(values)
            values = one.apply(values)
        return total

    def expected(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """Return the means of columns whose transforms are Gaussian, (n, R), by quadrature."""
        if not self.rounds:
            return mean
        nodes, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
        bent = mean[..., None] + np.sqrt(variance)[..., None] * nodes
        values = self.undo(bent.reshape(len(mean), -1)).reshape(bent.shape)
        return np.asarray(values @ (weights / weights.sum()))

    def take(self, columns: IndexArray) -> PowerTransform:
        """Return the transforms of some columns."""
        return PowerTransform(tuple(Round(*(part[columns] for part in one)) for one in self.rounds))


def learn_power_transform(values: FloatArray, weight: FloatArray) -> PowerTransform:
    """Learn the transforms of standardised columns (n, R) that vary, from rows with weights."""
    rounds = []
    for _ in range(N_ROUNDS):
        power = _best_power(values, weight)
        low, high = np.nanmin(values, axis=1), np.nanmax(values, axis=1)
        zero, one = np.zeros(len(values)), np.ones(len(values))
        centre, variance = _measure(Round(power, low, high, zero, one).apply(values), weight)
        rounds.append(Round(power, low, high, centre, np.sqrt(variance)))
        values = rounds[-1].apply(values)
    return PowerTransform(tuple(rounds))


def _best_power(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the best power of each column, with a weak prior around 1, rounded to a hundredth.

    Further digits would depend on the order of sums.
    """
    total = ~np.isnan(values) @ weight
    slope = np.nan_to_num(_signed_log(values)) @ weight

    def height(power: FloatArray) -> FloatArray:
        _, variance = _measure(_bend(values, power), weight)
        away = power - 1.0
        return np.asarray(-0.5 * total * np.log(variance) + away * slope - 0.5 * away**2)

    low, high = np.zeros(len(values)), np.full(len(values), 2.0)
    for _ in range(N_SECTIONS):
        one, two = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        left = height(one) > height(two)
        low, high = np.where(left, low, one), np.where(left, two, high)
    return np.asarray(np.round(0.5 * (low + high), 2))


def _measure(values: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of each column."""
    shown = ~np.isnan(values)
    total = shown @ weight
    mean = np.nan_to_num(values) @ weight / total
    about = np.where(shown, values - mean[:, None], 0.0)
    return mean, np.maximum(about**2 @ weight / total, np.finfo(float).tiny)


def _signed_log(values: FloatArray) -> FloatArray:
    return np.asarray(np.sign(values) * np.log1p(np.abs(values)))


def _bend(values: FloatArray, power: FloatArray) -> FloatArray:
    side = np.where(values >= 0, power[:, None], 2.0 - power[:, None])
    log = np.log1p(np.abs(values))
    bent = np.where(side > 0, np.expm1(side * log) / np.where(side > 0, side, 1.0), log)
    return np.asarray(np.sign(values) * bent)


def _undo(bent: FloatArray, power: FloatArray) -> FloatArray:
    side = np.where(bent >= 0, power[:, None], 2.0 - power[:, None])
    size = np.abs(bent)
    log = np.where(side > 0, np.log1p(side * size) / np.where(side > 0, side, 1.0), size)
    return np.asarray(np.sign(bent) * np.expm1(log))
