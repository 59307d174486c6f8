"""The probabilities of a single row, read from a data frame, and those of a scikit-learn pipeline.

A row of 13 columns: numbers, text, flags and categories. The peer scales the numbers, encodes the
rest and asks a logistic regression. A second peer is a bare GaussianNB with the numbers alone, as a
data frame. Limit: 1.5 ms of CPU time on a machine like that of the records, for all models but
averages.

Short form: three models. `--full`: all families.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from _record import Run, best_times, make_parser
from latentclass import (
    HNBClassifier,
    HybridLCMClassifier,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifier,
)
from latentclass.baselines import TAN, NaiveBayes

N_ROWS, N_CALLS = 400, 50
LIMIT = 1.5


def make_table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_ROWS)
    columns: dict[str, Any] = {name: rng.normal(y) for name in "abcdef"}
    columns["count"] = rng.poisson(3 + y)
    columns["age"] = rng.integers(20, 80, N_ROWS)
    for name, words in (("town", ["Oslo", "Rome", "Bonn"]), ("coat", ["long", "short"])):
        columns[name] = rng.choice(words, N_ROWS)
    columns["band"] = pd.Categorical(rng.choice(["I", "II", "III", "IV"], N_ROWS))
    columns["member"] = rng.random(N_ROWS) < 0.3 + 0.3 * y
    columns["owner"] = rng.random(N_ROWS) < 0.5
    return pd.DataFrame(columns), y


def make_models(*, full: bool) -> dict[str, Any]:
    few = {"calibrate": False, "random_state": 0}
    models = {
        "NaiveBayes": NaiveBayes(**few),
        "TAN": TAN(**few),
        "LCMClassifier": LCMClassifier(2, select="likelihood", **few),
    }
    if full:
        models |= {
            "HybridLCMClassifier": HybridLCMClassifier(2, 1, select="likelihood", **few),
            "HNBClassifier": HNBClassifier(**few),
            "LatentTreeClassifier": LatentTreeClassifier(n_cuts=1, **few),
            "LatentVariableClassifier(None, 2)": LatentVariableClassifier(None, 2, **few),
        }
    return models


def main() -> None:
    options = make_parser(__doc__).parse_args()
    X, y = make_table()
    numbers = X.select_dtypes("number")
    pipeline = make_pipeline(
        make_column_transformer(
            (StandardScaler(), list(numbers)), remainder=OneHotEncoder(handle_unknown="ignore")
        ),
        LogisticRegression(),
    ).fit(X, y)
    bare = GaussianNB().fit(numbers, y)
    row, few = X.iloc[[3]], numbers.iloc[[3]]
    with Run(__file__, keep=options.full) as run:
        for name, model in make_models(full=options.full).items():
            model.fit(X, y)
            tasks = {
                "ours": partial(model.predict_proba, row),
                "pipeline": partial(pipeline.predict_proba, row),
                "GaussianNB, 8 numbers": partial(bare.predict_proba, few),
            }
            found = best_times(tasks, clock="CPU", passes=N_CALLS)
            ours = found.pop("ours")
            run.add(name, "CPU time of a row", 1e3 * ours, unit="ms", limit=LIMIT, clock="CPU")
            for peer, seconds in found.items():
                run.add_ratio(name, f"one row / {peer}", ours, seconds, clock="CPU")


if __name__ == "__main__":
    main()
