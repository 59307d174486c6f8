"""How several models answer as one: averaged starts, hierarchies, cut sets, visited models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from latentclass._types import FloatArray
from latentclass._validation import check_option
from latentclass.engine._logspace import log_sum_exp, split_log
from latentclass.estimator._fitted import check_distribution, check_shape


@dataclass(frozen=True, eq=False)
class Average:
    """The rule by which the answers of several models are averaged, all with the same weight.

    Attributes
    ----------
    priors : array of shape (n_models, n_classes)
        Each model's class probabilities.
    rule : {"posteriors", "joints"}
        "posteriors": P(class | x) is the mean of the models' class probabilities, and p(x) the mean
        of their densities. "joints": p(x, class) is the mean of the models' joint densities, so a
        model counts by how probable it finds the row.
    """

    priors: FloatArray
    rule: Literal["posteriors", "joints"]

    def __post_init__(self) -> None:
        check_option("rule", self.rule, ("posteriors", "joints"))
        check_shape("priors", self.priors, (None, None))
        check_distribution("priors", self.priors)

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.priors)

    @property
    def class_prior(self) -> FloatArray:
        """Class probabilities of the average."""
        return np.asarray(self.priors.mean(axis=0))

    @property
    def shares(self) -> FloatArray:
        """P(model | class), shape (n_models, n_classes); even for a class without any row."""
        total = self.priors.sum(axis=0)
        share = np.full_like(self.priors, 1.0 / self.n_models)
        np.divide(self.priors, total, out=share, where=total > 0)
        return share

    def mix(self, evidence: FloatArray) -> FloatArray:
        """log p(row | class) of the average, from that of each model, (n_models, rows, classes)."""
        if self.n_models == 1:
            return np.asarray(evidence[0])
        with np.errstate(divide="ignore"):
            if self.rule == "joints":
                return self._mix_joints(evidence, np.log(self.shares))
            log_priors = np.log(self.priors)
        posterior, density = split_log(evidence + log_priors[:, None])
        combined = self._divide_by_prior(log_mean(posterior) + log_mean(density)[:, None])
        return np.where(self.class_prior > 0, combined, log_mean(evidence))

    def log_ratio(self, posterior: FloatArray) -> FloatArray:
        """log P(class | row) / P(class) of the average by the rule "posteriors".

        `posterior` is log P(class | row) of each model, (n_models, rows, classes). The ratio of a
        class without any row is 1: nothing is known about it.
        """
        return np.where(self.class_prior > 0, self._divide_by_prior(log_mean(posterior)), 0.0)

    def _divide_by_prior(self, log_values: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(log_values - np.log(self.class_prior))

    def _mix_joints(self, evidence: FloatArray, log_shares: FloatArray) -> FloatArray:
        total = np.full(evidence.shape[1:], -np.inf)
        for one, log_share in zip(evidence, log_shares, strict=True):
            np.logaddexp(total, one + log_share, out=total)
        return total


def log_mean(log_values: FloatArray) -> FloatArray:
    """log of the mean of exp over the first axis."""
    return log_sum_exp(np.moveaxis(log_values, 0, -1)) - float(np.log(len(log_values)))
