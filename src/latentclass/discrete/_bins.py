"""The bins of a continuous column, and how its numbers spread inside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latentclass._types import CodeArray, FloatArray
from latentclass.engine._mdl import bin_codes
from latentclass.engine._product import LOG_2PI, SCALE_FLOOR, measure_range

HALF_GAUSSIAN_MEAN = float(np.sqrt(2.0 / np.pi))
"""Mean of the absolute value of a standard normal number."""

VALUE_LIMIT = 1e4
"""Distances are cut off at this many standard deviations. The density there is 0 to any precision,
and a larger square would drown what the other columns say."""


@dataclass(frozen=True)
class Bins:
    """The bins of one continuous column, and how its numbers spread inside them.

    Inside a bin the density does not depend on the class. It is uniform between two cuts. Below the
    first and above the last cut it is half a Gaussian centred at the cut, with the mean distance of
    the training rows. In a column without cuts it is a Gaussian. So p(x) is a density.

    Attributes
    ----------
    cuts : array of shape (n_levels - 1,)
    edge : array of shape (n_levels,)
        The cut above each bin, but below the last; the mean of a column without cuts.
    scale : array of shape (n_levels,)
        Width of an inner bin, standard deviation of the whole Gaussian in the others.
    mean, mode, peak : arrays of shape (n_levels,)
        Mean, most probable number, and the log density there.
    """

    cuts: FloatArray
    edge: FloatArray
    scale: FloatArray
    mean: FloatArray
    mode: FloatArray
    peak: FloatArray

    @property
    def n_levels(self) -> int:
        """Number of bins."""
        return len(self.cuts) + 1

    def codes(self, values: FloatArray) -> CodeArray:
        """Bin of each value; -1 if missing."""
        return bin_codes(values, self.cuts)

    def log_density(self, values: FloatArray, codes: CodeArray) -> FloatArray:
        """log density of each value within its bin; 0 if missing."""
        out: FloatArray = self.peak[codes]
        for code in {0, len(self.cuts)}:
            rows = codes == code
            z = (values[rows] - self.edge[code]) / self.scale[code]
            z = np.clip(z, -VALUE_LIMIT, VALUE_LIMIT)
            out[rows] -= 0.5 * z * z
        out[codes < 0] = 0.0
        return out

    def draw(self, codes: CodeArray, rng: np.random.Generator) -> FloatArray:
        """A number from each bin."""
        if not len(self.cuts):
            whole: FloatArray = self.edge[0] + self.scale[0] * rng.standard_normal(len(codes))
            return whole
        even = self.edge[codes] - self.scale[codes] * rng.random(len(codes))
        tail = self.scale[codes] * np.abs(rng.standard_normal(len(codes)))
        values = np.where(codes == 0, self.edge[0] - tail, even)
        top = codes == len(self.cuts)
        values[top] = np.maximum(self.mode[-1], self.edge[-1] + tail[top])
        return values


def learn_bins(values: FloatArray, weight: FloatArray, cuts: FloatArray) -> Bins:
    """Learn how a column's numbers spread inside the bins that `cuts` make."""
    seen = ~np.isnan(values)
    values, weight = values[seen], weight[seen]
    low, high = (values.min(), values.max()) if len(values) else (np.nan, np.nan)
    centre, unit = (array[0] for array in measure_range(np.array([low]), np.array([high])))
    if not len(cuts):
        total = max(float(weight.sum()), np.finfo(float).tiny)
        z = (values - centre) / unit
        mean = float(weight @ z) / total
        spread = float(np.sqrt(weight @ (z - mean) ** 2 / total))
        # a constant column does not show how much it can vary: take the size of its value
        spread = (max(spread, SCALE_FLOOR) if high > low else 1.0) * unit
        place = np.array([centre + unit * mean if len(values) else np.nan])
        peak = np.array([-np.log(spread) - 0.5 * LOG_2PI])
        return Bins(cuts, place, np.array([spread]), place, place, peak)
    codes = bin_codes(values, cuts)
    # each bin lies below its edge, except the last, which lies above it
    edge = np.append(cuts, cuts[-1])
    scale = np.empty(len(edge))
    scale[1:-1] = np.diff(cuts)
    for code in (0, len(cuts)):
        rows = codes == code
        total = max(float(weight[rows].sum()), np.finfo(float).tiny)
        distance = weight[rows] / total @ np.abs(values[rows] - edge[code])
        scale[code] = distance / HALF_GAUSSIAN_MEAN
    scale = np.maximum(scale, SCALE_FLOOR * unit)
    mode = edge - scale / 2
    mean = mode.copy()
    mean[0] = edge[0] - HALF_GAUSSIAN_MEAN * scale[0]
    mean[-1] = edge[-1] + HALF_GAUSSIAN_MEAN * scale[-1]
    mode[0], mode[-1] = edge[0], np.nextafter(edge[-1], np.inf)
    peak = -np.log(scale)
    peak[[0, -1]] += np.log(2.0) - 0.5 * LOG_2PI
    return Bins(cuts, edge, scale, mean, mode, peak)
