"""Look at a table before a model is fitted to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from latentclass._types import IndexArray
from latentclass.data._labels import distinct_labels, label_array, marks_unlabelled
from latentclass.data._read import Labels, Numbers, RawColumn, RawTable, read_raw
from latentclass.tables._facts import (
    Facts,
    look_at,
    may_be_codes,
    named_like_codes,
    same_words,
    unreadable,
)
from latentclass.tables._result import ColumnCheck, RowCheck, TableCheck, TableFlag
from latentclass.tables._scores import (
    Score,
    compare,
    draw_folds,
    sample_rows,
    score_codes,
    score_columns,
    score_gaussian,
    score_nothing,
)
from latentclass.tables._shown import plain, shown

LEAK = 0.98
"""Share of the errors of a majority guess that a single column must avoid on held-out rows to be a
suspect. Good columns of well-known tables avoid up to 97 % (the smell of mushrooms)."""

FEW_CLASS_ROWS = 10
"""A class with fewer rows than this has at most two in each of five folds."""

MANY_CLASSES = 50
"""A numeric target with more distinct values than this is a quantity, not a class."""

TELLING_SHARE = 0.02
"""Share of the held-out log-loss that missing cells, or a reading as categories, must save to be
worth a word."""

FEW_HOLES = 10
"""With fewer missing or fewer present cells than this, they are not compared with the classes."""

SHUFFLES = 9
AS_GOOD = 4
"""If as many shuffled orders of whole numbers predict the class as well as the given one does, the
order tells nothing. With quantities of well-known tables it is at most 3 of the 9."""

DUPLICATE_SHARE = 0.01
"""Share of rows that repeat another one from which on they are worth a word."""

COARSE = 10
"""Equal rows are natural if they have no value in any column with more distinct values than a tenth
of the rows."""

BATCH_COLUMNS = 64
"""Columns that are scored at once."""

SCORELESS = {"empty", "constant", "unreadable", "infinite"}
"""Flags of columns that are not scored."""

NOT_FITTED = {"unreadable", "infinite", "one class", "no labels"}
"""Flags that a fit would end with."""

DOUBTS = {"leak", "missing tells the class", "numbers and words", "thousands"}
"""Flags that the verdict names, because they may make a model worthless."""

BY_HAND = DOUBTS | {"padded numbers"}
"""Flags whose option is not among the ready ones, because a person must decide."""

READY = ("--drop", "--categorical", "--continuous", "--decimal")


class _Target(NamedTuple):
    """Labels and class codes (-1: unlabelled)."""

    labels: list[Any]
    y: IndexArray
    minus_one: int


def check_table(X: Any, y: Any = None, *, target: str | None = None) -> TableCheck:
    """Look at a table before a model is fitted to it.

    It finds columns that a model should not get, columns that are read differently from how
    they are meant, columns that give the class away, and rows and labels that need a look.

    Parameters
    ----------
    X : table of shape (n_rows, n_columns)
        Any table that `fit` takes.
    y : array of shape (n_rows,), default=None
        Labels; None, NaN or NA marks an unlabelled row.
    target : str, default=None
        Instead of `y`, the name of the column of `X` that holds the labels.

    Returns
    -------
    TableCheck
        Facts about each column, flags, ready options for the command line and a verdict.

    Notes
    -----
    Time grows linearly with the number of cells. The held-out scores of single columns come from
    five folds of at most 10,000 labelled rows, drawn with a fixed seed.

    Examples
    --------
    >>> import pandas as pd
    >>> from latentclass import check_table
    >>> rng = np.random.default_rng(0)
    >>> n = 200
    >>> frame = pd.DataFrame({
    ...     "id": np.arange(n), "size": rng.normal(size=n), "zone": rng.integers(1, 4, n)})
    >>> check = check_table(frame, rng.choice(["no", "yes"], n))
    >>> check.options
    ['--drop', 'id', '--categorical', 'zone']
    >>> print(check.verdict)
    Ready to fit with these options.
    """
    raw = read_raw(X, owner="check_table")
    places = list(range(len(raw.names)))
    given = _read_target(raw, y, target)
    if target is not None:
        places.remove(raw.names.index(target))
        if not places:
            raise ValueError(f"X has no column besides the target {shown(target)}.")
    scorer = None if given is None else _Scorer.make(given)
    flags: list[TableFlag] = []
    columns: list[ColumnCheck] = []
    rows = _RowMarks(raw.n_rows)
    same: dict[bytes, str] = {}
    for batch in _batches(X, raw, places):
        scores = [None] * len(batch) if scorer is None else scorer.score(batch)
        for (name, column, facts), score in zip(batch, scores, strict=True):
            found = [TableFlag(name, f.kind, f.sentence, f.option) for f in facts.faults]
            found += _codes_flag(name, column, facts, scorer)
            found += _class_flags(name, facts, score, scorer, given)
            found += _same_flag(name, facts, same)
            rows.add(facts, column)
            flags += found
            columns.append(
                ColumnCheck(
                    name,
                    facts.kind,
                    facts.n_distinct,
                    float(facts.missing.mean()),
                    _plain_value(facts.example),
                    None if score is None else score.accuracy,
                    tuple(flag.kind for flag in found),
                )
            )
    row_check = _look_at_rows(rows, given, scorer)
    flags += _row_flags(row_check, rows.n_odd_duplicates(), given)
    options = _options(flags)
    obstacles = _obstacles(flags)
    verdict = _verdict(flags, obstacles, options, given)
    return TableCheck(tuple(columns), tuple(flags), row_check, options, not obstacles, verdict)


# ------------------------------------------------------------------------------------- reading


def _read_target(raw: RawTable, y: Any, target: str | None) -> _Target | None:
    if target is not None and y is not None:
        raise ValueError("Pass the labels as y or name their column as target, not both.")
    if target is not None:
        if target not in raw.names:
            some = ", ".join(map(shown, raw.names[:8])) + ", ..." * (len(raw.names) > 8)
            raise ValueError(
                f"target={shown(target)} is not a column of X. Its columns are {some}."
            )
        column = raw.read_column(raw.names.index(target))
        values = _label_values(column)
    elif y is None:
        return None
    else:
        values = label_array(y)
        if len(values) != raw.n_rows:
            raise ValueError(
                f"X has {raw.n_rows} rows, but y has {len(values)} labels. Pass one label per row."
            )
    classes, codes = _distinct(values)
    minus_one = 0
    if len(classes) and marks_unlabelled(classes):
        minus_one = int(np.sum(codes == 0))
        classes, codes = classes[1:], np.where(codes >= 0, codes - 1, -1)
    return _Target([_plain_value(label) for label in classes.tolist()], codes, minus_one)


def _distinct(values: Any) -> tuple[Any, IndexArray]:
    """Labels and codes. A fit refuses quantities, but here they are only counted."""
    try:
        numbers = values.astype(np.float64) if values.dtype.kind in "iufO" else None
    except (TypeError, ValueError):  # text or a mixture, which is refused as in a fit
        numbers = None
    if numbers is None or any(isinstance(value, str) for value in values.tolist()):
        return distinct_labels(values)
    seen = ~np.isnan(numbers)
    classes, place = np.unique(numbers[seen], return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.intp)
    codes[seen] = place
    whole = np.all(np.floor(classes) == classes) and np.all(np.abs(classes) < 2**53)
    return (classes.astype(np.int64) if whole else classes), codes


def _label_values(column: RawColumn) -> Any:
    if isinstance(column, Labels):
        labels = np.empty(len(column.labels) + 1, dtype=object)
        labels[:-1] = column.labels  # code -1 selects the None at the end
        return labels[column.codes]
    return column.values


def _batches(
    X: Any, raw: RawTable, places: Sequence[int]
) -> Iterator[list[tuple[str, RawColumn | None, Facts]]]:
    for start in range(0, len(places), BATCH_COLUMNS):
        batch = []
        for j in places[start : start + BATCH_COLUMNS]:
            column: RawColumn | None = None
            try:
                column = raw.read_column(j)
                facts = look_at(raw.names[j], column)
            except (TypeError, ValueError) as error:
                date = _holds_dates(X, j)
                reason = plain(str(error), 300)
                facts = unreadable(raw.n_rows, f"cannot be read: {reason}", date=date)
            batch.append((raw.names[j], column, facts))
        yield batch


def _holds_dates(X: Any, place: int) -> bool:
    """Whether a column that models refuse has a type of dates, or Python's objects for them."""
    if not nw.dependencies.is_into_dataframe(X):
        return False
    series = nw.from_native(X, eager_only=True)[:, place]
    if series.dtype.is_temporal():
        return True
    cells = series.to_list()
    types = {type(cell).__name__ for cell in cells if cell is not None and cell == cell}
    return bool(types) and types <= {"date", "datetime", "time", "timedelta", "Timestamp"}


def _plain_value(value: Any) -> Any:
    """A value as JSON has it."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)
    return str(value)


# ------------------------------------------------------------------------------------- columns


@dataclass(frozen=True)
class _Scorer:
    """Rows and folds of the held-out scores."""

    sampled: IndexArray
    y: IndexArray
    folds: IndexArray
    n_classes: int
    nothing: Score

    @classmethod
    def make(cls, target: _Target) -> _Scorer | None:
        """None if there is nothing to predict, or too many classes."""
        n_classes = len(target.labels)
        if not 2 <= n_classes <= MANY_CLASSES:
            return None
        sampled = sample_rows(target.y)
        y = target.y[sampled]
        folds = draw_folds(y)
        return cls(sampled, y, folds, n_classes, score_nothing(y, folds, n_classes))

    def score(self, batch: Sequence[tuple[str, RawColumn | None, Facts]]) -> list[Score | None]:
        """The score of each column that can have one."""
        wanted = [
            column is not None and not SCORELESS & {fault.kind for fault in facts.faults}
            for _, column, facts in batch
        ]
        columns = [
            _take(column, self.sampled)
            for (_, column, _), want in zip(batch, wanted, strict=True)
            if want and column is not None
        ]
        scores = iter(score_columns(columns, self.y, self.folds, self.n_classes))
        return [next(scores) if want else None for want in wanted]


def _take(column: RawColumn, rows: IndexArray) -> RawColumn:
    if isinstance(column, Numbers):
        return Numbers(column.values[rows])
    return column._replace(codes=column.codes[rows])


def _codes_flag(
    name: str, column: RawColumn | None, facts: Facts, scorer: _Scorer | None
) -> list[TableFlag]:
    """Flag whole numbers that predict the class clearly better as categories."""
    if column is None or not may_be_codes(column, facts):
        return []
    if named_like_codes(name):
        why = "its name sounds like categories"
    elif scorer is not None and _behave_like_categories(column, scorer):
        why = "as categories they predict the class better on held-out rows"
    else:
        return []
    sentence = f"has {facts.n_distinct} whole numbers that may be codes: {why}."
    return [TableFlag(name, "codes", sentence, "--categorical")]


def _behave_like_categories(column: RawColumn, scorer: _Scorer) -> bool:
    """Whether whole numbers predict clearly better as categories, and their order tells nothing.

    The first alone is not enough: a Gaussian may just have the wrong shape for a quantity. But a
    quantity predicts worse after its values have been shuffled.
    """
    values = column.values[scorer.sampled] if isinstance(column, Numbers) else np.empty(0)
    seen = ~np.isnan(values)
    if seen.sum() < len(scorer.y) / 2:
        return False
    distinct, codes = np.unique(values[seen], return_inverse=True)
    rest = scorer.y[seen], scorer.folds[seen], scorer.n_classes
    given = score_gaussian(codes, *rest)
    gain = compare(score_codes(codes, len(distinct), *rest), given)
    if not gain.clear or gain.mean < TELLING_SHARE * -given.log_probability.mean():
        return False
    shuffled = [score_gaussian(order[codes], *rest) for order in _shuffled(len(distinct))]
    return sum(compare(other, given).mean >= 0 for other in shuffled) >= AS_GOOD


def _shuffled(n: int) -> Iterator[IndexArray]:
    """Some other orders of n values; the reversed one is no other."""
    rng = np.random.default_rng(0)
    for _ in range(SHUFFLES):
        order = rng.permutation(n)
        if abs(int(np.diff(order).sum())) != n - 1 or not np.all(np.abs(np.diff(order)) == 1):
            yield order


def _class_flags(
    name: str, facts: Facts, score: Score | None, scorer: _Scorer | None, given: _Target | None
) -> list[TableFlag]:
    if score is None or scorer is None or given is None:
        return []
    flags = []
    guess = scorer.nothing.accuracy
    if 1 - score.accuracy <= (1 - LEAK) * (1 - guess):
        sentence = (
            f"alone predicts {100 * score.accuracy:.1f} % of held-out rows (a majority guess: "
            f"{100 * guess:.1f} %). Was it known before the class was?"
        )
        flags.append(TableFlag(name, "leak", sentence, "--drop"))
    holes = facts.missing[scorer.sampled]
    if min(holes.sum(), (~holes).sum()) >= FEW_HOLES:
        tells = score_codes(holes.astype(np.intp), 2, scorer.y, scorer.folds, scorer.n_classes)
        gain = compare(tells, scorer.nothing)
        loss = -float(scorer.nothing.log_probability.mean())
        if gain.clear and gain.mean >= TELLING_SHARE * loss:
            flags.append(_telling_flag(name, holes, scorer, given, gain.mean / loss))
    return flags


def _telling_flag(
    name: str, holes: Any, scorer: _Scorer, given: _Target, saved: float
) -> TableFlag:
    shares = [holes[scorer.y == code].mean() for code in range(scorer.n_classes)]
    low, high = int(np.argmin(shares)), int(np.argmax(shares))
    sentence = (
        f"is missing in {100 * shares[high]:.0f} % of the rows of class {shown(given.labels[high])}"
        f" but {100 * shares[low]:.0f} % of class {shown(given.labels[low])}. So whether a cell is "
        f"filled in tells about the class: this alone saves {100 * saved:.0f} % of the held-out "
        "log-loss. If new rows will have such holes too, learn from them: --missing-indicator, or "
        "missing_indicator=True in Python."
    )
    return TableFlag(name, "missing tells the class", sentence, "--missing-indicator")


def _same_flag(name: str, facts: Facts, same: dict[bytes, str]) -> list[TableFlag]:
    if not facts.mark or facts.n_distinct < 2:
        return []
    earlier = same.setdefault(facts.mark, name)
    if earlier == name:
        return []
    sentence = f"says the same as {shown(earlier)} in every row."
    return [TableFlag(name, "duplicate", sentence, "--drop")]


# --------------------------------------------------------------------------------------- rows


class _RowMarks:
    """A hash of each row, to count equal ones."""

    MIX = np.uint64(0x9E3779B97F4A7C15)

    def __init__(self, n_rows: int) -> None:
        self.marks = np.zeros(n_rows, dtype=np.uint64)
        self.fine = np.zeros(n_rows, dtype=bool)

    def add(self, facts: Facts, column: RawColumn | None) -> None:
        """Add a column; one that cannot be read makes all rows differ."""
        if COARSE * facts.n_distinct > len(self.marks):
            self.fine |= ~facts.missing
        if column is None:
            self.add_words(np.arange(len(self.marks), dtype=np.uint64))
        elif len(facts.codes):
            self.add_words(facts.codes.astype(np.int64).view(np.uint64))
        elif isinstance(column, Numbers):
            self.add_words((np.where(facts.missing, np.nan, column.values) + 0.0).view(np.uint64))
        else:
            self.add_words(column.codes.astype(np.int64).view(np.uint64))

    def add_words(self, words: Any) -> None:
        """Mix a word of each row into its hash."""
        self.marks = (self.marks ^ words) * self.MIX
        self.marks ^= self.marks >> np.uint64(29)

    def n_duplicates(self) -> int:
        """Rows that repeat an earlier one; two rows have the same hash by chance in 2**64."""
        return len(self.marks) - len(np.unique(self.marks))

    def n_odd_duplicates(self) -> int:
        """As `n_duplicates`, without those that are natural."""
        return int(self.fine.sum()) - len(np.unique(self.marks[self.fine]))


def _look_at_rows(rows: _RowMarks, given: _Target | None, scorer: _Scorer | None) -> RowCheck:
    n_rows = len(rows.marks)
    if given is None:
        return RowCheck(n_rows, rows.n_duplicates(), 0, (), None, 0)
    rows.add_words(given.y.astype(np.int64).view(np.uint64))
    labelled = given.y[given.y >= 0]
    counts = np.bincount(labelled, minlength=len(given.labels))
    order = np.argsort(-counts, kind="stable")
    classes = tuple((given.labels[code], int(counts[code])) for code in order)
    majority = float(counts.max() / len(labelled)) if len(labelled) else None
    n_scored = 0 if scorer is None else len(scorer.y)
    n_unlabelled = n_rows - len(labelled)
    return RowCheck(n_rows, rows.n_duplicates(), n_unlabelled, classes, majority, n_scored)


def _row_flags(rows: RowCheck, n_odd_duplicates: int, given: _Target | None) -> list[TableFlag]:
    flags = []
    if n_odd_duplicates and n_odd_duplicates >= DUPLICATE_SHARE * rows.n_rows:
        verb = "repeats" if n_odd_duplicates == 1 else "repeat"
        sentence = f"{_rows(n_odd_duplicates)} {verb} another row in every cell."
        flags.append(TableFlag("", "duplicate rows", sentence))
    return flags if given is None else flags + _label_flags(rows, given)


def _label_flags(rows: RowCheck, given: _Target) -> list[TableFlag]:
    flags = []
    if rows.n_unlabelled == rows.n_rows:
        return [TableFlag("", "no labels", "No row has a label. Label some rows of each class.")]
    if given.minus_one:
        sentence = f"The label -1 in {_rows(given.minus_one)} is read as unlabelled. If it is a "
        flags.append(TableFlag("", "label -1", sentence + "class, write labels as text."))
    elif rows.n_unlabelled:
        sentence = f"{_rows(rows.n_unlabelled)} without a label: models can learn from them."
        flags.append(TableFlag("", "unlabelled", sentence))
    n_classes = len(rows.classes)
    if n_classes == 1:
        sentence = f"All labels are {shown(rows.classes[0][0])}: there is nothing to tell apart."
        return [*flags, TableFlag("", "one class", sentence)]
    words = [label for label, _ in rows.classes if isinstance(label, str)]
    odd = [word for word in words if word.strip().lower() in ("nan", "na", "none", "null", "?", "")]
    if odd:
        sentence = f"The label {shown(odd[0])} is text and counts as a class. If it means that the "
        flags.append(TableFlag("", "label nan", sentence + "label is missing, write None or NaN."))
    alike = same_words(words)
    if alike:
        pair = " and ".join(map(shown, alike[0][:2]))
        sentence = f"There are classes that differ only in case or spaces, such as {pair}. Write "
        flags.append(TableFlag("", "spellings", sentence + "them alike if they mean the same."))
    if not words and n_classes > MANY_CLASSES:
        sentence = f"The target has {n_classes:,} distinct numbers: it looks like a quantity. Cut "
        return [*flags, TableFlag("", "numeric target", sentence + "it into ranges, or use a "
                                  "regression.")]  # fmt: skip
    few = [(label, count) for label, count in rows.classes if count < FEW_CLASS_ROWS]
    if few:
        some = ", ".join(f"{shown(label)} ({count})" for label, count in few[:5])
        some += ", ..." if len(few) > 5 else "."
        what = "class has" if len(few) == 1 else "classes have"
        sentence = f"{len(few)} {what} fewer than {FEW_CLASS_ROWS} rows: {some}"
        flags.append(TableFlag("", "few rows", sentence))
    return flags


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


# ----------------------------------------------------------------------------- what to do


def _options(flags: Sequence[TableFlag]) -> list[str]:
    """Ready options: a column that is dropped needs no other."""
    wanted = [flag for flag in flags if flag.option and flag.kind not in BY_HAND]
    dropped = {flag.column for flag in wanted if flag.option == "--drop"}
    pairs: list[tuple[str, str]] = []
    for flag in wanted:
        option, _, value = flag.option.partition(" ")
        if option == "--drop" or flag.column not in dropped:
            pairs.append((option, value or flag.column))
    words: list[str] = []
    for option, value in sorted(
        set(pairs), key=lambda pair: (READY.index(pair[0]), pairs.index(pair))
    ):
        # a value that starts like an option must not be taken for one
        words += [f"{option}={value}"] if value.startswith("-") else [option, value]
    return words


def _obstacles(flags: Sequence[TableFlag]) -> list[TableFlag]:
    """Flags that a fit with the ready options would end with."""
    dropped = {flag.column for flag in flags if flag.option == "--drop"}
    return [flag for flag in flags if flag.kind in NOT_FITTED and flag.column not in dropped]


def _verdict(
    flags: Sequence[TableFlag],
    obstacles: Sequence[TableFlag],
    options: Sequence[str],
    given: _Target | None,
) -> str:
    if obstacles:
        return f"Cannot be fitted yet: {obstacles[0]}"
    if any(flag.kind == "numeric target" for flag in flags):
        return "The target looks like a quantity, not like classes."
    verdict = "Ready to fit with these options" if options else "Ready to fit"
    doubts = [flag for flag in flags if flag.kind in DOUBTS]
    if doubts:
        names = list(dict.fromkeys(shown(flag.column) for flag in doubts))
        some = ", ".join(names[:3]) + ", ..." * (len(names) > 3)
        return f"{verdict}, but look at {some} first."
    return f"{verdict}." if given is not None else f"{verdict}. No labels were looked at."
