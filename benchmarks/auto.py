"""`AutoLatentClassifier` with time budgets: whether it keeps them, and whether longer is better.

Each table is split once, at most 480 rows for training. The same fit gets 5, 20, 60 and 300 s.
Limit: the time of the fit less the last fit to all rows is at most 1.1 times the budget.

Short form: one table, 1 and 5 seconds. `--full`: twelve tables, all budgets. A run that was broken
off is started again with the same options: it leaves out what has a record of this day.
"""

import datetime
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin, clone

from _record import Run, make_parser, read_records
from latentclass import AutoLatentClassifier
from latentclass.auto._families import MANY_LABELLED
from latentclass.lcm._base_classifier import LatentClassifier
from latentclass.reproduction import _field_tables as tables

LIMIT = 1.1
BUDGETS = (5, 20, 60, 300)
SETS = (
    "australian", "diabetes", "glass", "heart-c", "sonar", "vehicle",
    "breast_cancer", "attrition", "churn", "credit", "ionosphere", "phoneme",
)  # fmt: skip
SHORT = {"wine": (1, 5)}


def fitted_first(candidate: object, n_rows: int) -> bool:
    """Whether it was fitted to all rows before its folds, and not again at the end."""
    return isinstance(candidate, LatentClassifier) and n_rows >= MANY_LABELLED


def seconds_to_fit(candidate: ClassifierMixin, X: pd.DataFrame, y: np.ndarray) -> float:
    """Time of one fit to all rows, as the last one of Auto is."""
    one = clone(candidate).set_params(calibrate=False)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one.fit(X, y)
    return time.perf_counter() - began


def measure(run: Run, name: str, budget: int) -> None:
    X, y = tables.load(name)
    train, test = next(iter(tables.splits(y)))
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # candidates that run out of time warn
        model = AutoLatentClassifier(budget, random_state=0).fit(X.iloc[train], y[train])
    elapsed = time.perf_counter() - began
    proba = model.predict_proba(X.iloc[test])
    true = proba[np.arange(len(test)), np.searchsorted(model.classes_, y[test])]
    last_fit = sum(
        seconds_to_fit(model.plan_.families[row.family], X.iloc[train], y[train])
        for row in model.leaderboard_
        if row.weight and not fitted_first(model.plan_.families[row.family], len(train))
    )
    what = f"{name}, {budget} s"
    run.add(what, "log-loss", float(-np.log(np.maximum(true, 1e-15)).mean()))
    run.add(what, "accuracy", float((model.classes_[proba.argmax(axis=1)] == y[test]).mean()))
    done = sum(row.status == "done" for row in model.leaderboard_)
    run.add(what, "candidates that were finished", f"{done} of {len(model.leaderboard_)}")
    run.add(what, "seconds / budget", (elapsed - last_fit) / budget, limit=LIMIT, clock="wall")


def main() -> None:
    options = make_parser(__doc__).parse_args()
    asked = dict.fromkeys(SETS, BUDGETS) if options.full else SHORT
    path = Run(__file__, keep=True).path
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    old = read_records(path) if options.full and path.exists() else []
    done = {record.what for record in old if record.date == today}
    # the shortest budgets of all tables come first
    for place in range(max(map(len, asked.values()))):
        for name, budgets in asked.items():
            budget = budgets[place]
            if f"{name}, {budget} s" not in done:
                with Run(__file__, keep=options.full) as run:
                    measure(run, name, budget)


if __name__ == "__main__":
    main()
