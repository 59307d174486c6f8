"""Any scikit-learn classifier in each component of a latent variable classifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass._validation import check_option
from latentclass.data._schema import Block, Schema
from latentclass.engine import _product as product
from latentclass.engine._logspace import split_log
from latentclass.engine._mixture_rows import MixtureRows
from latentclass.engine._product_mixture import (
    DEAD_SHARE,
    MixtureParams,
    MixtureProblem,
    flat_params,
)
from latentclass.mixture._classifier_em import drawn_shares, log_component
from latentclass.mixture._classifier_presets import PRESETS, FilledCoder
from latentclass.mixture._searches import Chance, Rule, collapsed, responsibilities, row_units

LEAST_SHARE = 1e-6
"""A row whose share in a component is less than this is left out of its classifier."""

MOST_COPIES = 100_000
"""Whole weights with at most this sum are turned into copies of rows exactly."""

FINENESS, CLOSE = 10, 0.1
"""For other weights, the largest mean number of copies per row, and the relative error that is
small enough."""


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
        A fitted classifier of class codes; None if the component has rows of one class only.
    shares : array of shape (n_classes,)
        P(y | c), pulled towards the overall shares of the classes.
    draw : float
        Weight of P(y | c) in P(y | c, x), so that no class is impossible.
    failure : str
        Why the component has the classifier of all rows; empty if it has its own.
    """

    classifier: Any
    shares: FloatArray
    draw: float
    failure: str = ""

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
    """Refuse an unknown name, and an object without `fit` or `predict_proba`."""
    if isinstance(estimator, str):
        check_option("estimator", estimator, ("auto", *PRESETS))
    if estimator is None or isinstance(estimator, str):
        return
    for verb in ("fit", "predict_proba"):
        if not hasattr(estimator, verb):
            raise ValueError(
                f"estimator={estimator!r} has no {verb}. Pass a scikit-learn classifier with fit "
                "and predict_proba, or None for naive Bayes."
            )


@dataclass(frozen=True, eq=False)
class MatrixCoder:
    """Turns rows into the matrix that a scikit-learn classifier takes.

    Attributes
    ----------
    offsets : array of shape (n_discrete + 1,)
        Places of the levels of the discrete columns.
    names : list of str
        Names of the continuous columns, for messages.
    takes_holes : bool
        Whether the first step of the classifier takes missing cells.
    refuser : str
        The first step that takes no missing cells.
    """

    offsets: IndexArray
    names: list[str]
    takes_holes: bool
    refuser: str

    @classmethod
    def of(cls, schema: Schema, estimator: Any) -> MatrixCoder:
        """The coder of a table for a classifier."""
        refusing = [step for step in _steps(estimator) if not _takes_holes(step)]
        return cls(
            np.concatenate([[0], np.cumsum(schema.n_levels)]).astype(np.intp),
            [schema.columns[j].name for j in schema.continuous],
            _takes_holes(_steps(estimator)[0]),
            type([*refusing, estimator][0]).__name__,
        )

    def matrix(self, block: Block) -> FloatArray:
        """Rows as numbers: continuous columns, then one column of 0 and 1 for each category."""
        if not self.takes_holes and np.isnan(block.numeric).any():
            raise ValueError(self._holes_message(block))
        return np.hstack([block.numeric, product.one_hot(block.codes, self.offsets).toarray()])

    @contextmanager
    def naming_holes(self, block: Block) -> Iterator[None]:
        """Name the column where a classifier complains of missing cells.

        Tags do not tell whether the steps of a pipeline fill the cells in or pass them on, as
        scalers do.
        """
        try:
            yield
        except ValueError as error:
            if "NaN" in str(error) and np.isnan(block.numeric).any():
                raise ValueError(self._holes_message(block)) from error
            raise

    def _holes_message(self, block: Block) -> str:
        place = int(np.flatnonzero(np.isnan(block.numeric).any(axis=0))[0])
        return (
            f"Column {self.names[place]!r} has missing cells, which {self.refuser} cannot use. "
            "Put an imputer before it in a pipeline, fill them with complete(X), or use "
            "estimator=None. (explain hides columns in turn, so it needs one of these too.)"
        )


Coder = MatrixCoder | FilledCoder


@dataclass(frozen=True, eq=False)
class FittedClassifiers:
    """Fitted scikit-learn classifiers of all components (see `Classifiers`).

    Attributes
    ----------
    classifiers : object array of shape (n_models, n_components)
        Of `ComponentClassifier`.
    coder : Coder
    """

    classifiers: npt.NDArray[np.object_]
    coder: Coder

    @property
    def shares(self) -> FloatArray:
        """P(y | c), shape (n_models, n_components, n_classes)."""
        return np.asarray([[one.shares for one in row] for row in self.classifiers])

    def log_conditional(self, block: Block) -> FloatArray:
        """log P(y | c, x), shape (n_rows, n_models, n_components, n_classes)."""
        matrix = self.coder.matrix(block)
        out = np.empty((len(matrix), *self.shares.shape))
        with self.coder.naming_holes(block):
            for place, classifier in np.ndenumerate(self.classifiers):
                out[(slice(None), *place)] = classifier.log_proba(matrix)
        # a row without any observed cell tells nothing about the class
        empty = np.isnan(block.numeric).all(axis=1) & (block.codes < 0).all(axis=1)
        with np.errstate(divide="ignore"):
            out[empty] = np.log(self.shares)
        return out


def _steps(estimator: Any) -> list[Any]:
    """The steps of a pipeline, or the classifier itself."""
    steps = [step for _, step in getattr(estimator, "steps", [])]
    return [step for step in steps if step not in (None, "passthrough")] or [estimator]


def _takes_holes(estimator: Any) -> bool:
    return bool(get_tags(estimator).input_tags.allow_nan)


def row_copies(weight: FloatArray) -> IndexArray:
    """How many copies of each row a classifier gets that takes no weights.

    Whole weights are exact numbers of copies. Other weights, and whole weights with too large a
    sum, are scaled and rounded: by the smallest multiple that is close enough to the weights, with
    at most `FINENESS` copies per row on average.
    """
    total = weight.sum()
    if total <= MOST_COPIES and np.all(weight == np.rint(weight)):
        return np.asarray(weight, dtype=np.intp)
    bound = FINENESS * len(weight)
    relative = weight / max(weight.min(), total / bound)
    best, least = np.ones(len(weight)), np.inf
    for times in range(1, FINENESS + 1):
        copies = np.maximum(np.rint(times * relative), 1.0)
        error = np.abs(copies / (times * relative) - 1.0).max()
        if times > 1 and (least <= CLOSE or copies.sum() > bound):
            break
        if error < least:
            best, least = copies, error
    return best.astype(np.intp)


@dataclass(frozen=True)
class EstimatorSearch:
    """The search problem of a mixture with a classifier in each component.

    Attributes
    ----------
    data : MixtureRows
    matrix : array of shape (n_rows, n_columns)
        The rows as the classifiers take them.
    y : array of int of shape (n_rows,)
        Class codes, -1 for a row without a label.
    n_classes : int
    mixture : MixtureProblem
        The mixture of the same rows, which makes starts and reseeds components.
    estimator : object
        Cloned for each component.
    seed : int
        Random state of clones, and of parts of clones, that have none.
    to_plain : callable or None
        What turns a fitted classifier into a value that predicts the same.
    """

    data: MixtureRows
    matrix: FloatArray
    y: IndexArray
    n_classes: int
    mixture: MixtureProblem
    estimator: Any
    seed: int
    to_plain: Callable[[Any], Any] | None = None

    @cached_property
    def _units(self) -> FloatArray:
        return row_units(self.data.weight)

    @cached_property
    def _copies(self) -> IndexArray:
        known = self.y >= 0
        copies = np.ones(len(self.y), dtype=np.intp)
        copies[known] = row_copies(self.data.weight[known])
        return copies

    @cached_property
    def _single(self) -> ComponentClassifier:
        """The classifier of all rows."""
        known = self.y >= 0
        whole = np.bincount(self.y[known], self.data.weight[known], minlength=self.n_classes)
        draw = self.draw(len(self.mixture.known_rows))
        return self.fit_classifier(np.ones(len(self.y)), whole / whole.sum(), draw)

    def starts(self, rngs: list[np.random.Generator]) -> EstimatorParams:
        """Make starts: components around rows far apart, each with the classifier of all rows."""
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

    def m_step(self, stats: EstimatorStats, draw: float | None = None) -> EstimatorParams:
        """See `SearchProblem`; `draw` is the part of P(y | c, x) that is P(y | c)."""
        share = stats.share
        mixture, shares = self.estimate_mixture(stats)
        if draw is None:
            draw = self.draw(share.shape[2])
        classifiers = np.empty(shares.shape[:2], dtype=object)
        for s, c in np.ndindex(classifiers.shape):
            own = self.own_share(share[s], c)
            classifiers[s, c] = self.fit_classifier(own, shares[s, c], draw)
        return EstimatorParams(*mixture, classifiers)

    def estimate_mixture(self, stats: EstimatorStats) -> tuple[MixtureParams, FloatArray]:
        """P(c) and P(x | c), and P(y | c) with shape (S, K, n_classes)."""
        share = stats.share
        n_starts, n_rows, n_components = share.shape
        amount = share.transpose(1, 0, 2).reshape(n_rows, -1) * self.data.weight[:, None]
        sums = product.soft_stats(self.data.rows, amount, self.data.layout)
        tables = product.estimate(sums, self.data.prior, self.data.layout)
        size = amount.sum(axis=0).reshape(n_starts, n_components)
        with np.errstate(divide="ignore"):
            log_weight = np.log(size / size.sum(axis=1, keepdims=True))
        shaped = (array.reshape(n_starts, n_components, -1) for array in tables)
        labelled = self.y[:, None] == np.arange(self.n_classes)
        counts = np.einsum("snk,ny,n->sky", share, labelled, self.data.weight, optimize=True)
        return MixtureParams(log_weight, *shaped), drawn_shares(counts, self.data.prior.alpha)

    def draw(self, n_components: int) -> float:
        """Part of P(y | c, x) that is P(y | c), as in `drawn_shares`."""
        more = self.data.prior.alpha * n_components if n_components > 1 else 0.0
        return float(more / (self.data.weight[self.y >= 0].sum() + more))

    def own_share(self, share: FloatArray, component: int) -> FloatArray:
        """Share of a component in each row; 0 or 1 if the classifier takes no weights."""
        if self._soft:
            return share[:, component]
        return np.asarray(share.argmax(axis=1) == component, dtype=np.float64)

    @property
    def _soft(self) -> bool:
        """Whether a row may belong to a component in part."""
        return bool(has_fit_parameter(self.estimator, "sample_weight"))

    def fit_classifier(
        self, share: FloatArray, shares: FloatArray, draw: float
    ) -> ComponentClassifier:
        """A classifier of the labelled rows by their share in a component."""
        rows = np.flatnonzero((self.y >= 0) & (share > LEAST_SHARE))
        if not rows.size:
            return self._single
        if len(np.unique(self.y[rows])) == 1:
            return ComponentClassifier(None, shares, draw)
        try:
            return ComponentClassifier(self._train(rows, share[rows]), shares, draw)
        except Exception as error:
            if len(rows) == np.count_nonzero(self.y >= 0):
                name = type(self.estimator).__name__
                error.add_note(f"{name} could not learn from all {len(rows)} labelled rows.")
                raise
            # it learned from all rows, so these are too few or too similar
            failure = f"{len(rows)} labelled rows ({type(error).__name__}: {error})"
            return ComponentClassifier(self._single.classifier, shares, draw, failure)

    def _train(self, rows: IndexArray, share: FloatArray) -> Any:
        """A clone that has learned from some rows."""
        classifier = clone(self.estimator)
        params = classifier.get_params()
        unseeded = [n for n in params if n.split("__")[-1] == "random_state" and params[n] is None]
        classifier.set_params(**dict.fromkeys(unseeded, self.seed))
        if self._soft:
            weight = share * self.data.weight[rows]
            # histogram boosting takes many times longer to cut columns with weights
            given = {} if np.all(weight == 1.0) else {"sample_weight": weight}
            classifier.fit(self.matrix[rows], self.y[rows], **given)
        else:
            copies = np.repeat(rows, self._copies[rows])
            classifier.fit(self.matrix[copies], self.y[copies])
        # some classifiers notice only here that they had too few rows
        if not np.isfinite(classifier.predict_proba(self.matrix[rows[:1]])).all():
            raise ValueError("predict_proba gives numbers that are not finite")
        return classifier if self.to_plain is None else self.to_plain(classifier)

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
        """See `SearchProblem`; a reseeded component gets the classifier of all rows."""
        mixture = self.mixture.reseed(params.mixture, dead, rngs)
        classifiers = params.classifiers.copy()
        classifiers[dead] = self._single
        return EstimatorParams(*mixture, classifiers)

    def races(self, rule: Rule) -> bool:
        """See `SearchProblem`; classifiers are fitted one at a time."""
        del rule
        return False
