"""Match the columns of a table with those seen in fit, by their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches

import numpy as np

from latentclass._types import FloatArray
from latentclass._warn import warn_user
from latentclass.data._read import Labels, RawColumn, RawTable
from latentclass.exceptions import TableWarning


def match_columns(raw: RawTable, names: Sequence[str], *, owner: str) -> RawTable:
    """Return a table with the columns `names`, found by name; those that it lacks are missing.

    Warns of columns that are lacking and of columns that are not used. Rows as dicts may lack keys:
    that is how they say that a cell is missing.

    Raises
    ------
    ValueError
        If the table has none of the columns.
    """
    place = {name: j for j, name in enumerate(raw.names)}
    sources = [place.get(name) for name in names]
    lacking = [name for name in names if name not in place]
    known = set(names)
    new = [name for name in raw.names if name not in known]
    if len(lacking) == len(names) and (new or raw.container != "records"):
        raise ValueError(
            f"X has none of the {len(names)} columns seen in fit: {some(names)}. Its own are "
            f"{some(raw.names)}."
        )
    if lacking and raw.container != "records":
        counted = "it counts" if len(lacking) == 1 else "they count"
        warn_user(
            f"X lacks {len(lacking)} of the {len(names)} columns seen in fit: {some(lacking)}; "
            f"{counted} as missing.{rename_hint(lacking, new)}",
            TableWarning,
        )
    if new:
        ignored = "it is" if len(new) == 1 else "they are"
        hint = rename_hint(lacking, new) if raw.container == "records" else ""
        warn_user(
            f"{owner} has not seen {len(new)} of the columns of X in fit: {some(new)}; {ignored} "
            f"ignored.{hint}",
            TableWarning,
        )
    return raw._replace(
        names=list(names),
        matrix=_reordered(raw, sources),
        read_column=_reader(raw, sources),
        lacking=() if raw.container == "records" else tuple(lacking),
    )


def _reader(raw: RawTable, sources: list[int | None]) -> Callable[[int], RawColumn]:
    def read_column(j: int) -> RawColumn:
        source = sources[j]
        if source is None:
            return Labels(np.full(raw.n_rows, -1, dtype=np.int32), [])
        return raw.read_column(source)

    return read_column


def _reordered(raw: RawTable, sources: list[int | None]) -> FloatArray | None:
    if raw.matrix is None:
        return None
    matrix = np.asarray(raw.matrix)  # a sparse table has no names
    out = np.full((raw.n_rows, len(sources)), np.nan)
    for j, source in enumerate(sources):
        if source is not None:
            out[:, j] = matrix[:, source]
    return out


def are_numbered(names: Sequence[str]) -> bool:
    """Whether names only count the columns: one stem and then 0, 1, 2, ... or 1, 2, 3, ...

    Such names tell the place of a column in its table and not what it holds. A table from which a
    column was dropped before the others were numbered has them too, but for other columns.

    Examples
    --------
    >>> are_numbered(["x0", "x1", "x2"]), are_numbered(["V01", "V02"]), are_numbered(["a1", "b2"])
    (True, True, False)
    """
    found = [re.fullmatch(r"(.*?)(\d+)", name, re.DOTALL) for name in names]
    if len(names) < 2 or not all(found):
        return False
    stems = {match[1] for match in found if match}
    numbers = [int(match[2]) for match in found if match]
    return (
        len(stems) == 1
        and numbers[0] in (0, 1)
        and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    )


def rename_hint(lacking: Sequence[str], new: Sequence[str]) -> str:
    """A question whether a new column is a lacking one under another name, or nothing."""
    by_small_letters = {name.lower(): name for name in new}
    for lost in lacking:
        for close in get_close_matches(lost.lower(), by_small_letters, n=1):
            return f" Did you mean to rename {by_small_letters[close]!r} to {lost!r}?"
    return ""


def free_name(name: str, taken: Collection[str]) -> str:
    """`name` with as many underscores added as it takes to differ from all names in `taken`."""
    while name in taken:
        name += "_"
    return name


def some(names: Sequence[str]) -> str:
    """Names for a message, at most ten of them."""
    return f"[{', '.join(map(repr, names[:10]))}{', ...' if len(names) > 10 else ''}]"
