"""Why a row is predicted as it is, in rules over the columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latentclass._types import CodeArray, FloatArray
from latentclass.estimator._explanation import Explanation


@dataclass(frozen=True)
class RuleExplanation(Explanation):
    """Weights of evidence of columns, and of the variables below the class by their rules.

    Attributes
    ----------
    variables : list of str
        Columns and latent variables directly below the class.
    variable_weights : array of shape (n_rows, n_variables)
        How much the log-odds fall when all columns below the variable are hidden.
    states : array of shape (n_rows, n_variables)
        State of each variable; -1 where missing cells leave it open.
    conditions : list of list of str
        What each state of each variable says, over the columns.
    """

    variables: list[str]
    variable_weights: FloatArray
    states: CodeArray
    conditions: list[list[str]]

    def describe(self, row: int = 0, *, n_top: int = 5) -> str:
        """One row (by position) in words: its strongest columns, then its strongest rules."""
        text = super().describe(row, n_top=n_top)
        weights = self.variable_weights[row]
        parts = []
        for v in np.argsort(-np.abs(weights), kind="stable")[:n_top]:
            state = self.states[row, v]
            if weights[v] == 0.0 and state < 0:
                continue
            rule = self.conditions[v][state] if state >= 0 else f"{self.variables[v]} left open"
            parts.append(f"{rule}: {weights[v]:+.2f}")
        return f"{text}; by rule: {'; '.join(parts)}" if parts else text


def write_intervals(name: str, cuts: FloatArray, levels: tuple[int, ...]) -> str:
    """Bins of a column as intervals, neighbours joined."""
    edges = ["", *(f"{cut:.6g}" for cut in cuts), ""]
    texts, start = [], 0
    while start < len(levels):
        end = start
        while end + 1 < len(levels) and levels[end + 1] == levels[end] + 1:
            end += 1
        low, high = edges[levels[start]], edges[levels[end] + 1]
        if low and high:
            texts.append(f"{low} < {name} <= {high}")
        elif low:
            texts.append(f"{name} > {low}")
        else:
            texts.append(f"{name} <= {high}")
        start = end + 1
    return " or ".join(texts)
