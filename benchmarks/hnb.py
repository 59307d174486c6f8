"""HNBClassifier against scikit-learn's boosting (fit) and CategoricalNB (predict_proba).

Limits: fit at most 3 times HistGradientBoostingClassifier's default, predict_proba at most 3 times
CategoricalNB's on the same codes. Then the cost by columns and rows, on drawn tables in which every
other column leans on the one before and on the class. All in CPU time.

Short form: kr-vs-kp, up to 20 columns and 10,000 rows. `--full`: splice too, up to 500 columns and
1,000,000 rows. `--plot hnb.png` draws the cost.
"""

import time
from pathlib import Path

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.naive_bayes import CategoricalNB

from _codes import draw_codes, load_codes
from _record import Run, best_times, make_parser
from latentclass import HNBClassifier

LIMIT = 3.0
Cost = tuple[int, float, float]


def compare_on(run: Run, name: str, repeats: int) -> None:
    what, codes, y = load_codes(name)
    X = codes.astype(float)
    ours = HNBClassifier(categorical_features=list(range(X.shape[1])), random_state=0)
    boosting, naive = HistGradientBoostingClassifier(random_state=0), CategoricalNB().fit(X, y)
    fits = {"ours": lambda: ours.fit(X, y), "peer": lambda: boosting.fit(X, y)}
    times = best_times(fits, repeats, clock="CPU")
    run.add_ratio(
        what, "fit / HistGradientBoosting", times["ours"], times["peer"], limit=LIMIT, clock="CPU"
    )  # fmt: skip
    run.add(what, "latent variables", len(ours.latent_children_))
    predictions = {"ours": lambda: ours.predict_proba(X), "peer": lambda: naive.predict_proba(X)}
    times = best_times(predictions, 20 * repeats, clock="CPU")
    run.add_ratio(
        what, "predict_proba / CategoricalNB", times["ours"], times["peer"], limit=LIMIT,
        clock="CPU",
    )  # fmt: skip


def measure_cost(run: Run, n_rows: int, n_columns: int) -> tuple[float, float]:
    """CPU seconds of one fit and of one prediction of all rows."""
    codes, y = draw_codes(n_rows, n_columns)
    X = codes.astype(float)
    model = HNBClassifier(categorical_features=list(range(n_columns)), random_state=0)
    start = time.process_time()
    model.fit(X, y)
    fitted = time.process_time()
    model.predict_proba(X)
    end = time.process_time()
    what = f"{n_rows:,} x {n_columns}"
    run.add(what, "fit", fitted - start, unit="s", clock="CPU")
    run.add(what, "predict_proba", end - fitted, unit="s", clock="CPU")
    return fitted - start, end - fitted


def plot(by_columns: list[Cost], by_rows: list[Cost], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, both = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axes, costs, across in zip(both, (by_columns, by_rows), ("columns", "rows"), strict=True):
        sizes, fits, predictions = zip(*costs, strict=True)
        axes.loglog(sizes, fits, marker="o")
        axes.loglog(sizes, predictions, marker="s")
        axes.set(xlabel=across, ylabel="seconds")
        axes.legend(["fit", "predict_proba"], frameon=False)
    both[0].set_title("5,000 rows", size=10)
    both[1].set_title("20 columns", size=10)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    with Run(__file__, keep=options.full) as run:
        for name in ("kr-vs-kp", "splice") if options.full else ("kr-vs-kp",):
            compare_on(run, name, 3 if options.full else 1)
        columns = (10, 20, 50, 100, 200, 500) if options.full else (10, 20)
        sizes = (1_000, 10_000, 100_000, 1_000_000) if options.full else (1_000, 10_000)
        # whatever is compiled has been by now
        by_columns = [(n, *measure_cost(run, 5_000, n)) for n in columns]
        by_rows = [(n, *measure_cost(run, n, 20)) for n in sizes]
    if options.plot:
        plot(by_columns, by_rows, options.plot)


if __name__ == "__main__":
    main()
