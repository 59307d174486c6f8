"""Fitted finite mixtures: each class is a mixture of components with independent columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.data._schema import Block, Table
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.estimator._fitted import (
    FittedModel,
    Posterior,
    check_distribution,
    check_no_nan,
    check_shape,
)
from latentclass.estimator._latent_names import Names, check_latent_names
from latentclass.naive_bayes._components import ProductComponents

SWEEPS = 100
"""Most rounds of the search for the most probable cells of a row."""


@dataclass(frozen=True, eq=False)
class FiniteMixtureModel(FittedModel):
    """Finite mixture augmented naive Bayes; with one class, a plain mixture.

        p(x, c) = p(c) sum_h p(h | c) prod_j p(x_j | c, h)

    Attributes
    ----------
    class_prior : array of shape (n_classes,)
    components : ProductComponents
        One for each class and state of the hidden variable, the states of a class together.
    log_share : array of shape (n_classes, n_states)
        log p(h | class).
    names : tuple of tuple of str
        Names of the states of a plain mixture in one group; empty if none were given.
    """

    class_prior: FloatArray
    components: ProductComponents
    log_share: FloatArray
    names: Names = ()

    def __post_init__(self) -> None:
        check_shape("class_prior", self.class_prior, (None,))
        check_distribution("class_prior", self.class_prior)
        check_shape("log_share", self.log_share, (self.n_classes, None))
        check_no_nan("log_share", self.log_share)
        check_distribution("log_share", np.exp(self.log_share))
        check_latent_names(self.names, self.n_states)
        check_shape("mean", self.components.params.mean, (self.log_share.size, None))

    @property
    def n_states(self) -> int:
        """States of the hidden variable, the same number in all classes."""
        return int(self.log_share.shape[1])

    # ---------------------------------------------------------------- answers

    def log_likelihood(self, block: Block) -> FloatArray:
        """log p(observed cells | class)."""
        return log_sum_exp(self._log_joint(block))

    def without_each(self, block: Block, wanted: BoolArray) -> FloatArray:
        """log p(observed cells but that of one column | class)."""
        log_density = self.components.log_density_without_each(block)
        return log_sum_exp(
            log_density.reshape(*wanted.shape, *self.log_share.shape) + self.log_share
        )

    def _log_joint(self, block: Block) -> FloatArray:
        """log p(observed cells, h | class), shape (n_rows, n_classes, n_states)."""
        log_density = self.components.log_density(block)
        return log_density.reshape(len(log_density), *self.log_share.shape) + self.log_share

    def latent(self, table: Table, posterior: Posterior, n_jobs: int | None) -> FloatArray:
        """p(class, h | observed cells), shape (n_rows, n_classes * n_states)."""

        def visit(block: Block) -> FloatArray:
            return np.exp(log_normalise(self._log_joint(block)))

        within = self.by_block(visit, table, n_jobs)
        return (posterior(table)[:, :, None] * within).reshape(table.n_rows, self.log_share.size)

    def hidden_states(self, table: Table) -> list[tuple[FloatArray, FloatArray]]:
        """See `FittedModel`: the hidden variable of each class."""
        joint = self._log_joint(table.block(slice(None)))
        share = np.exp(log_normalise(log_sum_exp(joint) + self.log_prior))
        return [(share[:, k], np.exp(log_normalise(joint[:, k]))) for k in range(self.n_classes)]

    def latent_names(self, labels: list[str], columns: list[str]) -> list[str]:
        """Each class with each state of the hidden variable."""
        del columns
        return [f"{label}_{h}" for label in labels for h in range(self.n_states)]

    def named(self, _columns: list[str]) -> Names:
        """Names of the states: those that were given, or numbers."""
        return self.names or (tuple(map(str, range(self.n_states))),)

    def sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        """Draw one row for each class code."""
        edges = np.cumsum(np.exp(self.log_share), axis=1)[:, :-1]
        state = (rng.random(len(y))[:, None] >= edges[y]).sum(axis=1)
        return self.components.sample_table(y * self.n_states + state, rng)

    def expected_cells(self, table: Table, posterior: Posterior, n_jobs: int | None) -> Table:
        """Mean of every continuous cell, most probable code of every discrete one."""
        return self.components.expected_cells(self.latent(table, posterior, n_jobs))

    def most_probable_cells(self, table: Table, n_jobs: int | None) -> Table:
        """The cells of the most probable completion; with several states, the best that is found.

        With several states the best completion has no closed form. It is searched for from the
        modes of each component, and a round of the search never makes a completion worse.
        """
        if self.n_states == 1:
            joint = self.evidence(table, n_jobs) + self.log_prior
            return self.components.best_cells(table, joint, self.components.peaks())
        numeric, codes = table.block(slice(None))
        hidden = np.isnan(numeric).any(axis=1) | (codes < 0).any(axis=1)
        filled = Block(numeric.copy(), codes.copy())
        rows = Block(numeric[hidden], codes[hidden])
        best = np.full(len(rows.numeric), -np.inf)
        for component in range(self.log_share.size):
            k = component // self.n_states
            found = self._climb(rows, component)
            height = self.log_likelihood(found)[:, k] + self.log_prior[k]
            better = height > best
            best[better] = height[better]
            place = np.flatnonzero(hidden)[better]
            filled.numeric[place], filled.codes[place] = (part[better] for part in found)
        return Table(*filled)

    def _climb(self, rows: Block, component: int) -> Block:
        """Missing cells of the highest density p(x | class) that is found from one component."""
        k, centres = component // self.n_states, self.components.centres
        members = slice(k * self.n_states, (k + 1) * self.n_states)
        no_number, no_code = np.isnan(rows.numeric) & self.components.observed, rows.codes < 0
        numeric, codes = self.components.fill_with_modes(rows, component)
        widths = self.components.widths[members]
        precision = (widths.min(axis=0) / widths) ** 2  # up to a factor that cancels
        for _ in range(SWEEPS):
            before = numeric.copy(), codes.copy()
            share = np.exp(log_normalise(self._log_joint(Block(numeric, codes))[:, k]))
            pull = (share @ (precision * centres[members])) / (share @ precision)
            numeric = np.where(no_number, pull, numeric)
            for place, log_prob in enumerate(self.components.level_log_probs):
                missing = no_code[:, place]
                if log_prob.shape[1] and missing.any():
                    part = codes[missing]
                    part[:, place] = -1
                    rest = self._log_joint(Block(numeric[missing], part))[:, k]
                    height = log_sum_exp(rest[:, None, :] + log_prob[members].T)
                    codes[missing, place] = height.argmax(axis=1)
            if np.array_equal(codes, before[1]) and np.allclose(
                numeric, before[0], rtol=1e-12, atol=0.0, equal_nan=True
            ):
                break
        return Block(numeric, codes)
