"""The fitted value of classifiers that are one Bayesian network over class and columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.discrete._model import DiscreteModel
from latentclass.discrete._network import Structure, draw_codes, log_likelihood, without_each
from latentclass.estimator._fitted import check_distribution, check_shape


@dataclass(frozen=True, eq=False)
class NetworkModel(DiscreteModel):
    """A network and its conditional tables; missing codes are summed out exactly.

    Attributes
    ----------
    structure : Structure
        The arcs among the active columns.
    log_theta : array of shape (n_classes, structure.n_entries)
        Logarithms of all conditional tables, laid out as in `Structure`.
    """

    structure: Structure
    log_theta: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shape("log_theta", self.log_theta, (self.n_classes, self.structure.n_entries))
        for table in self.tables:
            check_distribution("log_theta", np.exp(table))

    @property
    def tables(self) -> list[FloatArray]:
        """log P(column | class, its parents) of each column, the parents' axes in between."""
        return self.structure.tables(self.log_theta)

    def code_log_likelihood(self, codes: CodeArray) -> FloatArray:
        """log P(observed codes | class), shape (n_rows, n_classes)."""
        return log_likelihood(self.structure, self.log_theta, codes)

    def code_without_each(self, codes: CodeArray) -> FloatArray:
        """log P(observed codes but one | class), from the families that change."""
        return without_each(self.structure, self.log_theta, codes)

    def sample_codes(self, y: IndexArray, rng: np.random.Generator) -> CodeArray:
        """Draw the active columns' codes of one row for each class code."""
        return draw_codes(self.structure, self.log_theta, y, rng)

    def most_probable_codes(self, codes: CodeArray) -> CodeArray:
        """Exact: each code in turn gets the level from which the others can reach the most."""
        table = self.log_theta + self.structure.spread(self.coding.peaks())

        def best(codes: CodeArray) -> FloatArray:
            return log_likelihood(self.structure, table, codes, maximise=True)

        return self.fill_in_turn(codes, best)
