"""EAST: search for a latent tree by expansion, adjustment and simplification.

Each phase makes the best of its moves (`_east_moves`) as long as the score rises:

    expansion        add a node or a state; moves of different size are compared by the gain in
                     score per added parameter; after a new node, further neighbours are moved to it
                     as long as that raises the score
    adjustment       move a branch to another latent node
    simplification   remove a node, then a state

The phases take turns until none of them helps (section 3.2 of Wang, Zhang, Chen and Poon 2011;
Chen, Zhang, Liu, Poon and Wang 2012). Local EM ranks the moves. The best one is made, EM learns all
tables of the new tree, and the tree is kept if its score is higher. The score is the log-likelihood
minus `penalty` times the number of parameters. A penalty of 1 gives -AIC/2, with the AIC of
equation (3) of Wang et al.; half the logarithm of the number of rows gives BIC.

Most moves gain almost the same before and after a step elsewhere in the tree. So the gain of a move
is remembered until a step touches one of its nodes, and a new move is first judged from few starts.
Then the moves that look best are judged in full on the current tree, until the best of all is among
them (`lazy`). Each round of the three phases starts without memory. So the last round, which finds
nothing, has judged every move on the final tree.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from latentclass._types import CodeArray, FloatArray
from latentclass.engine._parallel import count_threads, map_blocks
from latentclass.latent_tree._east_messages import Base, Data, floored
from latentclass.latent_tree._east_moves import (
    Judged,
    LocalEM,
    Move,
    judge,
    make,
    node_deletions,
    node_introductions,
    outside,
    relocations,
    state_moves,
)
from latentclass.latent_tree._east_shape import Shape
from latentclass.latent_tree._em import fit_tree
from latentclass.latent_tree._inference import RowPatterns, group_rows
from latentclass.latent_tree._tree import Tree, n_parameters

LOCAL_STEPS = 40
"""Maximum number of steps of local EM (section 4.1 of Wang et al. 2011)."""

TOL = 0.01
"""EM on the whole tree stops when a step gains no more than this in log-likelihood (ibid.)."""

LEAST_GAIN = 0.1
"""A move must raise the score by more than this; EM may gain as much without any move."""

QUICK_STARTS, QUICK_STEPS = 4, 15
"""Numbers of starts and steps with which a move is judged first."""

AT_ONCE = 4
"""Number of moves that are judged in full at once, whatever `n_jobs` is."""

THREAD_WORK = 2_000_000
"""Threads are used if the number of rows times the number of moves is larger than this."""


class EastSettings(NamedTuple):
    """Settings of a search.

    Attributes
    ----------
    penalty : float
        What one parameter takes off the score.
    n_init : int
        Number of starts of local EM.
    n_full_init : int
        Number of starts of EM on the whole tree: the tables of local EM, and random ones.
    max_states : int
        Maximum number of states of a latent node.
    max_latent : int
        Maximum number of latent nodes.
    max_iter : int
        Maximum number of steps of EM on the whole tree.
    seed : int
    n_jobs : int or None
        Number of threads over moves; the result does not depend on it.
    deadline : float or None
        Time (`time.monotonic`) at which the search stops.
    work : float or None
        Number of visits after which the search stops. A visit is one state of one node in one row,
        in one pass of EM.
    stop : threading.Event or None
        All searches that share this event stop once it is set. An interrupt sets it.
    lazy : bool
        Whether moves are first judged quickly, and gains are remembered from step to step.
    """

    penalty: float = 1.0
    n_init: int = 16
    n_full_init: int = 1
    max_states: int = 20
    max_latent: int = 1000
    max_iter: int = 500
    seed: int = 0
    n_jobs: int | None = None
    deadline: float | None = None
    work: float | None = None
    stop: threading.Event | None = None
    lazy: bool = True


class Step(NamedTuple):
    """A tree that the search kept.

    Attributes
    ----------
    move : str
        The kind of the move that led to it, or "start".
    score : float
    n_latent, n_parameters : int
        Size of the tree.
    n_judged : int
        Number of moves that were judged to find it.
    seconds : float
        Time since the search began.
    """

    move: str
    score: float
    n_latent: int
    n_parameters: int
    n_judged: int
    seconds: float


class FoundTree(NamedTuple):
    """The result of a search: the tree, its log-likelihood, the steps, and how it ended.

    `ended` is "done", "time", "work" or "interrupt". `n_left` is the number of moves that were
    about to be judged when the work was done.
    """

    tree: Tree
    log_likelihood: float
    steps: list[Step]
    ended: str
    n_left: int = 0


_NO_TABLES: FloatArray = np.empty(0)


def move_key(move: Move) -> tuple[str, int, tuple[int, ...]]:
    """What identifies a move: its kind and nodes, with the neighbours of a new node sorted."""
    others = tuple(sorted(move.others)) if move.kind == "node+" else move.others
    return move.kind, move.node, others


class OutOfTimeError(Exception):
    """The deadline has passed."""


class OutOfWorkError(Exception):
    """The next moves take more work than is left. Its argument is their number."""


def first_tree(n_levels: Sequence[int]) -> Tree:
    """One latent node with a single state above all columns, which are then independent."""
    n = len(n_levels)
    return Tree.even((-1, *([0] * n)), (1, *n_levels), (-1, *range(n)))


def search(
    codes: CodeArray,
    weight: FloatArray,
    n_levels: Sequence[int],
    settings: EastSettings,
    *,
    start: Tree | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> FoundTree:
    """Search for a tree with a high score.

    Parameters
    ----------
    codes : array of shape (n_rows, n_columns)
        -1 is a missing cell.
    weight : array of shape (n_rows,)
    n_levels : sequence of int
        Number of levels of each column.
    settings : EastSettings
    start : Tree, optional
        The tree to start from; by default `first_tree`.
    on_step : callable, optional
        Called with every step.

    Examples
    --------
    >>> from latentclass.latent_tree._tree import observed_codes, sample_nodes
    >>> sharp = [[0.9, 0.1], [0.1, 0.9]]
    >>> truth = Tree(
    ...     (-1, 0, 0, 0, 0), (2,) * 5, (-1, 0, 1, 2, 3), ([[0.4, 0.6]], *([sharp] * 4))
    ... )
    >>> codes = observed_codes(truth, sample_nodes(truth, 1000, np.random.default_rng(0)))
    >>> found = search(codes, np.ones(1000), [2] * 4, EastSettings())
    >>> found.tree.latent_cardinalities, [step.move for step in found.steps]
    ((2,), ['start', 'state+'])
    """
    return Climb(codes, weight, n_levels, settings, on_step).find(start)


class Climb:
    """The state of a search; the parameters are those of `search`."""

    base: Base | None = None
    log_likelihood: float = -np.inf
    full_tol, full_steps = TOL, 500

    def __init__(
        self,
        codes: CodeArray,
        weight: FloatArray,
        n_levels: Sequence[int],
        settings: EastSettings,
        on_step: Callable[[Step], None] | None,
    ) -> None:
        self.n_levels = tuple(n_levels)
        self.rows: RowPatterns = group_rows(codes, weight)
        self.data = Data(
            np.concatenate([block.codes for block in self.rows.blocks]),
            np.concatenate([block.weight for block in self.rows.blocks]),
        )
        self.settings, self.on_step = settings, on_step
        self.how = LocalEM(settings.n_init, LOCAL_STEPS, TOL, settings.seed)
        self.steps: list[Step] = []
        self.memory: dict[tuple[str, int, tuple[int, ...]], float] = {}
        self.n_judged = 0
        self.n_visits = 0
        self.began = time.monotonic()

    # ------------------------------------------------------------------ phases

    def find(self, start: Tree | None) -> FoundTree:
        """Search until nothing helps, time or work are up or the user interrupts."""
        ended, n_left = "done", 0
        try:
            self._keep("start", *self._learned(self.first() if start is None else start))
            self.run()
        except OutOfTimeError:
            ended = "time"
        except OutOfWorkError as error:
            ended, n_left = "work", error.args[0]
        except KeyboardInterrupt:
            ended = "interrupt"
            if self.settings.stop is not None:
                self.settings.stop.set()
        tree = first_tree(self.n_levels) if self.base is None else self.base.tree
        return FoundTree(tree, self.log_likelihood, self.steps, ended, n_left)

    def first(self) -> Tree:
        """The tree to start from."""
        return first_tree(self.n_levels)

    def run(self) -> None:
        """Expand, adjust and simplify until a round does not raise the score."""
        while True:
            before = self.score
            self.memory.clear()
            self.expand()
            self.adjust()
            self.simplify()
            if self.score - before <= LEAST_GAIN:
                return

    def expand(self) -> None:
        """Add states and nodes as long as that raises the score."""
        while True:
            shape = self.shape
            moves = list(state_moves(shape, 1, self.settings.max_states))
            if len(shape.latent) < self.settings.max_latent:
                moves += node_introductions(shape)
            best = self._best(moves, self._ratio)
            numbers = self._try(best)
            if best is None or numbers is None:
                return
            if best.move.kind == "node+":
                self._follow(numbers[best.move.node], numbers[len(shape.around)])

    def _follow(self, old: int, new: int) -> None:
        """Move further neighbours of `old` to `new` as long as that raises the score."""
        while True:
            shape = self.shape
            moves = [
                move
                for branch in shape.around[old]
                if branch != new
                for move in relocations(shape, old, branch, [new])
            ]
            numbers = self._try(self._best(moves, self._gain))
            if numbers is None or old not in numbers or new not in numbers:
                return
            old, new = numbers[old], numbers[new]

    def adjust(self) -> None:
        """Move branches to other latent nodes as long as that raises the score."""
        while len(self.shape.latent) > 1:
            shape = self.shape
            moves = [
                move
                for source in sorted(shape.latent)
                for branch in shape.around[source]
                for move in relocations(shape, source, branch, outside(shape, branch, source))
            ]
            if self._try(self._best(moves, self._gain)) is None:
                return

    def simplify(self) -> None:
        """Remove nodes, then states, as long as that raises the score."""
        while self._try(self._best(list(node_deletions(self.shape)), self._gain)):
            pass
        while self._try(self._best(list(state_moves(self.shape, -1, 0)), self._gain)):
            pass

    # ------------------------------------------------------------------ moves

    @property
    def shape(self) -> Shape:
        """The shape of the current tree."""
        assert self.base is not None
        return Shape.of(self.base.tree)

    @property
    def score(self) -> float:
        """Score of the current tree."""
        assert self.base is not None
        return self.log_likelihood - self.settings.penalty * n_parameters(self.base.tree)

    def _gain(self, judged: Judged) -> float:
        return judged.gain - self.settings.penalty * judged.move.n_parameters

    def _ratio(self, judged: Judged) -> float:
        """Gain in score per added parameter; infinite if the score rises without any."""
        assert self.base is not None
        more = judged.move.n_parameters - n_parameters(self.base.tree)
        gain = judged.gain - self.settings.penalty * more
        if more <= 0:
            return np.inf if gain > 0 else -np.inf
        return gain / more

    def _best(self, moves: list[Move], value: Callable[[Judged], float]) -> Judged | None:
        """The move with the highest value on the current tree; the first one if several tie."""
        if not moves:
            return None
        if not self.settings.lazy:
            return max(self._judge(moves, self.how), key=value)
        unknown = [move for move in moves if move_key(move) not in self.memory]
        quick = self.how._replace(n_init=min(QUICK_STARTS, self.how.n_init), max_iter=QUICK_STEPS)
        for found in self._judge(unknown, quick):
            self.memory[move_key(found.move)] = found.gain
        judged = [Judged(move, self.memory[move_key(move)], _NO_TABLES, ()) for move in moves]
        fresh: set[int] = set()
        while True:
            order = sorted(range(len(moves)), key=lambda i: (-value(judged[i]), i))
            if order[0] in fresh:
                return judged[order[0]]
            first_fresh = next((n for n, i in enumerate(order) if i in fresh), len(order))
            waiting = sorted(order[: min(first_fresh, AT_ONCE)])
            fresh.update(waiting)
            again = self._judge([moves[i] for i in waiting], self.how)
            for i, found in zip(waiting, again, strict=True):
                judged[i] = found
                self.memory[move_key(found.move)] = found.gain

    def _judge(self, moves: list[Move], how: LocalEM) -> list[Judged]:
        """Judge all moves by local EM."""
        base = self.base
        assert base is not None
        self._plan_work(moves, how)
        # relocations of the same branch share the messages of the tree without it
        groups: dict[tuple[object, ...], list[int]] = {}
        for i, move in enumerate(moves):
            own = move.others if move.kind == "relocation" else (i,)
            groups.setdefault((move.kind, *own), []).append(i)
        items = list(groups.values())
        work = len(moves) * len(self.data.weight)
        n_jobs = self.settings.n_jobs if work > THREAD_WORK else 1
        size = max(1, len(items) // (8 * count_threads(n_jobs)))
        chunks = [items[i : i + size] for i in range(0, len(items), size)]

        def visit(chunk: list[list[int]]) -> list[tuple[int, Judged]]:
            found: list[tuple[int, Judged]] = []
            for group in chunk:
                self._check_time()
                found += zip(group, judge(base, [moves[i] for i in group], how), strict=True)
            return found

        self.n_judged += len(moves)
        every = dict(pair for part in map_blocks(visit, chunks, n_jobs) for pair in part)
        return [every[i] for i in range(len(moves))]

    def _plan_work(self, moves: list[Move], how: LocalEM) -> None:
        """Count the work of judging moves, or end the search if it is too much.

        It is counted before any move is judged, so that the result does not depend on `n_jobs`.
        """
        n_rows, shape = len(self.data.weight), self.shape
        self.n_visits += n_rows * sum(how.visits(shape, move) for move in moves)
        if self.settings.work is not None and self.n_visits > self.settings.work:
            raise OutOfWorkError(len(moves))

    def _try(self, judged: Judged | None) -> dict[int, int] | None:
        """Make a move and keep it if the score rises; return the new numbers of the nodes if so."""
        if judged is None:
            return None
        assert self.base is not None
        return self._try_tree(
            judged.move.kind,
            *make(self.base.tree, [judged]),
            touched={judged.move.node, *judged.move.others},
        )

    def _try_tree(
        self, kind: str, tree: Tree, numbers: dict[int, int], touched: set[int]
    ) -> dict[int, int] | None:
        """Keep a tree if its score is higher. `touched` has the nodes that the moves changed."""
        self._check_time()
        tree, log_likelihood = self._learned(tree)
        score = log_likelihood - self.settings.penalty * n_parameters(tree)
        if not score - self.score > LEAST_GAIN:
            return None
        self._keep(kind, tree, log_likelihood)
        self._remember(touched, numbers)
        return numbers

    def _remember(self, touched: set[int], numbers: dict[int, int]) -> None:
        """Renumber the remembered gains, and forget those of moves at the touched nodes."""
        kept = {}
        for (kind, node, others), gain in self.memory.items():
            nodes = (node, *others)
            if touched.isdisjoint(nodes) and all(v in numbers for v in nodes):
                kept[kind, numbers[node], tuple(numbers[v] for v in others)] = gain
        self.memory = {move_key(Move(*key, 0, 0)): gain for key, gain in kept.items()}

    def _learned(self, tree: Tree) -> tuple[Tree, float]:
        """Run EM on all tables, starting from the given ones and from random ones."""
        fit = fit_tree(
            tree,
            self.rows,
            n_init=self.settings.n_full_init,
            from_tables=True,
            tol=self.full_tol / self.rows.total_weight,
            max_iter=min(self.settings.max_iter, self.full_steps),
            rng=np.random.default_rng(self.settings.seed),
            n_jobs=self.settings.n_jobs,
            on_iteration=self._check_stop,
        )
        self.n_visits += fit.result.n_iter * len(self.data.weight) * sum(tree.cardinalities)
        return fit.tree, fit.log_likelihood

    def _keep(self, kind: str, tree: Tree, log_likelihood: float) -> None:
        self.base = Base(floored(tree), self.data)
        self.log_likelihood = log_likelihood
        step = Step(
            kind,
            self.score,
            len(tree.latent),
            n_parameters(tree),
            self.n_judged,
            time.monotonic() - self.began,
        )
        self.n_judged = 0
        self.steps.append(step)
        if self.on_step is not None:
            self.on_step(step)

    def _check_time(self) -> None:
        """End the search if its time is up or it was interrupted."""
        self._check_stop()
        deadline = self.settings.deadline
        if deadline is not None and time.monotonic() > deadline:
            raise OutOfTimeError

    def _check_stop(self, *_: float) -> bool:
        """End the search if it was interrupted; also between two steps of EM."""
        if self.settings.stop is not None and self.settings.stop.is_set():
            raise KeyboardInterrupt
        return False
