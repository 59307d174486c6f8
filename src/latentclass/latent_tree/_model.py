"""A fitted latent tree classifier as a value: trees of each class, for each set of cut points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.data._schema import Table
from latentclass.discrete._model import DiscreteModel
from latentclass.estimator._average import Average
from latentclass.estimator._fitted import Posterior
from latentclass.latent_tree._tree import observed_codes, sample_nodes

if TYPE_CHECKING:
    from latentclass.discrete._cut_sets import CutSet
    from latentclass.latent_tree._tree import Tree


@dataclass(frozen=True, eq=False)
class LatentTreeModel(DiscreteModel):
    """The average over several sets of cut points of one tree per class.

    Attributes
    ----------
    average : Average
        How the models of the sets are averaged: class probabilities and densities.
    cut_sets : tuple of CutSet
        The first is that of the rows as they are, and what one reads is of it.
    trees : tuple of tuple of Tree
        For each set the trees by class; empty if no column varies.
    names : tuple of tuple of str
        Names of the latent variables of each class's tree.
    """

    average: Average
    cut_sets: tuple[CutSet, ...]
    trees: tuple[tuple[Tree, ...], ...]
    names: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        DiscreteModel.__post_init__(self)
        if self.trees and len(self.trees) != len(self.cut_sets):
            raise ValueError(
                f"There are {len(self.cut_sets)} sets of cut points, but trees for "
                f"{len(self.trees)} of them."
            )
        for number, trees in enumerate(self.trees):
            if len(trees) != self.n_classes:
                raise ValueError(
                    f"Set {number} of the cut points has {len(trees)} trees for {self.n_classes} "
                    "classes."
                )
        n_latent = [len(tree.latent) for tree in self.first_trees] or [0] * self.n_classes
        if [len(own) for own in self.names] != n_latent:
            raise ValueError("Each latent variable of each tree needs one name.")

    @property
    def first_trees(self) -> tuple[Tree, ...]:
        """Trees for the first set of cut points, by class; none if no column varies."""
        return self.trees[0] if self.trees else ()

    def code_log_likelihood(self, codes: CodeArray) -> FloatArray:
        """log P(observed codes | class), shape (n_rows, n_classes)."""
        from latentclass.latent_tree._predict_kernels import class_log_likelihood

        if not self.trees:
            return np.zeros((len(codes), self.n_classes))
        evidence = [
            class_log_likelihood(trees, cuts.coarse(codes)) + cuts.log_inside(codes)[:, None]
            for trees, cuts in zip(self.trees, self.cut_sets, strict=True)
        ]
        return self.average.mix(np.stack(evidence))

    def own_code_log_likelihood(self, codes: CodeArray, y: IndexArray) -> FloatArray:
        """log P(observed codes | own class)."""
        from latentclass.latent_tree._predict_kernels import class_log_likelihood

        if len(self.trees) > 1:  # an average needs the classes' probabilities, so all of them
            return super().own_code_log_likelihood(codes, y)
        out = np.zeros(len(codes))
        for k, tree in enumerate(self.first_trees):
            out[y == k] = class_log_likelihood([tree], codes[y == k])[:, 0]
        return out

    def sample_codes(self, y: IndexArray, rng: np.random.Generator) -> CodeArray:
        """Draw the active columns' codes of one row for each class code."""
        codes = np.empty((len(y), len(self.coding.n_levels)), dtype=np.int32)
        several = len(self.trees) > 1
        chosen = rng.integers(len(self.trees), size=len(y)) if several else np.zeros(len(y))
        for number, (trees, cuts) in enumerate(zip(self.trees, self.cut_sets, strict=False)):
            for k, tree in enumerate(trees):
                mine = (chosen == number) & (y == k)
                drawn = sample_nodes(tree, int(mine.sum()), rng)
                own = observed_codes(tree, drawn, codes.shape[1])
                codes[mine] = cuts.draw(own, rng) if several else own
        return codes

    def latent(self, table: Table, posterior: Posterior, n_jobs: int | None) -> FloatArray:
        """P(class, state | observed cells) of every state of every latent variable."""
        from latentclass.latent_tree._inference import group_rows, node_posteriors

        if not self.trees:
            return super().latent(table, posterior, n_jobs)
        share, spans = posterior(table), table.spans()
        parts = []
        for span in spans:
            rows = group_rows(self.cut_sets[0].coarse(self.coding.encode(table.block(span))))
            columns = [
                part * share[span, k : k + 1]
                for k, tree in enumerate(self.first_trees)
                for part in node_posteriors(tree, rows)
            ]
            parts.append(np.hstack(columns))
        return np.concatenate(parts)

    def latent_names(self, labels: list[str], columns: list[str]) -> list[str]:
        """Class, name and state of each column of `latent`."""
        if not self.trees:
            return super().latent_names(labels, columns)
        return [
            f"{label}:{name}={state}"
            for label, tree, names in zip(labels, self.first_trees, self.names, strict=True)
            for name, k in zip(names, tree.latent_cardinalities, strict=True)
            for state in range(k)
        ]
