"""A fitted hierarchy in the words of the table's columns: names, rules, an ordinary network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from latentclass._types import CodeArray
from latentclass.data._schema import Schema
from latentclass.estimator._bif import BifVariable, free_name
from latentclass.hnb._explanation import write_intervals
from latentclass.hnb._hierarchy import Hierarchy
from latentclass.hnb._model import HierarchyModel
from latentclass.hnb._network import enlarged_network
from latentclass.hnb._rules import RuleFinder, write

MAX_LENGTH = 300
"""Characters up to which a rule is written out over the columns, unless asked otherwise."""


class TopPart(NamedTuple):
    """A variable directly below the class: columns, state in each row, rule of each state."""

    name: str
    leaves: tuple[int, ...]
    states: CodeArray
    conditions: list[str]


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
        rows = []
        for t, ((name, n_states), counts) in enumerate(
            zip(self.n_states.items(), self.model.support, strict=True)
        ):
            for state in range(n_states):
                total = counts[state].sum()
                share = counts[state] / total if total > 0 else np.full(len(shares), np.nan)
                rule = self.rule(n + t, state, max_length)
                rows.append((name, state, rule, float(total), *share))
        frame = pd.DataFrame(rows, columns=["latent", "state", "rule", "support", *shares])
        if not rows:
            return frame.astype({"state": int, "support": float, **dict.fromkeys(shares, float)})
        if np.all(frame["support"] == np.rint(frame["support"])):
            frame["support"] = frame["support"].astype(int)
        return frame

    def rule(self, variable: int, state: int, max_length: int | None = None) -> str:
        """When a variable is in a state, over the columns, or shorter if that is too long."""
        columns = [self.schema.columns[j] for j in self.model.coding.positions]

        def alike(i: int, j: int) -> bool:
            both = columns[i].categories, columns[j].categories
            return len(both[0]) > 0 and list(both[0]) == list(both[1])

        def written(*, expand: bool) -> str:
            finder = RuleFinder(self.hierarchy, alike, expand)
            proposition = finder.find(variable, frozenset([state]))
            return write(proposition, self.names, self.condition)

        text = written(expand=True)
        if max_length is not None and len(text) > max_length:
            return written(expand=False)
        return text

    def condition(self, j: int, levels: tuple[int, ...]) -> str:
        """That a variable has one of some levels, in words."""
        name, coding = self.names[j], self.model.coding
        categories: Sequence[Any] = range(self.hierarchy.sizes[j])  # states of a latent one
        if j < len(coding.active):
            continuous, place = coding.active[j]
            if continuous:
                return write_intervals(name, coding.bins[place].cuts, levels)
            categories = self.schema.columns[coding.positions[j]].categories
        rest = [c for i, c in enumerate(categories) if i not in levels]
        chosen = [categories[i] for i in levels]
        if len(chosen) == 1:
            return f"{name} = {chosen[0]}"
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


def top_parts(readers: Sequence[HierarchyReader], codes: CodeArray) -> list[TopPart]:
    """The variables directly below the class; of several hierarchies, a column only once."""
    found: dict[str, TopPart] = {}
    for m, one in enumerate(readers):
        hierarchy = one.hierarchy
        states = hierarchy.encode(codes)
        for v, name in zip(hierarchy.tops, one.top_variables, strict=True):
            every = range(hierarchy.sizes[v])
            if hierarchy.latent(v) is None:
                conditions = [one.condition(v, (state,)) for state in every]
            else:
                conditions = [one.rule(v, state, MAX_LENGTH) for state in every]
                if len(readers) > 1:
                    name = f"model{m}_{name}"
                    conditions = [f"{text} (model {m})" for text in conditions]
            part = TopPart(name, hierarchy.leaves(v), states[:, v], conditions)
            found.setdefault(name, part)
    return list(found.values())
