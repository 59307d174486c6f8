"""What a report says, as plain values: collected first, drawn afterwards."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from latentclass.reports._findings import Structure


@dataclass(frozen=True)
class Interval:
    """A value and its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ClassFacts:
    """A class, its labelled rows in the table, and its share of the labelled rows."""

    name: str
    n_rows: int
    share: float


@dataclass(frozen=True)
class Subject:
    """What the report is about.

    Attributes
    ----------
    title : str
    model : str
        Name of the estimator.
    about : str
        What the model assumes, in one sentence.
    target : str
        Name of what is predicted; empty if it has none.
    n_rows, n_unlabelled, n_columns : int
        Of the table of the report.
    classes : tuple of ClassFacts
        In the order of the model.
    """

    title: str
    model: str
    about: str
    target: str
    n_rows: int
    n_unlabelled: int
    n_columns: int
    classes: tuple[ClassFacts, ...]


# ------------------------------------------------------------------------ how good


@dataclass(frozen=True)
class Score:
    """Held-out scores of one classifier.

    Attributes
    ----------
    name : str
    accuracy, log_loss : Interval
        Means over the held-out rows. Intervals come from a bootstrap over rows.
    brier : float
        Brier score, from 0 to 2.
    difference : Interval or None
        Its log-loss less that of the model, on the same rows; None for the model itself.
    """

    name: str
    accuracy: Interval
    log_loss: Interval
    brier: float
    difference: Interval | None = None


@dataclass(frozen=True)
class ReliabilityBin:
    """Rows of similar confidence: their mean confidence and the share that is predicted right."""

    n_rows: int
    confidence: float
    accuracy: Interval


@dataclass(frozen=True)
class ClassScore:
    """How well one class is found.

    Attributes
    ----------
    name : str
    n_rows, n_predicted : int
        Held-out rows of the class, and rows predicted to be of it.
    recall : float or None
        Share of its rows that are found.
    precision : float or None
        Share of the rows predicted to be of it that are.
    auc : float or None
        Area under its ROC curve against all other classes.
    """

    name: str
    n_rows: int
    n_predicted: int
    recall: float | None
    precision: float | None
    auc: float | None


@dataclass(frozen=True)
class CutOff:
    """What happens if rows count as the sought class from a certain probability on.

    Attributes
    ----------
    cut_off : float
        Probability of the sought class from which a row counts as it.
    n_found, n_alarms : int
        Rows of the class that are found, and rows of the other class taken for it.
    found, alarms : float
        The same as shares of the rows of the class, and of those of the other class.
    """

    cut_off: float
    n_found: int
    n_alarms: int
    found: float
    alarms: float


@dataclass(frozen=True)
class PartScore:
    """Scores of the model on some rows."""

    n_rows: int
    accuracy: float
    log_loss: float


@dataclass(frozen=True)
class Quality:
    """Held-out scores and where they come from.

    Attributes
    ----------
    source : str
        Where the numbers come from, in plain words.
    n_rows, n_folds : int
        Held-out rows, and folds; 1 if a third of the rows was held out once, 0 if the rows are
        new to the model.
    scores : tuple of Score
        The model first, then the classifiers it is compared with.
    confusion : tuple of tuple of int
        Rows by true class (down) and predicted class (across).
    reliability : tuple of ReliabilityBin
    calibration_error : float
        Mean gap between confidence and accuracy over 15 bins.
    per_class : tuple of ClassScore
    sought : int
        With two classes: place of the rarer one, which is the one to be found; otherwise -1.
    roc : tuple of (float, float)
        With two classes: share of false alarms and share found, for the sought class.
    cut_offs : tuple of CutOff
        With two classes: what some cut-offs of the probability would find.
    by_part : tuple of PartScore
        Scores of each part that was held out.
    own : PartScore or None
        Scores of the model itself on the same rows, which it has seen; None if the rows are new.
    """

    source: str
    n_rows: int
    n_folds: int
    scores: tuple[Score, ...]
    confusion: tuple[tuple[int, ...], ...]
    reliability: tuple[ReliabilityBin, ...]
    calibration_error: float
    per_class: tuple[ClassScore, ...]
    sought: int
    roc: tuple[tuple[float, float], ...]
    cut_offs: tuple[CutOff, ...]
    by_part: tuple[PartScore, ...]
    own: PartScore | None


# -------------------------------------------------------------------- what matters


@dataclass(frozen=True)
class Distribution:
    """How the cells of a column are spread in some groups of rows.

    Attributes
    ----------
    groups : tuple of str
        Classes or components.
    bins : tuple of str
        Intervals of a continuous column, categories of another.
    shares : tuple of tuple of float
        Share of each bin in each group, of the cells that are not missing.
    middles : tuple of str
        Median of a continuous column in each group; otherwise empty.
    n_rows : tuple of int
        Cells that are not missing in each group.
    """

    groups: tuple[str, ...]
    bins: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]
    middles: tuple[str, ...]
    n_rows: tuple[int, ...]


@dataclass(frozen=True)
class Effect:
    """How the answers change with a column, the other cells staying as they are.

    Attributes
    ----------
    classes : tuple of str
    bins : tuple of str
        As in the `Distribution` of the column.
    probabilities : tuple of tuple of (float or None)
        For each class the mean probability if all rows had the middle value of the bin; None for an
        empty bin, and for several categories in one.
    n_rows : int
        Rows that were asked about.
    """

    classes: tuple[str, ...]
    bins: tuple[str, ...]
    probabilities: tuple[tuple[float | None, ...], ...]
    n_rows: int


@dataclass(frozen=True)
class ColumnWeight:
    """How much a column says about the class.

    Attributes
    ----------
    name, kind : str
    weight : float
        Mean absolute weight of evidence, in log-odds.
    by_class : tuple of float or None
        Mean weight of evidence for each class over the rows predicted to be of it.
    by_label, by_group : Distribution or None
        None for the weaker columns of a wide table, and where a model has no groups.
    effect : Effect or None
        None for the weaker columns too, and for those with fewer than two values.
    """

    name: str
    kind: str
    weight: float
    by_class: tuple[float | None, ...]
    by_label: Distribution | None
    by_group: Distribution | None
    effect: Effect | None


@dataclass(frozen=True)
class Importance:
    """Global weight of evidence: the columns, the most important first."""

    n_rows: int
    n_given: int
    columns: tuple[ColumnWeight, ...]


# ---------------------------------------------------------------------------- rows


@dataclass(frozen=True)
class Evidence:
    """A cell of a row: what it holds, its weight, and what the model would fill in if missing."""

    column: str
    cell: str
    weight: float
    filled: str = ""


@dataclass(frozen=True)
class Balance:
    """How the weights of a row add up: start + cells + others + together = log_odds.

    Attributes
    ----------
    start : float
        Log-odds of the predicted class before any cell is known.
    n_others : int
        Cells that are not shown.
    others : float
        The sum of their weights.
    together : float
        What the weights, each for the lack of one cell, leave to all cells together.
    log_odds : float
        Log-odds of the predicted class.
    """

    start: float
    n_others: int
    others: float
    together: float
    log_odds: float


@dataclass(frozen=True)
class HeldOutAnswer:
    """The answer of a model that has not seen the row.

    Attributes
    ----------
    predicted : str
    probability, of_class : float
        Probability of the predicted class, and of the true one.
    """

    predicted: str
    probability: float
    of_class: float


@dataclass(frozen=True)
class RowView:
    """A row of the table.

    Attributes
    ----------
    name : str
        Its name in the index of the table.
    label : str
        Its class; empty if it has none.
    predicted : str
        By the model itself, which may have seen the row.
    probability : float
        Of the predicted class.
    held_out : HeldOutAnswer or None
    unusual : float or None
        Share of rows drawn from the model that are at most as probable.
    evidence : tuple of Evidence
        For the class that the model itself predicts. The strongest cells first; missing cells last.
    balance : Balance
        What the weights add up to.
    rare : tuple of str
        For an odd row: its rarest cells, in words.
    id : str
        Its identifier beside its name; empty if it has none.
    """

    name: str
    label: str
    predicted: str
    probability: float
    held_out: HeldOutAnswer | None
    unusual: float | None
    evidence: tuple[Evidence, ...]
    balance: Balance
    rare: tuple[str, ...] = ()
    id: str = ""


@dataclass(frozen=True)
class Rows:
    """Rows worth a look.

    Attributes
    ----------
    hardest, oddest, typical : tuple of RowView
    listed : tuple of RowView
        Rows that can be looked up, with their strongest cells.
    n_rows, n_rated : int
        Rows of the table, and rows among which the oddest and most typical were looked for.
    id_name : str
        What the identifiers of the rows are called.
    """

    hardest: tuple[RowView, ...]
    oddest: tuple[RowView, ...]
    typical: tuple[RowView, ...]
    listed: tuple[RowView, ...]
    n_rows: int
    n_rated: int
    id_name: str = "id"


# ------------------------------------------------------------------- data and making


@dataclass(frozen=True)
class ColumnFacts:
    """A column of the table.

    Attributes
    ----------
    name, kind : str
    n_distinct : int
    n_missing : int
    share_missing : float
    range : str
        Smallest, middle and largest value, or the most common categories.
    shares : tuple of float
        Shares of its bins, as in a `Distribution`.
    """

    name: str
    kind: str
    n_distinct: int
    n_missing: int
    share_missing: float
    range: str
    shares: tuple[float, ...]


@dataclass(frozen=True)
class ColumnPair:
    """Two columns and the strength of their association, from 0 to 1 (Cramér's V)."""

    first: str
    second: str
    strength: float


@dataclass(frozen=True)
class MissingPattern:
    """A set of columns that are missing together, and the number of rows where just these are."""

    columns: tuple[str, ...]
    n_rows: int


@dataclass(frozen=True)
class FirstRow:
    """A row as it stands in the table: its name, its class, its cells, its id; empty if none."""

    name: str
    label: str
    cells: tuple[str, ...]
    id: str = ""


@dataclass(frozen=True)
class Data:
    """The table: its columns, which of them go together, and which cells are missing together."""

    columns: tuple[ColumnFacts, ...]
    n_missing: int
    n_complete: int
    patterns: tuple[MissingPattern, ...]
    n_patterns: int
    pairs: tuple[ColumnPair, ...]
    first_rows: tuple[FirstRow, ...]


@dataclass(frozen=True)
class Making:
    """How model and report were made.

    Attributes
    ----------
    versions : dict of str to str
    parameters : tuple of (str, str, bool)
        Name, value, and whether it differs from the default.
    facts : tuple of (str, str)
        How the fit went.
    command : str
        Repeats the report.
    left_out : tuple of str
        Columns of the table that the model was not given.
    """

    versions: dict[str, str]
    parameters: tuple[tuple[str, str, bool], ...]
    facts: tuple[tuple[str, str], ...]
    command: str
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class ReportSummary:
    """All that a report says.

    Attributes
    ----------
    subject : Subject
    words : tuple of str
        Short paragraphs: how well it predicts, compared with others, and what it found.
    warnings : tuple of str
        What to beware of.
    quality : Quality or None
        None if no row has a label.
    structure : Structure
    importance : Importance
    rows : Rows
    data : Data
    making : Making
    """

    subject: Subject
    words: tuple[str, ...]
    warnings: tuple[str, ...]
    quality: Quality | None
    structure: Structure
    importance: Importance
    rows: Rows
    data: Data
    making: Making

    def to_dict(self) -> dict[str, Any]:
        """As dicts, lists, text and numbers, as JSON has them; numbers that JSON lacks are None."""
        found: dict[str, Any] = plain_values(self)
        return found


def plain_values(value: Any) -> Any:
    """Values as JSON has them; numbers that it lacks are None."""
    if is_dataclass(value):
        return {item.name: plain_values(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, dict):
        return {key: plain_values(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain_values(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
