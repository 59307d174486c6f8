"""The two public functions and what they return."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latentclass.datasets._facts import Facts, PaperUse, paper_uses, registry, resolve, uses_of
from latentclass.datasets._folder import VARIABLE, folder, from_folder, read_index
from latentclass.datasets._generate import GENERATED
from latentclass.datasets._openml import cache_folder, from_openml
from latentclass.datasets._sources import BUNDLED, FoundFile, NotHere, bundled, generated
from latentclass.datasets._table import CONTAINERS, Table, to_container
from latentclass.datasets._variants import STEPS
from latentclass.exceptions import DataSetUnavailableError

# In the order in which they are tried.
_READERS: dict[str, Callable[[Facts, Path | None], FoundFile]] = {
    "generated": lambda facts, _: generated(facts),
    "bundled": lambda facts, _: bundled(facts),
    "folder": from_folder,
    "openml": lambda facts, _: from_openml(facts),
}


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set with its labels and what is known of it.

    Attributes
    ----------
    name : str
        Name, with the variant if there is one. Aliases are resolved.
    X : data frame or ndarray
        One row per case, in the container asked for.
    y : ndarray of shape (n_rows,)
        Labels, as an object array of str whatever the container.
    kinds : dict of str to str
        Kind of each column: "continuous", "binary" (two declared values) or "nominal".
    split : ndarray of shape (n_rows,) or None
        "train" or "test" for each row, where the papers use a fixed split.
    description : str
        What the rows are.
    source : str
        Where this copy came from.
    licence : str
        Terms of this copy, as far as they are known.
    papers : dict of str to tuple of PaperUse
        What each paper says of the set or of a variant of it.
    differs : str or None
        How this copy differs from what the papers used.
    """

    name: str
    X: Any = field(repr=False)
    y: NDArray[np.object_] = field(repr=False)
    kinds: dict[str, str] = field(repr=False)
    split: NDArray[np.object_] | None = field(repr=False)
    description: str
    source: str
    licence: str
    papers: dict[str, tuple[PaperUse, ...]] = field(repr=False)
    differs: str | None


@dataclass(frozen=True)
class DatasetInfo:
    """One line of `list_datasets`.

    Attributes
    ----------
    name : str
        Name for `load_dataset`.
    rows, continuous, binary, nominal : int
        Rows, and columns of each kind (the class not counted).
    classes : int
        Declared classes; a few sets use fewer.
    incomplete_rows : int
        Rows with a missing cell.
    papers : tuple of str
        Papers that use it.
    called : tuple of str
        Names the paper asked for gives it; empty if no paper was asked for.
    available : tuple of str
        Sources that have it here, in the order in which they are tried. "openml" needs the
        network, or an earlier download.
    description : str
        What the rows are.
    """

    name: str
    rows: int
    continuous: int
    binary: int
    nominal: int
    classes: int
    incomplete_rows: int
    papers: tuple[str, ...]
    called: tuple[str, ...]
    available: tuple[str, ...]
    description: str


def load_dataset(
    name: str,
    *,
    container: str = "auto",
    source: str = "auto",
    data_home: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Load a data set of the papers by name.

    Sources are tried in this order: computed from its definition, bundled with scikit-learn,
    the folder named by the environment variable ``LATENTCLASS_DATA``, and OpenML. What OpenML
    sends is checked against the known sizes and kept in ``~/.cache/latentclass`` (or where
    ``LATENTCLASS_CACHE`` says).

    Parameters
    ----------
    name : str
        A name or alias that `list_datasets` knows. ``/complete`` after it keeps the rows
        without missing cells, ``/train`` and ``/test`` one half of a set that the papers split.
    container : {"auto", "pandas", "polars", "numpy"}, default="auto"
        Type of ``X``. "auto" is pandas if it is installed, else numpy. In frames nominal columns
        are categories (pandas) or enums (polars), continuous ones float64, pixels and words bool;
        a missing cell is what the frame has for it. A numpy array is float64 or bool if all
        columns are, else object: str with None for missing, and float with NaN.
    source : {"auto", "generated", "bundled", "folder", "openml"}, default="auto"
        Take this source only.
    data_home : path-like, default=None
        Data folder to use instead of ``LATENTCLASS_DATA``.

    Returns
    -------
    Dataset
        Table, labels, kinds of the columns, and what is known of the set.

    Raises
    ------
    ValueError
        The name is not known, or what was found is damaged or is not the data set it should be.
    DataSetUnavailableError
        No source has the data set; the message lists the places and what to do.

    Examples
    --------
    >>> from latentclass.datasets import load_dataset
    >>> scale = load_dataset("balance-scale", container="numpy")
    >>> scale.X.shape, sorted(set(scale.y))
    ((625, 4), ['B', 'L', 'R'])
    >>> robots = load_dataset("monks-1/test")
    >>> robots.source, robots.kinds["a3"]
    ('generated', 'binary')
    """
    for value, known, what in (
        (container, CONTAINERS, "container"),
        (source, ("auto", *_READERS), "source"),
    ):
        if value not in known:
            raise ValueError(f"{what}={value!r} is not one of {', '.join(map(repr, known))}.")
    facts = resolve(name)
    if facts.text:
        base = facts.name.partition("/")[0]
        topics = ", ".join(repr(known) for known in registry() if known.startswith(f"{base}/"))
        raise ValueError(f"{facts.name!r} is text, not a table. Load one of {topics}.")
    home = folder(data_home)
    used, found = _search(facts, list(_READERS) if source == "auto" else [source], home)
    differs = [facts.differs, facts.notes.get(used), found.differs]
    if used == "folder":
        differs.append(_size_note(facts, found.table))
    return Dataset(
        name=facts.name,
        X=to_container(found.table, container),
        y=found.table.y,
        kinds=found.table.kinds,
        split=found.table.split,
        description=facts.about,
        source=found.source,
        licence=found.licence,
        papers=uses_of(facts.name),
        differs=" ".join(filter(None, differs)) or None,
    )


def _search(facts: Facts, sources: list[str], home: Path | None) -> tuple[str, FoundFile]:
    """Return the first source that has the data set, and what it has."""
    tried = []
    for source in sources:
        try:
            return source, _from_source(facts, source, home)
        except NotHere as reason:
            tried.append(f"- {source}: {reason}")
    raise DataSetUnavailableError(_unavailable(facts, tried))


def _from_source(facts: Facts, source: str, home: Path | None) -> FoundFile:
    """Read the data set itself, else compute it from its parent out of the same source."""
    try:
        return _READERS[source](facts, home)
    except NotHere:
        if facts.parent is None or facts.step is None:
            raise
    found = _from_source(resolve(facts.parent), source, home)
    return replace(found, table=STEPS[facts.step](found.table))


def _unavailable(facts: Facts, tried: list[str]) -> str:
    places = "\n".join(tried)
    base = facts.name.partition("/")[0]
    network = half = ""
    if _has(facts, "openml", frozenset()):
        network = f", or go online: OpenML has it, and {cache_folder()} will keep it"
    if _offline(f"{base}/test"):
        half = f" Its test half needs no files: {base + '/test'!r}."
    free = ", ".join(sorted(filter(_offline, {*registry(), *GENERATED})))
    return (
        f"Data set {facts.name!r} is not available. Tried:\n{places}\n"
        f"What to do: set {VARIABLE} (or data_home) to a folder that has it{network}.{half} "
        f"Always available: {free}."
    )


def _offline(name: str) -> bool:
    """Tell whether a data set needs neither files nor network."""
    try:
        facts = resolve(name)
    except ValueError:
        return False
    return any(_has(facts, source, frozenset()) for source in ("generated", "bundled"))


def _has(facts: Facts, source: str, stored: frozenset[str]) -> bool:
    """Tell whether a source has a data set, without reading it."""
    if source == "folder":
        here = facts.name in stored and not facts.parent
    elif source == "openml":
        here = bool(facts.openml)
    else:
        here = facts.name in (GENERATED if source == "generated" else BUNDLED)
    return here or (facts.parent is not None and _has(resolve(facts.parent), source, stored))


def _size_note(facts: Facts, table: Table) -> str | None:
    """Say so if a copy in somebody's folder is not the one that is known here."""
    found = (len(table.y), len(table.columns))
    if found == (facts.rows, facts.attributes):
        return None
    return (
        f"This copy has {found[0]} rows and {found[1]} columns; the data set is known to have "
        f"{facts.rows} and {facts.attributes}."
    )


def list_datasets(
    paper: str | None = None, *, data_home: str | os.PathLike[str] | None = None
) -> list[DatasetInfo]:
    """List the data sets, or those of one paper in the form that the paper used.

    Parameters
    ----------
    paper : {"lcm", "blcm", "hnb", "ltc", "lvc"}, default=None
        List the data sets of this paper only, in the paper's order.
    data_home : path-like, default=None
        Data folder to use instead of ``LATENTCLASS_DATA``.

    Returns
    -------
    list of DatasetInfo
        One line per data set; ``pandas.DataFrame(list_datasets())`` makes a table of it.

    Examples
    --------
    >>> from latentclass.datasets import list_datasets
    >>> for info in list_datasets("lvc"):
    ...     print(info.called[0], info.name, info.rows, info.continuous, info.classes)
    BREAST-CANCER breast-w 699 9 2
    IRIS iris 150 4 3
    PIMA diabetes 768 8 2
    N(0,1), N(3,1) two-normals 1000 1 2
    """
    if paper is not None and paper not in paper_uses():
        known = ", ".join(map(repr, paper_uses()))
        raise ValueError(f"paper={paper!r} is not one of {known}.")
    home = folder(data_home)
    stored = frozenset(read_index(home)) if home else frozenset()
    called: dict[str, list[str]] = {}
    if paper is None:
        used = {use.name for uses in paper_uses().values() for use in uses}
        called = {name: [] for name in sorted(used | registry().keys() | GENERATED.keys())}
    else:
        for use in paper_uses()[paper]:
            called.setdefault(use.name, []).append(use.called)
    shown = ((resolve(name), names) for name, names in called.items())
    return [_info(facts, names, stored) for facts, names in shown if not facts.text]


def _info(facts: Facts, called: list[str], stored: frozenset[str]) -> DatasetInfo:
    return DatasetInfo(
        name=facts.name,
        rows=facts.rows,
        continuous=facts.continuous,
        binary=facts.binary,
        nominal=facts.nominal,
        classes=facts.classes,
        incomplete_rows=facts.incomplete,
        papers=tuple(uses_of(facts.name)),
        called=tuple(called),
        available=tuple(source for source in _READERS if _has(facts, source, stored)),
        description=facts.about,
    )
