"""Bayesian networks in BIF, a text format that most Bayesian network programs can read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from latentclass._files import replacing
from latentclass._types import FloatArray
from latentclass.data._match import free_name

KEYWORDS = frozenset(
    ("network", "variable", "type", "discrete", "property", "probability", "table", "default")
)
"""Words of the format itself, which readers refuse as names and as states."""


class BifVariable(NamedTuple):
    """One variable of a network.

    Attributes
    ----------
    name : str
    states : sequence
    parents : tuple of str
        Names of the parents.
    table : array
        P(state | states of the parents), with one axis per parent and a last axis for the
        variable's own states, which sums to 1.
    """

    name: str
    states: Sequence[Any]
    parents: tuple[str, ...]
    table: FloatArray


def write_bif(
    variables: Iterable[BifVariable],
    path: str | PathLike[str] | None = None,
    *,
    title: str = "latentclass",
) -> str:
    """Return a network as BIF text, and write it to `path` if one is given.

    Not every reader accepts more than letters, digits and underscores in names. So other characters
    become underscores; a name that does not start with a letter, or that is a word of the format,
    gets a letter in front (`s` for a state, `v` for a variable); and names that are then equal get
    a number. The original names are kept in `property` lines. Variables of one state, which some
    readers refuse, are left out: they do not change what the others do.

    Examples
    --------
    >>> rain = BifVariable("rain", ["no", "yes"], (), np.array([0.8, 0.2]))
    >>> wet = BifVariable("wet?", [0, 1], ("rain",), np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> text = write_bif([rain, wet])
    >>> print(text.split("probability")[-1].strip())
    ( wet_ | rain ) {
      (no) 0.9, 0.1;
      (yes) 0.2, 0.8;
    }
    """
    variables = _without_constants(list(variables))
    names = [v.name for v in variables]
    safe = dict(zip(names, _unique(names, "v"), strict=True))
    states = {v.name: _unique([str(s) for s in v.states], "s") for v in variables}
    lines = [f"network {_unique([title], 'n')[0]} {{", "}"]
    for v in variables:
        labels = states[v.name]
        lines += [
            f"variable {safe[v.name]} {{",
            f"  type discrete [ {len(labels)} ] {{ {', '.join(labels)} }};",
            f"  property name = {_quoted([v.name])} ;",
            f"  property states = {_quoted([str(s) for s in v.states])} ;",
            "}",
        ]
    for v in variables:
        given = f" | {', '.join(safe[p] for p in v.parents)}" if v.parents else ""
        lines.append(f"probability ( {safe[v.name]}{given} ) {{")
        if v.parents:
            for config in np.ndindex(v.table.shape[:-1]):
                chosen = ", ".join(states[p][i] for p, i in zip(v.parents, config, strict=True))
                lines.append(f"  ({chosen}) {_numbers(v.table[config])};")
        else:
            lines.append(f"  table {_numbers(v.table)};")
        lines.append("}")
    text = "\n".join(lines) + "\n"
    if path is not None:
        with replacing(path) as file:
            file.write(text.encode())
    return text


def _without_constants(variables: list[BifVariable]) -> list[BifVariable]:
    """Leave out variables of one state, and their axes in the tables of their children."""
    constant = {v.name for v in variables if len(v.states) == 1}
    return [
        v._replace(
            parents=tuple(p for p in v.parents if p not in constant),
            table=v.table[tuple(0 if p in constant else slice(None) for p in v.parents)],
        )
        for v in variables
        if v.name not in constant
    ]


def _numbers(row: FloatArray) -> str:
    return ", ".join(repr(float(value)) for value in row)


def _quoted(texts: list[str]) -> str:
    words = ", ".join(texts).replace('"', "'").replace(";", ",")
    return '"' + re.sub(r"[\s{}]+", " ", words) + '"'


def _unique(texts: list[str], prefix: str) -> list[str]:
    """Turn texts into distinct words of letters, digits and underscores."""
    taken: dict[str, int] = {}  # each word with the number that its next namesake gets
    for text in texts:
        word = re.sub(r"[^A-Za-z0-9_]", "_", text)
        if not re.match(r"[A-Za-z]", word) or word.lower() in KEYWORDS:
            word = prefix + word
        candidate, number = word, taken.get(word, 1)
        while candidate in taken:
            number += 1
            candidate = f"{word}_{number}"
        taken[word] = number
        taken.setdefault(candidate, 1)
    return list(taken)


def naive_bayes_variables(model: Any, class_name: str = "class") -> list[BifVariable]:
    """The variables of a fitted `NaiveBayes` with discrete columns only."""
    continuous = [c.name for c in model.schema_.columns if c.kind == "continuous" and c.observed]
    if continuous:
        raise ValueError(
            f"BIF holds only discrete variables, but {continuous} are continuous. Discretise them "
            "first, for example with MDLDiscretizer."
        )
    name = free_name(class_name, model.schema_.names)
    labels = model.classes_.tolist()
    return [
        BifVariable(name, labels, (), model.class_prior_),
        *(
            BifVariable(c.name, c.categories, (name,), model.probabilities_[c.name])
            for c in model.schema_.columns
            if c.categories
        ),
    ]
