"""A fitted hierarchy in the words of the table's columns: names, rules, an ordinary network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from latentclass._types import CodeArray, FloatArray
from latentclass.data._match import free_name
from latentclass.data._schema import Schema
from latentclass.estimator._bif import BifVariable
from latentclass.hnb._hierarchy import Hierarchy
from latentclass.hnb._model import HierarchyModel
from latentclass.hnb._network import enlarged_network
from latentclass.hnb._rules import RuleFinder, part_that_holds, write

MAX_LENGTH = 300
"""Characters up to which a rule is written out over the columns, unless asked otherwise."""

READABLE_LENGTH = 100
"""The same on a screen and in a report, where a person reads one rule after the other."""

MANY_NAMES = 3
"""Columns that are named where missing cells leave open which rule holds."""


@dataclass(frozen=True)
class HierarchyReader:
    """Reads a hierarchy with the names and categories of the columns it was fitted on."""

    model: HierarchyModel
    schema: Schema

    @property
    def hierarchy(self) -> Hierarchy:
        """Which variables are joined, in what states."""
        return self.model.hierarchy

    @cached_property
    def names(self) -> list[str]:
        """Names of the active columns, then of the latent variables."""
        return self.model.variable_names(self.schema.names)

    @property
    def latent_children(self) -> dict[str, tuple[str, str]]:
        """The two variables below each latent variable, by name."""
        names, n = self.names, len(self.hierarchy.n_levels)
        return {
            names[n + t]: (names[latent.children[0]], names[latent.children[1]])
            for t, latent in enumerate(self.hierarchy.latents)
        }

    @property
    def n_states(self) -> dict[str, int]:
        """Number of states of each latent variable, by name."""
        latents = self.hierarchy.latents
        names = self.names[len(self.hierarchy.n_levels) :]
        return {name: latent.n_states for name, latent in zip(names, latents, strict=True)}

    @property
    def top_variables(self) -> list[str]:
        """Columns and latent variables directly below the class."""
        return [self.names[v] for v in self.hierarchy.tops]

    @property
    def selected_features(self) -> list[str]:
        """Columns that say something about the class, in the order of the table."""
        hierarchy = self.hierarchy
        kept = {
            leaf
            for v in hierarchy.tops
            if v not in self.model.ignored and hierarchy.sizes[v] > 1
            for leaf in hierarchy.leaves(v)
        }
        return [self.names[leaf] for leaf in sorted(kept)]

    def rules(self, labels: list[Any], max_length: int | None) -> Any:
        """Every state of every latent variable as a rule; see `HNBClassifier.rules`."""
        import pandas as pd

        n = len(self.hierarchy.n_levels)
        shares = [f"P({label})" for label in labels]
        texts = [
            [self.rule(n + t, state, max_length) for state in range(latent.n_states)]
            for t, latent in enumerate(self.hierarchy.latents)
        ]
        # where the second child makes no difference, the first one would say the same once more
        repeated = {
            child
            for latent, own in zip(self.hierarchy.latents, texts, strict=True)
            for child in latent.children
            if child >= n and set(texts[child - n]) == set(own)
        }
        rows = []
        for t, (name, counts) in enumerate(zip(self.n_states, self.model.support, strict=True)):
            if n + t in repeated:
                continue
            for state, rule in enumerate(texts[t]):
                total = counts[state].sum()
                share = counts[state] / total if total > 0 else np.full(len(shares), np.nan)
                rows.append((name, state, rule, float(total), *share))
        frame = pd.DataFrame(rows, columns=["latent", "state", "rule", "support", *shares])
        if not rows:
            return frame.astype({"state": int, "support": float, **dict.fromkeys(shares, float)})
        if np.all(frame["support"] == np.rint(frame["support"])):
            frame["support"] = frame["support"].astype(int)
        return frame

    def rule(self, variable: int, state: int, max_length: int | None = None) -> str:
        """When a variable is in a state, over the columns, or shorter if that is too long."""
        finder, short = self._finders
        text = self._write(finder, variable, state)
        if max_length is not None and len(text) > max_length:
            return self._write(short, variable, state)
        return text

    def rule_of(self, variable: int, levels: Sequence[int]) -> str:
        """The part of a variable's rule that holds for a row with these levels and states."""
        rule = self._finders[0].find(variable, frozenset([levels[variable]]))
        return write(part_that_holds(rule, levels), self.names, self.condition)

    def _write(self, finder: RuleFinder, variable: int, state: int) -> str:
        return write(finder.find(variable, frozenset([state])), self.names, self.condition)

    @cached_property
    def _finders(self) -> tuple[RuleFinder, ...]:
        """Finds rules over the columns, and shorter ones; they keep what they have found."""
        return tuple(RuleFinder(self.hierarchy, self._alike, expand) for expand in (True, False))

    def _alike(self, i: int, j: int) -> bool:
        """Whether two columns have the same categories."""
        own, other = (
            self.schema.columns[self.model.coding.positions[column]].categories for column in (i, j)
        )
        return len(own) > 0 and list(own) == list(other)

    def condition(self, j: int, levels: tuple[int, ...]) -> str:
        """That a variable has one of some levels, in words."""
        name, coding = self.names[j], self.model.coding
        categories: Sequence[Any] = range(self.hierarchy.sizes[j])  # states of a latent one
        if j < len(coding.active):
            continuous, place = coding.active[j]
            if continuous:
                return write_intervals(name, coding.bins[place].cuts, levels)
            categories = self.schema.columns[coding.positions[j]].categories
        chosen = [categories[i] for i in levels]
        if len(chosen) == 1:
            return f"{name} = {chosen[0]}"
        others = set(range(len(categories))).difference(levels)
        rest = [categories[i] for i in sorted(others)]
        if len(rest) == 1:
            return f"{name} != {rest[0]}"
        listed, word = (chosen, "in") if len(chosen) <= len(rest) + 1 else (rest, "not in")
        return f"{name} {word} {{{', '.join(str(c) for c in listed)}}}"

    def network(self, labels: list[Any]) -> list[BifVariable]:
        """The same model as an ordinary network; see `HNBClassifier.to_network`."""
        levels: list[list[Any]] = []
        for j, n_levels in enumerate(self.hierarchy.n_levels):
            column = self.schema.columns[self.model.coding.positions[j]]
            levels.append(list(column.categories) or [f"bin{b}" for b in range(n_levels)])
        names, taken = self.names, list(self.schema.names)
        root = BifVariable(
            free_name("class", [*taken, *names]), labels, (), np.array(self.model.class_prior)
        )
        return enlarged_network(self.model.filled, root, names, levels, taken)


class TopPart(NamedTuple):
    """A variable directly below the class: its columns, its state in each row, and its rules.

    `levels` (n_rows, n_variables) are the levels and states of all variables of its hierarchy, and
    `model` is the number of that hierarchy, if there are several.
    """

    name: str
    leaves: tuple[int, ...]
    levels: CodeArray
    reader: HierarchyReader
    variable: int
    model: int | None

    @property
    def states(self) -> CodeArray:
        """State of the variable in each row; -1 where missing cells leave it open."""
        return np.asarray(self.levels[:, self.variable])

    @property
    def n_states(self) -> int:
        """Number of states; with a single one the variable says nothing."""
        return int(self.reader.hierarchy.sizes[self.variable])

    def condition(self, state: int) -> str:
        """What a state says, over the columns."""
        if self.reader.hierarchy.latent(self.variable) is None:
            return self.reader.condition(self.variable, (state,))
        return self._of_model(self.reader.rule(self.variable, state, MAX_LENGTH))

    def rule(self, row: int) -> str:
        """What holds in a row, over the columns: the part of the rule that its cells satisfy."""
        levels = self.levels[row].tolist()
        if levels[self.variable] >= 0:
            return self._of_model(self.reader.rule_of(self.variable, levels))
        names = [self.reader.names[leaf] for leaf in self.leaves]
        rest = f" and {len(names) - MANY_NAMES} more" if len(names) > MANY_NAMES else ""
        return self._of_model(f"{', '.join(names[:MANY_NAMES])}{rest}: left open")

    def _of_model(self, text: str) -> str:
        latent = self.reader.hierarchy.latent(self.variable) is not None
        return f"{text} (model {self.model})" if latent and self.model is not None else text


def top_parts(readers: Sequence[HierarchyReader], codes: CodeArray) -> list[TopPart]:
    """The variables directly below the class; of several hierarchies, a column only once."""
    found: dict[str, TopPart] = {}
    for m, one in enumerate(readers):
        states, model = one.hierarchy.encode(codes), m if len(readers) > 1 else None
        for v, name in zip(one.hierarchy.tops, one.top_variables, strict=True):
            if one.hierarchy.latent(v) is not None and model is not None:
                name = f"model{m}_{name}"
            part = TopPart(name, one.hierarchy.leaves(v), states, one, v, model)
            found.setdefault(name, part)
    return list(found.values())


def write_intervals(name: str, cuts: FloatArray, levels: tuple[int, ...]) -> str:
    """Bins of a column as intervals, neighbours joined."""
    edges = ["", *(f"{cut:.6g}" for cut in cuts), ""]
    texts, start = [], 0
    while start < len(levels):
        end = start
        while end + 1 < len(levels) and levels[end + 1] == levels[end] + 1:
            end += 1
        low, high = edges[levels[start]], edges[levels[end] + 1]
        if low and high:
            texts.append(f"{low} < {name} <= {high}")
        elif low:
            texts.append(f"{name} > {low}")
        else:
            texts.append(f"{name} <= {high}")
        start = end + 1
    return " or ".join(texts)
