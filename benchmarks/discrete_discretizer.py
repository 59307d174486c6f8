"""MDLDiscretizer against the Python packages that cut by the same criterion.

Limit: fit at least ten times faster than the fastest of them, on letter and satimage. Peers are
used if they can be imported (`pip install Orange3 scikit-bayes`, into an environment of their own).
The data come from LATENTCLASS_DATA; otherwise tables of the same shape are drawn. Also one long
column without ties, beside one sort of it.

Short form: 3 repeats, 100,000 values in the long column. `--full`: 15 repeats, 1,000,000 values.
"""

import os
from collections.abc import Callable

import numpy as np

from _record import Run, best_times, make_parser, peak_megabytes
from latentclass import MDLDiscretizer
from latentclass.datasets import load_dataset
from latentclass.engine._mdl import mdl_cut_points

Cuts = list[np.ndarray]
N_CLASSES = 26


def scikit_bayes(X: np.ndarray, y: np.ndarray) -> Callable[[], Cuts]:
    from skbn import MDLPDiscretizer

    return lambda: MDLPDiscretizer().fit(X, y).cut_points_


def orange(X: np.ndarray, y: np.ndarray) -> Callable[[], Cuts]:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # Orange is a desktop program, too
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
    return f"drawn like {name}", X, y


def compare_with_peers(run: Run, name: str, repeats: int) -> None:
    what, X, y = read(name)
    tasks: dict[str, Callable[[], Cuts]] = {"ours": lambda: MDLDiscretizer().fit(X, y).cut_points_}
    for peer, make in PEERS.items():
        try:
            tasks[peer] = make(X, y)
        except ImportError:
            print(f"{peer} is not installed: no comparison with it.")
    times = best_times(tasks, repeats)
    ours = times.pop("ours")
    if not times:
        run.add(what, "fit", 1e3 * ours, unit="ms", clock="wall")
        return
    fastest = min(times, key=times.__getitem__)
    run.add_ratio(what, "fit / fastest Python peer", ours, times[fastest], limit=0.1)
    pairs = zip(tasks["ours"](), tasks[fastest](), strict=True)
    same = [len(a) == len(b) and np.allclose(a, b) for a, b in pairs]
    run.add(what, "columns cut as by the peer", 100 * float(np.mean(same)), unit="%")


def measure_long_column(run: Run, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLASSES, n_rows)
    values, weight = rng.normal(0.3 * y, 1.0), np.ones(n_rows)

    def cut() -> np.ndarray:
        return mdl_cut_points(values, y, weight, N_CLASSES)

    times = best_times({"sort": lambda: np.argsort(values), "ours": cut}, repeats=2)
    what = f"{n_rows:,} values, {N_CLASSES} classes"
    run.add_ratio(what, "cut points / np.argsort", times["ours"], times["sort"])
    run.add(what, "number of cuts", len(cut()))
    run.add(what, "peak memory", peak_megabytes(cut), unit="MB")


def main() -> None:
    options = make_parser(__doc__).parse_args()
    with Run(__file__, keep=options.full) as run:
        for name in ("letter", "satimage"):
            compare_with_peers(run, name, 15 if options.full else 3)
        measure_long_column(run, 1_000_000 if options.full else 100_000)


if __name__ == "__main__":
    main()
