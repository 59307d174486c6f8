"""Facts about each data set and its use in the papers; names and aliases."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

UCI_LICENCE = "CC BY 4.0, according to the UCI Machine Learning Repository"


@dataclass(frozen=True)
class Facts:
    """A data set or variant: its size and where it comes from."""

    name: str
    about: str
    rows: int
    classes: int
    seen: int  # number of classes that occur
    train: int | None = None
    continuous: int = 0
    binary: int = 0
    nominal: int = 0
    incomplete: int = 0
    parent: str | None = None
    step: str | None = None
    openml: dict[str, Any] = field(default_factory=dict, hash=False)
    differs: str | None = None
    notes: dict[str, str] = field(default_factory=dict, hash=False)  # `differs` by source
    licence: str = UCI_LICENCE
    text: bool = False  # documents, not a table: only its variants can be loaded

    @property
    def attributes(self) -> int:
        """Number of columns without the class."""
        return self.continuous + self.binary + self.nominal


@dataclass(frozen=True)
class PaperUse:
    """What a paper says about a data set that it uses.

    Attributes
    ----------
    paper : str
        "lcm", "blcm", "hnb", "ltc" or "lvc".
    called : str
        Name in the paper.
    name : str
        Name for `load_dataset` that gives the rows and columns of the paper.
    attributes, classes : int or None
        As printed in the paper; None if it does not say.
    instances : int, tuple of int or None
        Number of rows as printed, or (training, test) if the paper has a fixed split.
    agrees : bool or None
        Whether `name` has the same sizes here. None if the paper gives no sizes.
    """

    paper: str
    called: str
    name: str
    attributes: int | None
    classes: int | None
    instances: int | tuple[int, int] | None
    agrees: bool | None


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files("latentclass.datasets").joinpath(name).read_text("utf-8"))


@cache
def registry() -> dict[str, Facts]:
    """Return all data sets and their own variants by name."""
    sets = {}
    for name, entry in _read("sets.toml").items():
        size = entry.pop("size")
        sets[name] = Facts(name=name, **{"seen": size["classes"], **size, **entry})
    return sets


@cache
def aliases() -> dict[str, str]:
    """Return other names that the literature uses."""
    return dict(_read("papers.toml")["aliases"])


@cache
def paper_uses() -> dict[str, tuple[PaperUse, ...]]:
    """Return the data sets of each paper, in the order of the paper."""
    return {
        paper: tuple(_use(paper, called, *row) for called, row in table.items())
        for paper, table in _read("papers.toml")["papers"].items()
    }


def _use(
    paper: str,
    called: str,
    name: str,
    attributes: int | None = None,
    classes: int | None = None,
    stated: int | list[int] | None = None,
) -> PaperUse:
    instances = (stated[0], stated[1]) if isinstance(stated, list) else stated
    agrees = None
    if instances is not None:
        facts = resolve(name)
        ours: int | tuple[int, int] | None = facts.rows
        if isinstance(instances, tuple):
            ours = facts.train and (facts.train, facts.rows - facts.train)
        # Some papers count the declared classes, others only those that occur.
        agrees = (
            attributes == facts.attributes
            and classes in (facts.classes, facts.seen)
            and instances == ours
        )
    return PaperUse(paper, called, name, attributes, classes, instances, agrees)


def uses_of(name: str) -> dict[str, tuple[PaperUse, ...]]:
    """Return the papers that use a data set or a variant of it."""
    found = {
        paper: tuple(use for use in uses if f"{use.name}/".startswith(f"{name}/"))
        for paper, uses in paper_uses().items()
    }
    return {paper: uses for paper, uses in found.items() if uses}


def _complete(parent: Facts) -> Facts:
    about = f"{parent.about} Only the rows without a missing cell."
    return replace(parent, about=about, rows=parent.rows - parent.incomplete, incomplete=0)


def _half(parent: Facts, half: str) -> Facts:
    if parent.train is None:
        raise ValueError(
            f"Data set {parent.name!r} has no {half} half, because the papers do not split it. "
            f"Load {parent.name!r} and split it yourself, for example by cross-validation."
        )
    rows = parent.train if half == "train" else parent.rows - parent.train
    return replace(parent, about=f"{parent.about} Only the {half} half.", rows=rows, train=None)


# Variants of any data set.
GENERAL: dict[str, Callable[[Facts], Facts]] = {
    "complete": _complete,
    "train": lambda parent: _half(parent, "train"),
    "test": lambda parent: _half(parent, "test"),
}


def resolve(name: str) -> Facts:
    """Find a data set by name, alias, or name/variant."""
    key = name.strip().lower()
    key = aliases().get(key, key)
    if key in registry():
        return registry()[key]
    base, _, variant = key.rpartition("/")
    if base and variant in GENERAL:
        parent = resolve(base)
        changed = GENERAL[variant](parent)
        # OpenML has only the parent; a variant is always computed.
        return replace(
            changed, name=f"{parent.name}/{variant}", parent=parent.name, step=variant, openml={}
        )
    raise ValueError(_unknown(name, key))


FILE_ENDINGS = (
    *(".csv", ".tsv", ".txt", ".data", ".arff", ".parquet", ".feather", ".xlsx", ".json"),
    *(".gz", ".zip"),
)
"""A name that ends so was meant as a file."""


def _unknown(name: str, key: str) -> str:
    known = [facts.name for facts in registry().values() if not facts.text]
    base = key.partition("/")[0]
    base = aliases().get(base, base)
    if base in registry():
        variants = [one for one in known if one.startswith(f"{base}/")]
        general = GENERAL if registry()[base].train else ["complete"]
        if not registry()[base].text:
            variants += [f"{base}/{variant}" for variant in general]
        return f"Data set {base!r} has no variant {key!r}. It has {', '.join(map(repr, variants))}."
    if key.endswith(FILE_ENDINGS):
        return (
            f"{name!r} looks like a file, but load_dataset takes the name of a data set. Read the "
            f"file with latentclass.read_table({name!r})."
        )
    near = get_close_matches(key, [*known, *aliases()], n=3, cutoff=0.6)
    hint = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
    return f"Unknown data set {name!r}. {hint}list_datasets() shows all."
