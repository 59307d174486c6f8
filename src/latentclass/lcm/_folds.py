"""Cross-validation of latent classification models, with all folds and starts in one batch.

A fold is a weighting of the rows in which its test rows have weight 0. So one run of EM fits every
start of every fold. For the linear model, the moments of a fold are those of all rows minus those
of its test rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.engine._class_components import ComponentData, gather_rows, log_joint_rows
from latentclass.engine._em import run_groups
from latentclass.engine._logspace import log_normalise, log_sum_exp
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
    fold : array of shape (N,)
        The fold that tests a row; -1 for a row that no fold tests.
    n_folds, n_classes : int
    offsets : array
        First level of each discrete column.
    left_out : array of shape (n_folds, N), optional
        Rows that a fold neither learns from nor tests; None if there are none.
    """

    values: FloatArray
    codes: CodeArray
    y: IndexArray
    weight: FloatArray
    fold: IndexArray
    n_folds: int
    n_classes: int
    offsets: IndexArray
    left_out: BoolArray | None = None

    def gather(self, n_components: int, width: int) -> ComponentData:
        """Prepare the rows for the E-step, with one weighting per fold."""
        if n_components > 1 or self.left_out is not None:
            every = np.arange(len(self.y))
            return self._gather(every, self._training_weights(), n_components == 1, width)
        # rows that no fold tests are learned from in all folds, like incomplete rows
        hidden = (self.y < 0) | np.isnan(self.values).any(axis=1) | (self.fold < 0)
        data = self._gather(np.flatnonzero(hidden), self._training_weights(), True, width)
        known = np.flatnonzero(~hidden)
        parts = [
            self._gather(known[self.fold[known] == fold], self.weight[None], True, width)
            for fold in range(self.n_folds)
        ]
        # each fold learns from the sums of all rows minus those of its test rows
        sums, counts, labelled, weight = (
            np.concatenate(arrays)
            for arrays in zip(
                *((p.known, p.known_counts, p.labelled, p.total_weight) for p in parts),
                strict=True,
            )
        )
        return replace(
            data,
            known=data.known + sums.sum(axis=0) - sums,
            known_counts=data.known_counts + counts.sum(axis=0) - counts,
            labelled=data.labelled + labelled.sum(axis=0) - labelled,
            total_weight=data.total_weight + weight.sum(axis=0) - weight,
        )

    def _training_weights(self) -> FloatArray:
        out = self.fold == np.arange(self.n_folds)[:, None]
        if self.left_out is not None:
            out |= self.left_out
        return np.where(out, 0.0, self.weight)

    def _gather(
        self, rows: IndexArray, weights: FloatArray, one_component: bool, width: int
    ) -> ComponentData:
        return gather_rows(
            self.values[rows],
            self.codes[rows],
            self.y[rows],
            weights[:, rows],
            n_classes=self.n_classes,
            one_component=one_component,
            offsets=self.offsets,
            width=width,
        )

    def log_joint(self, params: LCMParams, rows: IndexArray) -> FloatArray:
        """log p(x, class) of some rows under each start, shape (S, n_rows, Y)."""
        components, _ = to_components(params)
        joint = log_joint_rows(components, self.values[rows], self.codes[rows], self.offsets)
        return log_sum_exp(np.moveaxis(joint, 2, -1)).transpose(0, 2, 1)


def held_out_log_posterior(rows: FoldedRows, settings: LCMSettings, seed: int) -> FloatArray:
    """log P(class | x) of each row under the model of the fold that tests it, shape (N, Y).

    Rows that no fold tests get NaN. The same seed gives the same result, whatever else is fitted.
    """
    n_folds, n_init = rows.n_folds, settings.n_init
    width = n_folds * n_init * settings.n_components
    problem = LCMProblem(
        rows.gather(settings.n_components, width),
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
    out = np.full((len(rows.y), rows.n_classes), np.nan)
    for fold, result in enumerate(results):
        test = np.flatnonzero(rows.fold == fold)
        posterior = log_normalise(rows.log_joint(result.params, test))
        mixed = log_sum_exp(np.moveaxis(posterior, 0, -1)) - np.log(len(posterior))
        out[test] = mixed
    return out
