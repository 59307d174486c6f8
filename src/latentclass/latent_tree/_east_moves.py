"""The five moves of EAST: which moves a tree allows, what each gains, and how it is made.

A move changes a few tables. While it is judged, local EM keeps all other tables fixed. Their
messages are already known (`_east_messages`), so judging a move costs as much as its region, not
the whole tree. The moves are the operators of section 3.2 of Wang, Zhang, Chen and Poon (2011):

    state introduction (SI)   a latent node gets one more state; all its tables are learned
    state deletion (SD)       a latent node loses one state; all its tables are learned
    node introduction (NI)    a new latent node between a latent node and two of its neighbours
    node deletion (ND)        a latent node is removed; its neighbours go to a latent neighbour
    node relocation (NR)      a branch goes from one latent node to another

Only moves to regular trees are considered. A relocation learns a single table, in which the
log-likelihood is concave, so one start is enough. The other moves have up to `n_init` starts, made
from the current tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray
from latentclass.latent_tree._east_local_em import (
    Region,
    local_em,
    n_entries,
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
        The latent node whose states change, or that gets a new neighbour or a branch.
    others : tuple of int
        "node+": the two neighbours that go to the new node. "node-": the removed node.
        "relocation": the branch and the node it is taken from.
    states : int
        Number of states of the changed or new node, otherwise 0.
    n_parameters : int
        Number of parameters of the tree after the move.
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
        Entries of the learned tables: the node's own table if its states change or the table of a
        new node, then the tables of the nodes `hung`.
    hung : tuple of int
        Neighbours that get a new table, in the order of `theta`.
    """

    move: Move
    gain: float
    theta: FloatArray
    hung: tuple[int, ...]

    @property
    def region(self) -> set[int]:
        """The nodes of the move and those that get a new table."""
        return {self.move.node, *self.move.others, *self.hung}


class LocalEM(NamedTuple):
    """How moves are judged: number of starts and of steps, tolerance, seed of the starts."""

    n_init: int
    max_iter: int
    tol: float
    seed: int

    def visits(self, shape: Shape, move: Move) -> int:
        """How often local EM at most visits a state of a node for each row to judge a move."""
        node, n_tables, starts = move.node, 1, self.n_init
        if move.kind == "relocation":
            starts = 1
        elif move.kind == "node+":
            n_tables = 1 + len(move.others)
        elif move.kind == "node-":
            n_tables = len(shape.around[move.others[0]]) - 1
        else:
            n_tables = 1 + len(shape.around[node])
        # 1, 2, 4, ... steps of all, half, a quarter, ... of the starts
        passes = starts * starts.bit_length() + self.max_iter
        return passes * n_tables * (move.states or shape.states[node])


# Which moves a tree allows


def state_moves(shape: Shape, step: int, max_states: int) -> Iterator[Move]:
    """One more state (step=1) or one less (step=-1) at each node where the tree stays regular."""
    for node in sorted(shape.latent):
        states = shape.states[node] + step
        if not 1 <= states <= max(max_states, shape.states[node]):
            continue
        near = shape.around[node]
        if states <= shape.largest(node) and all(
            _regular_with(shape, v, node, states) for v in near
        ):
            kind = "state+" if step > 0 else "state-"
            yield Move(kind, node, (), states, shape.with_states(node, states))


def node_introductions(shape: Shape) -> Iterator[Move]:
    """A new node for each pair of neighbours of each latent node.

    It has as many states as the latent node, or the largest regular number if that is smaller.
    """
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
    """Whether a node stays regular when its neighbour `old` becomes one with `states` states."""
    if node not in shape.latent:
        return True
    near = [shape.states[other] for other in shape.around[node] if other != old]
    return shape.states[node] <= largest_regular([*near, states])


def node_deletions(shape: Shape) -> Iterator[Move]:
    """Each latent node removed in favour of each of its latent neighbours."""
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
    """A branch of `source` moved to each of the `targets`, latent nodes outside the branch."""
    size, k, k_source = shape.n_parameters, shape.states[branch], shape.states[source]
    left = [v for v in shape.around[source] if v != branch]
    for target in targets:
        if len(left) > 2:  # the source stays, so only three nodes and one table change
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
    """Latent nodes on the source's side of the edge to a branch, without the source itself."""
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
    """A move prepared for local EM.

    Attributes
    ----------
    region : Region
    starts : array of shape (S, n_entries)
        Tables to start from.
    offset : float
        Added to the log-likelihood of the region to get the gain.
    hung : tuple of int
        As in `Judged`.
    """

    region: Region
    starts: FloatArray
    offset: float
    hung: tuple[int, ...]


def judge(base: Base, moves: list[Move], how: LocalEM) -> list[Judged]:
    """Judge moves by local EM; all relocations must be of the same branch."""
    found = []
    for move, trial in zip(moves, prepare(base, moves, how), strict=True):
        theta, value = local_em(trial.region, trial.starts, how.max_iter, how.tol)
        found.append(Judged(move, float(value) + trial.offset, theta, trial.hung))
    return found


def prepare(base: Base, moves: list[Move], how: LocalEM) -> Iterator[Trial]:
    """Make the regions and starts of moves; all relocations must be of the same branch."""
    factors: dict[int, FloatArray] = {}
    for move in moves:
        if move.kind == "relocation":
            branch, source = move.others
            factors = factors or base.spread_without(branch, source, {m.node for m in moves})
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
    noise = _noise(how, n_entries(region)).copy()
    noise[0] = 1.0
    shift = float(base.data.weight @ base.shift(gone, move.node))
    return Trial(region, _disturbed(tables, noise), -shift, tuple(branches))


def _introduction(base: Base, move: Move, how: LocalEM) -> Trial:
    factor = base.without(move.node, list(move.others))
    branches = [(other, move.node) for other in move.others]
    region = make_region(base, branches, len(factor), factor, k_new=move.states)
    k, states = region.k, move.states
    noise = _noise(how, n_entries(region))
    transfer = np.eye(states)[np.arange(k) % states]
    tables = [transfer] + [base.conditional(v, move.node)[:states] for v in move.others]
    starts = _disturbed(tables, noise)
    # half of the starts are random; in the others the new node follows the old one
    even = [np.full(table.shape, 1.0 / table.shape[1]) for table in tables]
    starts[1::2] = _disturbed(even, noise[1::2])
    mixed = _disturbed(even[:1] + tables[1:], noise[::2])
    n = transfer.size
    starts[::2, :n] = 0.5 * starts[::2, :n] + 0.5 * mixed[:, :n]
    return Trial(region, starts, 0.0, move.others)


def _state_more(base: Base, move: Move, how: LocalEM) -> Trial:
    region, own, before = _star(base, move)
    k = len(own[0][0])
    noise = _noise(how, n_entries(region))
    starts = np.empty_like(noise)
    for i, row in enumerate(noise):
        split = i // 2 % k
        drawn = split_tables(region, row)
        tables = [np.append(own[0], [[0.0]], axis=1)]
        tables[0][0, [split, k]] = 0.5 * own[0][0, split]
        for table, chance in zip(own[1:], drawn[1:], strict=True):
            # the new state resembles an old one or is random
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
    """Log-likelihood lost if two states of a node share one distribution of a neighbour."""
    joint = prior[[a, b], None] * table[[a, b]]
    both = joint.sum(axis=0) / joint.sum()
    return float(np.sum(joint * np.log(table[[a, b]] / both)))


@lru_cache(maxsize=64)
def _noise(how: LocalEM, size: int) -> FloatArray:
    """Exponential numbers; all regions of one size get the same, for a fair comparison."""
    rng = np.random.default_rng([how.seed, size])
    return rng.standard_exponential((how.n_init, size)) + 1e-3


def _star(base: Base, move: Move) -> tuple[Region, list[FloatArray], float]:
    """The region of a node and all its neighbours, its current tables and their log-likelihood."""
    node, near = move.node, base.neighbours(move.node)
    region = make_region(base, [(other, node) for other in near], move.states, None)
    own = [base.margin[node][None], *(base.conditional(other, node) for other in near)]
    k = len(base.margin[node])
    now = region._replace(k=k)
    theta = np.concatenate([table.ravel() for table in own])
    return region, own, float(region_log_likelihood(now, theta))


def _disturbed(tables: list[FloatArray], noise: FloatArray) -> FloatArray:
    """Tables times noise, normalised again, with one row per start."""
    parts, start = [], 0
    for table in tables:
        chance = noise[:, start : start + table.size].reshape(-1, *table.shape)
        start += table.size
        product = chance * table
        product /= product.sum(axis=2, keepdims=True)
        parts.append(product.reshape(len(noise), table.size))
    return np.concatenate(parts, axis=1)


# Making a move


def make(tree: Tree, moves: Sequence[Judged], *, tidy: bool = True) -> tuple[Tree, dict[int, int]]:
    """The tree after some moves, with the tables from local EM, and the new numbers of the nodes.

    In the numbers, a new node comes after the last node of the old tree. `tidy` says whether latent
    nodes that have become redundant are removed. A move one of whose nodes was removed before is
    left out.
    """
    parts = LooseTree(tree)
    for judged in moves:
        if judged.region <= parts.parents.keys():
            _change(parts, judged)
            if tidy:
                parts.tidy()
    return parts.tree()


def _change(parts: LooseTree, judged: Judged) -> None:
    """Make one move."""
    move, theta = judged.move, judged.theta
    parts.turn(move.node)
    place = 0

    def take(rows: int, columns: int) -> FloatArray:
        nonlocal place
        place += rows * columns
        return theta[place - rows * columns : place].reshape(rows, columns)

    target = move.node
    if move.kind.startswith("state"):
        parts.states[target] = move.states
        parts.tables[target] = take(1, move.states)
    elif move.kind == "node+":
        target = max(parts.parents) + 1
        parts.add(target, move.states, move.node, take(parts.states[move.node], move.states))
    for node in judged.hung:
        parts.hang(node, target, take(parts.states[target], parts.states[node]))
    if move.kind == "node-":
        parts.drop(move.others[0])
