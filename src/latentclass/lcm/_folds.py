"""Cross-validation of latent classification models, with all folds and starts in one batch.

A fold is a weighting of the rows in which its test rows have weight 0. So one run of EM fits every
start of every fold. For the linear model, the moments of a fold are those of all rows minus those
of its test rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.engine._class_components import (
    ComponentData,
    add_full,
    gather_rows,
    log_joint_rows,
)
from latentclass.engine._content_holdout import SLIVER
from latentclass.engine._em import run_groups
from latentclass.engine._gaussian import Moments
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.estimator._gaussian_model import Measured
from latentclass.estimator._inner_folds import InnerFolds
from latentclass.estimator._reading import Training
from latentclass.lcm._edges import learn_structure
from latentclass.lcm._em import LCMParams, LCMProblem, to_components
from latentclass.lcm._fit import LCMSettings


@dataclass(frozen=True)
class FoldedRows:
    """Rows of a cross-validation.

    Attributes
    ----------
    values, codes : arrays
        Standardised continuous columns and codes of the discrete ones.
    y, weight : arrays of shape (N,)
    folds : InnerFolds
    n_classes : int
    offsets : array
        First level of each discrete column.
    """

    values: FloatArray
    codes: CodeArray
    y: IndexArray
    weight: FloatArray
    folds: InnerFolds
    n_classes: int
    offsets: IndexArray

    @classmethod
    def of(cls, training: Training, measured: Measured, folds: InnerFolds) -> FoldedRows:
        """Standardise the rows of a table."""
        numeric, codes = training.table.block(slice(0, training.table.n_rows))
        return cls(
            measured.scaling.values(numeric),
            codes,
            training.y,
            training.weight,
            folds,
            training.n_classes,
            measured.level_offsets,
        )

    def gather(self, n_latent: int, n_components: int, width: int) -> ComponentData:
        """Prepare the rows for the E-step, with one weighting per fold."""
        folds, every = self.folds, np.arange(len(self.y))
        weights, one_component = self._training_weights(), n_components == 1

        def gather(rows: IndexArray, weights: FloatArray) -> ComponentData:
            return gather_rows(
                self.values[rows],
                self.codes[rows],
                self.y[rows],
                weights[:, rows],
                n_classes=self.n_classes,
                one_component=one_component,
                offsets=self.offsets,
                width=width,
                rank=n_latent,
            )

        if not one_component or folds.left_out is not None:
            return gather(every, weights)
        # rows that are not tested in full are gathered with their weights, like incomplete rows
        tested = np.bincount(folds.row, folds.weight, len(every))
        hidden = np.isnan(self.values).any(axis=1) | (tested < (1.0 - SLIVER) * self.weight)
        data = gather(np.flatnonzero(hidden), weights)
        parts = []
        for number in range(folds.n_folds):
            known = (folds.fold == number) & ~hidden[folds.row]
            weight = np.zeros(len(self.y))
            weight[folds.row[known]] = folds.weight[known]
            parts.append(gather(folds.row[known], weight[None]))

        def add_others(own: FloatArray, tested: list[FloatArray]) -> FloatArray:
            """Each fold learns from the sums of all rows minus those of its test rows."""
            sums = np.concatenate(tested)
            return np.asarray(own + sums.sum(axis=0) - sums)

        known = zip(data.known, *(part.known for part in parts), strict=True)
        return replace(
            data,
            known=Moments(*(add_others(own, tested) for own, *tested in known)),
            known_counts=add_others(data.known_counts, [part.known_counts for part in parts]),
            labelled=add_others(data.labelled, [part.labelled for part in parts]),
            total_weight=add_others(data.total_weight, [part.total_weight for part in parts]),
        )

    def _training_weights(self) -> FloatArray:
        folds = self.folds
        return np.stack(
            [folds.training_weight(self.weight, number) for number in range(folds.n_folds)]
        )

    def log_joint(self, params: LCMParams, rows: IndexArray) -> FloatArray:
        """log p(x, class) of some rows under each start, shape (S, n_rows, Y)."""
        components = add_full(to_components(params)[0])
        joint = log_joint_rows(components, self.values[rows], self.codes[rows], self.offsets)
        return log_sum_exp(np.moveaxis(joint, 2, -1)).transpose(0, 2, 1)


def held_out_log_posterior(rows: FoldedRows, settings: LCMSettings, seed: int) -> FloatArray:
    """log P(class | x) of each tested row under the model of the fold that tests it.

    Shape (n_tests, Y). The same seed gives the same result, whatever else is fitted.
    """
    folds = rows.folds
    out = np.empty((len(folds.row), rows.n_classes))
    for number, params in enumerate(fit_folds(rows, settings, seed)):
        mine = folds.fold == number
        posterior = log_normalise(rows.log_joint(params, folds.row[mine]))
        out[mine] = log_sum_exp(np.moveaxis(posterior, 0, -1)) - np.log(len(posterior))
    return out


def fit_folds(rows: FoldedRows, settings: LCMSettings, seed: int) -> list[LCMParams]:
    """Parameters of the kept starts of each fold."""
    n_folds, n_init = rows.folds.n_folds, settings.n_init
    width = n_folds * n_init * settings.n_components
    problem = LCMProblem(
        rows.gather(settings.n_latent, settings.n_components, width),
        settings.n_components,
        settings.n_latent,
        settings.tied,
        settings.prior,
        settings.offset,
    )
    seeds = np.random.SeedSequence([seed, settings.n_latent, settings.n_components])
    children = seeds.spawn(n_init)
    rngs = [np.random.default_rng(child) for _ in range(n_folds) for child in children]
    groups = np.repeat(np.arange(n_folds), n_init)
    starts = problem.starts(groups, rngs)
    if settings.structure == "learned":
        starts = learn_structure(problem, starts, rngs, settings.max_iter)
    labelled = np.flatnonzero(rows.y >= 0)
    weights = rows._training_weights()[:, labelled]

    def training_accuracy(params: LCMParams) -> FloatArray:
        right = rows.log_joint(params, labelled).argmax(axis=2) == rows.y[labelled]
        return np.asarray((right * weights[params.weighting]).sum(axis=1))

    results = run_groups(
        problem,
        starts,
        groups,
        rngs=rngs,
        score=training_accuracy if settings.select == "accuracy" else None,
        **settings.contest(),
    )
    return [result.params for result in results]
