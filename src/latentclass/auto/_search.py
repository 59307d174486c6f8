"""Cross-validation of candidates within a time budget, and the average that follows from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol
from warnings import WarningMessage

import numpy as np

from latentclass._types import FloatArray
from latentclass._warn import recorded_warnings
from latentclass.auto._leaderboard import name_in_words
from latentclass.auto._weights import Accuracy, LogLoss, Metric
from latentclass.engine._parallel import TimeUpError, time_limit
from latentclass.estimator._calibration import learn_temperature
from latentclass.estimator._fitted import Learned, to_log_posterior
from latentclass.estimator._inner_folds import InnerFolds
from latentclass.estimator._reading import Training

WARM: set[str] = set()
"""Names of candidates that this process has fitted: their kernels are there."""

FEW_ROWS = 2000
"""With more rows than this, the cost of a candidate is estimated on some of them first."""

PROBE_ROWS = 100
"""The first of these samples has so many rows. A fit to as many goes before it where kernels may
have to be compiled."""

PROBE_GROWTH = 4
"""Each sample is so many times as large as the one before."""

PROBE_SHARE = 0.1
"""A third sample or a later one may take such a share of the time that is left."""

PATIENCE = 1.2
"""Shares of the time that is left, dealt evenly, that one fold may take."""

BRIEF = 0.1
"""What takes no more seconds is timed twice: the machine may have been busy for a moment."""

FIRST_SHARE = 0.6
"""Share of the time left that a fit to all rows may take if the folds keep what it chose.

On tables of the papers each of them took about a tenth of its time.
"""

NO_TIME = "no time was left"
"""Why a candidate was not started, if it was for lack of time."""


Watcher = Callable[["Search", "Trial"], None]

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Let `watcher(search, trial)` see every candidate of a search, before and after its folds.

    A display needs this while `fit` runs. It is no parameter of the estimator, since a model file
    could not hold it.
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


class Candidate(Protocol):
    """An unfitted classifier with a name."""

    @property
    def name(self) -> str:
        """Its name in the leaderboard."""

    @property
    def head_start(self) -> float:
        """Rows that count for it before any row was seen, when the average is weighted."""

    @property
    def cheaper(self) -> str | None:
        """Name of a candidate with the same kernels that takes no longer."""

    @property
    def least_seconds(self) -> float:
        """What a fit takes at least, if it cannot be stopped; 0 for all that look at the clock."""

    def learn(self, training: Training) -> Learned:
        """Fit it to rows."""

    def chooses_once(self, training: Training) -> bool:
        """Whether the folds keep what a fit to all these rows chose, such as its size."""

    def learn_again(self, learned: Learned, part: Training) -> Learned:
        """Fit it to some of the rows with what that fit chose."""


@dataclass(eq=False)
class Trial:
    """What became of a candidate.

    Attributes
    ----------
    candidate : Candidate
    status : {"done", "not started", "too slow", "failed", "interrupted"}
        Only one that is "done", with all its folds, can get weight.
    reason : str
        Why it is not done.
    learned : list of Learned
        One for each fold.
    whole : Learned or None
        A fit to all rows, where the folds keep what it chose.
    warnings : list of warnings
        Those of that fit, which the user gets if the candidate has weight.
    probabilities : array of shape (n_tests, n_classes)
        Held-out class probabilities.
    class_prior : array of shape (n_classes,)
        Class shares, in the mean of the folds.
    temperature : float
    losses : array of shape (n_folds,)
        Log-loss of each fold.
    hits : array of shape (n_folds,)
        Accuracy of each fold.
    fit_seconds, predict_seconds : float
        For one fold, in the mean; a fit to all rows, where there is one.
    seconds : float
        Of everything, with a fit to all rows.
    """

    candidate: Candidate
    status: str = "not started"
    reason: str = ""
    learned: list[Learned] = field(default_factory=list)
    whole: Learned | None = None
    warnings: list[WarningMessage] = field(default_factory=list)
    probabilities: FloatArray | None = None
    class_prior: FloatArray = field(default_factory=lambda: np.empty(0))
    temperature: float = 1.0
    losses: FloatArray = field(default_factory=lambda: np.empty(0))
    hits: FloatArray = field(default_factory=lambda: np.empty(0))
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    seconds: float = 0.0


@dataclass(eq=False)
class Search:
    """Tries candidates one after the other on the same folds, while there is time.

    Attributes
    ----------
    training : Training
        Distinct rows.
    folds : InnerFolds
        Folds of these.
    metric : Metric
        What the weights maximise, on the tests of the folds.
    end : float or None
        When the search ends (`time.monotonic`); None for no limit.
    one_only : bool
        Whether the best candidate gets all the weight.
    report : callable
        Gets a line about each candidate.
    trials : list of Trial
        One for each candidate.
    history : list of float
        Held-out score of the average after each candidate that is done; empty without folds.
    interrupted : bool
        Whether Ctrl-C ended the search.
    """

    training: Training
    folds: InnerFolds
    metric: Metric
    end: float | None
    one_only: bool
    report: Callable[[str], None]
    trials: list[Trial] = field(default_factory=list)
    history: list[float] = field(default_factory=list)
    interrupted: bool = False
    _weights: FloatArray = field(default_factory=lambda: np.empty(0), init=False)
    _judging: float = field(
        default=0.0, init=False
    )  # seconds; the average's temperature takes no more

    @property
    def done(self) -> list[Trial]:
        """Candidates with all their folds."""
        return [trial for trial in self.trials if trial.status == "done"]

    def run(self, candidates: Sequence[Candidate]) -> None:
        """Try the candidates in their order. The first one is always finished.

        Ctrl-C ends the search, if a candidate is done. Otherwise it ends the fit.
        """
        self.trials = [Trial(candidate) for candidate in candidates]
        if self.folds.n_folds < 2:
            self._take_first()
            return
        try:
            for trial in self.trials:
                self._show(trial)
                self._try(trial, limited=bool(self.done))
                if trial.status == "done":
                    self.history.append(self.metric.score(self.mixed()))
                self._show(trial)
                self.report(f"{trial.candidate.name}: {_tell(trial)}")
        except KeyboardInterrupt:
            if not self.done:
                raise
            self.interrupted = True
            for trial in self.trials:
                if trial.status == "not started" and not trial.reason:
                    trial.reason = "the search was interrupted"

    def _show(self, trial: Trial) -> None:
        watcher = _watcher.get()
        if watcher is not None:
            watcher(self, trial)

    def _take_first(self) -> None:
        """Without folds, the first candidate is taken as it is."""
        for trial in self.trials:
            trial.reason = "there are too few labelled rows to compare"
        trial = self.trials[0]
        trial.learned = [self._learn(trial, self.training)]
        trial.status = "done"

    def weights(self) -> FloatArray:
        """Weights of those that are done."""
        done = self.done
        # asked for before every fold, to know how long the last fit takes
        if len(done) != len(self._weights):
            self._weights = self._weigh(done)
        return self._weights

    def _weigh(self, done: list[Trial]) -> FloatArray:
        if len(done) == 1:
            return np.ones(1)
        if self.one_only:
            best = self.best()
            return np.array([float(trial is best) for trial in done])
        head_start = np.array([trial.candidate.head_start for trial in done])
        return self.metric.weights(np.stack([_probabilities(one) for one in done]), head_start)

    def best(self) -> Trial:
        """The one with the best score."""
        if len(self.done) == 1:
            return self.done[0]
        return max(self.done, key=lambda trial: self.metric.score(_probabilities(trial)))

    def mixed(self) -> FloatArray:
        """Held-out class probabilities of the average, by the weights of now."""
        stacked = np.stack([_probabilities(trial) for trial in self.done])
        return np.asarray(np.tensordot(self.weights(), stacked, axes=1))

    def class_prior(self) -> FloatArray:
        """Class shares of the average, by the weights of now."""
        return np.asarray(self.weights() @ np.stack([trial.class_prior for trial in self.done]))

    @property
    def log_loss(self) -> float:
        """Held-out log-loss of the average."""
        metric = LogLoss(self.training.y[self.folds.row], self.folds.weight)
        return max(0.0, -metric.score(self.mixed()))  # 0.0 first: it is not -0.0

    @property
    def accuracy(self) -> float:
        """Held-out accuracy of the average."""
        metric = Accuracy(self.training.y[self.folds.row], self.folds.weight)
        return metric.score(self.mixed())

    # ---------------------------------------------------------------- one candidate

    def _try(self, trial: Trial, *, limited: bool) -> None:
        left = self._left(limited)
        try:
            if left <= 0:
                trial.reason = NO_TIME
                return
            self._refuse_if_slow(trial.candidate.least_seconds * self._n_fits, left)
            self._refuse_after_cheaper(trial, left)
            with time_limit(time.monotonic() + left if np.isfinite(left) else None):
                self._probe(trial, left)
                self._cross_validate(trial, limited)
            trial.status = "done"
        except TimeUpError as error:
            trial.status = "too slow"
            trial.reason = str(error) or "a fold took longer than its share of the time left"
        except KeyboardInterrupt:
            trial.status, trial.reason = "interrupted", "Ctrl-C ended the search while it was tried"
            raise
        except Exception as error:  # whatever is wrong with one candidate, the others can do
            trial.status, trial.reason = "failed", f"{type(error).__name__}: {error}"
        finally:
            if trial.status != "done":
                trial.learned, trial.whole = [], None

    @property
    def _n_fits(self) -> int:
        """Fits of a candidate that gets weight: each fold, and all rows."""
        return self.folds.n_folds + 1

    def _left(self, limited: bool) -> float:
        """Seconds that a candidate may take; those to fit and judge the average are kept back."""
        if self.end is None or not limited:
            return float("inf")
        refit = sum(
            trial.fit_seconds
            for trial, weight in zip(self.done, self.weights(), strict=True)
            if weight > 0 and trial.whole is None
        )
        return self.end - time.monotonic() - refit - self._judging

    def _refuse_after_cheaper(self, trial: Trial, left: float) -> None:
        """Refuse a candidate if one that takes no longer says that time will be short."""
        for other in self.trials:
            if other.candidate.name != trial.candidate.cheaper:
                continue
            if other.status == "too slow":
                name = name_in_words(other.candidate.name)
                raise TimeUpError(f"{name} was too slow, and this takes no less")
            self._refuse_if_slow(other.seconds, left)

    def _is_cold(self, trial: Trial) -> bool:
        """Whether its first fit may compile kernels, which says nothing about the others."""
        candidate = trial.candidate
        return not candidate.least_seconds and not WARM & {candidate.name, candidate.cheaper}

    def _probe(self, trial: Trial, left: float) -> None:
        """Refuse a candidate whose cost on some of the rows says that time will be short.

        A fit takes some time however few the rows are, and more for each row. So two samples are
        timed, and the line through both leads to all rows. Far from them a small error is a large
        one. So a larger sample is timed before a candidate is refused, if that takes little time.
        """
        n_rows = len(self.training.y)
        if n_rows <= FEW_ROWS or not np.isfinite(left):
            return
        end = time.monotonic() + left
        self._warm_up(trial)
        n_fits = 1 if trial.candidate.chooses_once(self.training) else self._n_fits
        # each row is in the fit to all rows, and in all folds but one
        n_learned = n_rows if n_fits == 1 else self.folds.n_folds * n_rows
        size, seconds = self._time_some(trial, PROBE_ROWS)
        # more rows take no less, and the next sample at most this much more
        self._refuse_if_slow(max(n_fits, PROBE_GROWTH) * seconds, end - time.monotonic())
        wanted = PROBE_ROWS * PROBE_GROWTH
        while True:
            first, before = size, seconds
            size, seconds = self._time_some(trial, wanted)
            slope = max(seconds - before, 0.0) / (size - first)
            left = end - time.monotonic()
            # one fit must fit in even if all of its time grows with the rows: some cannot be ended
            needed = n_fits * (seconds - slope * size) + slope * n_learned
            needed = max(needed, seconds * n_rows / size)
            wanted *= PROBE_GROWTH
            is_dear = seconds + slope * (wanted - size) > PROBE_SHARE * left
            if needed <= left:
                return
            if is_dear or wanted > n_rows / 2:
                self._refuse_if_slow(needed, left)

    def _warm_up(self, trial: Trial) -> None:
        if self._is_cold(trial):
            self._learn(trial, self._some_rows(PROBE_ROWS))

    def _time_some(self, trial: Trial, n: int) -> tuple[int, float]:
        """Number of rows, about `n`, and seconds of a fold that learns from them."""
        part = self._some_rows(n)
        tested = part.table.take(np.arange(len(part.y) // (self.folds.n_folds - 1)))
        shortest = np.inf
        for _ in range(2):
            began = time.monotonic()
            self._learn(trial, part).model.evidence(tested, None)
            shortest = min(shortest, time.monotonic() - began)
            if shortest > BRIEF:
                break
        return len(part.y), shortest

    def _some_rows(self, n: int) -> Training:
        """About so many rows, of each class its share."""
        # within a class the rows are in an order by content: every k-th one is as good as drawn
        by_class = np.argsort(self.training.y, kind="stable")
        return self.training.take(np.sort(by_class[:: max(len(by_class) // n, 1)]))

    def _cross_validate(self, trial: Trial, limited: bool) -> None:
        folds, training = self.folds, self.training
        evidence = np.zeros((len(folds.row), training.n_classes))
        fits, predictions = [], []
        first = self._learn_whole(trial, limited)
        cold = int(self._is_cold(trial))
        n_after = int(trial.whole is None)  # the fit to all rows
        for number in range(folds.n_folds):
            still = folds.n_folds - number + n_after
            began = time.monotonic()
            share = self._left(limited) / still
            timed = np.isfinite(share) and number >= cold
            with time_limit(began + PATIENCE * share if timed else None):
                learned = self._learn(trial, folds.training_part(training, number))
            fits.append(time.monotonic() - began)
            inside = folds.fold == number
            tested = training.table.take(folds.row[inside])
            evidence[inside] = learned.model.evidence(tested, None) / learned.temperature
            trial.learned.append(learned)
            predictions.append(time.monotonic() - began - fits[-1])
            if number >= cold:
                each = float(np.mean(fits[cold:]) + np.mean(predictions[cold:]))
                needed = each * (still - 1) + self._judging
                self._refuse_if_slow(needed, self._left(limited))
        trial.fit_seconds = float(np.mean(fits[cold:])) if first is None else first
        trial.predict_seconds = float(np.mean(predictions[cold:]))
        trial.seconds = each * folds.n_folds + trial.fit_seconds
        began = time.monotonic()
        self._judge(trial, evidence)
        self._judging = max(self._judging, time.monotonic() - began)

    def _learn_whole(self, trial: Trial, limited: bool) -> float | None:
        """Fit to all rows first if the folds keep what that chose. Returns the seconds."""
        if not trial.candidate.chooses_once(self.training):
            return None
        self._warm_up(trial)
        began = time.monotonic()
        share = FIRST_SHARE * self._left(limited)
        end = began + share if np.isfinite(share) else None
        with time_limit(end), recorded_warnings() as trial.warnings:
            trial.whole = trial.candidate.learn(self.training)
        return time.monotonic() - began

    def _judge(self, trial: Trial, evidence: FloatArray) -> None:
        """Temperature, held-out probabilities and scores, from the evidence of the tested rows."""
        folds, y = self.folds, self.training.y
        priors = [learned.model.class_prior for learned in trial.learned]
        trial.class_prior = np.mean(priors, axis=0)
        with np.errstate(divide="ignore"):
            log_prior = np.log(trial.class_prior)
        trial.temperature, _ = learn_temperature(
            lambda number: evidence[folds.fold == number], folds, y, log_prior
        )
        trial.probabilities = np.exp(to_log_posterior(evidence, log_prior, trial.temperature))
        truth = y[folds.row]
        of_truth = trial.probabilities[np.arange(len(truth)), truth]
        log_loss = -np.log(np.maximum(of_truth, 1e-15))
        hit = trial.probabilities.argmax(axis=1) == truth
        total = np.bincount(folds.fold, folds.weight)
        trial.losses = np.bincount(folds.fold, folds.weight * log_loss) / total
        trial.hits = np.bincount(folds.fold, folds.weight * hit) / total

    def _learn(self, trial: Trial, part: Training) -> Learned:
        candidate, whole = trial.candidate, trial.whole
        with recorded_warnings():  # of a fold: the user is told what a fit to all rows says
            learned = candidate.learn(part) if whole is None else candidate.learn_again(whole, part)
        WARM.add(trial.candidate.name)
        return learned

    def _refuse_if_slow(self, needed: float, left: float) -> None:
        if needed > left:
            raise TimeUpError(
                f"it needs about {needed:.1f} s more, but only {max(left, 0):.1f} s are left"
            )


def _probabilities(trial: Trial) -> FloatArray:
    assert trial.probabilities is not None
    return trial.probabilities


def _tell(trial: Trial) -> str:
    if trial.status != "done":
        return f"{trial.status}, {trial.reason}"
    return (
        f"held-out log-loss {trial.losses.mean():.4f}, accuracy {100 * trial.hits.mean():.1f} %, "
        f"{trial.fit_seconds:.2f} s for a fit"
    )
