"""HNBClassifier against scikit-learn's boosting (fit) and CategoricalNB (predict_proba).

Limits: fit at most 3 times HistGradientBoostingClassifier's default, predict_proba at most 3 times
CategoricalNB's on the same codes; one thread. Then the cost against columns and rows, on drawn
tables in which every other column leans on the one before and on the class. All in seconds of the
processor, which other programs on the machine disturb least.

    LATENTCLASS_DATA=folder python benchmarks/hnb.py [--large] [--plot hnb.png]

`--large` goes to 500 columns and 1,000,000 rows.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _timing import print_table
from discrete_baselines import coded
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.naive_bayes import CategoricalNB

from latentclass import HNBClassifier

FIT_LIMIT, PREDICT_LIMIT = 3.0, 3.0


def best_seconds(tasks: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Least seconds of the processor; the tasks take turns, after one round to warm up."""
    best = dict.fromkeys(tasks, float("inf"))
    for turn in range(repeats + 1):
        for name, task in tasks.items():
            start = time.process_time()
            task()
            if turn:
                best[name] = min(best[name], time.process_time() - start)
    return best


def measure(name: str, repeats: int) -> list[dict[str, object]]:
    codes, y = coded(name)
    X = codes.astype(float)
    ours = HNBClassifier(categorical_features=list(range(X.shape[1])), random_state=0)
    boosting, naive = HistGradientBoostingClassifier(random_state=0), CategoricalNB()
    fits = best_seconds(
        {"ours": lambda: ours.fit(X, y), "peer": lambda: boosting.fit(X, y)}, repeats
    )
    naive.fit(X, y)
    predictions = best_seconds(
        {"ours": lambda: ours.predict_proba(X), "peer": lambda: naive.predict_proba(X)},
        20 * repeats,
    )
    rows = []
    for task, times, limit in (
        ("fit / boosting", fits, FIT_LIMIT),
        ("predict_proba / CategoricalNB", predictions, PREDICT_LIMIT),
    ):
        ratio = times["ours"] / times["peer"]
        rows.append(
            {
                "data": name,
                "task": task,
                "ours s": times["ours"],
                "peer s": times["peer"],
                "ratio": ratio,
                "limit": limit,
                "held": "yes" if ratio <= limit else "NO",
                "latent": len(ours.latent_children_),
            }
        )
    return rows


def drawn(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    codes = rng.integers(0, 4, (n_rows, n_columns))
    # only some pairs say much, so that a latent variable is worth trying but not certain
    lean = (codes[:, 0:-1:2] + y[:, None]) % 4
    codes[:, 1::2] = np.where(rng.random(lean.shape) < 0.15, lean, codes[:, 1::2])
    return codes.astype(float), y


def cost(n_rows: int, n_columns: int) -> dict[str, object]:
    X, y = drawn(n_rows, n_columns)
    model = HNBClassifier(categorical_features=list(range(n_columns)), random_state=0)
    start = time.process_time()
    model.fit(X, y)
    fitted = time.process_time()
    model.predict_proba(X)
    end = time.process_time()
    return {
        "rows": n_rows,
        "columns": n_columns,
        "latent": len(model.latent_children_),
        "fit s": fitted - start,
        "predict_proba s": end - fitted,
    }


def plot(by_columns: list[dict[str, object]], by_rows: list[dict[str, object]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, both = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axes, rows, across in zip(both, (by_columns, by_rows), ("columns", "rows"), strict=True):
        for what, marker in (("fit s", "o"), ("predict_proba s", "s")):
            axes.loglog([r[across] for r in rows], [r[what] for r in rows], marker=marker)
        axes.set(xlabel=across, ylabel="seconds")
        axes.legend(["fit", "predict_proba"], frameon=False)
    both[0].set_title("5,000 rows", size=10)
    both[1].set_title("20 columns", size=10)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["kr-vs-kp", "splice"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    rows = [row for name in options.sets for row in measure(name, options.repeats)]
    print_table("HNBClassifier against its limits", rows)
    columns = [10, 20, 50, 100, 200] + [500] * options.large
    sizes = [1_000, 10_000, 100_000] + [1_000_000] * options.large
    cost(1_000, 10)  # compiles what is compiled at first use
    by_columns = [cost(5_000, n) for n in columns]
    by_rows = [cost(n, 20) for n in sizes]
    print_table("Cost against columns", by_columns)
    print_table("Cost against rows", by_rows)
    if options.plot:
        plot(by_columns, by_rows, options.plot)


if __name__ == "__main__":
    main()
