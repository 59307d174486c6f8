"""What the search of `AutoLatentClassifier` found, for people to read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from latentclass._show import aligned, html_table


@dataclass(frozen=True)
class LeaderboardRow:
    """One candidate.

    Attributes
    ----------
    family : str
        Its name.
    parameters : dict
        Parameters that differ from the defaults of its class.
    log_loss, log_loss_sd : float or None
        Held-out log-loss: mean and standard deviation over the folds.
    accuracy, accuracy_sd : float or None
        Held-out accuracy likewise.
    weight : float
        Its weight in the average.
    fit_seconds, predict_seconds : float
        For one fold, on average; if all rows were fitted first, for that fit.
    status : {"done", "not started", "too slow", "failed", "interrupted"}
    reason : str
        Why it is not done.
    """

    family: str
    parameters: dict[str, Any]
    log_loss: float | None
    log_loss_sd: float | None
    accuracy: float | None
    accuracy_sd: float | None
    weight: float
    fit_seconds: float
    predict_seconds: float
    status: str
    reason: str


@dataclass(frozen=True)
class Leaderboard:
    """The candidates, the best first; `print` shows it as a table.

    Attributes
    ----------
    rows : tuple of LeaderboardRow
    """

    rows: tuple[LeaderboardRow, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[LeaderboardRow]:
        return iter(self.rows)

    def __getitem__(self, place: int) -> LeaderboardRow:
        return self.rows[place]

    def __str__(self) -> str:
        table = [_TITLES, *map(_cells, self.rows)]
        return "\n".join(aligned(table, [False] * len(_TITLES)))

    def to_html(self) -> str:
        """As an HTML table."""
        return html_table(_TITLES, [_cells(row) for row in self.rows])

    _repr_html_ = to_html

    def to_frame(self) -> Any:
        """As a pandas data frame: one line per candidate."""
        import pandas as pd

        names = [item.name for item in fields(LeaderboardRow)]
        return pd.DataFrame([[getattr(row, name) for name in names] for row in self], columns=names)


def name_in_words(name: str) -> str:
    """The name of a candidate inside a sentence: a comma would look like the end of it.

    >>> name_in_words("HybridLCMClassifier, small, unlabelled rows")
    'HybridLCMClassifier (small, unlabelled rows)'
    """
    family, comma, kind = name.partition(", ")
    return f"{family} ({kind})" if comma else name


_TITLES = ["family", "weight", "log-loss", "accuracy", "fit s", "predict s", "status"]


def _cells(row: LeaderboardRow) -> list[str]:
    weight = f"{row.weight:.2f}" if row.weight else "-"
    status = f"{row.status}: {row.reason}" if row.reason else row.status
    if row.log_loss is None or row.accuracy is None:
        return [row.family, weight, "-", "-", "-", "-", status]
    return [
        row.family,
        weight,
        f"{row.log_loss:.4f} ± {row.log_loss_sd:.4f}",
        f"{100 * row.accuracy:.1f} ± {100 * (row.accuracy_sd or 0.0):.1f} %",
        f"{row.fit_seconds:.2f}",
        f"{row.predict_seconds:.3f}",
        status,
    ]
