"""Size of the report of a model, and the time that it takes beside the fit.

The tables are drawn: half of the columns are numbers, the others have four categories, a twentieth
of the cells is missing. The time includes the refits for the held-out scores and those of logistic
regression and gradient boosting on the same folds.
Limits: 400 KB for iris, 1,500 KB for 100,000 x 200, 10 s for 10,000 x 50.

Short form: iris and 2,000 x 20. `--full`: all sizes.
"""

import time

import numpy as np
import pandas as pd

from _record import Run, make_parser
from latentclass import report
from latentclass.baselines import TAN, NaiveBayes
from latentclass.datasets import load_dataset

LIMITS = {"iris": (400.0, None), "10,000 x 50": (None, 10.0), "100,000 x 200": (1500.0, None)}
"""Most kilobytes and seconds."""


MODELS = (NaiveBayes(), TAN())


def drawn_table(n_rows: int, n_columns: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A table of numbers and categories with holes, and three classes that shift both."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n_rows)
    columns = {}
    for j in range(n_columns):
        shift = rng.normal(size=3)[y] * (0.5 if j % 5 == 0 else 0.1)
        values = shift + rng.normal(size=n_rows)
        hole = rng.random(n_rows) < 0.05
        if j % 2:
            level = np.array(["low", "fair", "good", "high"], dtype=object)
            cells = level[np.digitize(values, [-0.8, 0.0, 0.8])]
            columns[f"grade {j}"] = pd.Series(np.where(hole, None, cells), dtype="category")
        else:
            columns[f"size {j}"] = np.where(hole, np.nan, values)
    return pd.DataFrame(columns), np.array(["first", "second", "third"])[y]


def main() -> None:
    full = make_parser(__doc__).parse_args().full
    sizes = [(10_000, 50), (100_000, 200)] if full else [(2000, 20)]
    with Run(__file__, keep=full, packages=("numpy", "scikit-learn", "jinja2")) as run:
        iris = load_dataset("iris", container="pandas")
        cases = {"iris": (iris.X, iris.y)}
        report(NaiveBayes().fit(iris.X, iris.y), iris.X, iris.y).html  # imports, once  # noqa: B018
        for n_rows, n_columns in sizes:
            cases[f"{n_rows:,} x {n_columns}"] = drawn_table(n_rows, n_columns)
        for name, (X, y) in cases.items():
            for model in MODELS:
                model.fit(X, y)
                most_size, most_seconds = LIMITS.get(name, (None, None))
                began, worked = time.perf_counter(), time.process_time()
                page = report(model, X, y).html
                wall, cpu = time.perf_counter() - began, time.process_time() - worked
                size = len(page.encode()) / 1000
                case = f"{name}, {type(model).__name__}"
                run.add(case, "size of the page", size, unit="KB", limit=most_size)
                run.add(case, "report", cpu, unit="s", clock="CPU", limit=most_seconds)
                run.add(case, "report", wall, unit="s", clock="wall")


if __name__ == "__main__":
    main()
