"""The fitted values of hierarchical naive Bayes: one hierarchy, or an average of several."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.data._match import free_name
from latentclass.data._schema import Table
from latentclass.discrete._model import DiscreteModel
from latentclass.discrete._network import draw_levels
from latentclass.estimator._average import Average
from latentclass.estimator._fitted import Posterior, check_distribution, check_shape
from latentclass.estimator._latent_names import Names, check_latent_names
from latentclass.hnb._hierarchy import (
    FilledHierarchy,
    Hierarchy,
    best_log_likelihood,
    draw_codes,
    latent_posterior,
    log_likelihood,
)


@dataclass(frozen=True, eq=False)
class HierarchyModel(DiscreteModel):
    """A hierarchy of latent variables below the class.

    Attributes
    ----------
    filled : FilledHierarchy
        The hierarchy with its tables.
    support : tuple of arrays of shape (n_states, n_classes)
        For each latent variable, the weight of the labelled training rows known to be in each
        state.
    ignored : tuple of int
        Top variables whose tables are the same in all classes.
    names : tuple of tuple of str
        Names of the latent variables in one group; empty if none were given.
    """

    filled: FilledHierarchy
    support: tuple[FloatArray, ...]
    ignored: tuple[int, ...] = ()
    names: Names = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_latent_names(self.names, len(self.hierarchy.latents))
        n_states = int(self.hierarchy.offsets[-1])
        check_shape("log_theta", self.filled.tables.log_theta, (self.n_classes, n_states))
        for theta in self.filled.thetas:
            check_distribution("log_theta", theta.T)
        for latent, counts in zip(self.hierarchy.latents, self.support, strict=True):
            check_shape("support", counts, (latent.n_states, self.n_classes))

    @property
    def hierarchy(self) -> Hierarchy:
        """Which variables are joined, in what states."""
        return self.filled.hierarchy

    def code_log_likelihood(self, codes: CodeArray) -> FloatArray:
        """log P(observed codes | class), shape (n_rows, n_classes)."""
        return log_likelihood(self.filled, codes)

    def sample_codes(self, y: IndexArray, rng: np.random.Generator) -> CodeArray:
        """Draw the active columns' codes of one row for each class code."""
        return draw_codes(self.filled, y, rng)

    def most_probable_codes(self, codes: CodeArray) -> CodeArray:
        """Exact: each code in turn gets the level from which the others can reach the most."""
        peaks = self.coding.peaks()
        return self.fill_in_turn(codes, lambda rows: best_log_likelihood(self.filled, rows, peaks))

    def latent(self, table: Table, posterior: Posterior, n_jobs: int | None) -> FloatArray:  # noqa: ARG002
        """P(state | observed cells) of every latent variable; of the class if there is none."""
        class_shares = posterior(table)
        if not self.hierarchy.latents:
            return class_shares
        return np.hstack(latent_posterior(self.filled, self.coded(table), class_shares))

    def hidden_states(self, table: Table) -> list[tuple[FloatArray, FloatArray]]:
        """See `FittedModel`; without missing cells every state is certain."""
        posterior = np.exp(self.log_posterior(table, self.log_prior, 1.0, None))
        states = latent_posterior(self.filled, self.coded(table), posterior)
        return [(np.ones(table.n_rows), one) for one in states]

    def latent_names(self, labels: list[str], columns: list[str]) -> list[str]:
        """`L1=0`, `L1=1` and so on: each state of each latent variable."""
        latents = self.hierarchy.latents
        if not latents:
            return labels
        return [
            f"{name}={state}"
            for name, latent in zip(self.named(columns)[0], latents, strict=True)
            for state in range(latent.n_states)
        ]

    def variable_names(self, columns: list[str]) -> list[str]:
        """Names of the active columns, then of the latent variables."""
        return [*(columns[j] for j in self.coding.positions), *self.named(columns)[0]]

    def named(self, columns: list[str]) -> Names:
        """Names of the latent variables: those that were given, or L1, L2 and so on."""
        numbers = range(1, len(self.hierarchy.latents) + 1)
        return self.names or (tuple(free_name(f"L{t}", columns) for t in numbers),)


@dataclass(frozen=True, eq=False)
class AveragedHierarchies(DiscreteModel):
    """The average of p(x, class) over several hierarchies of the same coding.

    Attributes
    ----------
    members : tuple of HierarchyModel
    """

    members: tuple[HierarchyModel, ...]

    @classmethod
    def of(cls, members: tuple[HierarchyModel, ...]) -> AveragedHierarchies:
        """The average of some hierarchies."""
        return cls(_average(members).class_prior, members[0].coding, members)

    @property
    def average(self) -> Average:
        """The rule of averaging: a hierarchy counts by how probable it finds the row."""
        return _average(self.members)

    def code_log_likelihood(self, codes: CodeArray) -> FloatArray:
        """log P(observed codes | class), shape (n_rows, n_classes)."""
        return self.average.mix(np.stack([one.code_log_likelihood(codes) for one in self.members]))

    def sample_codes(self, y: IndexArray, rng: np.random.Generator) -> CodeArray:
        """Draw a hierarchy for each class code, and the active columns' codes from it."""
        number = draw_levels(self.average.shares.T[y], rng)
        codes = np.empty((len(y), len(self.coding.n_levels)), dtype=np.int32)
        for m, one in enumerate(self.members):
            rows = np.flatnonzero(number == m)
            codes[rows] = one.sample_codes(y[rows], rng)
        return codes

    def latent(self, table: Table, posterior: Posterior, n_jobs: int | None) -> FloatArray:  # noqa: ARG002
        """The latent variables of all hierarchies side by side, each by its own posterior."""

        def of_one(one: HierarchyModel) -> FloatArray:
            return one.latent(
                table,
                lambda rows: np.exp(one.log_posterior(rows, one.log_prior, 1.0, n_jobs)),
                n_jobs,
            )

        return np.hstack([of_one(one) for one in self.members])

    def named(self, _columns: list[str]) -> Names:
        """Nothing: the latent variables of an average cannot be renamed."""
        return ()

    def latent_names(self, labels: list[str], columns: list[str]) -> list[str]:
        """The names of each hierarchy, with the number of the hierarchy in front."""
        return [
            f"model{m}_{name}"
            for m, one in enumerate(self.members)
            for name in one.latent_names(labels, columns)
        ]


def _average(members: tuple[HierarchyModel, ...]) -> Average:
    return Average(np.stack([one.class_prior for one in members]), "joints")
