"""The result of `explain`."""

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
        How much the log-odds of the row's target class fall when the attribute is integrated out.
        A positive weight supports the class, a negative one opposes it, and a missing cell has
        weight 0. With two classes and independent attributes the weights sum to the difference
        between `log_odds` and `prior_log_odds`; in general they do not.
    target : array of shape (n_rows,)
        The class for which each row is explained.
    log_odds : array of shape (n_rows,)
        Log-odds of that class given all observed attributes.
    prior_log_odds : array of shape (n_rows,)
        Log-odds of that class before any attribute is observed.
    feature_names : list of str
        Names of the attributes.
    index : array of shape (n_rows,)
        Names of the rows: the index of the data frame if there is one, otherwise 0, 1, ...
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
        """Describe one row, given by its position: the `n_top` strongest attributes in order."""
        n_rows = len(self.weights)
        if not -n_rows <= row < n_rows:
            raise IndexError(
                f"row={row} is outside the {n_rows} explained rows. Pass a position from 0 to "
                f"{n_rows - 1}."
            )
        weights = self.weights[row]
        strongest = np.argsort(-np.abs(weights), kind="stable")[:n_top]
        named = ", ".join(f"{self.feature_names[j]} {weights[j]:+.2f}" for j in strongest)
        return (
            f"row {self.index[row]}: {self.target[row]} with log-odds {self.log_odds[row]:+.2f} "
            f"(before any attribute {self.prior_log_odds[row]:+.2f}); weight of evidence: {named}"
        )

    def to_frame(self) -> Any:
        """A pandas data frame with one line per table row: the target, then each attribute."""
        import pandas as pd

        frame = pd.DataFrame(self.weights, columns=self.feature_names, index=self.index)
        frame.insert(0, "target", self.target)
        return frame
