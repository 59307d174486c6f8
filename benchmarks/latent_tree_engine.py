"""The tree engine against the same passes in NumPy: loops over edges, vectorised over rows.

A full pass (log-likelihood and expected counts of every table, which is EM's E-step) over rows that
are all distinct; ten passes in a row, as EM makes them. There are two NumPy sides: arrays of rows
by states, as one writes them first, and of states by rows, which NumPy handles faster. Both scale
their messages too, and their indicators of the codes are made beforehand, as our plan is; making
the plan is timed by itself. These are CPU times, because on a busy machine the slower side is
interrupted more often. Part of NumPy's time is new memory for its arrays; to take it out, run with
MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_ (glibc) set to 1000000000. Limit: a twentieth of
the rows by states.

Then a second thread, beside the ceiling in the same run: two loops that touch no memory, one after
the other and on two threads. What the ceiling does not gain, the machine did not have to give. For
busy machines there is also the ratio by CPU time, of the busier of two threads to that of one: what
two free cores would give. Limit: 1.6 times faster.

Short form: 2,000 rows, one short run with threads. `--full`: 10,000 rows, three runs of four
seconds.
"""

import time
from collections.abc import Callable

import numba
import numpy as np

from _record import Run, best_times, make_parser
from latentclass.engine._parallel import map_blocks
from latentclass.latent_tree._inference import expected_counts, group_rows, plan_rows
from latentclass.latent_tree._tree import Tree, observed_codes, sample_nodes

N_LATENT, N_LEAVES = 12, 50
LEAF_STATES = 3
N_PASSES = 10
LATENT = {
    "bushy tree": (-1, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3),
    "chain": (-1, *range(N_LATENT - 1)),
    "star": (-1,),
}


def make_tree(shape: str, leaf_states: int) -> Tree:
    """The leaves are dealt out to the latent nodes; tables are drawn at random."""
    latent = LATENT[shape]
    n = len(latent)
    parents = (*latent, *(n - 1 - j % n for j in range(N_LEAVES)))
    cardinalities = (3,) * n + (leaf_states,) * N_LEAVES
    tree = Tree.even(parents, cardinalities, (-1,) * n + tuple(range(N_LEAVES)))
    rng = np.random.default_rng(0)
    return Tree(
        tree.parents,
        tree.cardinalities,
        tree.columns,
        tuple(rng.dirichlet(np.ones(t.shape[1]), len(t)) for t in tree.tables),
    )


def make_rows(tree: Tree, n_rows: int) -> np.ndarray:
    """Distinct rows drawn from the tree, 2 % of the cells missing."""
    rng = np.random.default_rng(1)
    codes = observed_codes(tree, sample_nodes(tree, 2 * n_rows, rng))
    codes[rng.random(codes.shape) < 0.02] = -1
    codes = np.unique(codes, axis=0)
    return codes[np.sort(rng.choice(len(codes), n_rows, replace=False))]


class RowsByStates:
    """Both passes with one array operation for each edge and all rows."""

    def __init__(self, tree: Tree, codes: np.ndarray) -> None:
        self.tree = tree
        self.n_rows = len(codes)
        # messages and counts of the leaves are then matrix products
        self.shown = {
            node: np.eye(k + 1)[np.where(codes[:, c] < 0, k, codes[:, c])]
            for node, (k, c) in enumerate(zip(tree.cardinalities, tree.columns, strict=True))
            if c >= 0
        }

    def __call__(self, tables: tuple[np.ndarray, ...]) -> tuple[list[np.ndarray], float]:
        tree = self.tree
        lam: dict[int, np.ndarray] = {}
        message: dict[int, np.ndarray] = {}
        log_scale = np.zeros(self.n_rows)
        for node in range(len(tables) - 1, -1, -1):
            if node in self.shown:
                whole = np.concatenate([tables[node].T, np.ones((1, len(tables[node])))])
                message[node] = self.shown[node] @ whole
                continue
            product = message[tree.children[node][0]].copy()
            for child in tree.children[node][1:]:
                product *= message[child]
            top = product.max(axis=1)
            product /= top[:, None]
            log_scale += np.log(top)
            lam[node] = product
            if node:
                message[node] = product @ tables[node].T
        joint = lam[0] * tables[0]
        total = joint.sum(axis=1)
        posterior = {0: joint / total[:, None]}
        counts = [posterior[0].sum(axis=0)[None]]
        for node in range(1, len(tables)):
            above, table = posterior[tree.parents[node]], tables[node]
            if node in self.shown:
                seen = above.T @ self.shown[node]
                counts.append(seen[:, :-1] + seen[:, -1:] * table)
                continue
            ratio = above / message[node]
            counts.append((ratio.T @ lam[node]) * table)
            posterior[node] = (ratio @ table) * lam[node]
        return counts, float(np.sum(np.log(total) + log_scale))


class StatesByRows:
    """The same with the long axis last, so that NumPy's inner loops are long."""

    def __init__(self, tree: Tree, codes: np.ndarray) -> None:
        self.tree = tree
        self.n_rows = len(codes)
        # messages of leaves look up their codes, counts of leaves are matrix products
        self.code = {
            node: np.where(codes[:, c] < 0, k, codes[:, c]).astype(np.intp)
            for node, (k, c) in enumerate(zip(tree.cardinalities, tree.columns, strict=True))
            if c >= 0
        }
        self.shown = {
            node: np.eye(tree.cardinalities[node] + 1)[c] for node, c in self.code.items()
        }

    def __call__(self, tables: tuple[np.ndarray, ...]) -> tuple[list[np.ndarray], float]:
        tree = self.tree
        lam: dict[int, np.ndarray] = {}
        message: dict[int, np.ndarray] = {}
        log_scale = np.zeros(self.n_rows)
        for node in range(len(tables) - 1, -1, -1):
            if node in self.code:
                whole = np.concatenate([tables[node], np.ones((len(tables[node]), 1))], axis=1)
                message[node] = whole.take(self.code[node], axis=1)
                continue
            product = message[tree.children[node][0]].copy()
            for child in tree.children[node][1:]:
                product *= message[child]
            top = product.max(axis=0)
            product /= top
            log_scale += np.log(top)
            lam[node] = product
            if node:
                message[node] = tables[node] @ product
        joint = lam[0] * tables[0].T
        total = joint.sum(axis=0)
        joint /= total
        posterior = {0: joint}
        counts = [joint.sum(axis=1)[None]]
        for node in range(1, len(tables)):
            above, table = posterior[tree.parents[node]], tables[node]
            if node in self.code:
                seen = above @ self.shown[node]
                counts.append(seen[:, :-1] + seen[:, -1:] * table)
                continue
            ratio = above / message[node]
            counts.append((ratio @ lam[node].T) * table)
            posterior[node] = table.T @ ratio
            posterior[node] *= lam[node]
        return counts, float(np.sum(np.log(total) + log_scale))


def compare(run: Run, shape: str, leaf_states: int, n_rows: int, repeats: int) -> None:
    tree = make_tree(shape, leaf_states)
    codes = make_rows(tree, n_rows)
    plan, theta = plan_rows(tree, group_rows(codes)), tree.theta[None]
    sides = {"rows by states": RowsByStates, "states by rows": StatesByRows}
    peers = {name: side(tree, codes) for name, side in sides.items()}
    tasks = {name: lambda peer=peer: peer(tree.tables) for name, peer in peers.items()}
    tasks["ours"] = lambda: expected_counts(plan, theta)
    times = best_times(tasks, repeats, clock="CPU", passes=N_PASSES)
    what = f"{shape}, {n_rows:,} rows"
    if leaf_states != LEAF_STATES:
        what += f", {leaf_states} levels"
    counts, total = expected_counts(plan, theta)
    error = 0.0
    for name, peer in peers.items():
        limit = 0.05 if name == "rows by states" else None
        run.add_ratio(
            what, f"pass / numpy, {name}", times["ours"], times[name], limit=limit, clock="CPU"
        )  # fmt: skip
        expected, expected_total = peer(tree.tables)
        flat = np.concatenate([table.ravel() for table in expected])
        difference = np.abs(counts[0] - flat).max() / n_rows
        error = max(error, float(difference), abs(float(total[0]) / expected_total - 1))
    once = {"plan": lambda: plan_rows(tree, group_rows(codes))}
    seconds = best_times(once, repeats, clock="CPU")["plan"]
    run.add(what, "making the plan, once", 1e3 * seconds, unit="ms", clock="CPU")
    run.add(what, "largest relative difference", error)


@numba.njit(nogil=True)
def spin(n: int) -> float:
    """A loop that needs a core and nothing else."""
    x = 0.5
    for _ in range(n):
        x = x * 0.999 + 0.001
    return x


def compare_threads(run: Run, n_rows: int, n_starts: int, seconds: float) -> None:
    tree = make_tree("bushy tree", LEAF_STATES)
    plan = plan_rows(tree, group_rows(make_rows(tree, n_rows)))
    rng = np.random.default_rng(2)
    theta = np.stack(
        [
            np.concatenate(
                [rng.dirichlet(np.ones(t.shape[1]), len(t)).ravel() for t in tree.tables]
            )
            for _ in range(n_starts)
        ]
    )
    turns = 15 * n_rows * n_starts  # takes about as long
    tasks: dict[tuple[str, int], Callable[[], object]] = {}
    for n in (1, 2):
        tasks["", n] = lambda n=n: expected_counts(plan, theta, n_jobs=n)
        tasks[", empty loops", n] = lambda n=n: list(map_blocks(spin, [turns, turns], n))
    wall, busier = dict.fromkeys(tasks, float("inf")), dict.fromkeys(tasks, float("inf"))
    for task in tasks.values():
        task()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, task in tasks.items():
            start, every, own = time.perf_counter(), time.process_time(), time.thread_time()
            task()
            wall[name] = min(wall[name], time.perf_counter() - start)
            own = time.thread_time() - own
            busier[name] = min(busier[name], max(own, time.process_time() - every - own))
    what = f"bushy tree, {n_starts} start{'s' * (n_starts > 1)}"
    for clock, times in (("wall", wall), ("CPU", busier)):
        for loops, limit in (("", 0.625), (", empty loops", None)):
            run.add_ratio(
                what, f"two threads / one{loops}", times[loops, 2], times[loops, 1], limit=limit,
                clock=clock,
            )  # fmt: skip


def main() -> None:
    options = make_parser(__doc__).parse_args()
    n_rows, repeats, runs, seconds = (10_000, 15, 3, 4.0) if options.full else (2_000, 3, 1, 0.5)
    with Run(__file__, keep=options.full) as run:
        for shape in LATENT:
            compare(run, shape, LEAF_STATES, n_rows, repeats)
        compare(run, "bushy tree", 10, n_rows, repeats)
        for n_starts in (1, 16):
            for _ in range(runs):
                compare_threads(run, n_rows, n_starts, seconds)


if __name__ == "__main__":
    main()
