"""A fitted latent tree classifier as a value: one tree per class and set of cut points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.data._schema import Table
from latentclass.discrete._model import DiscreteModel
from latentclass.estimator._average import Average
from latentclass.estimator._fitted import Posterior, check_shape
from latentclass.estimator._latent_names import Names
from latentclass.latent_tree._tree import observed_codes, sample_nodes

if TYPE_CHECKING:
    from latentclass.discrete._cut_sets import CutSet
    from latentclass.latent_tree._tree import Tree


@dataclass(frozen=True, eq=False)
class LatentTreeModel(DiscreteModel):
    """One tree per class, averaged over several sets of cut points.

    With a single set this is P(C = c, x) of equation (1) of Wang, Zhang, Chen and Poon (2011).

    Attributes
    ----------
    average : Average
        How the models of the sets are averaged.
    cut_sets : tuple of CutSet
        The first was learned from the training rows with their own weights; everything that
        describes the trees to the user refers to it.
    trees : tuple of tuple of Tree
        For each set the tree of each class; empty if no column varies.
    names : tuple of tuple of str
        For each class the names of the latent variables of its tree.
    """

    average: Average
    cut_sets: tuple[CutSet, ...]
    trees: tuple[tuple[Tree, ...], ...]
    names: Names

    def __post_init__(self) -> None:
        DiscreteModel.__post_init__(self)
        check_shape("average.priors", self.average.priors, (len(self.trees) or 1, self.n_classes))
        if self.trees and len(self.trees) != len(self.cut_sets):
            raise ValueError(
                f"trees has {len(self.trees)} entries but must have one for each of the "
                f"{len(self.cut_sets)} sets of cut points."
            )
        for number, trees in enumerate(self.trees):
            if len(trees) != self.n_classes:
                raise ValueError(
                    f"trees[{number}] has {len(trees)} trees but must have one for each of the "
                    f"{self.n_classes} classes."
                )
            for k, tree in enumerate(trees):
                _check_leaves(f"trees[{number}][{k}]", tree, self.cut_sets[number].n_levels)
        n_latent = [len(tree.latent) for tree in self.first_trees] or [0] * self.n_classes
        n_names = [len(own) for own in self.names]
        if n_names != n_latent:
            raise ValueError(
                f"names has {n_names} names by class, but the trees have {n_latent} latent "
                "variables."
            )

    @property
    def first_trees(self) -> tuple[Tree, ...]:
        """The tree of each class for the first set of cut points; empty if no column varies."""
        return self.trees[0] if self.trees else ()

    def code_log_likelihood(self, codes: CodeArray) -> FloatArray:
        """log P(observed codes | class), shape (n_rows, n_classes)."""
        from latentclass.latent_tree._predict import class_log_likelihood

        if not self.trees:
            return np.zeros((len(codes), self.n_classes))
        evidence = [
            class_log_likelihood(trees, cuts.coarse(codes)) + cuts.log_inside(codes)[:, None]
            for trees, cuts in zip(self.trees, self.cut_sets, strict=True)
        ]
        return self.average.mix(np.stack(evidence))

    def own_code_log_likelihood(self, codes: CodeArray, y: IndexArray) -> FloatArray:
        """log P(observed codes | own class)."""
        from latentclass.latent_tree._predict import class_log_likelihood

        if len(self.trees) > 1:  # averaging class probabilities takes the trees of all classes
            return super().own_code_log_likelihood(codes, y)
        out = np.zeros(len(codes))
        for k, tree in enumerate(self.first_trees):
            cuts, own = self.cut_sets[0], codes[y == k]
            inside = cuts.log_inside(own)
            out[y == k] = class_log_likelihood([tree], cuts.coarse(own))[:, 0] + inside
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
        if not self.trees:
            return super().latent(table, posterior, n_jobs)
        share = posterior(table)
        parts = [
            np.hstack([part * share[span, k : k + 1] for k, part in self._states(table, span)])
            for span in table.spans()
        ]
        return np.concatenate(parts)

    def hidden_states(self, table: Table) -> list[tuple[FloatArray, FloatArray]]:
        """See `FittedModel`: the latent variables of every class."""
        share = np.exp(self.log_posterior(table, self.log_prior, 1.0, None))
        return [(share[:, k], part) for k, part in self._states(table, slice(None))]

    def _states(self, table: Table, span: slice) -> Iterator[tuple[int, FloatArray]]:
        """Class and P(state | class, x) of each latent variable."""
        from latentclass.latent_tree._inference import group_rows, node_posteriors

        if not self.trees:
            return
        rows = group_rows(self.cut_sets[0].coarse(self.coding.encode(table.block(span))))
        for k, tree in enumerate(self.first_trees):
            for part in node_posteriors(tree, rows):
                yield k, part

    def named(self, _columns: list[str]) -> Names:
        """Names of the latent variables of each class."""
        return self.names

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


def _check_leaves(name: str, tree: Tree, n_levels: tuple[int, ...]) -> None:
    """Refuse a tree that does not show each column once, with a state for each level."""
    shown = {c: k for c, k in zip(tree.columns, tree.cardinalities, strict=True) if c >= 0}
    if shown != dict(enumerate(n_levels)):
        raise ValueError(
            f"{name} shows columns with these numbers of states: {shown}, but the table has "
            f"{dict(enumerate(n_levels))}."
        )
