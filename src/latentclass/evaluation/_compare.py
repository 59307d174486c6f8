"""Compare classifiers on the same folds. Each result is stored at once and never computed twice."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple, cast

import joblib
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from latentclass._validation import check_number, check_option
from latentclass._warn import warn_user
from latentclass.evaluation._comparison import Comparison
from latentclass.evaluation._folds import Fold, make_folds
from latentclass.evaluation._identity import identity
from latentclass.evaluation._metrics import SECONDS, read_scoring
from latentclass.evaluation._problem import Problem, discretise_globally, read_problems
from latentclass.evaluation._progress import Pair, Progress, TimeLeft
from latentclass.evaluation._run import Task, failed_task, find_fault, run_task
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
    only_stored: bool = False,
    random_state: int = 0,
    verbose: int = 0,
) -> Comparison:
    """Compare classifiers on data sets, all on the same folds.

    Each classifier, preprocessing included, is fitted on the training rows of each fold and
    predicts the test rows. If a classifier fails on a fold, or its process dies there, the error
    is recorded and the comparison continues.

    Parameters
    ----------
    estimators : dict of name to classifier, or list of classifiers
        scikit-learn classifiers. They are cloned. In a list, the name of a classifier is that of
        its class. Wrap classifiers that need numbers without missing cells in `TableClassifier`.
    datasets : list of data sets, or one
        Names for `latentclass.datasets.load_dataset`, `Dataset` objects, or triples (name, X, y).
        None or NaN in y marks an unlabelled row. Unlabelled rows are always used for training and
        never for testing.
    cv : int, "split", splitter, list of (train, test), or dict, default=10
        Number of stratified folds, shuffled with `random_state`; "split" for the training and
        test rows that come with the data set; a scikit-learn splitter with a seed; row numbers; or
        a dict that maps each data set name to one of these.
    scoring : str, Metric or sequence of them, default=("accuracy", "log_loss", "brier", "ece", \
"fit_seconds", "predict_seconds")
        Scores to show. The first is the main one. This does not change what is computed or stored.
    n_jobs : int, default=None
        Number of fits to run at the same time with joblib. `joblib.parallel_config` can send them
        to a cluster. The results do not depend on it.
    store : path-like, default=None
        File that keeps the results. Each fold is looked up there first and appended as soon as it
        is finished, so a run that was killed continues where it stopped. See `Store`. None stores
        nothing.
    protocol : {"honest", "paper"}, default="honest"
        "paper" discretises the continuous columns once, on all rows with their classes, as the
        papers did (Fayyad and Irani). This leaks the test folds, and every output says so.
    retry_failed : bool, default=False
        Whether to try again the folds that are stored as failed.
    only_stored : bool, default=False
        Whether to compute nothing. A fold that is not in the store then counts as failed.
    random_state : int, default=0
        Seed of the folds. Where an estimator's own `random_state` is None, it gets a seed that
        depends on this number, the data and the fold.
    verbose : int, default=0
        1 prints the progress and the time left to standard error.

    Returns
    -------
    Comparison
        Scores, tests of significance, tables and plots.

    Notes
    -----
    The key of a stored result contains everything that determines it: checksums of the data and
    of the fold's rows, the estimator's class and parameters (except `n_jobs` and `verbose`), the
    protocol, the seed, and the versions of the libraries. Each record keeps the predicted labels
    and the probabilities (as 32-bit floats) of the test rows, so a new score needs no new fit. All
    scores are computed from these records, so a resumed run and an uninterrupted one agree
    exactly. Linear algebra uses one thread in each fit. This makes results reproducible and
    times comparable.

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
    check_option("only_stored", only_stored, (True, False))
    check_number("random_state", random_state, low=0, high=2**32 - 1, whole=True)
    check_number("verbose", verbose, low=0, whole=True)
    classifiers = read_estimators(estimators)
    metrics = read_scoring(scoring)
    problems = read_problems(datasets)
    if protocol == "paper":
        problems = [discretise_globally(problem) for problem in problems]
    folds = {problem.name: make_folds(problem, cv, random_state) for problem in problems}
    plan = _plan_tasks(classifiers, problems, folds, int(random_state), protocol)
    known = Store(store, plan.find_fault)
    tasks = {
        key: task
        for key, task in plan.tasks.items()
        if key not in known.records or (retry_failed and known.records[key]["error"] is not None)
    }
    done = [
        ((dataset, classifier), _seconds(known.records[key]))
        for (dataset, classifier, _), key in plan.keys.items()
        if key not in tasks
    ]
    if only_stored:
        missing = LookupError("This fold is not in the store.")
        known.records |= {key: failed_task(task, missing) for key, task in tasks.items()}
        tasks = {}
    if tasks:
        known.check_writable()
    _run_all(tasks, done, known, n_jobs, verbose)
    # a record may come from a run with other names: show ours
    records = {
        place: known.records[key] | {"dataset": place[0], "classifier": place[1], "fold": place[2]}
        for place, key in plan.keys.items()
    }
    comparison = Comparison(records, folds, list(classifiers), metrics, protocol, len(tasks))
    if not only_stored:
        _warn_of_failures(comparison, len(records))
    return comparison


class Plan(NamedTuple):
    """All fits of a comparison.

    Attributes
    ----------
    keys : dict of (data set, classifier, fold number) to str
        Key of each fit. Two classifiers that are equal share one.
    tasks : dict of str to Task
        What to compute for each key.
    """

    keys: dict[tuple[str, str, int], str]
    tasks: dict[str, Task]

    def find_fault(self, record: Record) -> str | None:
        """Say what is wrong with a stored record, if it is one of this comparison."""
        task = self.tasks.get(record["key"])
        return None if task is None else find_fault(record, task)


def _plan_tasks(
    classifiers: Mapping[str, Any],
    problems: Sequence[Problem],
    folds: Mapping[str, list[Fold]],
    seed: int,
    protocol: str,
) -> Plan:
    """List every classifier on every fold.

    Folds are outermost. So each pair of data set and classifier soon has run once, and the time
    left is known.
    """
    plan = Plan({}, {})
    by_fold = itertools.zip_longest(
        *([(problem, fold) for fold in folds[problem.name]] for problem in problems)
    )
    for problem, fold in filter(None, itertools.chain.from_iterable(by_fold)):
        for name, estimator in classifiers.items():
            key, content = identity(
                estimator, data=problem.checksum, fold=fold.checksum, seed=seed, protocol=protocol
            )
            plan.keys[problem.name, name, fold.number] = key
            plan.tasks.setdefault(key, Task(key, content, problem, name, estimator, fold, seed))
    return plan


def _warn_of_failures(comparison: Comparison, n_fits: int) -> None:
    if comparison.failures:
        first = comparison.failures[0]
        warn_user(
            f"{len(comparison.failures)} of {n_fits} fits failed; the first is "
            f"{first['classifier']} on {first['dataset']}, fold {first['fold']}: {first['error']}. "
            "See Comparison.failures, and use retry_failed=True to try them again."
        )


def _run_all(
    tasks: Mapping[str, Task],
    done: list[tuple[Pair, float]],
    store: Store,
    n_jobs: int | None,
    verbose: int,
) -> None:
    """Run the tasks, on several workers if asked, and store each result as soon as it arrives."""
    waiting = dict(tasks)
    left = TimeLeft([(task.problem.name, task.classifier) for task in tasks.values()], done)

    def keep(record: Record) -> None:
        store.add(record)
        task = waiting.pop(record["key"])
        pair = (task.problem.name, task.classifier)
        progress.advance(pair, _seconds(record), record["error"])

    # The limit is set here too, because tasks in threads of this process would otherwise lift
    # each other's limit.
    with Progress(len(tasks), left, verbose=verbose) as progress, threadpool_limits(1):
        while waiting:
            try:
                # one task at a time: a result is stored at once, and few are lost with a worker
                parallel = joblib.Parallel(n_jobs, return_as="generator_unordered", batch_size=1)
                for record in parallel(map(joblib.delayed(run_task), list(waiting.values()))):
                    keep(record)
            except BrokenProcessPool:
                # A worker died, and took the others with it. It had one of the oldest tasks.
                suspects = itertools.islice(waiting.values(), joblib.effective_n_jobs(n_jobs))
                for task in list(suspects):
                    keep(_run_alone(task))


def _run_alone(task: Task) -> Record:
    """Run a task in a process of its own; if the process dies, the task has failed."""
    try:
        (record,) = joblib.Parallel(n_jobs=2)([joblib.delayed(run_task)(task)])
    except BrokenProcessPool as error:
        return failed_task(task, error)
    return cast(Record, record)


def _seconds(record: Record) -> float:
    """Time of a fit and its predictions; that of a failure is not known."""
    return 0.0 if record["error"] is not None else float(sum(record[name] for name in SECONDS))


def read_estimators(estimators: Any) -> dict[str, Any]:
    """Return a dict of classifiers by name, from a dict, a list, or a single classifier."""
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
            f"estimators must be classifiers with different names, found {found}. Pass a dict of "
            "name to classifier."
        )
    for name, estimator in named:
        lacking = [
            verb for verb in ("fit", "predict", "get_params") if not hasattr(estimator, verb)
        ]
        if not isinstance(name, str) or isinstance(estimator, type) or lacking:
            what = f"the class {estimator.__name__}" if isinstance(estimator, type) else "an object"
            raise TypeError(
                f"estimators[{name!r}] must be a scikit-learn classifier under a name of type "
                f"str, found {what} of type {type(estimator).__name__}. Pass an instance, for "
                "example NaiveBayes()."
            )
    return dict(named)


def estimator_name(estimator: Any) -> str:
    """Return the class name of a classifier, or of the one in a pipeline or `TableClassifier`."""
    if isinstance(estimator, Pipeline):
        return estimator_name(estimator.steps[-1][1])
    if isinstance(estimator, TableClassifier):
        return estimator_name(estimator.estimator)
    return type(estimator).__name__
