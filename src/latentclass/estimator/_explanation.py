"""What `explain` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from latentclass._types import FloatArray


@dataclass(frozen=True)
class Explanation:
    """Weight of evidence of each attribute for a class, row by row.

    Attributes
    ----------
    weights : array of shape (n_rows, n_features)
        How much the log-odds of the row's target class fall when the attribute is taken away
        (integrated out): positive speaks for the class, negative against it, 0 for a missing cell.
        With two classes and independent attributes they sum to the change from `prior_log_odds` to
        `log_odds`; in general they do not.
    target : array of shape (n_rows,)
        The class each row is explained for.
    log_odds : array of shape (n_rows,)
        Log-odds of that class with all attributes.
    prior_log_odds : array of shape (n_rows,)
        Log-odds of that class before any attribute is seen.
    feature_names : list of str
    index : array of shape (n_rows,)
        Names of the rows: the data frame's index where it has one, else 0, 1, ...
    """

    weights: FloatArray
    target: npt.NDArray[Any]
    log_odds: FloatArray
    prior_log_odds: FloatArray
    feature_names: list[str]
    index: npt.NDArray[Any]

    def __str__(self) -> str:
        shown = [self.describe(row) for row in range(min(len(self.target), 5))]
        rest = len(self.target) - len(shown)
        return "\n".join([*shown, f"... and {rest} more rows"] if rest else shown)

    def describe(self, row: int = 0, *, n_top: int = 5) -> str:
        """One row (by position) in words: the attributes that weigh most, strongest first."""
        weights = self.weights[row]
        strongest = np.argsort(-np.abs(weights), kind="stable")[:n_top]
        named = ", ".join(f"{self.feature_names[j]} {weights[j]:+.2f}" for j in strongest)
        return (
            f"row {self.index[row]}: {self.target[row]} with log-odds {self.log_odds[row]:+.2f} "
            f"(before any attribute {self.prior_log_odds[row]:+.2f}); weight of evidence: {named}"
        )

    def to_frame(self) -> Any:
        """As a pandas data frame: one row a row, one column an attribute, after the target."""
        import pandas as pd

        frame = pd.DataFrame(self.weights, columns=self.feature_names, index=self.index)
        frame.insert(0, "target", self.target)
        return frame
