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
    """The rule by which the answers of several models are averaged.

    Attributes
    ----------
    priors : array of shape (n_models, n_classes)
        Each model's class probabilities.
    rule : {"posteriors", "joints"}
        "posteriors": P(class | x) is the mean of the models' class probabilities, and p(x) the mean
        of their densities. "joints": p(x, class) is the mean of the models' joint densities, so a
        model counts by how probable it finds the row.
    weights : array of shape (n_models,), optional
        Weight of each model, with sum 1; by default all have the same.
    """

    priors: FloatArray
    rule: Literal["posteriors", "joints"]
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        check_option("rule", self.rule, ("posteriors", "joints"))
        check_shape("priors", self.priors, (None, None))
        check_distribution("priors", self.priors)
        if self.weights is not None:
            check_shape("weights", self.weights, (self.n_models,))
            check_distribution("weights", self.weights)

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.priors)

    @property
    def class_prior(self) -> FloatArray:
        """Class probabilities of the average."""
        return np.asarray(np.average(self.priors, axis=0, weights=self.weights))

    @property
    def shares(self) -> FloatArray:
        """P(model | class), shape (n_models, n_classes); even for a class without any row."""
        share = np.full_like(self.priors, 1.0 / self.n_models)
        joint = self.priors
        if self.weights is not None:
            share[:] = self.weights[:, None]
            joint = self.priors * share
        total = joint.sum(axis=0)
        np.divide(joint, total, out=share, where=total > 0)
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
        combined = self._divide_by_prior(self.log_mean(posterior) + self.log_mean(density)[:, None])
        return np.where(self.class_prior > 0, combined, self.log_mean(evidence))

    def log_ratio(self, posterior: FloatArray) -> FloatArray:
        """log P(class | row) / P(class) of the average by the rule "posteriors".

        `posterior` is log P(class | row) of each model, (n_models, rows, classes). The ratio of a
        class without any row is 1: nothing is known about it.
        """
        return np.where(self.class_prior > 0, self._divide_by_prior(self.log_mean(posterior)), 0.0)

    def log_mean(self, log_values: FloatArray) -> FloatArray:
        """log of the weighted mean of exp over the first axis, that of the models."""
        if self.weights is None:
            return log_mean(log_values)
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        return log_sum_exp(np.moveaxis(log_values, 0, -1) + log_weights)

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
