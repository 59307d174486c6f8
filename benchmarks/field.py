"""Our classifiers and those of other libraries on the same folds: log-loss, accuracy, seconds.

28 tables: 14 of the papers', on which defaults were chosen, and 14 others, on which nothing was
chosen (`_field_tables.py`). Conditions: complete; 10, 30 and 50 % of the cells missing; 5, 15 and
50 labelled rows of each class, the other training rows unlabelled. Every classifier is as it comes.
The same two of five stratified folds are tested for all (`--folds`), and one draw of labels.
"average of peers" is a greedy average of logistic regression, random forest, SVC, gradient
boosting and CatBoost, its weights from inner folds.

Everything runs on one thread, and the budget of Auto is processor time. On a quiet machine these
are seconds; on a busy one Auto gets no less.

Results are kept in `build/field.jsonl`, fold by fold, and a run that was broken off goes on where
it stopped. A change of the library's source makes its own results old. A peer that has a record is
not measured again, unless `--again`.

Short form: three quick classifiers on three tables. `--full`: all; `--conditions`, `--sets` and
`--only` choose some, separated by ';'. Scores of what is finished go to the records.
"""

import datetime
import os
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

import _field_tables as tables
from _peers import peers, self_training
from _record import ROOT, SHORT_RUNS, Record, make_parser, read_records, write_records
from latentclass import (
    AutoLatentClassifier,
    HNBClassifier,
    HybridLCMClassifier,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifierCV,
)
from latentclass.baselines import AODE, TAN, NaiveBayes
from latentclass.evaluation import Comparison, compare

STORE = ROOT / "build" / "field.jsonl"
N_FOLDS = 5
N_TESTED = 2
N_DRAWS = 1
MISSING = {"10 % missing": 0.1, "30 % missing": 0.3, "50 % missing": 0.5}
LABELS = {"5 labels": 5, "15 labels": 15, "50 labels": 50}
CONDITIONS = ("complete", *MISSING, *LABELS)
SHORT_SETS = ("iris", "wine", "tae")
SHORT_MODELS = ("NaiveBayes", "TAN", "logistic regression")
SCORES = ("log_loss", "accuracy")

OURS: dict[str, BaseEstimator] = {
    "NaiveBayes": NaiveBayes(),
    "TAN": TAN(),
    "AODE": AODE(),
    "HNB": HNBClassifier(n_models=10),
    "LatentTree": LatentTreeClassifier(search="fast"),
    "LatentVariable": LatentVariableClassifier(),
    "Hybrid": HybridLCMClassifier(),
    "LCM CV": LCMClassifierCV(),
    "Auto, 20 s": AutoLatentClassifier(20),
    "Auto": AutoLatentClassifier(),
}


def classifiers_of(condition: str) -> dict[str, BaseEstimator]:
    found = {**OURS, **peers()}
    return {**found, "self-training": self_training()} if condition in LABELS else found


def compare_all(
    condition: str, sets: Iterable[str], models: dict[str, BaseEstimator], n_tested: int
) -> Comparison:
    """Compare on the tables of a condition; a draw of few labels counts as a table."""
    problems, folds = [], {}
    for name in sets:
        X, y = tables.load(name)
        if condition in LABELS:
            for draw in range(N_DRAWS):
                title = f"{name} #{draw}"
                X, labels, folds[title] = tables.with_few_labels(X, y, LABELS[condition], draw)
                problems.append((title, X, labels))
            continue
        if condition in MISSING:
            X = tables.without_cells(X, MISSING[condition])
        splits = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y)
        folds[name] = list(islice(splits, n_tested))
        problems.append((name, X, y))
    return compare(models, problems, cv=folds, store=STORE, verbose=1)


def to_records(condition: str, found: Comparison) -> list[Record]:
    """One record for each table, classifier and score. Draws of few labels are averaged."""
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    seconds = found.scores("fit_seconds")
    failed = {(one["dataset"], one["classifier"]) for one in found.failures}
    records = []
    for score in SCORES:
        values = found.scores(score)
        for column, classifier in enumerate(found.classifiers):
            groups: dict[str, list[int]] = {}
            for row, name in enumerate(found.datasets):
                if (name, classifier) not in failed:
                    groups.setdefault(name.partition(" #")[0], []).append(row)
            for name, rows in groups.items():
                records.append(
                    Record(
                        f"{condition}; {name}",
                        f"{classifier}; {score}",
                        f"{values[rows, column].mean():.4f}",
                        seconds=f"{seconds[rows, column].mean():.3g}",
                        runs=str(len(rows) * len(found.folds[found.datasets[rows[0]]])),
                        load=f"{os.getloadavg()[0]:.1f}",
                        date=day,
                    )
                )
    return records


def keep(path: Path, new: list[Record]) -> None:
    """Write the records; a new one takes the place of the old one of its kind."""
    old = read_records(path) if path.exists() else []
    merged = {(record.what, record.figure): record for record in [*old, *new]}
    write_records(path, merged.values())


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--conditions", default="", help=f"some of {CONDITIONS}, with ';' between")
    parser.add_argument("--sets", default="", help="names of tables, with ';' between")
    parser.add_argument("--only", default="", help="names of classifiers, with ';' between")
    parser.add_argument("--folds", type=int, default=N_TESTED, help=f"how many of {N_FOLDS}")
    parser.add_argument("--again", action="store_true", help="measure peers with records too")
    options = parser.parse_args()
    wanted = options.conditions.split(";") if options.conditions else list(CONDITIONS)
    sets = options.sets.split(";") if options.sets else tables.names()
    only = options.only.split(";") if options.only else None
    if not options.full:
        wanted, sets, only = ["complete"], list(SHORT_SETS), list(SHORT_MODELS)
    STORE.parent.mkdir(exist_ok=True)
    threadpool_limits(1)
    time.monotonic = time.process_time  # the clock that Auto looks at
    folder = ROOT / "benchmarks" / "records" if options.full else SHORT_RUNS
    path = folder / "field.csv"
    old = read_records(path) if path.exists() and not options.again else []
    done = {(record.what, record.figure.partition("; ")[0]) for record in old}
    for condition in wanted:
        known = classifiers_of(condition)
        for name in sets:  # one table at a time: what is finished is in the records
            models = {
                title: known[title]
                for title in only or known
                if title in known and (title in OURS or (f"{condition}; {name}", title) not in done)
            }
            if models:
                found = compare_all(condition, [name], models, options.folds)
                keep(path, to_records(condition, found))


if __name__ == "__main__":
    main()
