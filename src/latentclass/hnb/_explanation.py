"""Why a row is predicted as it is, in rules over the columns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from latentclass._types import CodeArray, FloatArray
from latentclass.estimator._explanation import Explanation
from latentclass.hnb._reader import TopPart


@dataclass(frozen=True)
class RuleExplanation(Explanation):
    """Weights of evidence of columns, and of the variables below the class by their rules.

    Attributes
    ----------
    variable_weights : array of shape (n_rows, n_variables)
        How much the log-odds fall when all columns below the variable are hidden.
    parts : list of TopPart
        What is known of each variable; `part.rule(row)` is what holds in a row, and
        `part.condition(state)` the whole rule of a state.
    """

    variable_weights: FloatArray = field(kw_only=True)
    parts: list[TopPart] = field(kw_only=True)

    @property
    def variables(self) -> list[str]:
        """Columns and latent variables directly below the class."""
        return [part.name for part in self.parts]

    @property
    def states(self) -> CodeArray:
        """State of each variable, (n_rows, n_variables); -1 where missing cells leave it open."""
        states = np.array([part.states for part in self.parts], dtype=np.int32)
        return states.reshape(-1, len(self.weights)).T

    def describe(self, row: int = 0, *, n_top: int = 5) -> str:
        """One row (by position) in words: its strongest columns, then its strongest rules."""
        text = super().describe(row, n_top=n_top)
        rules = [f"{rule}: {weight:+.2f}" for rule, weight in self.evidence(row)[:n_top]]
        return f"{text}; by rule: {'; '.join(rules)}" if rules else text

    def evidence(self, row: int = 0) -> list[tuple[str, float]]:
        """The rules that hold in a row and the weight of each, the strongest first.

        Of a rule with several ways to hold, the one that the row takes is written. Variables of
        a single state, and what missing cells leave open without any weight, are left out.
        """
        row = self._check_row(row)
        weights = self.variable_weights[row]
        return [
            (self.parts[v].rule(row), float(weights[v]))
            for v in np.argsort(-np.abs(weights), kind="stable")
            if self.parts[v].n_states > 1 and (weights[v] != 0.0 or self.parts[v].states[row] >= 0)
        ]
