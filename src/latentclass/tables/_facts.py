"""What a single column holds, and what about it may be wrong. Classes play no part here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from shlex import quote
from typing import Any

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.data._read import Labels, Numbers, RawColumn
from latentclass.tables._shown import plain, shown

FEW_ROWS = 20
"""With fewer values than this, distinct ones are no sign of an identifier or of free text."""

IDENTIFIER_SHARE = 0.95
"""Share of distinct values among all values from which on text names rows. Some identifiers repeat
because a row was entered twice."""

NAMED_IDENTIFIER_SHARE = 0.5
"""The same if the column is called "id" or the like: then a row may stand for one of several visits
or orders."""

COUNTER_GAPS = 1.1
"""Whole numbers without repeats that fill their range up to this factor are row numbers."""

FREE_TEXT_WORDS = 4
"""Words of a typical value from which on a column of mostly distinct values is free text."""

FREE_TEXT_SHARE = 0.5
"""Share of distinct values from which on long values are free text: categories repeat."""

FEW_CODES = 20
"""Whole numbers with at most this many distinct values can be codes of categories."""

NUMBER_SHARE = 0.9
"""Share of numbers among the values of a column of text from which on it is a column of numbers in
which some cells have words such as "None"."""

DATE_SHARE = 0.95
"""Share of distinct values that look like dates from which on the column holds dates."""

RARE_ROWS = 5
"""A level in fewer rows than this is rare: its probabilities cannot be estimated."""

FEW_RARE_LEVELS = 5
"""So many rare levels are not worth a word: most columns have some."""

RARE_LEVEL_SHARE = 0.5
"""Share of rare levels among all levels from which on they are."""

LOOKED_AT = 1000
"""Distinct values that are looked at to recognise dates, numbers and free text."""

SAME_CODES = 50
"""Columns with at most this many distinct values, each in two rows or more, are compared by which
rows have equal values, so that "M" and "F" equal "male" and "female". Others must have the same
values: all columns in which no value repeats agree in which rows are equal."""

IDENTIFIER_NAME = re.compile(
    r"(^|[\W_])(id|ids|uuid|guid|key|index|serial|row|rowname|rownames|nr|no)($|[\W_])"
    r"|[\W_]number$",
    re.I,
)
CAMEL_IDENTIFIER = re.compile(r"[a-z](Id|ID|Nr|Number)$")
CODE_NAME = re.compile(
    r"(^|[\W_])(code|codes|zone|region|zip|zipcode|postcode|postal|type|category|group|cluster|"
    r"status|gender|sex|race|country|state|city|district|branch|store|shop|site|centre|center|"
    r"dept|department|species|colour|color|brand|channel|occupation|religion|marital)($|[\W_\d])",
    re.I,
)
TIME_NAME = re.compile(r"time|date|stamp|(^|_)(at|ts)$", re.I)
_TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]m)?(Z|[+-]\d{2}:?\d{2})?"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
DATE = re.compile(
    rf"(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}([-/.])\d{{1,2}}\2(\d{{4}}|\d{{2}})"
    rf"|\d{{1,2}}[ .-]+{_MONTH}[ ,-]+(\d{{4}}|\d{{2}})|{_MONTH} \d{{1,2}},? \d{{4}})([T ]+{_TIME})?"
    rf"|{_TIME}",
    re.I,
)
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
PADDED = re.compile(r"[+-]?0\d+")
COMMA_NUMBER = re.compile(r"[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+),\d+")
WHOLE_NUMBER = re.compile(r"[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+)")
THOUSANDS = re.compile(
    r"[+-]?[1-9]\d{0,2}(?P<mark>[,'\u2019 \u00a0\u202f])\d{3}((?P=mark)\d{3})*"
    r"((?!(?P=mark))(?P<decimal>[.,])\d*)?"
)
"""Numbers with a mark between thousands that is not a point: the point is a decimal one too often.
Those with a decimal comma are looked for by `COMMA_NUMBER`."""


JOINT = re.compile(r"(?<=\w)[\s_-]+(?=\w)")
"""What joins words: 'part time', 'part-time' and 'part_time' are the same words."""


@dataclass(frozen=True)
class Fault:
    """Something about a column: what it is, a sentence, and the option that fixes it."""

    kind: str
    sentence: str
    option: str = ""


@dataclass(frozen=True)
class Facts:
    """What a column holds.

    Attributes
    ----------
    kind : {"continuous", "binary", "nominal", "unreadable"}
        How models will read it.
    n_distinct : int
        Number of distinct values.
    missing : array of bool
        Which cells are missing.
    example : object
        The most common value of a discrete column, the first one of a continuous column.
    codes : array of int
        Which rows have equal values: numbered in the order in which they first occur, -1 missing.
        Empty if there are too many: see `SAME_CODES`.
    mark : bytes
        Two columns with the same mark say the same.
    faults : list of Fault
    """

    kind: str
    n_distinct: int
    missing: BoolArray
    example: Any
    codes: IndexArray
    mark: bytes
    faults: list[Fault]


def look_at(name: str, column: RawColumn) -> Facts:
    """Facts of one column."""
    return _numbers(name, column) if isinstance(column, Numbers) else _labels(name, column)


def unreadable(n_rows: int, error: str, *, date: bool) -> Facts:
    """Facts of a column that models refuse."""
    fault = (
        Fault("date", "holds dates or times, which models refuse. Turn it into a number, such as "
              "days since a fixed day, or drop it.", "--drop")
        if date
        else Fault("unreadable", error, "--drop")
    )  # fmt: skip
    none = np.zeros(n_rows, dtype=bool)
    return Facts("unreadable", 0, none, None, np.empty(0, dtype=np.intp), b"", [fault])


# ----------------------------------------------------------------------------------- numbers


def _numbers(name: str, column: Numbers) -> Facts:
    values = column.values
    missing = np.isnan(values)
    present = values[~missing]
    if not len(present):
        return _empty("continuous", missing)
    distinct = np.unique(present)
    if not _few(len(distinct), len(present)):
        codes, mark = _unnumbered(values, missing)
    else:
        codes, mark = _numbered(np.searchsorted(distinct, present), len(distinct), missing)
    example = float(present[0])
    if example.is_integer() and abs(example) < 2**53:
        example = int(example)
    faults = _number_faults(name, present, distinct)
    return Facts("continuous", len(distinct), missing, example, codes, mark, faults)


def _number_faults(name: str, present: FloatArray, distinct: FloatArray) -> list[Fault]:
    if np.isinf(distinct[[0, -1]]).any():
        n_infinite = int(np.isinf(present).sum())
        sentence = f"is infinite in {n_infinite:,} rows, which models refuse. Empty these cells."
        return [Fault("infinite", sentence)]
    if len(distinct) == 1:
        return [_constant(distinct[0])]
    if not np.array_equal(distinct, np.floor(distinct)):
        return []
    if _are_dates(name, distinct):
        return [_dates(f"{distinct[0]:.0f}")]
    identifier = _number_identifier(name, present, distinct)
    return [] if identifier is None else [identifier]


def _number_identifier(name: str, present: FloatArray, distinct: FloatArray) -> Fault | None:
    n = len(present)
    if n < FEW_ROWS:
        return None
    if has_identifier_name(name) and len(distinct) >= NAMED_IDENTIFIER_SHARE * n:
        return _identifier(f"{len(distinct):,} distinct values in {n:,} rows")
    if len(distinct) < n:
        return None
    if distinct[-1] - distinct[0] + 1 <= COUNTER_GAPS * n:
        return _identifier("a number of its own for each row, without gaps")
    if np.all(np.diff(present) > 0):
        return _identifier("a whole number that rises from row to row")
    return None


def _are_dates(name: str, distinct: FloatArray) -> bool:
    """Whether whole numbers are days such as 20240131, or seconds since 1970."""
    if len(distinct) < 3:
        return False
    if distinct[0] >= 19000101 and distinct[-1] <= 21001231:
        month, day = distinct // 100 % 100, distinct % 100
        return bool(np.all((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)))
    seconds = bool(distinct[0] >= 5e8 and distinct[-1] <= 5e9)
    milliseconds = bool(distinct[0] >= 5e11 and distinct[-1] <= 5e12)
    return (seconds or milliseconds) and TIME_NAME.search(name) is not None


def may_be_codes(column: RawColumn, facts: Facts) -> bool:
    """Whether a column of numbers has few whole numbers: they could stand for categories."""
    return (
        isinstance(column, Numbers)
        and 2 <= facts.n_distinct <= FEW_CODES
        and not facts.faults
        and bool(np.all(np.floor(column.values) == column.values, where=~facts.missing))
    )


def named_like_codes(name: str) -> bool:
    """Whether categories are often called so."""
    return CODE_NAME.search(name) is not None


# ------------------------------------------------------------------------------------ labels


def _labels(name: str, column: Labels) -> Facts:
    missing = column.codes < 0
    present = column.codes[~missing]
    kind = "binary" if column.boolean else "nominal"
    if not len(present):
        return _empty(kind, missing)
    counts = np.bincount(present, minlength=len(column.labels))
    used = np.flatnonzero(counts)
    kind = "binary" if column.boolean or len(used) == 2 else "nominal"
    if not _few(len(used), len(present)):
        codes, mark = _unnumbered(column.codes.astype(np.float64), missing)
        # codes of other labels may be the same numbers
        mark = blake2b(mark + repr([column.labels[j] for j in used]).encode()).digest()
    else:
        place = np.cumsum(counts > 0) - 1
        codes, mark = _numbered(place[present], len(used), missing)
    example = column.labels[int(counts.argmax())]
    faults = _label_faults(name, column, counts, used)
    return Facts(kind, len(used), missing, example, codes, mark, faults)


def _label_faults(name: str, column: Labels, counts: IndexArray, used: IndexArray) -> list[Fault]:
    n, n_distinct = int(counts.sum()), len(used)
    if n_distinct == 1:
        return [_constant(column.labels[used[0]])]
    texts = [column.labels[j] for j in used[:LOOKED_AT]]
    if column.boolean or not all(isinstance(text, str) for text in texts):
        return []
    weights = counts[used[:LOOKED_AT]]
    if n_distinct >= 3 and _share(texts, DATE.fullmatch) >= DATE_SHARE:
        return [_dates(texts[0])]
    if n_distinct > FEW_CODES or not column.categorical_dtype:
        numbers = _text_numbers(name, texts, weights, n_distinct, column)
        if numbers is not None:
            return [numbers]
    if n >= FEW_ROWS and n_distinct >= FREE_TEXT_SHARE * n and _are_long(texts):
        return [Fault("free text", f"holds free text such as {shown(texts[0])}.", "--drop")]
    share = NAMED_IDENTIFIER_SHARE if has_identifier_name(name) else IDENTIFIER_SHARE
    if n >= FEW_ROWS and n_distinct >= share * n:
        return [_identifier(f"{n_distinct:,} distinct values in {n:,} rows")]
    return _spellings(texts) + _rare_levels(counts[used])


def _text_numbers(
    name: str, texts: Sequence[str], weights: IndexArray, n_distinct: int, column: Labels
) -> Fault | None:
    """A fault if text is numbers with a decimal comma, or numbers and a few words."""
    padded = [text for text in texts if PADDED.fullmatch(text)]
    if padded:
        if n_distinct <= FEW_CODES or _share(texts, WHOLE_NUMBER.fullmatch) < NUMBER_SHARE:
            return None
        sentence = f"holds whole numbers with zeros in front, such as {shown(padded[0])}, and is "
        sentence += "read as categories. If they are quantities, make it continuous."
        return Fault("padded numbers", sentence, "--continuous")
    thousands = _thousands(name, texts, column)
    if thousands is not None:
        return thousands
    with_comma = [text for text in texts if COMMA_NUMBER.fullmatch(text)]
    if with_comma and _share(texts, _comma_or_whole) >= NUMBER_SHARE:
        sentence = f"holds numbers with a comma as text, such as {shown(with_comma[0])}"
        words = [text for text in texts if not _comma_or_whole(text)]
        if words:  # no way to read the file makes numbers of them
            sentence += f", beside {_some_words(words, column)}. {_as_missing(words)}"
            return Fault("decimal comma", sentence)
        sentence += ". Read it with a decimal comma."
        return Fault("decimal comma", sentence, f"--decimal {name}=,")
    numbers = [NUMBER.fullmatch(text.strip()) is not None for text in texts]
    words = [text for text, number in zip(texts, numbers, strict=True) if not number]
    if n_distinct - len(words) <= FEW_CODES and not words:
        return None  # a few numbers as text are names of categories
    n_numbers = int(weights[np.array(numbers)].sum())
    if n_numbers < NUMBER_SHARE * weights.sum() or sum(numbers) <= FEW_RARE_LEVELS:
        return None
    if words:  # no way to read the file makes numbers of them
        sentence = f"holds numbers beside {_some_words(words, column)}, and is read as categories. "
        return Fault("numbers and words", sentence + _as_missing(words))
    return Fault("numbers as text", "holds numbers stored as text.", "--continuous")


def _as_missing(words: list[str]) -> str:
    """What to do about words among numbers."""
    advice = "Correct such cells, or leave them empty"
    if len(set(words)) > 1:
        return f"{advice}."
    return (
        f"{advice}. If it means that nothing is known, --missing {quote(plain(words[0]))} says so."
    )


def thousands_mark(text: str) -> str | None:
    """What stands between the thousands of a number; None if nothing does."""
    match = THOUSANDS.fullmatch(text.strip())
    return match["mark"] if match else None


def _thousands(name: str, texts: Sequence[str], column: Labels) -> Fault | None:
    """A fault if text is numbers with a mark between thousands."""
    found = [match for match in map(THOUSANDS.fullmatch, texts) if match]
    if not found:
        return None
    mark = found[0]["mark"]

    def is_number(text: str) -> Any:
        match = THOUSANDS.fullmatch(text)
        if match:
            return match if match["mark"] == mark else None
        return NUMBER.fullmatch(text) or (mark != "," and COMMA_NUMBER.fullmatch(text)) or None

    if _share(texts, is_number) < NUMBER_SHARE:
        return None
    sentence = f"holds numbers with thousands separators, such as {shown(found[0][0])}. "
    words = [text for text in texts if not is_number(text)]
    if words:
        some = _some_words(words, column)
        return Fault("thousands", sentence + f"Write them without, and leave {some} empty.")
    if mark != ",":
        return Fault("thousands", sentence + "Write them without.")
    option = f"--decimal {name}=."
    sentence += f"If the comma marks thousands, read it with a decimal point ({plain(option)})."
    return Fault("thousands", sentence, option)


def _some_words(words: Sequence[str], column: Labels) -> str:
    """Some cells that are no numbers, with the first row of each, in the order of these rows."""
    places = {label: code for code, label in enumerate(column.labels)}
    rows = sorted((int(np.argmax(column.codes == places[word])), word) for word in words[:3])
    some = [f"{shown(word)} ({_ordinal(row + 1)} row)" for row, word in rows]
    return ", ".join(some) + ", ..." * (len(words) > 3)


def _ordinal(n: int) -> str:
    """A number such as 1st, 12th or 1,003rd."""
    teens = n % 100 in (11, 12, 13)
    return f"{n:,}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def _comma_or_whole(text: str) -> Any:
    return COMMA_NUMBER.fullmatch(text) or WHOLE_NUMBER.fullmatch(text)


def same_words(texts: Sequence[str]) -> list[list[str]]:
    """Groups of texts that differ only in case, in spaces, or in what joins their words."""
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(JOINT.sub(" ", text.strip()).casefold(), []).append(text)
    return [group for group in groups.values() if len(group) > 1]


def _spellings(texts: Sequence[str]) -> list[Fault]:
    groups = same_words(texts)
    if not groups:
        return []
    alike = " and ".join(map(shown, groups[0][:2]))
    sentence = f"has categories that differ only in case or spaces, such as {alike}. Write them "
    return [Fault("spellings", sentence + "alike if they mean the same.")]


def _are_long(texts: Sequence[str]) -> bool:
    return float(np.median([len(text.split()) for text in texts])) >= FREE_TEXT_WORDS


def _rare_levels(counts: IndexArray) -> list[Fault]:
    rare = counts < RARE_ROWS
    few = counts.sum() < FEW_ROWS or rare.sum() <= FEW_RARE_LEVELS
    if few or rare.sum() < RARE_LEVEL_SHARE * len(counts):
        return []
    sentence = (
        f"has {rare.sum():,} rare levels of {len(counts):,}: fewer than {RARE_ROWS} rows each, "
        f"{counts[rare].sum():,} rows together. Join levels if you can."
    )
    return [Fault("rare levels", sentence)]


# ------------------------------------------------------------------------------------- shared


def has_identifier_name(name: str) -> bool:
    """Whether row numbers and keys are often called so."""
    return bool(IDENTIFIER_NAME.search(name) or CAMEL_IDENTIFIER.search(name))


def _few(n_distinct: int, n_values: int) -> bool:
    return n_distinct <= min(SAME_CODES, n_values // 2)


def _numbered(codes: IndexArray, n_distinct: int, missing: BoolArray) -> tuple[IndexArray, bytes]:
    """Codes in the order in which values first occur, and a mark of what the column says."""
    first = np.empty(n_distinct, dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # the last that is written stays
    rank = np.empty(n_distinct, dtype=np.intp)
    rank[np.argsort(first)] = np.arange(n_distinct)
    numbered = np.full(len(missing), -1, dtype=np.intp)
    numbered[~missing] = rank[codes]
    return numbered, blake2b(numbered.tobytes()).digest()


def _unnumbered(values: FloatArray, missing: BoolArray) -> tuple[IndexArray, bytes]:
    """No codes, and a mark of the values themselves."""
    whole = np.where(missing, np.nan, values) + 0.0  # one NaN, one zero
    return np.empty(0, dtype=np.intp), blake2b(whole.tobytes()).digest()


def _share(texts: Sequence[str], test: Callable[[str], Any]) -> float:
    return sum(test(text) is not None for text in texts) / len(texts)


def _empty(kind: str, missing: BoolArray) -> Facts:
    fault = Fault("empty", "has no value in any row.", "--drop")
    codes = np.full(len(missing), -1, dtype=np.intp)
    return Facts(kind, 0, missing, None, codes, b"", [fault])


def _constant(value: Any) -> Fault:
    value = f"{value:g}" if isinstance(value, float) else shown(value)
    return Fault("constant", f"has a single value, {value}.", "--drop")


def _dates(example: str) -> Fault:
    sentence = (
        f"holds dates or times such as {shown(example)}. Turn it into a number, such as days "
    )
    return Fault("date", sentence + "since a fixed day, or drop it.", "--drop")


def _identifier(why: str) -> Fault:
    sentence = f"looks like an identifier: {why}. A model learns nothing from it for new rows."
    return Fault("identifier", sentence, "--drop")
