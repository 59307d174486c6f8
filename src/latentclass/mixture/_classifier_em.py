"""A mixture with a naive Bayes classifier in each component, estimated together.

    p(x, y) = sum_c P(c) P(x | c) P(y | c, x)
    P(x | c) = prod_j P(x_j | c)
    P(y | c, x) proportional to P(y | c) prod_j P(x_j | c, y)

(Davidson 2004, equations 2 and 3.) The posterior of a training row over the components includes the
factor P(y | c, x). The search turns the posteriors into responsibilities (see `_searches`), and the
tables of all three factors are estimated from these. A row without a label has the posterior of its
x and counts in each class by P(y | c, x).

The naive Bayes tables are estimated as naive Bayes does, not to maximise P(y | c, x). So the
objective, log p(x, y), may fall, and the best parameters seen are kept.

There are S starts, K components and Y classes. A *class component* is a pair of a component and a
class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.engine import _product as product
from latentclass.engine._em import take_starts
from latentclass.engine._logspace import log_normalise, split_log
from latentclass.engine._mixture_rows import MixtureRows
from latentclass.engine._parallel import count_threads, map_blocks
from latentclass.engine._product_mixture import (
    DEAD_SHARE,
    MixtureParams,
    MixtureProblem,
    flat_params,
)
from latentclass.mixture._padded_rows import (
    PaddedRows,
    log_constants,
    make_spares,
    no_spares,
    pad_rows,
    with_place,
)
from latentclass.mixture._searches import (
    SPARES,
    Chance,
    Rule,
    Run,
    Task,
    collapsed,
    responsibilities,
    row_units,
)

MOST_COPIES = 4
"""Rows that stand for several are copied if that gives at most this many rows for each."""


class ClassifierParams(NamedTuple):
    """Parameters of S starts.

    Attributes
    ----------
    log_weight, mean, scale, log_prob
        P(c) and P(x | c), as in `MixtureParams`.
    log_class : array of shape (S, K, Y)
        log P(y | c).
    class_mean, class_scale, class_log_prob : arrays of shape (S, K * Y, ...)
        P(x_j | c, y), as in `product.Params`.
    """

    log_weight: FloatArray
    mean: FloatArray
    scale: FloatArray
    log_prob: FloatArray
    log_class: FloatArray
    class_mean: FloatArray
    class_scale: FloatArray
    class_log_prob: FloatArray

    @property
    def mixture(self) -> MixtureParams:
        """P(c) and P(x | c)."""
        return MixtureParams(*self[:4])

    @property
    def within(self) -> MixtureParams:
        """P(y | c) and P(x_j | c, y) of the class components, laid out as those of a mixture."""
        shares = self.log_class.reshape(len(self.log_class), -1)
        return MixtureParams(shares, *self[5:])

    @property
    def class_components(self) -> product.Params:
        """P(x_j | c, y) of the class components of all starts, one after the other."""
        n_flat = self.log_class.size
        return product.Params(*(array.reshape(n_flat, array.shape[2]) for array in self[5:]))


class ClassifierStats(NamedTuple):
    """Statistics of the class components of S starts: weight (S, K, Y), then `product.Stats`."""

    row_weight: FloatArray
    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray
    counts: FloatArray


def together(mixture: MixtureParams, within: MixtureParams) -> ClassifierParams:
    """Parameters from their two parts, both with an extra place (see `with_place`)."""
    log_class = within.log_weight.reshape(*mixture.log_weight.shape, -1)
    return ClassifierParams(
        *mixture[:3],
        mixture.log_prob[:, :, :-1],
        log_class,
        *within[1:3],
        within.log_prob[:, :, :-1],
    )


class LaidOutRows(NamedTuple):
    """Rows for the compiled loops; the heavy ones are those without a label.

    `y` has the class codes, with -1 for added rows (see `PaddedRows`), and `free` the rows without
    label.
    """

    rows: PaddedRows
    y: CodeArray
    free: IndexArray


def lay_out(data: MixtureRows, y: IndexArray) -> LaidOutRows:
    """Lay out rows for the compiled loops."""
    rows = pad_rows(data.problem(1, [slice(0, len(y))]))
    free = np.flatnonzero(y < 0)
    padded = np.full(rows.values.shape[1], -1, dtype=np.int32)
    padded[: len(y)] = y
    light = np.where(y < 0, 0.0, data.weight)
    return LaidOutRows(rows._replace(heavy=free, light=light), padded, free)


def log_class_posterior(log_density: FloatArray, log_class: FloatArray) -> FloatArray:
    """log P(y | c, x) from log prod_j P(x_j | c, y), (n_rows, S * K * Y), and log P(y | c)."""
    joint = log_density.reshape(len(log_density), *log_class.shape) + log_class
    impossible = np.isneginf(joint).all(axis=3)
    if impossible.any():
        # a row that no class of the component can have made tells nothing about the class
        joint[impossible] = np.broadcast_to(log_class, joint.shape)[impossible]
    return log_normalise(joint)


def log_component(
    params: MixtureParams, rows: product.ProductRows, layout: product.Layout
) -> FloatArray:
    """log P(c) P(x | c) of the observed cells, shape (n_rows, S, K)."""
    density = product.log_density(flat_params(params), rows, layout)
    return density.reshape(len(density), *params.log_weight.shape) + params.log_weight


def drawn_shares(counts: FloatArray, pseudo_rows: float) -> FloatArray:
    """P(y | c) from the weight of each class in each component, shape (..., K, Y).

    The shares are pulled towards those of all components together, as if K * `pseudo_rows` more
    rows were spread over the components. The factor is the same for all components, so that P(y)
    stays the overall share of the class.
    """
    n_components = counts.shape[-2]
    whole = counts.sum(axis=-2, keepdims=True)
    overall = whole / whole.sum(axis=-1, keepdims=True)
    size = counts.sum(axis=-1, keepdims=True)
    own = np.divide(counts, size, out=np.broadcast_to(overall, counts.shape).copy(), where=size > 0)
    more = pseudo_rows * n_components if n_components > 1 else 0.0
    draw = more / (whole.sum(axis=-1, keepdims=True) + more)
    return np.asarray((1.0 - draw) * own + draw * overall)


@dataclass(frozen=True)
class ClassifierSearch:
    """The search problem of a latent variable classifier (see `SearchProblem`).

    Attributes
    ----------
    data : MixtureRows
    y : array of int of shape (n_rows,)
        Class codes, -1 for a row without a label.
    n_classes : int
    mixture : MixtureProblem
        The mixture of the same rows, which makes starts and reseeds components.
    n_jobs : int or None
        Threads over starts.
    """

    data: MixtureRows
    y: IndexArray
    n_classes: int
    mixture: MixtureProblem
    n_jobs: int | None = None

    @cached_property
    def _units(self) -> FloatArray:
        return row_units(self.data.weight)

    @cached_property
    def _joined(self) -> LaidOutRows:
        """All rows, for sums over any shares of them."""
        rows = lay_out(self.data, self.y)
        every = np.arange(len(self.y))
        return rows._replace(rows=rows.rows._replace(heavy=every, light=np.zeros(len(every))))

    @cached_property
    def _single(self) -> LaidOutRows:
        """All rows, those that stand for several as so many copies."""
        index = np.repeat(np.arange(len(self.y)), self._units.astype(np.intp))
        data = self.data.take(index, (self.data.weight / self._units)[index])
        return lay_out(data, self.y[index])

    def starts(self, rngs: list[np.random.Generator]) -> ClassifierParams:
        """Make starts: components around rows far apart, each with the classifier of all rows."""
        mixture = self.data.starts(self.mixture, rngs)
        return self._with_one_classifier(mixture)

    def _with_one_classifier(self, mixture: MixtureParams) -> ClassifierParams:
        n_starts, n_components = mixture.log_weight.shape
        base = self.single()
        log_class = np.tile(base.log_class, (n_starts, n_components, 1))
        tables = (np.tile(array, (n_starts, n_components, 1)) for array in base[5:])
        return ClassifierParams(*mixture, log_class, *tables)

    def single(self) -> ClassifierParams:
        """Fit the model with one component, naive Bayes, to the labelled rows."""
        amount = self.data.weight[:, None] * (self.y[:, None] == np.arange(self.n_classes))
        stats = product.soft_stats(self.data.rows, amount, self.data.layout)
        shaped = (array[None] for array in stats)
        return self.m_step(ClassifierStats(amount.sum(axis=0)[None, None], *shaped))

    def assign(
        self, params: ClassifierParams, chance: Chance
    ) -> tuple[ClassifierStats, FloatArray]:
        """See `SearchProblem`."""
        n_starts, n_components = params.log_weight.shape
        log_joint, given = self._posteriors(params)
        log_share, size = split_log(log_joint)
        share = responsibilities(log_share, self._units, chance)
        stats = self._stats(share, given)
        penalty = product.log_prior(flat_params(params.mixture), self.data.prior)
        total = size @ self.data.weight + penalty.reshape(n_starts, n_components).sum(axis=1)
        return stats, total / self.data.weight.sum()

    def _posteriors(self, params: ClassifierParams) -> tuple[FloatArray, FloatArray]:
        """log P(c) P(x | c) P(y | c, x), (S, n_rows, K), and P(y | c, x) where y is unknown."""
        from latentclass.mixture._classifier_kernels import join_rows

        laid, n_starts = self._joined, len(params.log_weight)
        log_joint = np.empty((n_starts, len(self.y), params.log_weight.shape[1]))
        given = np.empty((n_starts, len(laid.free), params.class_mean.shape[1]))

        def visit(span: slice) -> None:
            one = take_starts(params, span)
            mixture, within = with_place(one.mixture), with_place(one.within)
            join_rows(
                laid.rows, laid.y, laid.free, mixture, log_constants(laid.rows, one.mixture),
                within, log_constants(laid.rows, one.within), log_joint[span], given[span],
            )  # fmt: skip

        for _ in map_blocks(visit, self._spans(n_starts), self.n_jobs):
            pass
        return log_joint, given

    def _spans(self, n_starts: int) -> list[slice]:
        """Starts in groups, one for each thread: the result does not depend on the groups."""
        n = -(-n_starts // min(count_threads(self.n_jobs), n_starts))
        return [slice(first, first + n) for first in range(0, n_starts, n)]

    def _stats(self, share: FloatArray, given: FloatArray) -> ClassifierStats:
        """Statistics of the class components; `given` is that of `_posteriors`."""
        from latentclass.mixture._classifier_kernels import sum_shares

        laid, (n_starts, _, n_components) = self._joined, share.shape
        shape = (n_starts, n_components * self.n_classes)
        n_numeric, n_places = self.data.rows.numeric.shape[1], int(self.data.layout.offsets[-1]) + 1
        row_weight, counts = np.empty(shape), np.empty((*shape, n_places))
        weight, mean, scatter = (np.empty((*shape, n_numeric)) for _ in range(3))
        sums = (row_weight, weight, mean, scatter, counts)

        def visit(span: slice) -> None:
            into = (array[span] for array in sums)
            sum_shares(laid.rows, laid.y, laid.free, share[span], given[span], *into)

        for _ in map_blocks(visit, self._spans(n_starts), self.n_jobs):
            pass
        return ClassifierStats(
            row_weight.reshape(n_starts, n_components, -1), weight, mean, scatter, counts[:, :, :-1]
        )

    @property
    def n_rows(self) -> int:
        """Number of rows, with copies, that `run_steps` draws components for."""
        return int(self._units.sum())

    def races(self, rule: Rule) -> bool:
        """Whether `run_steps` can be used: no row has to be copied very often."""
        few = self.n_rows <= MOST_COPIES * len(self.y)
        return rule.search == "em" or (rule.wanders and few)

    @cached_property
    def _base(self) -> MixtureParams:
        """The classifier of all rows, with an extra place."""
        return with_place(self.single().within)

    def run_steps(
        self, run: Run[ClassifierParams, ClassifierStats], starts: IndexArray, sharpness: FloatArray
    ) -> tuple[FloatArray, FloatArray, BoolArray, IndexArray]:
        """Run several iterations of some starts in one call; see `MixtureSearch.run_steps`."""
        from latentclass.mixture._classifier_kernels import run_classifier_steps

        soft = run.rule.search == "em"
        laid, offsets, prior = (
            self._joined if soft else self._single,
            self.data.layout.offsets,
            self.data.prior,
        )
        task = Task(soft, float(run.tol), run.most_rounds, not len(laid.free))
        before, best_before = (take_starts(part, starts) for part in (run.params, run.kept))
        params, within = with_place(before.mixture), with_place(before.within)
        kept, kept_within = with_place(best_before.mixture), with_place(best_before.within)
        marks, base = run.marks(starts), self._base
        shape = (len(starts), len(sharpness))
        objective, best_so_far = np.empty(shape), np.empty(shape)
        lost = np.empty(params.log_weight.shape, dtype=bool)
        n_draws = (1, 0) if soft else (len(sharpness), len(laid.rows.weight))

        def visit(s: int) -> int:
            start, rng = int(starts[s]), run.rngs[starts[s]]
            spares = run.spares.get(start, no_spares(params))
            n_done = run_classifier_steps(
                laid.rows, laid.y, prior, offsets, rng.random(n_draws), sharpness, task, s,
                params, within, kept, kept_within, base, marks, spares, objective, best_so_far,
                lost,
            )  # fmt: skip
            if lost[s].any():
                run.spares[start] = make_spares(self.mixture, SPARES, rng)
            return int(n_done)

        n_done = np.array(list(map_blocks(visit, range(len(starts)), self.n_jobs)))
        run.put(run.params, starts, together(params, within))
        run.put(run.kept, starts, together(kept, kept_within))
        run.put_marks(starts, marks)
        return objective, best_so_far, lost, n_done

    def m_step(self, stats: ClassifierStats) -> ClassifierParams:
        """See `SearchProblem`."""
        n_starts, n_components, n_classes = stats.row_weight.shape
        prior, layout = self.data.prior, self.data.layout
        n_flat = n_starts * n_components
        flat = product.Stats(
            *(array.reshape(n_flat * n_classes, array.shape[2]) for array in stats[1:])
        )
        tables = product.estimate(flat, prior, layout)
        whole = product.estimate(_pool_classes(flat, n_classes), prior, layout)
        size = stats.row_weight.sum(axis=2)
        with np.errstate(divide="ignore"):
            log_weight = np.log(size / size.sum(axis=1, keepdims=True))
            log_class = np.log(drawn_shares(stats.row_weight, prior.alpha))
        mixture = MixtureParams(
            log_weight, *(array.reshape(n_starts, n_components, -1) for array in whole)
        )
        shape = (n_starts, n_components * n_classes)
        shaped = (array.reshape(*shape, array.shape[1]) for array in tables)
        return ClassifierParams(*mixture, log_class, *shaped)

    def lost(self, params: ClassifierParams) -> BoolArray:
        """See `SearchProblem`."""
        small = np.exp(params.log_weight) < DEAD_SHARE / params.log_weight.shape[1]
        return np.asarray(small | collapsed(params.mixture, self.data.prior))

    def usable(self, params: ClassifierParams) -> BoolArray:
        """See `SearchProblem`."""
        return np.asarray(~collapsed(params.mixture, self.data.prior).any(axis=1))

    def reseed(
        self, params: ClassifierParams, dead: BoolArray, rngs: list[np.random.Generator]
    ) -> ClassifierParams:
        """See `SearchProblem`; a reseeded component gets the classifier of all rows."""
        fresh = self._with_one_classifier(self.mixture.reseed(params.mixture, dead, rngs))
        shape = (*dead.shape, self.n_classes)
        classes = np.broadcast_to(dead[:, :, None], shape).reshape(len(dead), -1)
        masks = [dead, classes, classes, classes]
        classifiers = [
            np.where(mask[:, :, None], new, old)
            for mask, old, new in zip(masks, params[4:], fresh[4:], strict=True)
        ]
        return ClassifierParams(*fresh[:4], *classifiers)


def _pool_classes(stats: product.Stats, n_classes: int) -> product.Stats:
    """Merge the statistics of all classes of each component."""

    def of_class(k: int) -> product.Stats:
        return product.Stats(*(array[k::n_classes] for array in stats))

    pooled = of_class(0)
    for k in range(1, n_classes):
        pooled = product.merge_stats(pooled, of_class(k))
    return pooled
