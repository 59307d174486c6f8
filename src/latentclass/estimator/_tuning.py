"""What held-out rows decide in `fit`: the temperature, and how much rows without a label count.

Both come from the same folds. Their number is small where rows are many, and of very many rows a
sample is enough, because only one or two numbers are learned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.engine._content_holdout import SLIVER
from latentclass.estimator._calibration import N_FOLDS, NEUTRAL, TOO_SURE, HeldOutRows
from latentclass.estimator._fitted import FittedModel, Learned
from latentclass.estimator._inner_folds import InnerFolds, deal_folds, sample_rows
from latentclass.estimator._reading import Training
from latentclass.estimator._unlabelled import usual_factor, weigh_unlabelled

ENOUGH_TESTED = 200.0
"""Held-out weight that is enough for one temperature: no further fold is fitted then."""

ERRORS = 1.0
"""Standard errors by which something else must be better for held-out rows than what is usual."""

UNLABELLED_ERRORS, TRUSTING = 2.0, 0.5
"""The same for rows without a label: as a rule, and for models that they seldom mislead.

On six sets with 5, 15 and 50 labels a class, half an error was best for TAN, AODE and LCM. Naive
Bayes, HNB and latent trees lost by it: EM bends their simple classes to whatever groups there are.
"""

MOST_ROWS = 5000
"""If there are more rows, "auto" looks at a sample of about this many."""


@dataclass(frozen=True, eq=False)
class Tuned:
    """What was chosen.

    Attributes
    ----------
    unlabelled_weight : float
        Factor of the weight of the rows without a label.
    temperature : float
        1 if none is better.
    calibration : dict
        The facts about the temperature; empty if none was asked for or there are too few rows.
    log_losses : dict of float to float
        Held-out log-loss of each factor that was tried.
    """

    unlabelled_weight: float
    temperature: float = 1.0
    calibration: dict[str, float] = field(default_factory=dict)
    log_losses: dict[float, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class HeldOutFits:
    """Fits of an estimator to the training parts of folds.

    Attributes
    ----------
    estimator : GenerativeClassifier
    learned : Learned or None
        A fit to all rows, or to all labelled ones.
    training : Training
        The distinct rows that are looked at.
    folds : InnerFolds
        Folds of these.
    test_weight : array of shape (n_classes,)
        Factor of the weight of a tested row of each class: a sample has more of rare ones.
    few : bool
        Whether the fits to folds may be cheap (see `GenerativeClassifier._fit_again`).
    """

    estimator: Any
    learned: Learned | None
    training: Training
    folds: InnerFolds
    test_weight: FloatArray
    few: bool

    @classmethod
    def deal(
        cls,
        estimator: Any,
        training: Training,
        learned: Learned | None,
        seed: int,
        *,
        few: bool,
        most: int = N_FOLDS,
    ) -> HeldOutFits:
        """Deal the rows to folds; if `few`, only to as many as are enough, and of a sample.

        `most` is the number of folds that are used at most then. A fit is needed by estimators that
        keep something of it, such as cut points.
        """

        def fold_codes(rows: Training) -> Any:
            codes = rows.table.codes
            return codes if learned is None else learned.model.fold_codes(codes)

        codes = fold_codes(training)
        if not few:
            joined, folds = deal_folds(training, N_FOLDS, seed, codes)
            return cls(estimator, learned, joined, folds, np.ones(training.n_classes), few)
        part = _sample(training, seed)
        if part is not training:
            codes = fold_codes(part)
        joined, folds = deal_folds(part, N_FOLDS, seed, codes)
        weight = joined.weight[joined.labelled]
        n_tested = max(len(weight), float(weight.sum())) / folds.n_folds
        folds = folds.first(min(math.ceil(ENOUGH_TESTED / n_tested), most))
        shares, of_part = _class_shares(training), _class_shares(part)
        ratio = np.divide(shares, of_part, out=np.ones_like(shares), where=of_part > 0)
        return cls(estimator, learned, joined, folds, ratio, few)

    @property
    def possible(self) -> bool:
        """Whether there are rows to learn from beside those that are tested."""
        labelled = float(self.training.weight[self.training.labelled].sum())
        some = self.folds.n_folds > 1 or float(self.folds.weight.sum()) < (1 - SLIVER) * labelled
        return bool(some and self.training.n_classes > 1)

    @property
    def groups(self) -> IndexArray:
        """Groups of tested rows, of which each is judged by what the others say."""
        if self.folds.n_folds > 1:
            return self.folds.fold
        return np.arange(len(self.folds.row)) % 2  # the rows are in an order by content

    def held_out(self, factor: float, log_prior: FloatArray | None = None) -> HeldOutRows:
        """Evidence about the tested rows.

        Parameters
        ----------
        factor : float
            Of the weight of the rows without a label.
        log_prior : array of shape (n_classes,), optional
            log P(class) to judge the rows with; by default that of each fit, whose evidence is then
            divided by the temperature that the fit itself has found.
        """
        training, folds = self._weighed(factor)
        evidence = np.zeros((len(folds.row), training.n_classes))
        priors = np.zeros_like(evidence)
        for number, (model, temperature) in enumerate(self._fits(training, folds)):
            mine = folds.fold == number
            tested = training.table.take(folds.row[mine])
            evidence[mine] = model.evidence(tested, self.estimator.n_jobs)
            if log_prior is None:
                evidence[mine] /= temperature
            priors[mine] = model.log_prior if log_prior is None else log_prior
        y = training.y[folds.row]
        return HeldOutRows(evidence, y, folds.weight * self.test_weight[y], priors)

    def _weighed(self, factor: float) -> tuple[Training, InnerFolds]:
        """The rows with a factor for those without a label, and the folds of them."""
        training, folds = weigh_unlabelled(self.training, factor), self.folds
        if len(training.y) < len(self.training.y):  # only labelled rows are left
            place = np.cumsum(self.training.labelled) - 1
            folds = replace(folds, row=place[folds.row])
        return training, folds

    def _fits(self, training: Training, folds: InnerFolds) -> Iterator[tuple[FittedModel, float]]:
        """A model of each training part, and the temperature that its fit found."""
        if self.few:
            yield from self.estimator._fit_folds(self.learned, training, folds)
            return
        for number in range(folds.n_folds):
            copy = self.estimator._unfitted_copy(self.learned)
            one = copy._fit_model(folds.training_part(training, number), None)
            yield one.model, one.temperature


def learn_temperature_of(
    estimator: Any, training: Training, learned: Learned, seed: int, *, few: bool
) -> tuple[float, dict[str, float]]:
    """The temperature of a fitted model, from fits to folds, and the facts about it."""
    if training.n_classes < 2:
        return 1.0, {}
    left_out: HeldOutRows | None = learned.left_out if few else None
    if few and left_out is None and not _are_many(training, seed):
        left_out = estimator._left_out(training, learned)
    if left_out is not None:
        return left_out.learn_temperature(None, TOO_SURE)
    most = estimator._few_folds
    fits = HeldOutFits.deal(estimator, training, learned, seed, few=few, most=most)
    if not fits.possible:
        return 1.0, {}
    rows = fits.held_out(1.0, learned.model.log_prior)
    return rows.learn_temperature(fits.groups, TOO_SURE if few else NEUTRAL)


def choose_unlabelled_weight(
    estimator: Any, training: Training, learned: Learned, seed: int, calibrate: bool | str
) -> Tuned:
    """The factor of the rows without a label, and the temperature that goes with it.

    `learned` is a fit to the labelled rows alone. Few labelled rows can hardly tell which factor is
    better, so the others count only if that is better by more than some standard errors.
    """
    few, most = calibrate is not True, estimator._few_folds
    fits = HeldOutFits.deal(estimator, training, learned, seed, few=few, most=most)
    if not fits.possible:
        return Tuned(1.0)
    best: Tuned | None = None
    least, losses = 0.0, dict[float, float]()
    for factor in (0.0, usual_factor(training)):
        rows = fits.held_out(factor)
        prior = TOO_SURE if calibrate == "auto" else NEUTRAL
        temperature, facts = rows.learn_temperature(fits.groups, prior)
        if not calibrate:
            temperature = 1.0
        kept = "log_loss_before" if temperature == 1.0 else "log_loss_after"
        losses[factor] = facts[kept]
        mine = rows.clipped_losses(temperature)
        if best is None:
            best, usual = Tuned(factor, temperature, facts), mine
            continue
        gain, error = mean_and_error(usual - mine, rows.weight)
        merit = gain - estimator._unlabelled_errors * error
        if merit > least:
            best, least = Tuned(factor, temperature, facts), merit
    assert best is not None
    if best.unlabelled_weight == 0:  # as if there were only labelled rows, in all that follows
        return Tuned(0.0, log_losses=losses)
    return replace(best, log_losses=losses)


def mean_and_error(values: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Weighted mean of rows and its standard error; weights count rows."""
    total = float(weight.sum())
    mean = float(values @ weight) / total
    spread = float((values - mean) ** 2 @ weight) / total
    return mean, float(np.sqrt(spread / max(total - 1.0, 1.0)))


def _are_many(training: Training, seed: int) -> bool:
    """Whether there are too many distinct rows to look at all of them."""
    if len(training.y) <= MOST_ROWS:
        return False
    return len(sample_rows(training, MOST_ROWS, seed)[0].y) > MOST_ROWS


def _sample(training: Training, seed: int) -> Training:
    """The rows, or a sample of very many, in which rows without a label keep their share."""
    if len(training.y) <= MOST_ROWS:
        return training
    joined, part = sample_rows(training, MOST_ROWS, seed)
    labelled = joined.weight[joined.labelled].sum() / part.weight[part.labelled].sum()
    hidden = joined.weight[~joined.labelled].sum()
    if hidden == 0:
        return part
    factor = hidden / part.weight[~part.labelled].sum() / labelled
    return weigh_unlabelled(part, float(factor))


def _class_shares(training: Training) -> FloatArray:
    labelled = training.labelled
    weight = np.bincount(
        training.y[labelled], training.weight[labelled], minlength=training.n_classes
    )
    return np.asarray(weight / weight.sum())
