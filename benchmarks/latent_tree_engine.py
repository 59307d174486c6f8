"""The tree engine against the same passes in NumPy: loops over edges, vectorised over rows.

A full pass (log-likelihood and expected counts of every table, which is EM's E-step) over rows that
are all distinct; ten passes in a row, as EM makes them. There are two NumPy sides: arrays of rows
by states, as one writes them first, and of states by rows, which NumPy goes through faster. Both
scale their messages too, and their indicators of the codes are made beforehand, as our plan is;
making the plan is timed by itself. Times are CPU times, for on a busy machine the slower side is
interrupted more often. Part of NumPy's time is new memory for its arrays; to take it out, run with
MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_ (glibc) set to 1000000000.

Then wall times with a second thread, beside the ceiling in the same run: two loops that touch no
memory, one after the other and on two threads. What the ceiling does not gain the machine did not
have to give (other processes at work, say). For such machines there is also the gain by CPU time,
that of one thread over that of the busier of two: what two free cores would give. Run by hand:
`python benchmarks/latent_tree_engine.py`.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Callable

import numba
import numpy as np
from _timing import print_table

from latentclass.engine._parallel import map_threads
from latentclass.latent_tree._inference import expected_counts, group_rows, plan_rows
from latentclass.latent_tree._tree import Tree, observed_codes, sample_nodes

N_LATENT, N_LEAVES = 12, 50
N_PASSES = 10
LATENT = {
    "bushy": (-1, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3),
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


def best_cpu_times(
    tasks: dict[str, tuple[Callable[[], object], int]], repeats: int
) -> dict[str, float]:
    """Least CPU time of each task, done so many times in a row; the tasks take turns."""
    best = dict.fromkeys(tasks, float("inf"))
    for turn in range(repeats + 1):
        for name, (task, times) in tasks.items():
            start = time.process_time()
            for _ in range(times):
                task()
            if turn:
                best[name] = min(best[name], (time.process_time() - start) / times)
    return best


def compare(shape: str, leaf_states: int, n_rows: int, repeats: int) -> dict[str, object]:
    tree = make_tree(shape, leaf_states)
    codes = make_rows(tree, n_rows)
    plan, theta = plan_rows(tree, group_rows(codes)), tree.theta[None]
    plain, long = RowsByStates(tree, codes), StatesByRows(tree, codes)
    times = best_cpu_times(
        {
            "plain": (lambda: plain(tree.tables), N_PASSES),
            "long": (lambda: long(tree.tables), N_PASSES),
            "ours": (lambda: expected_counts(plan, theta), N_PASSES),
            "plan": (lambda: plan_rows(tree, group_rows(codes)), 1),
        },
        repeats,
    )
    counts, total = expected_counts(plan, theta)
    error = 0.0
    for peer in (plain, long):
        expected, expected_total = peer(tree.tables)
        flat = np.concatenate([table.ravel() for table in expected])
        difference = np.abs(counts[0] - flat).max() / n_rows
        error = max(error, difference, abs(total[0] / expected_total - 1))
    return {
        "tree": shape,
        "leaf states": leaf_states,
        "rows by states ms": 1e3 * times["plain"],
        "states by rows ms": 1e3 * times["long"],
        "ours ms": 1e3 * times["ours"],
        "rows by states / ours": times["plain"] / times["ours"],
        "states by rows / ours": times["long"] / times["ours"],
        "plan, once, ms": 1e3 * times["plan"],
        "difference": float(error),
    }


@numba.njit(nogil=True)
def spin(n: int) -> float:
    """A loop that needs a core and nothing else."""
    x = 0.5
    for _ in range(n):
        x = x * 0.999 + 0.001
    return x


def threads(n_rows: int, n_starts: int, seconds: float) -> dict[str, object]:
    tree = make_tree("bushy", 3)
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
    load = os.getloadavg()[0]
    turns = 15 * n_rows * n_starts  # takes about as long
    tasks: dict[tuple[str, int], Callable[[], object]] = {}
    for n in (1, 2):
        tasks["ours", n] = lambda n=n: expected_counts(plan, theta, n_jobs=n)
        tasks["ceiling", n] = lambda n=n: map_threads(spin, [turns, turns], n)
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
    return {
        "starts": n_starts,
        "1 thread ms": 1e3 * wall["ours", 1],
        "2 threads ms": 1e3 * wall["ours", 2],
        "gain": wall["ours", 1] / wall["ours", 2],
        "ceiling": wall["ceiling", 1] / wall["ceiling", 2],
        "gain, CPU": busier["ours", 1] / busier["ours", 2],
        "ceiling, CPU": busier["ceiling", 1] / busier["ceiling", 2],
        "load before": load,
        "cores": os.cpu_count() or 0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="for each run with threads")
    options = parser.parse_args()
    print_table(
        f"One E-step, {options.rows} rows, {N_LEAVES} leaves, {N_LATENT} latent nodes (star: 1) of "
        "3 states, one thread",
        [
            compare(shape, k, options.rows, options.repeats)
            for shape, k in (("bushy", 3), ("chain", 3), ("star", 3), ("bushy", 10))
        ],
    )
    print_table(
        "Second thread, bushy tree",
        [
            threads(options.rows, starts, options.seconds)
            for starts in (1, 16)
            for _ in range(options.runs)
        ],
    )


if __name__ == "__main__":
    main()
