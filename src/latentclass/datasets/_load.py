"""Load data sets by name, and list them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latentclass._validation import check_option
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
    """A data set: table, labels, and facts about it.

    Attributes
    ----------
    name : str
        Name, with the variant if there is one. Aliases are resolved.
    X : data frame or ndarray
        One row per case, in the requested container.
    y : ndarray of shape (n_rows,)
        Labels as an object array of str, for every container.
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
        What each paper says about the data set or a variant of it.
    differs : str or None
        How this copy differs from the data of the papers.
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
        Number of rows, and of columns of each kind without the class.
    classes : int
        Number of declared classes. In a few data sets, not all of them occur.
    incomplete_rows : int
        Number of rows with a missing cell.
    papers : tuple of str
        Papers that use it.
    called : tuple of str
        Names in the paper passed to `list_datasets`; empty without a paper.
    available : tuple of str
        Sources that have it, in the order in which they are tried. "openml" needs the network or
        an earlier download.
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

    The sources are tried in this order: computed from its definition, bundled with scikit-learn,
    the folder named by the environment variable ``LATENTCLASS_DATA``, and OpenML. A download from
    OpenML is checked against the known sizes and kept in ``~/.cache/latentclass``, or in the
    folder named by ``LATENTCLASS_CACHE``.

    Parameters
    ----------
    name : str
        A name from `list_datasets`, or an alias. ``/complete`` after it keeps only the rows
        without missing cells. ``/train`` and ``/test`` keep one half of a data set that the papers
        split.
    container : {"auto", "pandas", "polars", "numpy"}, default="auto"
        Type of ``X``. "auto" is pandas if it is installed, otherwise numpy. In a data frame,
        nominal columns are categories (pandas) or enums (polars), continuous columns are float64,
        and pixels and words are bool. A numpy array is float64 or bool if all columns are.
        Otherwise it has type object, with None for a missing label and NaN for a missing number.
    source : {"auto", "generated", "bundled", "folder", "openml"}, default="auto"
        The only source to try. "auto" tries all of them.
    data_home : path-like, default=None
        Data folder to use instead of ``LATENTCLASS_DATA``.

    Returns
    -------
    Dataset
        Table, labels, kinds of the columns, and facts about the data set.

    Raises
    ------
    ValueError
        If the name is unknown, or the file found is damaged or is another data set.
    DataSetUnavailableError
        If no source has the data set. The message lists the sources and says what to do.

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
    check_option("container", container, CONTAINERS)
    check_option("source", source, ("auto", *_READERS))
    facts = resolve(name)
    if facts.text:
        base = facts.name.partition("/")[0]
        topics = ", ".join(repr(known) for known in registry() if known.startswith(f"{base}/"))
        raise ValueError(f"Data set {facts.name!r} is text, not a table. Load one of {topics}.")
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
    """Return the first source that has the data set, and the data set."""
    tried = []
    for source in sources:
        try:
            return source, _from_source(facts, source, home)
        except NotHere as reason:
            tried.append(f"- {source}: {reason}")
    raise DataSetUnavailableError(_unavailable(facts, tried))


def _from_source(facts: Facts, source: str, home: Path | None) -> FoundFile:
    """Read the data set, or compute it from its parent in the same source."""
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
        network = f", or go online to download it from OpenML to {cache_folder()}"
    if _offline(f"{base}/test"):
        half = f" Its test half needs no files: {base + '/test'!r}."
    free = ", ".join(sorted(filter(_offline, {*registry(), *GENERATED})))
    return (
        f"Data set {facts.name!r} is not available. Tried:\n{places}\n"
        f"What to do: set {VARIABLE} (or data_home) to a folder that has it{network}.{half}\n"
        f"Always available: {free}."
    )


def _offline(name: str) -> bool:
    """Whether a data set needs neither files nor the network."""
    try:
        facts = resolve(name)
    except ValueError:
        return False
    return any(_has(facts, source, frozenset()) for source in ("generated", "bundled"))


def _has(facts: Facts, source: str, stored: frozenset[str]) -> bool:
    """Whether a source has a data set, without reading it."""
    if source == "folder":
        here = facts.name in stored and not facts.parent
    elif source == "openml":
        here = bool(facts.openml)
    else:
        here = facts.name in (GENERATED if source == "generated" else BUNDLED)
    return here or (facts.parent is not None and _has(resolve(facts.parent), source, stored))


def _size_note(facts: Facts, table: Table) -> str | None:
    """Return a note if a copy in a folder does not have the known size."""
    found = (len(table.y), len(table.columns))
    if found == (facts.rows, facts.attributes):
        return None
    return (
        f"This copy has {found[0]} rows and {found[1]} columns, but the data set is known to have "
        f"{facts.rows} and {facts.attributes}."
    )


def list_datasets(
    paper: str | None = None, *, data_home: str | os.PathLike[str] | None = None
) -> list[DatasetInfo]:
    """List all data sets, or those of one paper in the variants that the paper used.

    Parameters
    ----------
    paper : {"lcm", "blcm", "hnb", "ltc", "lvc"}, default=None
        List only the data sets of this paper, in its order.
    data_home : path-like, default=None
        Data folder to use instead of ``LATENTCLASS_DATA``.

    Returns
    -------
    list of DatasetInfo
        One entry per data set. ``pandas.DataFrame(list_datasets())`` makes a table of them.

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
    check_option("paper", paper, (None, *paper_uses()))
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
