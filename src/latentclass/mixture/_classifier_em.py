"""A mixture with a naive Bayes classifier in each component, estimated together.

    p(x, y) = sum_c P(c) P(x | c) P(y | c, x)
    P(x | c) = prod_j P(x_j | c)
    P(y | c, x) proportional to P(y | c) prod_j P(x_j | c, y)

(Davidson 2004, equations 2 and 3.) The posterior of a training row over the components includes the
factor P(y | c, x). The search turns the posteriors into responsibilities (see `_searches`), and the
tables of all three factors are estimated from these. A row without label has the posterior of its x
and counts in each class by P(y | c, x).

The naive Bayes tables are estimated as naive Bayes does, not to maximise P(y | c, x). So the
objective, log p(x, y), may fall, and the best parameters seen are kept.

There are S starts, K components and Y classes. A *class component* is a pair of a component and a
class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine import _product as product
from latentclass.engine._logspace import log_normalise, split_log
from latentclass.engine._mixture_rows import MixtureRows
from latentclass.engine._parallel import map_blocks
from latentclass.engine._product_mixture import (
    DEAD_SHARE,
    MixtureParams,
    MixtureProblem,
    flat_params,
)
from latentclass.mixture._searches import Chance, collapsed, responsibilities, row_units


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


def log_conditional(
    params: ClassifierParams, rows: product.ProductRows, layout: product.Layout
) -> FloatArray:
    """log P(y | c, x) given the observed cells, shape (n_rows, S, K, Y)."""
    return log_class_posterior(
        product.log_density(params.class_components, rows, layout), params.log_class
    )


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
        Class codes, -1 for a row without label.
    n_classes : int
    mixture : MixtureProblem
        The mixture of the same rows, which makes starts and reseeds components.
    spans : list of slice
        Blocks of rows.
    n_jobs : int or None
        Threads over blocks.
    """

    data: MixtureRows
    y: IndexArray
    n_classes: int
    mixture: MixtureProblem
    spans: list[slice]
    n_jobs: int | None = None
    _units: FloatArray = field(init=False, repr=False)
    _parts: list[tuple[int, IndexArray, product.ProductRows]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rows = self.data.rows
        parts = [
            (k, index, product.ProductRows(rows.numeric[index], rows.codes[index]))
            for k in [*range(self.n_classes), -1]  # rows without label last: theirs are added
            if (index := np.flatnonzero(self.y == k)).size
        ]
        object.__setattr__(self, "_parts", parts)
        object.__setattr__(self, "_units", row_units(self.data.weight))

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
        return self.m_step(self._stats(np.ones((1, len(self.y), 1)), None))

    def assign(
        self, params: ClassifierParams, chance: Chance
    ) -> tuple[ClassifierStats, FloatArray]:
        """See `SearchProblem`."""
        n_starts, n_components = params.log_weight.shape
        log_joint, conditional = self._posteriors(params)
        log_share, size = split_log(log_joint.transpose(1, 0, 2))
        share = responsibilities(log_share, self._units, chance)
        stats = self._stats(share, conditional)
        penalty = product.log_prior(flat_params(params.mixture), self.data.prior)
        total = size @ self.data.weight + penalty.reshape(n_starts, n_components).sum(axis=1)
        return stats, total / self.data.weight.sum()

    def _posteriors(self, params: ClassifierParams) -> tuple[FloatArray, FloatArray]:
        """log P(c) P(x | c) P(y | c, x) of all rows, and P(y | c, x) of rows without label."""
        data = self.data

        def visit(span: slice) -> tuple[FloatArray, FloatArray]:
            rows = product.ProductRows(data.rows.numeric[span], data.rows.codes[span])
            joint = log_component(params.mixture, rows, data.layout)
            given = log_conditional(params, rows, data.layout)
            y = self.y[span]
            known = np.flatnonzero(y >= 0)
            joint[known] += given[known, :, :, y[known]]
            return joint, np.exp(given[y < 0])

        joint, conditional = zip(*map_blocks(visit, self.spans, self.n_jobs), strict=True)
        return np.concatenate(joint), np.concatenate(conditional)

    def _stats(self, share: FloatArray, conditional: FloatArray | None) -> ClassifierStats:
        """Statistics of the class components.

        `share` has shape (S, n_rows, K), `conditional` (n_unlabelled, S, K, Y). Without
        `conditional` only labelled rows count.
        """
        n_starts, _, n_components = share.shape
        n_flat, layout = n_starts * n_components, self.data.layout
        row_weight = np.zeros((n_flat, self.n_classes))
        total = product.empty_stats(n_flat * self.n_classes, layout)
        for k, index, rows in self._parts:
            amount = share[:, index].transpose(1, 0, 2).reshape(len(index), n_flat)
            amount = amount * self.data.weight[index, None]
            if k >= 0:
                row_weight[:, k] += amount.sum(axis=0)
                part = product.soft_stats(rows, amount, layout)
                _put_class(total, part, k, self.n_classes)
            elif conditional is not None:
                amount = amount[:, :, None] * conditional.reshape(len(index), n_flat, -1)
                row_weight += amount.sum(axis=0)
                part = product.soft_stats(rows, amount.reshape(len(index), -1), layout)
                total = product.merge_stats(total, part)
        shape = (n_starts, n_components * self.n_classes)
        shaped = (array.reshape(*shape, array.shape[1]) for array in total)
        return ClassifierStats(row_weight.reshape(n_starts, n_components, -1), *shaped)

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


def _put_class(total: product.Stats, part: product.Stats, k: int, n_classes: int) -> None:
    """Write the statistics of one class into those of all class components."""
    for array, values in zip(total, part, strict=True):
        array.reshape(len(array) // n_classes, n_classes, array.shape[1])[:, k] = values


def _pool_classes(stats: product.Stats, n_classes: int) -> product.Stats:
    """Merge the statistics of all classes of each component."""

    def of_class(k: int) -> product.Stats:
        return product.Stats(*(array[k::n_classes] for array in stats))

    pooled = of_class(0)
    for k in range(1, n_classes):
        pooled = product.merge_stats(pooled, of_class(k))
    return pooled
