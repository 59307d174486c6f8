"""The five moves of EAST: which there are from a tree, what each gains, and making one.

A move changes a few tables; all others stay as they are while it is judged (local EM). What the
unchanged part says is in the messages of the base (`_east_base`), so that judging a move costs as
much as its region, not the tree.

    state introduction   a latent node gets one state more; all its tables are learned
    state deletion       one state less
    node introduction    a new latent node between a latent node and two of its neighbours
    node deletion        a latent node's neighbours go to a latent neighbour of it
    relocation           a branch goes from its latent node to another

Only moves to regular trees are offered. A relocation learns one table in which the likelihood is
concave: one start is enough. The others have `n_init` starts, made from the base's tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray
from latentclass.latent_tree._east_local_em import (
    Region,
    local_em,
    n_cells,
    region_log_likelihood,
    split_tables,
)
from latentclass.latent_tree._east_messages import Base
from latentclass.latent_tree._east_region import make_region
from latentclass.latent_tree._east_shape import LooseTree, Shape, largest_regular
from latentclass.latent_tree._tree import Tree


class Move(NamedTuple):
    """A change of the tree.

    Attributes
    ----------
    kind : str
        "state+", "state-", "node+", "node-" or "relocation".
    node : int
        The latent node whose states change, that gets a new neighbour or a branch.
    others : tuple of int
        The two neighbours that go to the new node; the node deleted; the branch, and the node it
        is taken from.
    states : int
        States of the changed or new node, else 0.
    n_parameters : int
        Of the tree after the move.
    """

    kind: str
    node: int
    others: tuple[int, ...]
    states: int
    n_parameters: int


class Judged(NamedTuple):
    """A move with its gain in log-likelihood and the tables it learned.

    Attributes
    ----------
    move : Move
    gain : float
    theta : array
        Cells of the tables: the node's own if its states change, that of a new node, then those of
        the nodes `hung`.
    hung : tuple of int
        Nodes that get a new table, in the order of their cells.
    """

    move: Move
    gain: float
    theta: FloatArray
    hung: tuple[int, ...]

    def renumbered(self, numbers: dict[int, int]) -> Judged:
        """The same for a tree with other numbers of the nodes."""
        node, others = numbers[self.move.node], tuple(numbers[v] for v in self.move.others)
        move = self.move._replace(node=node, others=others)
        return self._replace(move=move, hung=tuple(numbers[v] for v in self.hung))


class LocalEM(NamedTuple):
    """How moves are judged: starts, steps, least gain of a step, seed of the starts."""

    n_init: int
    max_iter: int
    tol: float
    seed: int


# Which moves there are


def state_moves(shape: Shape, step: int, max_states: int) -> Iterator[Move]:
    """One state more (step=1) or less (-1) at each latent node where the tree stays regular."""
    for node in sorted(shape.latent):
        states = shape.states[node] + step
        if not 1 <= states <= max(max_states, shape.states[node]):
            continue
        new = shape.copy()
        new.states[node] = states
        if new.is_regular([node, *shape.around[node]]):
            kind = "state+" if step > 0 else "state-"
            yield Move(kind, node, (), states, new.n_parameters)


def node_introductions(shape: Shape) -> Iterator[Move]:
    """A new node for each pair of neighbours of each latent node, with as many states as that."""
    size = shape.n_parameters
    for node in sorted(shape.latent):
        k, near = shape.states[node], shape.around[node]
        for first, second in combinations(near, 2):
            a, b = shape.states[first], shape.states[second]
            states = min(k, largest_regular((k, a, b)))
            if states < 2:
                continue
            left = [shape.states[other] for other in near if other not in (first, second)]
            if k > largest_regular([*left, states]):
                continue
            if not all(_regular_with(shape, v, node, states) for v in (first, second)):
                continue
            change = k * (states - 1) + (states - k) * (a + b - 2)
            yield Move("node+", node, (first, second), states, size + change)


def _regular_with(shape: Shape, node: int, old: int, states: int) -> bool:
    """Whether a node stays regular when its neighbour `old` is replaced by one of `states`."""
    if node not in shape.latent:
        return True
    near = [shape.states[other] for other in shape.around[node] if other != old]
    return shape.states[node] <= largest_regular([*near, states])


def node_deletions(shape: Shape) -> Iterator[Move]:
    """Each latent node given up for each of its latent neighbours."""
    for node in sorted(shape.latent):
        for gone in shape.around[node]:
            if gone not in shape.latent:
                continue
            new = shape.copy()
            branches = [other for other in shape.around[gone] if other != node]
            new.drop(gone)
            for branch in branches:
                new.link(branch, node)
            if new.tidy().is_regular():
                yield Move("node-", node, (gone,), 0, new.n_parameters)


def relocations(shape: Shape, source: int, branch: int, targets: list[int]) -> Iterator[Move]:
    """A branch of `source` moved to each of some latent nodes outside of it."""
    size, k, k_source = shape.n_parameters, shape.states[branch], shape.states[source]
    left = [v for v in shape.around[source] if v != branch]
    for target in targets:
        if len(left) > 2:  # the source stays: three nodes and one table change, no more
            near = [*shape.around[target], branch]
            regular = (
                k_source <= largest_regular(shape.states[v] for v in left)
                and shape.states[target] <= largest_regular(shape.states[v] for v in near)
                and _regular_with(shape, branch, source, shape.states[target])
            )
            n_parameters = size + (k - 1) * (shape.states[target] - k_source)
        else:
            new = shape.copy()
            new.cut(branch, source)
            new.link(branch, target)
            regular, n_parameters = new.tidy().is_regular(), new.n_parameters
        if regular:
            yield Move("relocation", target, (branch, source), 0, n_parameters)


def outside(shape: Shape, branch: int, source: int) -> list[int]:
    """Latent nodes on the source's side of an edge, but the source."""
    found, waiting = [], [(source, branch)]
    while waiting:
        here, before = waiting.pop()
        for other in shape.around[here]:
            if other != before and other in shape.latent:
                found.append(other)
                waiting.append((other, here))
    return sorted(found)


# What a move gains


class Trial(NamedTuple):
    """A move made ready for local EM.

    Attributes
    ----------
    region : Region
    starts : array of shape (S, cells)
    offset : float
        What the region's log-likelihood lacks to be the gain.
    hung : tuple of int
        As in `Judged`.
    """

    region: Region
    starts: FloatArray
    offset: float
    hung: tuple[int, ...]


def judge(base: Base, moves: list[Move], how: LocalEM) -> list[Judged]:
    """Local EM for some moves; relocations must be of one branch."""
    found = []
    for move, trial in zip(moves, prepare(base, moves, how), strict=True):
        theta, value = local_em(trial.region, trial.starts, how.max_iter, how.tol)
        found.append(Judged(move, float(value) + trial.offset, theta, trial.hung))
    return found


def prepare(base: Base, moves: list[Move], how: LocalEM) -> Iterator[Trial]:
    """Regions and starts of some moves; relocations must be of one branch."""
    factors: dict[int, FloatArray] = {}
    for move in moves:
        if move.kind == "relocation":
            branch, source = move.others
            factors = factors or base.spread_without(branch, source)
            yield _relocation(base, move, factors[move.node])
        else:
            yield TRIALS[move.kind](base, move, how)


def _relocation(base: Base, move: Move, factor: FloatArray) -> Trial:
    branch, source = move.others
    region = make_region(base, [(branch, source)], len(factor), factor)
    start = np.tile(base.margin[branch], len(factor))
    return Trial(region, start[None], 0.0, (branch,))


def _deletion(base: Base, move: Move, how: LocalEM) -> Trial:
    (gone,) = move.others
    branches = [other for other in base.neighbours(gone) if other != move.node]
    factor = base.without(move.node, [gone])
    region = make_region(base, [(v, gone) for v in branches], len(factor), factor)
    through = base.conditional(gone, move.node)
    tables = [through @ base.conditional(v, gone) for v in branches]
    noise = _noise(how, n_cells(region)).copy()
    noise[0] = 1.0
    shift = float(base.data.weight @ base.shift(gone, move.node))
    return Trial(region, _disturbed(tables, noise), -shift, tuple(branches))


def _introduction(base: Base, move: Move, how: LocalEM) -> Trial:
    factor = base.without(move.node, list(move.others))
    branches = [(other, move.node) for other in move.others]
    region = make_region(base, branches, len(factor), factor, k_new=move.states)
    k, states = region.k, move.states
    noise = _noise(how, n_cells(region))
    transfer = np.eye(states)[np.arange(k) % states]
    tables = [transfer] + [base.conditional(v, move.node)[:states] for v in move.others]
    starts = _disturbed(tables, noise)
    # every other start knows nothing of the base; the rest let the new node follow the old one
    even = [np.full(table.shape, 1.0 / table.shape[1]) for table in tables]
    starts[1::2] = _disturbed(even, noise[1::2])
    mixed = _disturbed(even[:1] + tables[1:], noise[::2])
    cells = transfer.size
    starts[::2, :cells] = 0.5 * starts[::2, :cells] + 0.5 * mixed[:, :cells]
    return Trial(region, starts, 0.0, move.others)


def _state_more(base: Base, move: Move, how: LocalEM) -> Trial:
    region, own, before = _star(base, move)
    k = len(own[0][0])
    noise = _noise(how, n_cells(region))
    starts = np.empty_like(noise)
    for i, row in enumerate(noise):
        split = i // 2 % k
        drawn = split_tables(region, row)
        tables = [np.append(own[0], [[0.0]], axis=1)]
        tables[0][0, [split, k]] = 0.5 * own[0][0, split]
        for table, chance in zip(own[1:], drawn[1:], strict=True):
            # the new state is like one of the old, or like none
            new = table[split] * chance[k] if i % 2 == 0 else chance[k]
            tables.append(np.vstack([table, new / new.sum()]))
        starts[i] = np.concatenate([table.ravel() for table in tables])
    return Trial(region, starts, -before, tuple(base.neighbours(move.node)))


def _state_less(base: Base, move: Move, how: LocalEM) -> Trial:
    region, own, before = _star(base, move)
    prior = own[0][0]
    pairs = list(combinations(range(len(prior)), 2))
    loss = [sum(_distance(table, prior, a, b) for table in own[1:]) for a, b in pairs]
    starts = []
    for number in np.argsort(loss, kind="stable")[: how.n_init]:
        a, b = pairs[number]
        tables = [np.delete(own[0], b, axis=1)]
        tables[0][0, a] += prior[b]
        for table in own[1:]:
            new = np.delete(table, b, axis=0)
            new[a] = (prior[a] * table[a] + prior[b] * table[b]) / (prior[a] + prior[b])
            tables.append(new)
        starts.append(np.concatenate([table.ravel() for table in tables]))
    return Trial(region, np.array(starts), -before, tuple(base.neighbours(move.node)))


TRIALS = {
    "node-": _deletion,
    "node+": _introduction,
    "state+": _state_more,
    "state-": _state_less,
}


def _distance(table: FloatArray, prior: FloatArray, a: int, b: int) -> float:
    """Likelihood lost where two states of a node have one distribution of a neighbour."""
    joint = prior[[a, b], None] * table[[a, b]]
    both = joint.sum(axis=0) / joint.sum()
    return float(np.sum(joint * np.log(table[[a, b]] / both)))


@lru_cache(maxsize=64)
def _noise(how: LocalEM, cells: int) -> FloatArray:
    """Exponential numbers, the same for all regions of one size: moves are compared fairly."""
    rng = np.random.default_rng([how.seed, cells])
    return rng.standard_exponential((how.n_init, cells)) + 1e-3


def _star(base: Base, move: Move) -> tuple[Region, list[FloatArray], float]:
    """A node and all its neighbours; the tables there now, and what they make of the rows."""
    node, near = move.node, base.neighbours(move.node)
    region = make_region(base, [(other, node) for other in near], move.states, None)
    own = [base.margin[node][None], *(base.conditional(other, node) for other in near)]
    k = len(base.margin[node])
    now = region._replace(k=k, base=np.empty((k, 0)))
    theta = np.concatenate([table.ravel() for table in own])
    return region, own, float(region_log_likelihood(now, theta))


def _disturbed(tables: list[FloatArray], noise: FloatArray) -> FloatArray:
    """Tables times noise, as distributions again; one row a start."""
    parts, start = [], 0
    for table in tables:
        chance = noise[:, start : start + table.size].reshape(-1, *table.shape)
        start += table.size
        product = chance * table
        product /= product.sum(axis=2, keepdims=True)
        parts.append(product.reshape(len(noise), -1))
    return np.concatenate(parts, axis=1)


# Making a move


def make(tree: Tree, judged: Judged, *, tidy: bool = True) -> tuple[Tree, dict[int, int]]:
    """The tree after a move with the tables that local EM found, and the nodes' new numbers.

    A new node has the number after the last one. With `tidy`, latent nodes that the move left
    needless are taken out.
    """
    move, cells = judged.move, judged.theta
    parts = LooseTree(tree, move.node)
    place = 0

    def take(rows: int, columns: int) -> FloatArray:
        nonlocal place
        place += rows * columns
        return cells[place - rows * columns : place].reshape(rows, columns)

    target = move.node
    if move.kind.startswith("state"):
        parts.states[target] = move.states
        parts.tables[target] = take(1, move.states)
    elif move.kind == "node+":
        target = len(tree.parents)
        parts.states[target], parts.columns[target] = move.states, -1
        parts.parents[target] = move.node
        parts.tables[target] = take(parts.states[move.node], move.states)
    for node in judged.hung:
        parts.parents[node] = target
        parts.tables[node] = take(parts.states[target], parts.states[node])
    if move.kind == "node-":
        parts.drop(move.others[0])
    return (parts.tidy() if tidy else parts).tree()
