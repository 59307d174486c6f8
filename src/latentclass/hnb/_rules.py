"""Short propositions about attributes that say when a latent variable is in one of some states.

A state is a set of combinations of the levels of two children. It is covered by few and short
rectangles "first child in A and second child in B". Where a child is latent, "in A" is again a
proposition about attributes, or names the child's states if the rule is to be short. The whole
proposition holds exactly where the state does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from latentclass._types import BoolArray
from latentclass.hnb._hierarchy import Hierarchy

MAX_RECTANGLES = 12
"""Up to this many rectangles the shortest cover is found, beyond it a greedy one."""

MAX_SETS = 200
"""Number of rectangles after which no more are looked for."""


EVERY_ROW = "always"
"""The rule of a state that every row is in."""


@dataclass(frozen=True)
class In:
    """A variable has one of some levels."""

    variable: int
    levels: tuple[int, ...]


@dataclass(frozen=True)
class Same:
    """Two attributes have the same level, or not."""

    first: int
    second: int
    equal: bool


@dataclass(frozen=True)
class All:
    """All of some propositions; true without any."""

    parts: tuple[Proposition, ...]


@dataclass(frozen=True)
class Any:
    """At least one of some propositions; false without any."""

    parts: tuple[Proposition, ...]


Proposition = In | Same | All | Any

TRUE, FALSE = All(()), Any(())


def length(proposition: Proposition) -> float:
    """How long a proposition is to read: its conditions, and a little for every level named."""
    if isinstance(proposition, In):
        return 1.0 + 0.1 * len(proposition.levels)
    if isinstance(proposition, Same):
        return 1.2
    return sum(length(part) for part in proposition.parts)


@dataclass(frozen=True)
class RuleFinder:
    """Finds propositions for the states of a hierarchy.

    Attributes
    ----------
    hierarchy : Hierarchy
    alike : callable
        Whether two attributes have the same levels in the same order, so that they can be compared.
    expand : bool
        Write what a latent child says about the attributes, instead of naming the child's states.
    """

    hierarchy: Hierarchy
    alike: Callable[[int, int], bool]
    expand: bool = True
    _known: dict[tuple[int, frozenset[int]], Proposition] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def find(self, variable: int, states: frozenset[int]) -> Proposition:
        """When `variable` is in one of `states`."""
        known = self._known
        key = (variable, states)
        if key not in known:
            known[key] = shorten(self._find(variable, states), self.hierarchy.sizes)
        return known[key]

    def _find(self, variable: int, states: frozenset[int]) -> Proposition:
        size = self.hierarchy.sizes[variable]
        if len(states) == size:
            return TRUE
        if not states:
            return FALSE
        latent = self.hierarchy.latent(variable)
        if latent is None:
            return In(variable, tuple(sorted(states)))
        region = np.isin(latent.states, list(states))
        first, second = latent.children
        n = len(self.hierarchy.n_levels)
        if first < n and second < n and len(region) > 1 and self.alike(first, second):
            diagonal = np.eye(len(region), dtype=bool)
            if np.array_equal(region, diagonal):
                return Same(first, second, True)
            if np.array_equal(region, ~diagonal):
                return Same(first, second, False)
        return self._cover(region, first, second)

    def _below(self, child: int, states: frozenset[int]) -> Proposition:
        whole = len(states) == self.hierarchy.sizes[child]
        if self.expand or whole:
            return self.find(child, states)
        return In(child, tuple(sorted(states)))

    def _cover(self, region: BoolArray, first: int, second: int) -> Proposition:
        rectangles = []
        for a, b in _maximal_rectangles(region):
            parts = [
                part
                for part in (self._below(first, frozenset(a)), self._below(second, frozenset(b)))
                if part != TRUE
            ]
            covered = np.zeros_like(region)
            covered[np.ix_(a, b)] = True
            proposition: Proposition = _joined(All, parts)
            rectangles.append((covered, proposition, length(proposition)))
        chosen = _shortest_cover(region, [(covered, cost) for covered, _, cost in rectangles])
        parts = [rectangles[i][1] for i in chosen]
        return _joined(Any, parts)


def _flat(kind: type[All] | type[Any], parts: Sequence[Proposition]) -> list[Proposition]:
    """Open the parts that are of the same kind."""
    out: list[Proposition] = []
    for part in parts:
        out += part.parts if isinstance(part, kind) else [part]
    return out


def _maximal_rectangles(
    region: BoolArray,
) -> list[tuple[list[int], list[int]]]:
    """Rectangles inside the region that cannot be made larger; if there are very many, some."""
    rows = {tuple(np.flatnonzero(row).tolist()) for row in region if row.any()}
    sets = set(rows)
    fresh = set(rows)
    while fresh and len(sets) < MAX_SETS:
        crossed = {tuple(sorted(set(a) & set(b))) for a in fresh for b in rows if set(a) & set(b)}
        fresh = crossed - sets
        sets |= fresh
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}
    for columns in sorted(sets, key=lambda s: (-len(s), s)):
        inside = np.flatnonzero(region[:, columns].all(axis=1))
        widest = np.flatnonzero(region[inside].all(axis=0))
        found[tuple(inside.tolist()), tuple(widest.tolist())] = None
    return [(list(a), list(b)) for a, b in found]


def _shortest_cover(region: BoolArray, rectangles: list[tuple[BoolArray, float]]) -> list[int]:
    """Numbers of the rectangles that cover the region at the lowest cost."""
    if len(rectangles) <= MAX_RECTANGLES:
        best: tuple[float, tuple[int, ...]] | None = None
        for n in range(1, len(rectangles) + 1):
            for chosen in combinations(range(len(rectangles)), n):
                cost = sum(rectangles[i][1] for i in chosen)
                if best is not None and cost >= best[0]:
                    continue
                if np.logical_or.reduce([rectangles[i][0] for i in chosen])[region].all():
                    best = (cost, chosen)
        assert best is not None
        return list(best[1])
    left, chosen_list = region.copy(), []
    while left.any():
        gain = [(covered & left).sum() / (cost + 0.5) for covered, cost in rectangles]
        i = int(np.argmax(gain))
        chosen_list.append(i)
        left &= ~rectangles[i][0]
    for i in list(chosen_list):  # drop those that the others cover
        rest = [rectangles[k][0] for k in chosen_list if k != i]
        if rest and np.logical_or.reduce(rest)[region].all():
            chosen_list.remove(i)
    return sorted(chosen_list)


def shorten(proposition: Proposition, sizes: Sequence[int]) -> Proposition:
    """A proposition that holds for the same rows and says less twice.

    `sizes` has the number of levels of each variable.
    """
    while True:
        shorter = _given(proposition, {}, sizes)
        if length(shorter) >= length(proposition):
            return proposition
        proposition = shorter


def _given(
    proposition: Proposition, known: dict[int, frozenset[int]], sizes: Sequence[int]
) -> Proposition:
    """What is left to say where some variables are known to have one of some levels."""
    if isinstance(proposition, Same):
        return proposition
    if isinstance(proposition, In):
        possible = known.get(proposition.variable, frozenset(range(sizes[proposition.variable])))
        left = possible.intersection(proposition.levels)
        return TRUE if left == possible else proposition if left else FALSE
    kind: type[All] | type[Any] = type(proposition)
    other: type[All] | type[Any] = Any if kind is All else All
    parts = [
        _given(part, known, sizes) if isinstance(part, In) else part
        for part in _join_levels(kind, proposition.parts)
    ]
    inside = dict(known)
    for part in parts:
        # beside "a and ...", a holds; beside "a or ...", it does not
        if isinstance(part, In):
            possible = inside.get(part.variable, frozenset(range(sizes[part.variable])))
            levels = frozenset(part.levels)
            inside[part.variable] = possible & levels if kind is All else possible - levels
    parts = [part if isinstance(part, In) else _given(part, inside, sizes) for part in parts]
    if other(()) in parts:
        return other(())
    return _factored(kind, other, _flat(kind, parts))


def _join_levels(kind: type[All] | type[Any], parts: Sequence[Proposition]) -> list[Proposition]:
    """Open parts of the same kind, and join what they say about the same variable."""
    out: dict[object, Proposition] = {}
    for part in _flat(kind, parts):
        before = out.get(part.variable) if isinstance(part, In) else None
        if isinstance(part, In) and isinstance(before, In):
            first, second = frozenset(before.levels), frozenset(part.levels)
            levels = first & second if kind is All else first | second
            part = In(part.variable, tuple(sorted(levels)))
        out[part.variable if isinstance(part, In) else part] = part
    return list(out.values())


def _factored(
    kind: type[All] | type[Any], other: type[All] | type[Any], parts: Sequence[Proposition]
) -> Proposition:
    """Join parts, without those that say nothing more; what all of them share is said once."""
    opened = [part.parts if isinstance(part, other) else (part,) for part in parts]
    each = list({frozenset(own): own for own in opened}.values())
    each = [own for own in each if not any(set(rest) < set(own) for rest in each)]
    shared = [one for one in each[0] if all(one in own for own in each)] if len(each) > 1 else []
    rest = [_joined(other, [one for one in own if one not in shared]) for own in each]
    return _joined(other, [*shared, _joined(kind, rest)])


def _joined(kind: type[All] | type[Any], parts: Sequence[Proposition]) -> Proposition:
    """One proposition of its parts; a single part is itself."""
    return parts[0] if len(parts) == 1 else kind(tuple(_flat(kind, parts)))


def truth(proposition: Proposition, levels: Sequence[int]) -> bool | None:
    """Whether a proposition holds for a row; None if missing levels, -1, leave it open."""
    if isinstance(proposition, In):
        level = levels[proposition.variable]
        return None if level < 0 else level in proposition.levels
    if isinstance(proposition, Same):
        first, second = levels[proposition.first], levels[proposition.second]
        return None if min(first, second) < 0 else (first == second) == proposition.equal
    found = {truth(part, levels) for part in proposition.parts}
    decisive = isinstance(proposition, Any)  # one such part settles it
    if decisive in found:
        return decisive
    return None if None in found else not decisive


def part_that_holds(proposition: Proposition, levels: Sequence[int]) -> Proposition:
    """The shortest part of a proposition that makes it true for a row.

    It is the whole proposition where missing levels leave open which part holds.
    """
    if isinstance(proposition, All):
        return _joined(All, [part_that_holds(part, levels) for part in proposition.parts])
    if isinstance(proposition, Any):
        held = [part for part in proposition.parts if truth(part, levels)]
        if held:
            return min((part_that_holds(part, levels) for part in held), key=length)
    return proposition


def write(
    proposition: Proposition,
    names: list[str],
    condition: Callable[[int, tuple[int, ...]], str],
) -> str:
    """A proposition in words; `condition` writes that a variable has one of some levels."""
    if proposition == TRUE:
        return EVERY_ROW
    if proposition == FALSE:
        return "never"
    return _write(proposition, names, condition)


def _write(
    proposition: Proposition,
    names: list[str],
    condition: Callable[[int, tuple[int, ...]], str],
) -> str:
    if isinstance(proposition, In):
        return condition(proposition.variable, proposition.levels)
    if isinstance(proposition, Same):
        sign = "=" if proposition.equal else "!="
        return f"{names[proposition.first]} {sign} {names[proposition.second]}"
    word = " and " if isinstance(proposition, All) else " or "
    texts = []
    for part in proposition.parts:
        text = _write(part, names, condition)
        compound = isinstance(part, All | Any) or " or " in text
        texts.append(f"({text})" if compound else text)
    return word.join(texts)
