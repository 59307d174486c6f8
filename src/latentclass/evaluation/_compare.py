"""The comparison: same folds for all, every result stored at once, nothing computed twice."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import joblib
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from latentclass._validation import check_number, check_option
from latentclass._warn import warn_user
from latentclass.evaluation._comparison import Comparison
from latentclass.evaluation._folds import make_folds
from latentclass.evaluation._identity import identity
from latentclass.evaluation._metrics import read_scoring
from latentclass.evaluation._problem import discretise_globally, read_problems
from latentclass.evaluation._progress import Progress, TimeLeft
from latentclass.evaluation._run import Task, run_task
from latentclass.evaluation._store import Record, Store
from latentclass.evaluation._table_classifier import TableClassifier

DEFAULT_SCORING = ("accuracy", "log_loss", "brier", "ece", "fit_seconds", "predict_seconds")


def compare(
    estimators: Any,
    datasets: Any,
    *,
    cv: Any = 10,
    scoring: Any = DEFAULT_SCORING,
    n_jobs: int | None = None,
    store: str | os.PathLike[str] | None = None,
    protocol: str = "honest",
    retry_failed: bool = False,
    random_state: int = 0,
    verbose: int = 0,
) -> Comparison:
    """Compare classifiers on data sets, all on the same folds.

    Every classifier is fitted anew, preprocessing included, on the training part of each fold
    and predicts its test part. A classifier that fails on a fold is recorded with its error, and
    the rest goes on.

    Parameters
    ----------
    estimators : dict of name to classifier, or list of classifiers
        scikit-learn classifiers; they are cloned. A list takes the names of their classes.
        Classifiers that need numbers without holes: see `TableClassifier`.
    datasets : list of data sets, or one
        Names for `latentclass.datasets.load_dataset`, `Dataset` objects, or triples (name, X, y).
        None or NaN in y marks a row without label: it is in every training part and in no test
        part.
    cv : int, "split", splitter, list of (train, test), or dict, default=10
        Number of stratified folds, shuffled by `random_state`; "split" for the data set's own
        training and test rows; a scikit-learn splitter with a seed (repeated, say); row numbers;
        or a dict of data set name to one of these.
    scoring : str, Metric or sequence of them, default=("accuracy", "log_loss", "brier", "ece", \
"fit_seconds", "predict_seconds")
        Scores to show; the first is the main one. It does not change what is computed or stored.
    n_jobs : int, default=None
        Fits at the same time, through joblib: `joblib.parallel_config` may put them on a cluster.
        The results are the same.
    store : path-like, default=None
        File to which each finished fold is appended at once and in which it is looked up first;
        a run that was killed goes on where it stopped. See `Store`. None stores nothing.
    protocol : {"honest", "paper"}, default="honest"
        "paper" discretises the continuous columns once by class on all rows, as the papers did
        (Fayyad and Irani). That leaks the test folds, and every output says so.
    retry_failed : bool, default=False
        Try folds again that are stored as failed.
    random_state : int, default=0
        Seed of the folds, and of every `random_state` of an estimator that is None: such an
        estimator gets a seed that depends on this, the data and the fold.
    verbose : int, default=0
        1 shows progress and the time left on the standard error stream.

    Returns
    -------
    Comparison
        Scores, tests of significance, tables and plots.

    Notes
    -----
    A stored result is found again by all that determines it: checksums of the data and of the
    fold's rows, the estimator's class and parameters (but `n_jobs` and `verbose`), protocol,
    seed, and the versions of the libraries that compute. Each record keeps the labels and
    probabilities (as 32-bit floats) of the test rows, so that a score thought of later needs no
    new fit; all scores are computed from these records, so a resumed run and an unbroken one
    agree to the last bit. Linear algebra runs on one thread in each fit: for equal results
    everywhere, and for seconds that can be compared.

    Examples
    --------
    >>> from latentclass.baselines import NaiveBayes
    >>> from latentclass.evaluation import TableClassifier, compare
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> models = {"NB": NaiveBayes(), "tree": TableClassifier(DecisionTreeClassifier())}
    >>> result = compare(models, ["iris", "wine"], cv=5)
    >>> result.scores("accuracy").shape
    (2, 2)
    >>> result.wins_ties_losses("NB", "tree", test=None)
    (2, 0, 0)
    """
    check_option("protocol", protocol, ("honest", "paper"))
    check_option("retry_failed", retry_failed, (True, False))
    check_number("random_state", random_state, low=0, whole=True)
    check_number("verbose", verbose, low=0, whole=True)
    classifiers = read_estimators(estimators)
    metrics = read_scoring(scoring)
    problems = read_problems(datasets)
    if protocol == "paper":
        problems = [discretise_globally(problem) for problem in problems]
    folds = {problem.name: make_folds(problem, cv, random_state) for problem in problems}
    known = Store(store)
    tasks: dict[str, Task] = {}
    keys: dict[tuple[str, str, int], str] = {}
    # folds outermost: soon every pair has been seen once, and the time left is known
    for number in range(max(map(len, folds.values()))):
        for problem in problems:
            for fold in folds[problem.name][number : number + 1]:
                for name, estimator in classifiers.items():
                    key, content = identity(
                        estimator,
                        data=problem.checksum,
                        fold=fold.checksum,
                        seed=int(random_state),
                        protocol=protocol,
                    )
                    keys[problem.name, name, number] = key
                    old = known.records.get(key)
                    if old is None or (retry_failed and old["error"] is not None):
                        tasks.setdefault(
                            key, Task(key, content, problem, name, estimator, fold, random_state)
                        )
    done = [known.records[key] for key in keys.values() if key not in tasks]
    _run_all(list(tasks.values()), done, known, n_jobs, verbose)
    # a record may come from a run that used other names: ours are shown
    records = {
        place: known.records[key] | {"dataset": place[0], "classifier": place[1], "fold": place[2]}
        for place, key in keys.items()
    }
    comparison = Comparison(records, folds, list(classifiers), metrics, protocol, len(tasks))
    if comparison.failures:
        first = comparison.failures[0]
        warn_user(
            f"{len(comparison.failures)} of {len(records)} fits failed; first {first['classifier']}"
            f" on {first['dataset']}, fold {first['fold']}: {first['error']}. See "
            "Comparison.failures; retry_failed=True tries them again."
        )
    return comparison


def _run_all(
    tasks: list[Task], done: list[Record], store: Store, n_jobs: int | None, verbose: int
) -> None:
    """Run the tasks, on several workers if wanted, and store each result when it comes."""
    left = TimeLeft(
        [(task.problem.name, task.classifier) for task in tasks],
        [((record["dataset"], record["classifier"]), _seconds(record)) for record in done],
    )
    names = {task.key: (task.problem.name, task.classifier) for task in tasks}
    # limited here too: tasks in threads of this process must not undo each other's limit
    with Progress(len(tasks), left, verbose=verbose) as progress, threadpool_limits(1):
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        results: Iterable[Record] = parallel(joblib.delayed(run_task)(task) for task in tasks)
        for record in results:
            store.add(record)
            progress.advance(names[record["key"]], _seconds(record), record["error"])


def _seconds(record: Record) -> float:
    return float(record.get("fit_seconds", 0.0) + record.get("predict_seconds", 0.0))


def read_estimators(estimators: Any) -> dict[str, Any]:
    """Classifiers by name, from a dict, a list, or one."""
    if isinstance(estimators, Mapping):
        named = list(estimators.items())
    else:
        listed = [estimators] if hasattr(estimators, "fit") else list(estimators)
        named = [(estimator_name(estimator), estimator) for estimator in listed]
    names = [name for name, _ in named]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not named or twice:
        found = f"{twice} more than once" if twice else "none"
        raise ValueError(
            f"estimators must hold classifiers of different names, found {found}. Give a dict of "
            "name to classifier."
        )
    for name, estimator in named:
        lacking = [
            verb for verb in ("fit", "predict", "get_params") if not hasattr(estimator, verb)
        ]
        if not isinstance(name, str) or isinstance(estimator, type) or lacking:
            what = f"the class {estimator.__name__}" if isinstance(estimator, type) else "something"
            raise TypeError(
                f"estimators[{name!r}] must be a scikit-learn classifier under a name of type "
                f"str, found {what} of type {type(estimator).__name__}. Pass an object, for "
                "example NaiveBayes()."
            )
    return dict(named)


def estimator_name(estimator: Any) -> str:
    """Class name of a classifier; of what is inside a pipeline or a `TableClassifier`."""
    if isinstance(estimator, Pipeline):
        return estimator_name(estimator.steps[-1][1])
    if isinstance(estimator, TableClassifier):
        return estimator_name(estimator.estimator)
    return type(estimator).__name__
