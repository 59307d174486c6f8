"""Ctrl-C in the middle of a fit: how it ends, how soon, and what is left running.

A process of its own fits an estimator again and again, so that compilation is paid once. This
process sends it a real SIGINT at a random moment of each fit. A fit may end with the best model so
far or with a KeyboardInterrupt that leaves the estimator as it was; anything else, and a thread
that is left running, is an error. The seconds from the signal to the end are the smaller of wall
time and the fit's CPU time, because a busy machine lengthens the former and a second thread the
latter. A fit that is left alone shows how long Python cannot act on a signal at all, because a
compiled call is under way: its deaf time.

Limits: no error, one second.

Short form: three signals to three estimators. `--full`: 30 to each. Names select estimators.
Needs Linux, where a process can read the CPU time of another.
"""

import _thread
import multiprocessing
import os
import random
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from _record import Run, make_parser
from latentclass import (
    BinaryLCMClassifier,
    BinaryLCMClassifierCV,
    HNBClassifier,
    HybridLCMClassifier,
    LatentMixture,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifier,
    LCMClassifierCV,
    MDLDiscretizer,
)
from latentclass.baselines import (
    AODE,
    BAN,
    K2,
    TAN,
    BackpropagationNetwork,
    FiniteMixtureNaiveBayes,
    HiddenNaiveBayes,
    LeaveOneOutKNN,
    MixtureNaiveBayes,
    NaiveBayes,
    ProjectedNaiveBayes,
)

Table = tuple[Any, Any]


def numbers(n_rows: int, n_columns: int, unlabelled: float = 0.0) -> Table:
    """Gaussian columns of three classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, n_columns)) + rng.normal(size=(3, n_columns))[y]
    y[: round(unlabelled * n_rows)] = -1
    return X, y


def flags(n_rows: int, n_columns: int, unlabelled: float = 0.0) -> Table:
    """Yes/no columns that depend on two hidden groups, the first of which is the class."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, (n_rows, 2))
    X = rng.random((n_rows, n_columns)) < 0.15 + 0.3 * group[:, np.arange(n_columns) % 2]
    y = group[:, 0]
    y[: round(unlabelled * n_rows)] = -1
    return X, y


def mixed(n_rows: int, n_columns: int) -> Table:
    X, y = flags(n_rows, n_columns)
    wide, _ = numbers(n_rows, n_columns)
    return pd.concat([pd.DataFrame(X), pd.DataFrame(wide)], axis=1, ignore_index=True), y


Case = tuple[Callable[[], BaseEstimator], Callable[[Callable[[int], int]], Table]]
SEED = {"random_state": 0}
CASES: dict[str, Case] = {
    "LCMClassifier": (
        lambda: LCMClassifier(5, 3, tol=1e-9, max_iter=300, **SEED),
        lambda n: numbers(n(500), 20),
    ),
    "LCMClassifier, n_jobs=2": (
        lambda: LCMClassifier(5, 3, tol=1e-9, n_jobs=2, **SEED),
        lambda n: numbers(n(1500), 20),
    ),
    "LCMClassifierCV": (
        lambda: LCMClassifierCV([1, 2, 3], [1, 2], **SEED),
        lambda n: numbers(n(800), 8),
    ),
    "LCMClassifierCV, n_jobs=2": (
        lambda: LCMClassifierCV([1, 2, 3], [1, 2], n_jobs=2, **SEED),
        lambda n: numbers(n(800), 8),
    ),
    "BinaryLCMClassifier": (lambda: BinaryLCMClassifier(10, **SEED), lambda n: flags(n(4000), 60)),
    "BinaryLCMClassifier, n_jobs=2": (
        lambda: BinaryLCMClassifier(10, n_jobs=2, **SEED),
        lambda n: flags(n(4000), 60),
    ),
    "BinaryLCMClassifierCV": (
        lambda: BinaryLCMClassifierCV([2, 4], [1, 2], **SEED),
        lambda n: flags(n(500), 20),
    ),
    "BinaryLCMClassifierCV, n_jobs=2": (
        lambda: BinaryLCMClassifierCV([2, 4], [1, 2], n_jobs=2, **SEED),
        lambda n: flags(n(500), 20),
    ),
    "HybridLCMClassifier": (lambda: HybridLCMClassifier(5, 1, **SEED), lambda n: mixed(n(250), 12)),
    "HybridLCMClassifier, n_jobs=2": (
        lambda: HybridLCMClassifier(5, 1, n_jobs=2, **SEED),
        lambda n: mixed(n(1000), 12),
    ),
    "HNBClassifier": (lambda: HNBClassifier(**SEED), lambda n: flags(n(3000), 300)),
    "LatentTreeClassifier": (lambda: LatentTreeClassifier(**SEED), lambda n: mixed(n(600), 8)),
    "LatentTreeClassifier, n_jobs=2": (
        lambda: LatentTreeClassifier(n_jobs=2, **SEED),
        lambda n: flags(n(600), 16),
    ),
    "LatentTreeClassifier, fast": (
        lambda: LatentTreeClassifier(search="fast", **SEED),
        lambda n: flags(n(1200), 40),
    ),
    **{
        f"LatentMixture, {search}": (
            lambda search=search, n_iter=n_iter: LatentMixture(
                8, search, tol=0.0, max_iter=n_iter, **SEED
            ),
            lambda n, most=most: numbers(n(most), 10),
        )
        for search, n_iter, most in (
            ("em", 400, 4000), ("kmeans", 400, 50_000), ("era", 600, 4000), ("anneal", 600, 4000)
        )
    },
    "LatentMixture, flags": (
        lambda: LatentMixture(8, tol=0.0, max_iter=400, **SEED),
        lambda n: flags(n(6000), 12),
    ),
    "LatentMixture, n_jobs=2": (
        lambda: LatentMixture(8, tol=0.0, max_iter=100, n_jobs=2, **SEED),
        lambda n: numbers(n(40_000), 10),
    ),
    "LatentMixture, cv": (
        lambda: LatentMixture([1, 2, 3, 4, 5], criterion="cv", tol=1e-9, **SEED),
        lambda n: numbers(n(2000), 10),
    ),
    "LatentVariableClassifier": (
        lambda: LatentVariableClassifier(None, 4, **SEED),
        lambda n: numbers(n(1000), 10),
    ),
    "LatentVariableClassifier, auto": (
        lambda: LatentVariableClassifier(None, "auto", search="em", **SEED),
        lambda n: numbers(n(1000), 10),
    ),
    "NaiveBayes": (lambda: NaiveBayes(tol=0.0, **SEED), lambda n: numbers(n(300_000), 20, 0.8)),
    "NaiveBayes, n_jobs=2": (
        lambda: NaiveBayes(tol=0.0, n_jobs=2, **SEED),
        lambda n: numbers(n(300_000), 20, 0.8),
    ),
    "MixtureNaiveBayes": (lambda: MixtureNaiveBayes(**SEED), lambda n: numbers(n(7000), 20)),
    "FiniteMixtureNaiveBayes": (
        lambda: FiniteMixtureNaiveBayes(**SEED),
        lambda n: numbers(n(20_000), 20),
    ),
    "ProjectedNaiveBayes": (
        lambda: ProjectedNaiveBayes(tol=1e-9, **SEED),
        lambda n: numbers(n(200_000), 20, 0.5),
    ),
    "AODE": (lambda: AODE(calibrate=True, **SEED), lambda n: flags(n(10_000), 100)),
    "HiddenNaiveBayes": (
        lambda: HiddenNaiveBayes(calibrate=True, **SEED),
        lambda n: flags(n(10_000), 100),
    ),
    "TAN": (lambda: TAN(tol=0.0, **SEED), lambda n: flags(n(20_000), 60, 0.75)),
    "BAN": (lambda: BAN(**SEED), lambda n: flags(n(5000), 30)),
    "K2": (lambda: K2(**SEED), lambda n: flags(n(20_000), 40)),
    "MDLDiscretizer": (lambda: MDLDiscretizer(), lambda n: numbers(n(200_000), 40)),
    "LeaveOneOutKNN": (lambda: LeaveOneOutKNN(), lambda n: numbers(n(10_000), 20)),
    "BackpropagationNetwork": (
        lambda: BackpropagationNetwork(n_epochs=100, **SEED),
        lambda n: numbers(n(2000), 10),
    ),
}  # fmt: skip
FORK = multiprocessing.get_context("fork")
SHORT = ("LCMClassifier", "LatentMixture, em", "MixtureNaiveBayes")


def fit_again_and_again(pipe: Connection, name: str, share: float) -> None:
    """Fit an estimator once for each message, and report how the fit ended."""
    fitting = False

    def interrupt(number: int, frame: Any) -> None:
        if fitting:  # a signal that comes too late is not about the fit
            signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    warnings.simplefilter("ignore")
    make_model, make_table = CASES[name]
    model, (X, y) = make_model(), make_table(lambda n_rows: round(share * n_rows))
    model.fit(X, y)
    pipe.send(time_fit(lambda: model.fit(X, y)))
    n_threads = _thread._count()  # also those that the module threading does not know
    while pipe.recv():
        before = vars(model)
        pipe.send("begin")
        try:
            fitting = True
            model.fit(X, y)
            end = "fitted"
        except KeyboardInterrupt:
            end = "interrupted" if vars(model) is before else "changed by an interrupt"
        except BaseException as error:
            end = f"{type(error).__name__}: {error}"
        finally:
            fitting = False
        ended = time.monotonic(), time.process_time()
        while _thread._count() > n_threads and time.monotonic() < ended[0] + 1.0:
            time.sleep(0.01)
        if _thread._count() > n_threads:
            end = f"{_thread._count() - n_threads} threads left: {threading.enumerate()}"
        if hasattr(model, "predict"):
            model.predict(X[:2])
        pipe.send((end, *ended))


def time_fit(fit: Callable[[], object]) -> tuple[float, float, float]:
    """Wall and CPU seconds of a fit, and the longest CPU seconds without a look at signals."""
    longest = 0.0
    last = began = time.process_time()

    def look(*_: Any) -> None:
        nonlocal longest, last
        now = time.process_time()
        longest, last = max(longest, now - last), now

    signal.signal(signal.SIGALRM, look)
    start = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    fit()
    signal.setitimer(signal.ITIMER_REAL, 0)
    return time.monotonic() - start, time.process_time() - began, longest


class Outcome(NamedTuple):
    """How interrupted fits of an estimator ended.

    Attributes
    ----------
    whole, deaf : float
        CPU seconds of a fit that is left alone, and the longest of them without a look at signals.
    ends : list of str
        "fitted", "interrupted", or an error.
    seconds : list of float
        From the signal to the end of the fit.
    """

    whole: float
    deaf: float
    ends: list[str]
    seconds: list[float]


def interrupt_fits(name: str, n_signals: int, share: float) -> Outcome:
    """Send signals to fits of an estimator."""
    rng = random.Random(0)
    ends, seconds = [], []
    here, there = FORK.Pipe()
    child = FORK.Process(target=fit_again_and_again, args=(there, name, share))
    child.start()
    there.close()  # the child has it now, so that its death is seen here
    try:
        wall, whole, deaf = here.recv()
        while len(ends) < n_signals:
            here.send(True)
            here.recv()  # it begins
            time.sleep(rng.uniform(0, wall))
            # the second number is that of Linux's clock of another process's CPU time
            sent = time.monotonic(), time.clock_gettime((~child.pid << 3) | 2)
            os.kill(child.pid, signal.SIGINT)
            end, *ended = here.recv()
            if ended[0] < sent[0]:
                wall *= 0.9  # the fit was quicker than the first
                continue
            ends.append(end)
            seconds.append(min(ended[0] - sent[0], ended[1] - sent[1]))
        here.send(False)
        child.join()
    finally:
        child.kill()
    return Outcome(whole, deaf, ends, seconds)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--signals", type=int, help="number of signals to each estimator")
    parser.add_argument("--rows", type=float, default=1.0, help="share of the rows, 1 by default")
    parser.add_argument("names", nargs="*", help="estimators, all of them by default")
    options = parser.parse_args()
    n_signals = options.signals or (30 if options.full else 3)
    with Run(__file__, keep=options.full) as run:
        for name in options.names or (CASES if options.full else SHORT):
            found = interrupt_fits(name, n_signals, options.rows)
            ends = Counter(found.ends)
            counts = f"{ends.pop('fitted', 0)} / {ends.pop('interrupted', 0)} / {ends.total()}"
            for error, n_times in ends.most_common():
                print(f"{name}: {n_times} times {error}")
            run.add(name, "fitted, interrupted, errors", counts, runs=n_signals)
            run.add(
                name, "longest time to stop", max(found.seconds), unit="s", limit=1,
                seconds=found.whole, runs=n_signals, clock="CPU",
            )  # fmt: skip
            run.add(
                name, "longest deaf time", found.deaf, unit="s", limit=1, seconds=found.whole,
                clock="CPU",
            )  # fmt: skip


if __name__ == "__main__":
    main()
