"""MDLDiscretizer against the Python packages that cut by the same criterion, one thread.

Limit: fit at least 10 times faster than the fastest of them, on letter and satimage. Peers are
taken if they can be imported (`pip install Orange3 scikit-bayes`, into an environment of their
own); the data sets come from LATENTCLASS_DATA, else from made-up tables of the same shape.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # Orange is a desktop program, too

import argparse
from collections.abc import Callable

import numpy as np
from _timing import best_times, peak_megabytes, print_table

from latentclass.datasets import load_dataset
from latentclass.discrete._discretizer import MDLDiscretizer
from latentclass.engine._mdl import mdl_cut_points

Cuts = list[np.ndarray]


def scikit_bayes(X: np.ndarray, y: np.ndarray) -> Callable[[], Cuts]:
    from skbn import MDLPDiscretizer

    return lambda: MDLPDiscretizer().fit(X, y).cut_points_


def orange(X: np.ndarray, y: np.ndarray) -> Callable[[], Cuts]:
    from Orange.data import ContinuousVariable, DiscreteVariable, Domain, Table
    from Orange.preprocess.discretize import EntropyMDL

    # its own table is made beforehand, and not counted
    columns = [ContinuousVariable(f"x{j}") for j in range(X.shape[1])]
    target = DiscreteVariable("y", values=[f"c{k}" for k in range(y.max() + 1)])
    table = Table.from_numpy(Domain(columns, target), X, y.astype(float))

    def cut() -> Cuts:
        made = [EntropyMDL()(table, column) for column in columns]
        return [np.asarray(each.compute_value.points, dtype=float) for each in made]

    return cut


def mdlp_discretization(X: np.ndarray, y: np.ndarray) -> Callable[[], Cuts]:
    from mdlp.discretization import MDLP

    return lambda: MDLP(random_state=0).fit(X, y).cut_points_


PEERS = {
    "Orange": orange,
    "scikit-bayes": scikit_bayes,
    "mdlp-discretization": mdlp_discretization,
}


def read(name: str) -> tuple[str, np.ndarray, np.ndarray]:
    """The data set, or a table of its shape: whole numbers that depend on the class."""
    if os.environ.get("LATENTCLASS_DATA"):
        data = load_dataset(name, container="numpy", source="folder")
        return name, data.X, np.unique(data.y.astype(str), return_inverse=True)[1]
    n_rows, n_columns, n_classes, top = {
        "letter": (20_000, 16, 26, 15),
        "satimage": (6_435, 36, 6, 120),
    }[name]
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_rows)
    centres = rng.uniform(0.2, 0.8, (n_classes, n_columns))
    X = np.clip(np.round(top * (centres[y] + 0.15 * rng.normal(size=(n_rows, n_columns)))), 0, top)
    return f"made up like {name}", X, y


def compare_with_peers(name: str) -> dict[str, object]:
    shown, X, y = read(name)
    tasks: dict[str, Callable[[], Cuts]] = {"ours": lambda: MDLDiscretizer().fit(X, y).cut_points_}
    absent = []
    for peer, make in PEERS.items():
        try:
            tasks[peer] = make(X, y)
        except ImportError:
            absent.append(peer)
    times = best_times(tasks, repeats=15)
    row: dict[str, object] = {
        "data": f"{shown} {X.shape[0]:,} x {X.shape[1]}",
        "classes": y.max() + 1,
    }
    row["ours ms"] = 1e3 * times["ours"]
    ours = tasks["ours"]()
    row["cuts"] = sum(map(len, ours))
    for peer in PEERS:
        row[f"{peer} ms"] = "not installed" if peer in absent else 1e3 * times[peer]
    found = [peer for peer in PEERS if peer in times]
    if found:
        fastest = min(found, key=times.__getitem__)
        row["fastest peer / ours"] = times[fastest] / times["ours"]
        theirs = tasks[fastest]()
        row["its cuts are ours"] = all(
            len(a) == len(b) and np.allclose(a, b) for a, b in zip(ours, theirs, strict=True)
        )
    else:
        row["fastest peer / ours"] = "no peer installed: nothing to compare with"
    return row


def measure_large(n_rows: int) -> None:
    """A column without ties and with many classes, beside one sort of it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 26, n_rows)
    values, weight = rng.normal(0.3 * y, 1.0), np.ones(n_rows)
    times = best_times(
        {
            "sort": lambda: np.argsort(values),
            "ours": lambda: mdl_cut_points(values, y, weight, 26),
        },
        repeats=2,
    )
    row = {
        "np.argsort s": times["sort"],
        "ours s": times["ours"],
        "cuts": len(mdl_cut_points(values, y, weight, 26)),
        "peak MB": peak_megabytes(lambda: mdl_cut_points(values, y, weight, 26)),
    }
    print_table(f"One column of {n_rows:,} different values, 26 classes", [row])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args().rows
    print_table("MDLDiscretizer.fit", [compare_with_peers(name) for name in ("letter", "satimage")])
    measure_large(n_rows)


if __name__ == "__main__":
    main()
