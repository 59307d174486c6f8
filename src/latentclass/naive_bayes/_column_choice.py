"""How many components the mixture of each column in each class has: the number with the best BIC.

The mixtures of all pairs (a column in a class), all numbers of components and all starts are fitted
in batches of array operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.data._schema import Table
from latentclass.engine import _product as product
from latentclass.engine._em import run_groups
from latentclass.engine._logspace import log_normalise
from latentclass.engine._parallel import map_blocks
from latentclass.engine._product_mixture import COLLAPSED, MixtureProblem
from latentclass.estimator._reading import Training
from latentclass.naive_bayes._column_mixture import (
    ColumnComponents,
    ColumnValues,
    Moments,
    Spread,
    bounded_components,
    distinct_values,
    estimate_parts,
    expect_values,
    log_spread_prior,
    mixed_columns,
    pair_weight,
    take_pairs,
)

CHUNK_NUMBERS = 2**18
"""About this many numbers are worked on at once: values times starts times components."""


class RunParams(NamedTuple):
    """Mixtures of R runs and, for each, which pair it describes."""

    pair: FloatArray
    log_weight: FloatArray
    mean: FloatArray
    scale: FloatArray


class RunStats(NamedTuple):
    """Statistics (R, k) of the components of R runs."""

    pair: FloatArray
    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray


@dataclass(frozen=True)
class PairProblem:
    """EM for the mixtures of many pairs; a run of the engine is one start of one pair.

    No component is reseeded: each starts on a part of the sample, and if it loses all values, BIC
    prefers fewer components.
    """

    samples: ColumnValues
    spread: Spread

    def e_step(self, params: RunParams) -> tuple[RunStats, FloatArray]:
        """Return the expected statistics and the penalised log-likelihood per row."""
        pairs = params.pair.astype(np.intp)
        samples, parts = take_pairs(self.samples, pairs), ColumnComponents(*params[1:])
        log_likelihood, moments = expect_values(samples, parts)
        objective = log_likelihood + log_spread_prior(parts, self._spread(pairs))
        return RunStats(params.pair, *moments), objective / pair_weight(samples)

    def m_step(self, stats: RunStats) -> RunParams:
        """Return the parameters with the highest penalised likelihood."""
        spread = self._spread(stats.pair.astype(np.intp))
        return RunParams(stats.pair, *estimate_parts(Moments(*stats[1:]), spread))

    def _spread(self, pairs: IndexArray) -> Spread:
        return Spread(self.spread.strength, self.spread.variance[pairs])

    def to_vector(self, params: RunParams) -> FloatArray:
        """Return the pair, then log weights, means and log scales."""
        columns = (params.log_weight, params.mean, np.log(params.scale))
        return np.concatenate([params.pair[:, None], *columns], axis=1)

    def from_vector(self, vector: FloatArray) -> RunParams:
        """Invert `to_vector`; weights are normalised."""
        log_weight, mean, log_scale = np.split(vector[:, 1:], 3, axis=1)
        return RunParams(
            vector[:, 0], *bounded_components(log_normalise(log_weight), mean, log_scale)
        )


def slice_starts(samples: ColumnValues, cuts: FloatArray) -> ColumnComponents:
    """Starts from samples cut into slices: arrays of shape (P, S, k).

    `cuts` (S, k - 1), increasing, are shares of the weight: start s of every pair has its
    components on the slices between them. A value astride a cut is divided.
    """
    length, weight = samples.length, pair_weight(samples)
    within = samples.weight / np.repeat(weight, length)
    mean = np.add.reduceat(within * samples.values, samples.first)
    distance = samples.values - np.repeat(mean, length)
    scale = np.sqrt(np.add.reduceat(within * distance * distance, samples.first))
    scale = np.maximum(scale, product.SCALE_FLOOR)
    # one long sample in which pair p has the weights from p to p + 1
    mass = np.concatenate([[0.0], np.cumsum(within)])
    moment = np.concatenate([[0.0], np.cumsum(within * distance / np.repeat(scale, length))])
    n_starts, k = len(cuts), cuts.shape[1] + 1
    edges = np.concatenate([np.zeros((n_starts, 1)), cuts, np.ones((n_starts, 1))], axis=1)
    at = np.arange(len(length))[:, None, None] + edges
    share = np.diff(edges, axis=1)
    about = np.diff(np.interp(at, mass, moment), axis=2) / np.maximum(share, 1e-9)
    shape = about.shape
    return ColumnComponents(
        np.broadcast_to(np.log(np.maximum(share, 1e-9)), shape).copy(),
        mean[:, None, None] + scale[:, None, None] * about,
        np.broadcast_to(scale[:, None, None] / k, shape).copy(),
    )


def draw_cuts(k: int, n_starts: int, seed: int) -> FloatArray:
    """Cuts for `slice_starts`: even slices first, then random ones."""
    rng = np.random.default_rng([seed, k])
    drawn = np.sort(rng.random((n_starts, k - 1)), axis=1)
    drawn[0] = np.arange(1, k) / k
    return drawn


class Choice(NamedTuple):
    """Mixtures chosen for pairs: their numbers of components (P,), BIC (P, max), and parts."""

    n_components: IndexArray
    bic: FloatArray
    parts: ColumnComponents


@dataclass(frozen=True)
class ColumnSearch:
    """How mixtures are searched for; `seed` sets the random starts."""

    max_components: int
    n_starts: int
    seed: int
    tol: float
    max_iter: int
    accelerate: bool = False
    drop_starts: bool = True


def choose_mixtures(samples: ColumnValues, spread: Spread, search: ColumnSearch) -> Choice:
    """For each pair the mixture of 1 to `max_components` Gaussians with the highest BIC.

    BIC is log-likelihood - (3 k - 1) / 2 * log(weight of the rows), at the penalised optimum. k
    components are tried if there are at least k distinct values and 3 k - 1 rows. A mixture with a
    collapsed component is not chosen.
    """
    n_pairs = len(samples.length)
    weight = pair_weight(samples)
    bic = np.full((n_pairs, search.max_components), -np.inf)
    shape = (n_pairs, search.max_components)
    kept = ColumnComponents(np.full(shape, -np.inf), np.zeros(shape), np.ones(shape))
    best = np.full(n_pairs, -np.inf)
    number = np.ones(n_pairs, dtype=np.intp)
    single = np.ones((n_pairs, 1))
    for k in range(1, search.max_components + 1):
        tried = np.flatnonzero((samples.length >= k) & (weight >= 3 * k - 1) | (k == 1))
        if not tried.size:
            break
        own = Spread(spread.strength, spread.variance[tried])
        found, log_likelihood = _fit_mixtures(take_pairs(samples, tried), own, k, search)
        score = log_likelihood - 0.5 * (3 * k - 1) * np.log(weight[tried])
        if k == 1:
            single = found.scale
        else:
            narrow = found.scale < COLLAPSED * single[tried]
            score[narrow.any(axis=1)] = -np.inf
        bic[tried, k - 1] = score
        better = score > best[tried]
        chosen = tried[better]
        best[chosen], number[chosen] = score[better], k
        for array, values in zip(kept, found, strict=True):
            array[chosen, :k] = values[better]
    return Choice(number, bic, kept)


def _fit_mixtures(
    samples: ColumnValues, spread: Spread, k: int, search: ColumnSearch
) -> tuple[ColumnComponents, FloatArray]:
    """The best mixture of k components of each pair, and its log-likelihood."""
    starts = slice_starts(samples, draw_cuts(k, search.n_starts if k > 1 else 1, search.seed))
    runs = np.repeat(np.arange(len(samples.length)), starts.mean.shape[1])
    results = run_groups(
        PairProblem(samples, spread),
        RunParams(runs.astype(np.float64), *(array.reshape(-1, k) for array in starts)),
        runs,
        tol=search.tol,
        max_iter=search.max_iter,
        rngs=[np.random.default_rng(search.seed)] * len(runs),
        halving=search.drop_starts,
        accelerate=search.accelerate,
    )
    found = ColumnComponents(
        *(np.concatenate(a) for a in zip(*(r.params[1:] for r in results), strict=True))
    )
    objective = np.array([r.history[-1] for r in results]) * pair_weight(samples)
    return found, objective - log_spread_prior(found, spread)


def choose_columns(
    labelled: Training, problem: MixtureProblem, search: ColumnSearch
) -> tuple[IndexArray, ColumnComponents]:
    """Numbers of components (K, p), and the mixtures of the columns that need more than one."""
    prior, layout = problem.prior, problem.layout
    shape = (labelled.n_classes, len(prior.mean))
    numbers = np.ones(shape, dtype=np.intp)

    def visit(columns: slice) -> tuple[IndexArray, Choice]:
        samples, pairs = column_values(labelled, layout, columns)
        variance = prior.variance[columns][pairs % (columns.stop - columns.start)]
        choice = choose_mixtures(samples, Spread(prior.strength, variance[:, None]), search)
        return pairs, choice

    # a class without any value in a column gets the Gaussian of the whole column
    parts = ColumnComponents(
        np.full((*shape, search.max_components), -np.inf),
        np.zeros((*shape, search.max_components)),
        np.ones((*shape, search.max_components)),
    )
    parts.log_weight[..., 0] = 0.0
    parts.mean[..., 0] = prior.mean
    parts.scale[..., 0] = product.to_scale(prior.variance, prior)
    spans = _column_spans(labelled, search) if search.max_components > 1 else []
    results = map_blocks(visit, spans, problem.n_jobs)
    for columns, (pairs, choice) in zip(spans, results, strict=True):
        k, j = np.divmod(pairs, columns.stop - columns.start)
        j += columns.start
        numbers[k, j] = choice.n_components
        for array, values in zip(parts, choice.parts, strict=True):
            array[k, j] = values
    mixed, most = mixed_columns(numbers), int(numbers.max(initial=1))
    return numbers, ColumnComponents(*(array[:, mixed, :most] for array in parts))


def _column_spans(labelled: Training, search: ColumnSearch) -> list[slice]:
    """Ranges of continuous columns whose values fit into memory with all starts."""
    n_columns = labelled.table.numeric.shape[1]
    each = labelled.table.n_rows * search.n_starts * search.max_components
    size = max(CHUNK_NUMBERS // each, 1)
    return [slice(j, min(j + size, n_columns)) for j in range(0, n_columns, size)]


def column_values(
    labelled: Training, layout: product.Layout, columns: slice
) -> tuple[ColumnValues, IndexArray]:
    """Distinct values of some columns in each class, and their pairs (see `distinct_values`)."""
    table = labelled.table
    numeric = Table(table.numeric[:, columns], table.codes[:, :0]).block(slice(None)).numeric
    scaled = (numeric - layout.centre[columns]) / layout.unit[columns]
    return distinct_values(scaled, labelled.y, labelled.weight, labelled.n_classes)
