"""A latent tree in a few rounds: a hidden Chow-Liu tree, then moves that raise the score.

First, the columns are joined by the tree with the largest total mutual information (Chow and Liu
1968). Each column with two or more neighbours in it gets a latent twin. The twins take the place of
the columns in the tree, and the columns become their leaves (Liu and Van den Broeck 2021). A column
with one neighbour gets no twin, because `_east_shape` would remove it again. A twin starts with two
states, each for a set of levels of its column, so that EM starts close to the Chow-Liu tree.

Then follow rounds of moves (`_east_moves`): more states, branches moved to neighbouring nodes, and
fewer nodes and states. All moves of a round are judged by local EM. Those that raise the score and
do not touch each other are made at once, and EM learns all tables. This takes about ten rounds,
where EAST makes one move at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.discrete._structure_search import maximum_spanning_tree
from latentclass.engine._counts import (
    check_pairs_of_columns,
    conditional_mutual_information,
    level_offsets,
    pair_counts,
)
from latentclass.latent_tree._east import (
    LEAST_GAIN,
    Climb,
    EastSettings,
    FoundTree,
    Step,
    first_tree,
    move_key,
)
from latentclass.latent_tree._east_moves import (
    Judged,
    LocalEM,
    Move,
    make,
    node_deletions,
    relocations,
    state_moves,
)
from latentclass.latent_tree._tree import Tree, irregular_nodes, n_parameters

BLUR = 0.2
"""Share of the uniform distribution in the tables that EM starts from."""

STARTS = 4
"""Maximum number of starts from which a move is judged."""

STEPS = 12
"""Number of steps of local EM."""

LITTLE = 0.01
"""Rounds of a kind end when one gains less than this share of all that the search has gained."""


def search_fast(
    codes: CodeArray,
    weight: FloatArray,
    n_levels: Sequence[int],
    settings: EastSettings,
    *,
    start: Tree | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> FoundTree:
    """Search for a tree in a few rounds; parameters and result are those of `_east.search`."""
    return _Rounds(codes, weight, n_levels, settings, on_step).find(start)


def hidden_chow_liu(
    codes: CodeArray, weight: FloatArray, n_levels: Sequence[int], max_latent: int
) -> Tree:
    """The Chow-Liu tree with latent twins of two states, with tables from the counts of the rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> first = rng.integers(0, 2, 500)
    >>> codes = np.stack([first ^ (rng.random(500) < 0.1) for _ in range(4)], axis=1)
    >>> tree = hidden_chow_liu(codes.astype(np.int32), np.ones(500), [2] * 4, 9)
    >>> len(tree.columns) - len(tree.latent), tree.latent_cardinalities in ((2,), (2, 2))
    (4, True)
    """
    n = len(n_levels)
    if n < 3:
        return first_tree(n_levels)
    offsets = level_offsets(n_levels)
    check_pairs_of_columns(n, 4 * 8 * float(offsets[-1]) ** 2)
    counts = pair_counts(codes, np.zeros(len(codes), dtype=np.intp), weight, 1, offsets)
    information = conditional_mutual_information(counts, offsets)
    around: list[list[int]] = [[] for _ in range(n)]
    for child, parent in enumerate(maximum_spanning_tree(information, 0)):
        for p in parent:
            around[child].append(p)
            around[p].append(child)
    inner = [j for j in range(n) if len(around[j]) > 1]
    if len(inner) > max_latent:
        return first_tree(n_levels)
    sides = {j: _two_sides(counts[0], offsets, j, information[j]) for j in inner}
    # the root is the twin of the column with the most information about all others
    root = max(inner, key=lambda j: (information[j].sum(), -j))
    parent_of = _by_breadth(root, around, inner)
    number = {j: i for i, j in enumerate(parent_of)}
    parents, tables = [], []
    for j, p in parent_of.items():
        if p < 0:
            parents.append(-1)
            own = np.diag(_block(counts[0], offsets, j, j)) @ sides[j]
            tables.append(_blurred(own[None]))
        else:
            parents.append(number[p])
            tables.append(_blurred(sides[p].T @ _block(counts[0], offsets, p, j) @ sides[j]))
    for j in range(n):
        twin = j if j in sides else around[j][0]
        parents.append(number[twin])
        tables.append(_blurred(sides[twin].T @ _block(counts[0], offsets, twin, j)))
    n_twins = len(number)
    return Tree(
        tuple(parents), (*[2] * n_twins, *n_levels), (*[-1] * n_twins, *range(n)), tuple(tables)
    )


def _by_breadth(root: int, around: list[list[int]], inner: list[int]) -> dict[int, int]:
    """The parent of each inner column, -1 for the root, in breadth-first order."""
    parent_of, order = {root: -1}, [root]
    for j in order:
        for other in around[j]:
            if other not in parent_of and other in inner:
                parent_of[other] = j
                order.append(other)
    return parent_of


def _block(counts: FloatArray, offsets: IndexArray, a: int, b: int) -> FloatArray:
    """Weight of each pair of levels of two columns."""
    return counts[offsets[a] : offsets[a + 1], offsets[b] : offsets[b + 1]]


def _two_sides(
    counts: FloatArray, offsets: IndexArray, j: int, information: FloatArray
) -> FloatArray:
    """Split the levels of a column into two sets, as indicators of shape (levels, 2).

    The sets follow the first singular vector of its counts with the column that has the most
    information about it.
    """
    table = _block(counts, offsets, j, int(information.argmax())) + 1e-9
    share = table / table.sum()
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    residual = share / np.sqrt(np.outer(rows, columns)) - np.sqrt(np.outer(rows, columns))
    vector = np.linalg.svd(residual)[0][:, 0] / np.sqrt(rows)
    split = (vector > float(rows @ vector)).astype(np.intp)
    if split.min() == split.max():
        split[int(rows.argmax())] = 1 - split[0]
    return np.asarray(np.eye(2)[split])


def _blurred(counts: FloatArray) -> FloatArray:
    """Counts as distributions, mixed with the uniform distribution."""
    share = (counts + 1e-3) / (counts + 1e-3).sum(axis=1, keepdims=True)
    return np.asarray((1 - BLUR) * share + BLUR / counts.shape[1])


class _Rounds(Climb):
    """A search that makes many moves at a time."""

    full_tol, full_steps = 0.1, 25

    def __init__(
        self,
        codes: CodeArray,
        weight: FloatArray,
        n_levels: Sequence[int],
        settings: EastSettings,
        on_step: Callable[[Step], None] | None,
    ) -> None:
        super().__init__(codes, weight, n_levels, settings, on_step)
        self.how = LocalEM(min(settings.n_init, STARTS), STEPS, self.full_tol, settings.seed)

    def first(self) -> Tree:
        return hidden_chow_liu(
            self.data.codes, self.data.weight, self.n_levels, self.settings.max_latent
        )

    def run(self) -> None:
        """Add states, move branches, remove nodes and states, until none of it helps much."""
        first = before = self.score

        def little() -> bool:
            return self.score - before <= max(LEAST_GAIN, LITTLE * (self.score - first))

        while True:
            began = self.score
            for moves in (self._more_states, self._near_relocations, self._removals):
                before = self.score
                while self._round(moves()) and not little():
                    before = self.score
            before = began
            if little():
                return

    def _more_states(self) -> list[Move]:
        return list(state_moves(self.shape, 1, self.settings.max_states))

    def _removals(self) -> list[Move]:
        return [*node_deletions(self.shape), *state_moves(self.shape, -1, 0)]

    def _near_relocations(self) -> list[Move]:
        shape = self.shape
        return [
            move
            for source in sorted(shape.latent)
            for branch in shape.around[source]
            for move in relocations(
                shape,
                source,
                branch,
                [v for v in shape.around[source] if v in shape.latent and v != branch],
            )
        ]

    def _round(self, moves: list[Move]) -> bool:
        """Make all moves that help and do not touch each other; return whether the score rose."""
        assert self.base is not None
        size = n_parameters(self.base.tree)
        penalty = self.settings.penalty

        def value(move: Move, gain: float) -> float:
            return gain - penalty * (move.n_parameters - size)

        moves = [m for m in moves if value(m, self.memory.get(move_key(m), np.inf)) > LEAST_GAIN]
        judged = self._judge(moves, self.how)
        self.memory.update((move_key(j.move), j.gain) for j in judged)
        good = [j for j in judged if value(j.move, j.gain) > LEAST_GAIN]
        good.sort(key=lambda j: -value(j.move, j.gain))
        chosen = _apart(good)
        return bool(chosen) and (self._try_together(chosen) or self._try_together(chosen[:1]))

    def _try_together(self, chosen: list[Judged]) -> bool:
        assert self.base is not None
        tree, numbers = make(self.base.tree, chosen)
        if irregular_nodes(tree):
            return False
        kinds = "+".join(sorted({j.move.kind for j in chosen}))
        touched = set().union(*(j.region for j in chosen))
        return self._try_tree(kinds, tree, numbers, touched) is not None


def _apart(judged: list[Judged]) -> list[Judged]:
    """Moves none of which changes a node in the region of another; earlier moves are preferred."""
    chosen: list[Judged] = []
    core: set[int] = set()
    seen: set[int] = set()
    for j in judged:
        own, region = {j.move.node, *j.move.others}, j.region
        if core.isdisjoint(region) and seen.isdisjoint(own):
            chosen.append(j)
            core |= own
            seen |= region
    return chosen
