"""Few labels: log-loss of our families with and without rows that have none, and of peers.

Of each data set a third, at most 300 rows, is kept for the test; of the rest, 5, 15 or 50 rows of
each class keep their label, and at most 400 others are rows without. "labelled" fits see the
labelled rows alone, "all" both. Families are as they come, with `calibrate="auto"`. Peers see the
labelled rows, but for self-training of logistic regression.

Factors and priors were chosen on the first six sets; the other six are the check. Every figure is
written when it is known. A run that was broken off is started again with the same options: it
leaves out what has a record of this day, or of the day `--since` and later. CatBoost is measured
where it is installed.

Short form: one draw of two sets, two models. `--full`: all of them. `--only "LCM;TAN"`, `--sets
wine,iris`, `--labels 5,15` and `--draws 2` choose some.
"""

import datetime
import importlib.util
import time

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

from _record import Run, make_parser, read_records
from latentclass import (
    HNBClassifier,
    HybridLCMClassifier,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifier,
)
from latentclass.baselines import AODE, TAN, NaiveBayes
from latentclass.datasets import load_dataset

CHOSEN_ON = ("vehicle", "diabetes", "heart-c", "vote", "glass2", "australian")
CHECKED_ON = ("wine", "iris", "breast_cancer", "hepatitis", "segment", "sonar")
LABELS = (5, 15, 50)
N_DRAWS = 5
MOST_TEST, MOST_UNLABELLED = 300, 400

FAMILIES = {
    "NaiveBayes": NaiveBayes(random_state=0),
    "TAN": TAN(random_state=0),
    "AODE": AODE(random_state=0),
    "LCM": LCMClassifier(random_state=0),
    "HNB": HNBClassifier(random_state=0),
    "LatentTree, fast": LatentTreeClassifier(search="fast", random_state=0),
    "LatentVariable": LatentVariableClassifier(random_state=0),
    "Hybrid": HybridLCMClassifier(random_state=0),
}
NUMBERS_ONLY = {"LCM"}
"""Families that are for tables with several numbers."""


def prepared(estimator: object) -> object:
    """A peer that gets imputed, standardised and one-hot coded columns."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_exclude="number")),
        sparse_threshold=0.0,
    )
    return make_pipeline(columns, estimator)


PEERS = {
    "LogisticRegression": prepared(LogisticRegression(max_iter=1000)),
    "RandomForest": prepared(RandomForestClassifier(300, random_state=0)),
}
if importlib.util.find_spec("catboost"):
    from catboost import CatBoostClassifier

    boosted = CatBoostClassifier(300, random_seed=0, verbose=0, thread_count=1)
    PEERS["CatBoost"] = prepared(boosted)
SELF_TRAINING = prepared(SelfTrainingClassifier(LogisticRegression(max_iter=1000)))

Cell = tuple[str, int, int, str, bool]
"""A set, labels a class, a draw, the name of a model, and whether it sees rows without a label."""


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    if name == "breast_cancer":
        data = load_breast_cancer(as_frame=True)
        return data.data, data.target.to_numpy()
    data = load_dataset(name)
    X = data.X if isinstance(data.X, pd.DataFrame) else pd.DataFrame(data.X).add_prefix("x")
    _, codes = np.unique(np.asarray(data.y).astype(str), return_inverse=True)
    return X, codes


def split(y: np.ndarray, n_labels: int, draw: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labelled rows, rows without a label, and test rows, which are the same in all draws."""
    order = np.random.default_rng(1).permutation(len(y))
    test, rest = np.split(order, [min(len(y) // 3, MOST_TEST)])
    rest = np.random.default_rng(100 + draw).permutation(rest)
    labelled = np.concatenate([rest[y[rest] == label][:n_labels] for label in np.unique(y)])
    others = rest[~np.isin(rest, labelled)][:MOST_UNLABELLED]
    return labelled, others, test


def what(name: str, n_labels: int, draw: int) -> str:
    return f"{name}, {n_labels} labels, draw {draw}"


def figure(name: str, *, everything: bool) -> str:
    return f"{name}, {'all' if everything else 'labelled'}"


def measure(run: Run, cell: Cell) -> None:
    name, n_labels, draw, model_name, everything = cell
    X, y = load(name)
    labelled, others, test = split(y, n_labels, draw)
    rows, labels = X.iloc[labelled], y[labelled]
    if everything:
        rows = X.iloc[np.concatenate([labelled, others])]
        labels = np.concatenate([labels, np.full(len(others), -1)])
    if model_name in FAMILIES:
        model = clone(FAMILIES[model_name]).set_params(calibrate="auto")
        labels = np.where(labels < 0, np.nan, labels.astype(float))
    else:
        model = clone(SELF_TRAINING if everything else PEERS[model_name])
    began = time.process_time()
    model.fit(rows, labels)
    seconds = time.process_time() - began
    loss = log_loss(y[test], model.predict_proba(X.iloc[test]), labels=np.unique(y))
    run.add(
        what(name, n_labels, draw),
        figure(model_name, everything=everything),
        f"{loss:.4f}",
        seconds=seconds,
        clock="CPU",
    )


def cells_to_measure(options: object) -> list[Cell]:
    sets = options.sets.split(",") if options.sets else [*CHOSEN_ON, *CHECKED_ON]
    labels = [int(n) for n in options.labels.split(",")] if options.labels else list(LABELS)
    draws = options.draws
    wanted = options.only.split(";") if options.only else [*FAMILIES, *PEERS, "SelfTraining"]
    if not options.full:
        sets, labels, draws, wanted = ["wine", "vote"], [15], 1, ["NaiveBayes", "SelfTraining"]
    path = Run(__file__, keep=options.full).path
    done = set()
    if options.full and path.exists():
        done = {(r.what, r.figure) for r in read_records(path) if r.date >= options.since}
    out = []
    for name in sets:
        several = np.sum(load(name)[0].dtypes.map(pd.api.types.is_numeric_dtype)) > 1
        for n_labels in labels:
            for draw in range(draws):
                for model in wanted:
                    sees = {True} if model == "SelfTraining" else {False}
                    if model in FAMILIES:
                        sees = {False, True}
                        if model in NUMBERS_ONLY and not several:
                            continue
                    for everything in sorted(sees):
                        key = what(name, n_labels, draw), figure(model, everything=everything)
                        if key not in done:
                            out.append((name, n_labels, draw, model, everything))
    return out


def main() -> None:
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    parser = make_parser(__doc__)
    parser.add_argument("--only", default="", help="names of models, separated by ';'")
    parser.add_argument("--sets", default="", help="names of data sets, separated by ','")
    parser.add_argument("--labels", default="", help="labels a class, separated by ','")
    parser.add_argument("--draws", type=int, default=N_DRAWS, help="draws of labelled rows")
    parser.add_argument("--since", default=today, help="day whose records are not measured again")
    options = parser.parse_args()
    cells = cells_to_measure(options)
    # what a run has measured is written at its end, so each cell has a run of its own
    groups = [[cell] for cell in cells] if options.full else [cells]
    for group in groups:
        with Run(__file__, keep=options.full) as run:
            for cell in group:
                measure(run, cell)


if __name__ == "__main__":
    main()
