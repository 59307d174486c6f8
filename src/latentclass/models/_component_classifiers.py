"""Any scikit-learn classifier in each component of a latent variable classifier."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from latentclass.core import _product as product
from latentclass.core._em import BoolArray
from latentclass.core._latent_classifier import drawn_shares, log_component
from latentclass.core._logspace import split_log
from latentclass.core._mixture import DEAD_SHARE, MixtureParams, MixtureProblem, flat_params
from latentclass.core._mixture_rows import MixtureRows
from latentclass.core._mixture_search import Chance, collapsed, responsibilities, row_units
from latentclass.data._schema import Block, Schema
from latentclass.models._reading import FloatArray, IntArray

LEAST_SHARE = 1e-6
"""A row that belongs to a component by less than this is left out of its classifier."""


class EstimatorParams(NamedTuple):
    """P(c) and P(x | c) as in `MixtureParams`, and a `ComponentClassifier` for each component."""

    log_weight: FloatArray
    mean: FloatArray
    scale: FloatArray
    log_prob: FloatArray
    classifiers: npt.NDArray[np.object_]

    @property
    def mixture(self) -> MixtureParams:
        """P(c) and P(x | c)."""
        return MixtureParams(*self[:4])


class EstimatorStats(NamedTuple):
    """Responsibilities of the rows, shape (S, n_rows, K)."""

    share: FloatArray


@dataclass(frozen=True)
class ComponentClassifier:
    """P(y | c, x) of one component.

    Attributes
    ----------
    classifier : object or None
        A fitted classifier of class codes; None where the component has rows of one class only.
    shares : array of shape (n_classes,)
        P(y | c), drawn to the classes' overall shares.
    draw : float
        Part of P(y | c, x) that is P(y | c), so that no class is impossible.
    """

    classifier: Any
    shares: FloatArray
    draw: float

    def log_proba(self, matrix: FloatArray) -> FloatArray:
        """log P(y | c, x), shape (n_rows, n_classes)."""
        out = np.tile(self.shares, (len(matrix), 1))
        if self.classifier is not None:
            found = np.zeros_like(out)
            found[:, self.classifier.classes_] = self.classifier.predict_proba(matrix)
            out = (1.0 - self.draw) * found + self.draw * out
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(out))


def check_estimator(estimator: Any) -> None:
    """Refuse what has no `fit` and `predict_proba`."""
    for verb in ("fit", "predict_proba"):
        if not hasattr(estimator, verb):
            raise ValueError(
                f"estimator={estimator!r} has no {verb}. Give a scikit-learn classifier with fit "
                "and predict_proba, or None for naive Bayes."
            )


def to_matrix(block: Block, schema: Schema, estimator: Any) -> FloatArray:
    """Rows as numbers: continuous columns, then one column of 0 and 1 for each category."""
    if not _takes_holes(estimator):
        holes = np.isnan(block.numeric).any(axis=0)
        if holes.any():
            name = schema.columns[schema.continuous[int(np.flatnonzero(holes)[0])]].name
            raise ValueError(
                f"Column {name!r} has missing cells, which {type(estimator).__name__} does not "
                "take. Put an imputer before it in a pipeline, fill them by complete(X), or use "
                "estimator=None. (explain hides columns in turn, so it needs one of these too.)"
            )
    offsets = np.concatenate([[0], np.cumsum(schema.n_levels)]).astype(np.intp)
    return np.hstack([block.numeric, product.one_hot(block.codes, offsets).toarray()])


def _takes_holes(estimator: Any) -> bool:
    """Whether missing numbers are taken; of a pipeline the first step decides."""
    if hasattr(estimator, "steps"):
        estimator = estimator.steps[0][1]
    return bool(get_tags(estimator).input_tags.allow_nan)


@dataclass(frozen=True)
class EstimatorSearch:
    """The search problem of a mixture with a classifier in each component.

    Attributes
    ----------
    data : MixtureRows
    matrix : array of shape (n_rows, n_columns)
        What the classifiers see.
    y : array of int of shape (n_rows,)
        Class codes, -1 for a row without label.
    n_classes : int
    mixture : MixtureProblem
        Of the same rows: its tables, and components seeded anew.
    estimator : object
        Cloned for each component.
    seed : int
        Of the clones that have a `random_state` of None.
    """

    data: MixtureRows
    matrix: FloatArray
    y: IntArray
    n_classes: int
    mixture: MixtureProblem
    estimator: Any
    seed: int
    _units: FloatArray = field(init=False, repr=False)
    _single: ComponentClassifier = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_units", row_units(self.data.weight))
        whole = np.bincount(
            self.y[self.y >= 0], self.data.weight[self.y >= 0], minlength=self.n_classes
        )
        single = self._fit(np.ones(len(self.y)), whole / whole.sum(), 0.0)
        object.__setattr__(self, "_single", single)

    def starts(self, rngs: list[np.random.Generator]) -> EstimatorParams:
        """Components about rows far apart, all with the classifier of all rows."""
        mixture = self.data.starts(self.mixture, rngs)
        return EstimatorParams(*mixture, np.full(mixture.log_weight.shape, self._single, object))

    def assign(self, params: EstimatorParams, chance: Chance) -> tuple[EstimatorStats, FloatArray]:
        """See `SearchProblem`."""
        joint = log_component(params.mixture, self.data.rows, self.data.layout)
        known = np.flatnonzero(self.y >= 0)
        for (s, c), classifier in np.ndenumerate(params.classifiers):
            log_proba = classifier.log_proba(self.matrix[known])
            joint[known, s, c] += log_proba[np.arange(len(known)), self.y[known]]
        log_share, size = split_log(joint.transpose(1, 0, 2))
        penalty = product.log_prior(flat_params(params.mixture), self.data.prior)
        total = size @ self.data.weight + penalty.reshape(len(size), -1).sum(axis=1)
        share = responsibilities(log_share, self._units, chance)
        return EstimatorStats(share), total / self.data.weight.sum()

    def m_step(self, stats: EstimatorStats) -> EstimatorParams:
        """See `SearchProblem`."""
        share = stats.share
        n_starts, n_rows, n_components = share.shape
        amount = share.transpose(1, 0, 2).reshape(n_rows, -1) * self.data.weight[:, None]
        sums = product.soft_stats(self.data.rows, amount, self.data.layout)
        tables = product.estimate(sums, self.data.prior, self.data.layout)
        size = amount.sum(axis=0).reshape(n_starts, n_components)
        with np.errstate(divide="ignore"):
            log_weight = np.log(size / size.sum(axis=1, keepdims=True))
        shaped = (array.reshape(n_starts, n_components, -1) for array in tables)
        mixture = MixtureParams(log_weight, *shaped)
        labelled = self.y[:, None] == np.arange(self.n_classes)
        counts = np.einsum("snk,ny,n->sky", share, labelled, self.data.weight, optimize=True)
        shares = drawn_shares(counts, self.data.prior.alpha)
        more = self.data.prior.alpha * n_components if n_components > 1 else 0.0
        draw = more / (counts[0].sum() + more)
        classifiers = np.empty((n_starts, n_components), dtype=object)
        for s, c in np.ndindex(classifiers.shape):
            classifiers[s, c] = self._fit(_own(share[s], c, self._soft), shares[s, c], draw)
        return EstimatorParams(*mixture, classifiers)

    @property
    def _soft(self) -> bool:
        """Whether a row may belong to a component in part."""
        return bool(has_fit_parameter(self.estimator, "sample_weight"))

    def _fit(self, share: FloatArray, shares: FloatArray, draw: float) -> ComponentClassifier:
        """A classifier of the labelled rows by their share in a component."""
        rows = np.flatnonzero((self.y >= 0) & (share > LEAST_SHARE))
        present = np.unique(self.y[rows])
        if not rows.size:
            return self._single
        if len(present) == 1:
            return ComponentClassifier(None, shares, draw)
        classifier = clone(self.estimator)
        if classifier.get_params().get("random_state", 0) is None:
            classifier.set_params(random_state=self.seed)
        if self._soft:
            weight = share[rows] * self.data.weight[rows]
            classifier.fit(self.matrix[rows], self.y[rows], sample_weight=weight)
        else:
            copies = np.repeat(rows, self._units[rows].astype(np.intp))
            classifier.fit(self.matrix[copies], self.y[copies])
        return ComponentClassifier(classifier, shares, draw)

    def lost(self, params: EstimatorParams) -> BoolArray:
        """See `SearchProblem`."""
        small = np.exp(params.log_weight) < DEAD_SHARE / params.log_weight.shape[1]
        return np.asarray(small | collapsed(params.mixture, self.data.prior))

    def usable(self, params: EstimatorParams) -> BoolArray:
        """See `SearchProblem`."""
        return np.asarray(~collapsed(params.mixture, self.data.prior).any(axis=1))

    def reseed(
        self, params: EstimatorParams, dead: BoolArray, rngs: list[np.random.Generator]
    ) -> EstimatorParams:
        """See `SearchProblem`; such a component has the classifier of all rows."""
        mixture = self.mixture.reseed(params.mixture, dead, rngs)
        classifiers = params.classifiers.copy()
        classifiers[dead] = self._single
        return EstimatorParams(*mixture, classifiers)


def _own(share: FloatArray, component: int, soft: bool) -> FloatArray:
    """Share of a component in each row; all or nothing where a classifier takes no weights."""
    if soft:
        return share[:, component]
    return np.asarray(share.argmax(axis=1) == component, dtype=np.float64)
