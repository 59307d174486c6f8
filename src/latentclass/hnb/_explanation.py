"""Why a row is predicted as it is, in rules over the columns."""

from __future__ import annotations

from dataclasses import dataclass

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
        What is known of each variable; `part.condition(state)` is the rule of a state.
    """

    variable_weights: FloatArray
    parts: list[TopPart]

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
        weights = self.variable_weights[row]
        rules = []
        for v in np.argsort(-np.abs(weights), kind="stable")[:n_top]:
            part = self.parts[v]
            state = int(part.states[row])
            if weights[v] == 0.0 and state < 0:
                continue
            rule = part.condition(state) if state >= 0 else f"{part.name} left open"
            rules.append(f"{rule}: {weights[v]:+.2f}")
        return f"{text}; by rule: {'; '.join(rules)}" if rules else text
