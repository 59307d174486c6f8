"""What a model found, as plain values: trees, tables, maps, spaces and groups of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TreeNode:
    """A variable of a tree.

    Attributes
    ----------
    name : str
    parent : int
        Place of its parent; -1 for the root. Parents come first.
    n_states : int
        States of a latent variable; 0 for a column.
    information : float or None
        Mutual information with the parent in nats.
    """

    name: str
    parent: int
    n_states: int
    information: float | None


@dataclass(frozen=True)
class TreeFinding:
    """A tree of latent variables and columns."""

    title: str
    text: str
    nodes: tuple[TreeNode, ...]
    kind: str = "tree"


@dataclass(frozen=True)
class TableFinding:
    """A table: text is shown as it is; numbers have a format: "percent", "times", "loss", ..."""

    title: str
    text: str
    heads: tuple[str, ...]
    formats: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    n_left_out: int = 0
    kind: str = "table"


@dataclass(frozen=True)
class MapFinding:
    """A table of numbers whose shade shows how far each is from the usual.

    Attributes
    ----------
    heads, names : tuple of str
        Of the columns and the lines.
    values : tuple of tuple of str
        What is written into each cell.
    shades : tuple of tuple of float
        From -1 (far below) to 1 (far above).
    n_left_out : int
        Lines that are not shown.
    """

    title: str
    text: str
    heads: tuple[str, ...]
    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    shades: tuple[tuple[float, ...], ...]
    n_left_out: int = 0
    kind: str = "map"


@dataclass(frozen=True)
class SpaceFinding:
    """Rows in the plane of two latent variables.

    Attributes
    ----------
    axes : tuple of str
        Names of the two latent variables.
    classes : tuple of str
    points : tuple of (float, float, int)
        Place and class of a row; -1 for a row without a label.
    centres, deviations : tuple of (float, float)
        Of each class in the model.
    n_left_out : int
        Rows that are not drawn.
    rows : tuple of int
        Place of each point's row in the table.
    """

    title: str
    text: str
    axes: tuple[str, str]
    classes: tuple[str, ...]
    points: tuple[tuple[float, float, int], ...]
    centres: tuple[tuple[float, float], ...]
    deviations: tuple[tuple[float, float], ...]
    n_left_out: int = 0
    rows: tuple[int, ...] = ()
    kind: str = "space"


@dataclass(frozen=True)
class GroupProfile:
    """How a column is spread in the groups of a latent variable.

    Attributes
    ----------
    column : str
    information : float
        Mutual information of column and latent variable in nats.
    levels : tuple of str
        Categories, or bins of a continuous column, in words.
    shares : tuple of tuple of float
        Share of each level in each group.
    """

    column: str
    information: float
    levels: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class LatentGroups:
    """The groups of a latent variable.

    Attributes
    ----------
    name : str
    sizes : tuple of float
        Share of each group in the class.
    marks : tuple of str
        What most rows of each group have, and what they have more often than the others.
    profiles : tuple of GroupProfile
        The columns with the most information first.
    """

    name: str
    sizes: tuple[float, ...]
    marks: tuple[str, ...]
    profiles: tuple[GroupProfile, ...]


@dataclass(frozen=True)
class GroupsFinding:
    """The groups into which the latent variables of a class sort its rows."""

    title: str
    text: str
    latents: tuple[LatentGroups, ...]
    n_left_out: int = 0
    kind: str = "groups"


Finding = TreeFinding | TableFinding | MapFinding | SpaceFinding | GroupsFinding


@dataclass(frozen=True)
class Structure:
    """What the model found.

    Attributes
    ----------
    sentence : str
        In plain words.
    findings : tuple of Finding
    """

    sentence: str
    findings: tuple[Finding, ...]
