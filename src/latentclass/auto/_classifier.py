"""A classifier that tries the families on a table, and answers by a weighted average of them."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state, estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray
from latentclass._validation import MOST_ROWS, check_number, check_option
from latentclass._warn import warn_user
from latentclass.auto._families import (
    Family,
    check_families,
    check_own,
    choose_families,
    with_and_without_unlabelled,
)
from latentclass.auto._leaderboard import Leaderboard, LeaderboardRow, name_in_words
from latentclass.auto._model import Member, WeightedModels
from latentclass.auto._search import Search, Trial
from latentclass.auto._weights import Accuracy, LogLoss
from latentclass.estimator._base import GenerativeClassifier
from latentclass.estimator._calibration import AVERAGED, learn_temperature
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import FitRecord, Learned
from latentclass.estimator._inner_folds import check_inner_cv, deal_folds, make_folds
from latentclass.estimator._reading import Training
from latentclass.estimator._tuning import Tuned
from latentclass.estimator._unlabelled import usual_factor
from latentclass.lcm._flag_reader import FlagReader

FOLDS_ANSWER = (
    "The average uses the candidates finished so far; those not yet fitted to all rows answer by "
    "their models of the folds. A fit with plan=plan_ has the same weights, and fits them to all "
    "rows."
)
"""What Ctrl-C leaves."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Which classifiers were compared, and with which seed.

    `AutoLatentClassifier(plan=...)` compares just these, without looking at the clock. So it
    repeats a result on any machine.

    Attributes
    ----------
    families : dict of str to classifier
        Unfitted classifiers, in the order in which they were tried.
    seed : int
    """

    families: dict[str, GenerativeClassifier]
    seed: int

    def __repr__(self) -> str:
        return f"Plan({list(self.families)}, seed={self.seed})"


class AutoLatentClassifier(FlagReader, GenerativeClassifier):
    """Weighted average of the families that predict held-out rows of this table best.

    The families are tried on the same folds, the cheapest first, while there is time. Held-out
    probabilities give each a temperature and its weight. Those with weight are fitted to all rows.
    The average is one generative model: all methods of the other classifiers work.

    Parameters
    ----------
    time_budget : float or None, default=60
        Seconds for the whole fit; None for no limit. The first family is always finished, so there
        is a model even after one second.
    families : "auto", list of str or dict of str to classifier, default="auto"
        What is tried. "auto": the families that suit the table. A list has names of families, a
        dict unfitted classifiers of this library by names of your choice. Both are tried cheapest
        first.
    cv : int, splitter or iterable, default=5
        Number of folds, stratified by class and assigned by what the rows hold; or a scikit-learn
        splitter, or a list of (training, test) row numbers in which no row is tested twice, which
        are used as they are. Rows without a label are always learned from.
    scoring : {"neg_log_loss", "accuracy"}, default="neg_log_loss"
        What the weights maximise on held-out rows.
    combine : {"weighted", "best"}, default="weighted"
        "weighted": an average. "best": the one with the best score.
    plan : Plan or None, default=None
        `plan_` of another fit: its classifiers are compared again, without a clock. `families` and
        `time_budget` are not used then.
    calibrate : bool or "auto", default=True
        Learn a temperature for the average on the held-out rows, and keep it if it lowers their
        log-loss; "auto" is the same as True. The members have their own in any case.
    unlabelled_weight : "auto" or float, default="auto"
        Factor of the weight of rows without a label: 0 leaves them out, 1 counts them like the
        others. With "auto" every family is tried twice: with 0, and with a factor that gives all
        of them together 0.3 times the weight of the labelled rows.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete. "from_dtype": those of text, category or boolean type, and
        numbers with just two values; None: none; or a list of names or positions, or a mask.
    handle_unknown : {"missing", "error"}, default="missing"
        Whether a category not seen in `fit` is read as missing or raises an error.
    columns : {"by_name", "strict"}, default="by_name"
        How prediction finds the columns of `fit` in a table with names. "by_name": in any order;
        columns that are lacking count as missing, others are ignored, with a warning. "strict":
        the same columns in the same order, or an error. See the page about tables.
    missing_indicator : bool, default=False
        Learn from where cells are missing, too: each column with holes in `fit` gets a companion,
        the yes/no column "<name> is missing". See the page about informative holes.
    random_state : int, RandomState or None, default=None
        Seeds the folds, the classifiers, and `sample`.
    n_jobs : int or None, default=None
        Number of threads over blocks of rows. The result does not depend on it.
    verbose : int, default=0
        1 prints a line for each candidate, and one for the average, to standard error.

    Attributes
    ----------
    leaderboard_ : Leaderboard
        What became of each candidate: held-out scores, weight, seconds, and why it is not done.
    why_ : str
        The choice in plain words.
    plan_ : Plan
        Repeats this result without a clock. After Ctrl-C it repeats the weights, and fits the
        members to all rows.
    best_estimator_ : classifier
        The candidate with the best held-out score, fitted to all rows; if Ctrl-C came before that
        fit, its model of the first fold.
    weights_ : dict of str to float
        Weight of each member of the average.
    interrupted_ : bool
        Whether Ctrl-C ended the search, or the fits to all rows. Members that were not yet fitted
        to all rows answer by their models of the folds.
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
    class_prior_ : array of shape (n_classes,)
        Share of each class.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_unlabelled_ : int
        Number of rows without a label that were learned from.
    unlabelled_weight_ : float
        Factor of the weight of rows without a label that was used.
    temperature_ : float
        Divides log p(x | class) of the average in prediction; 1 unless `calibrate` found a better
        one.
    calibration_ : dict
        With `calibrate`, the learned temperature and the held-out log-loss before and after it;
        otherwise empty.
    log_likelihood_ : float
        log p(X, y) of the average, summed over rows with their weights; unlabelled rows count by
        log p(x).
    history_ : list of float
        Held-out score of the average after each candidate.
    n_iter_ : int
        Number of candidates that were finished.
    restarts_ : dict
        Empty.
    converged_ : bool
        Whether all candidates were finished.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if the table had names.

    Notes
    -----
    P(class | x) is the weighted mean of the members' class probabilities, and p(x) that of their
    densities. `complete` weighs the members by how probable they find the row. `transform` gives
    the latent variables of all members side by side.

    With at least 250 labelled rows, the hybrid LCM and the LCM choose their size, their scaling and
    their number of gradient steps once, in a fit to all rows. The folds keep them.

    The weights are chosen on the same held-out rows that the leaderboard shows, so the score of the
    average there is a little too good. For an honest one, cross-validate the whole classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from latentclass import AutoLatentClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> quick = ["NaiveBayes", "TAN"]
    >>> model = AutoLatentClassifier(families=quick, random_state=0).fit(X, y)
    >>> sorted(row.family for row in model.leaderboard_)
    ['NaiveBayes', 'TAN']
    """

    _counts_categories = False  # not all families do
    _about = "Weighted average of the families that predict held-out rows best."

    max_iter: Any = None
    tol = 0.0

    leaderboard_: Leaderboard
    why_: str
    plan_: Plan
    interrupted_: bool
    _best: Any

    def __init__(
        self,
        time_budget: float | None = 60,
        *,
        families: Any = "auto",
        cv: Any = 5,
        scoring: str = "neg_log_loss",
        combine: str = "weighted",
        plan: Plan | None = None,
        calibrate: bool = True,
        unlabelled_weight: float | str = "auto",
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        columns: str = "by_name",
        missing_indicator: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.time_budget = time_budget
        self.families = families
        self.cv = cv
        self.scoring = scoring
        self.combine = combine
        self.plan = plan
        self.calibrate = calibrate
        self.unlabelled_weight = unlabelled_weight
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.columns = columns
        self.missing_indicator = missing_indicator
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_number("time_budget", self.time_budget, low=0, high=MOST_ROWS, none=True)
        check_option("scoring", self.scoring, ("neg_log_loss", "accuracy"))
        check_option("combine", self.combine, ("weighted", "best"))
        check_inner_cv(self.cv)
        _check_seed(self.random_state)
        if self.plan is None:
            check_families(self.families)
            return
        if not isinstance(self.plan, Plan) or not self.plan.families:
            found = "empty" if isinstance(self.plan, Plan) else type(self.plan).__name__
            raise ValueError(
                f"plan is {found}: pass `plan_` of a fitted AutoLatentClassifier, or None."
            )
        check_own("plan.families", self.plan.families)

    # ------------------------------------------------------------------ fit

    def _fit_model(self, training: Training, progress: FitProgress | None) -> Learned:  # noqa: ARG002
        # a candidate is no iteration: `verbose` has lines of its own
        began = time.monotonic()
        plan = self._make_plan(training)
        candidates = [
            Family(name, one).prepared(plan.seed, self.n_jobs)
            for name, one in plan.families.items()
        ]
        end = None
        if self.plan is None and self.time_budget is not None:
            end = began + float(self.time_budget)
        if isinstance(self.cv, int | np.integer):
            joined, folds = deal_folds(training, int(self.cv), plan.seed)
        else:
            joined, folds = make_folds(training, self.cv, plan.seed)
        metric = (Accuracy if self.scoring == "accuracy" else LogLoss)(
            joined.y[folds.row], folds.weight
        )
        search = Search(joined, folds, metric, end, self.combine == "best", self._report(end))
        search.run(candidates)
        if not search.done:
            self._raise_failure(search.trials)
        learned = self._combine(training, search, plan)
        if self.verbose and search.history:
            n_members = sum(weight > 0 for weight in search.weights())
            search.report(
                f"average of {n_members} of {len(search.done)}: held-out log-loss "
                f"{search.log_loss:.4f}, accuracy {100 * search.accuracy:.1f} %, "
                f"{time.monotonic() - began:.1f} s in all"
            )
        return learned

    def _make_plan(self, training: Training) -> Plan:
        if self.plan is not None:
            return self.plan
        seed = int(check_random_state(self.random_state).randint(2**31))
        chosen = choose_families(self.families, training.schema)
        if self.unlabelled_weight == "auto" and not training.labelled.all():
            chosen = with_and_without_unlabelled(chosen, usual_factor(training))
        return Plan({family.name: clone(family.estimator) for family in chosen}, seed)

    def _report(self, end: float | None) -> Any:
        def report(line: str) -> None:
            if self.verbose:
                left = "" if end is None else f" ({max(end - time.monotonic(), 0):.0f} s left)"
                print(f"AutoLatentClassifier: {line}{left}", file=sys.stderr)

        return report

    def _raise_failure(self, trials: list[Trial]) -> None:
        told = "; ".join(f"{trial.candidate.name}: {trial.reason}" for trial in trials)
        raise ValueError(f"No candidate could be fitted. {told}")

    def _combine(self, training: Training, search: Search, plan: Plan) -> Learned:
        """Fit those with weight to all rows, and average them."""
        weights = search.weights()
        best_one = search.best()
        members, shares = [], []
        best: GenerativeClassifier | None = None
        for trial, weight in zip(search.done, weights, strict=True):
            is_best = trial is best_one
            if not weight and not is_best:
                continue
            fitted = self._fitted_to_all(trial, training, search)
            if is_best:
                one = fitted[0]
                best = self._own_copy(plan, trial.candidate.name)
                best._store(training, one, Tuned(1.0, trial.temperature * one.temperature))
            if weight:
                name = trial.candidate.name
                members += [
                    Member(name, one.model, trial.temperature * one.temperature) for one in fitted
                ]
                shares += [weight / len(fitted)] * len(fitted)
        model = WeightedModels(tuple(members), np.array(shares), training.schema.n_levels)
        done = {trial.candidate.name for trial in search.done}
        board = make_leaderboard(search.trials, weights, plan)
        evidence = model.evidence(training.table, self.n_jobs) + model.log_prior
        labelled = training.labelled
        log_p = np.logaddexp.reduce(evidence, axis=1)
        log_p[labelled] = evidence[labelled, training.y[labelled]]
        record = FitRecord(
            search.history,
            len(search.done),
            len(search.done) == len(search.trials),
            {},
            float(training.weight @ log_p),
        )
        kept = {name: one for name, one in plan.families.items() if name in done}
        return Learned(
            model,
            record,
            {
                "leaderboard_": board,
                "why_": tell_why(board, search, self.scoring),
                "plan_": Plan(kept, plan.seed),
                "interrupted_": search.interrupted,
                "_best": best,
                "_calibration": self._calibrate(search),
            },
        )

    def _own_copy(self, plan: Plan, name: str) -> GenerativeClassifier:
        """An unfitted candidate that reads tables as this classifier does."""
        copy = Family(name, plan.families[name]).prepared(plan.seed, self.n_jobs).estimator
        copy.set_params(
            categorical_features=self.categorical_features,
            handle_unknown=self.handle_unknown,
            columns=self.columns,
            missing_indicator=self.missing_indicator,
        )
        return copy

    def _calibrate(self, search: Search) -> tuple[float, dict[str, float]]:
        """Temperature of the average, from the held-out rows that gave the weights."""
        folds = search.folds
        if not self.calibrate or folds.n_folds < 2:
            return 1.0, {}
        prior = search.class_prior()
        with np.errstate(divide="ignore", invalid="ignore"):
            log_prior = np.log(prior)
            evidence = np.where(prior > 0, np.log(search.mixed()) - log_prior, 0.0)
        return learn_temperature(
            lambda number: evidence[folds.fold == number],
            folds,
            search.training.y,
            log_prior,
            AVERAGED,
        )

    def _fitted_to_all(self, trial: Trial, training: Training, search: Search) -> list[Learned]:
        """The candidate fitted to all rows; after Ctrl-C, at once, its models of the folds."""
        if trial.whole is not None:
            for one in trial.warnings:
                warn_user(str(one.message), one.category)
            return [trial.whole]
        if not search.interrupted:
            try:
                return [trial.candidate.learn(training)]
            except KeyboardInterrupt:
                search.interrupted = True
        return trial.learned

    def _choose_unlabelled_weight(self, training: Training) -> Tuned:  # noqa: ARG002
        # each candidate is tried with and without these rows
        return Tuned(1.0 if isinstance(self.unlabelled_weight, str) else self.unlabelled_weight)

    def _calibrated(self, training: Training, learned: Learned, tuned: Tuned) -> Tuned:  # noqa: ARG002
        temperature, facts = learned.attributes["_calibration"]
        return replace(tuned, temperature=temperature, calibration=facts)

    def _warn(self, learned: Learned) -> None:
        if learned.attributes["interrupted_"]:
            warn_user(f"The search was interrupted. {FOLDS_ANSWER}")

    # ------------------------------------------------------------- attributes

    def _structure(self) -> dict[str, Any]:
        return {f"weight of {name}": float(weight) for name, weight in self.weights_.items()}

    def _fit_facts(self) -> dict[str, Any]:
        facts = super()._fit_facts()
        n_done, all_done = facts.pop("iterations"), facts.pop("converged")
        return {**facts, "candidates compared": n_done, "all candidates finished": all_done}

    @property
    def weights_(self) -> dict[str, float]:
        """Weight of each member of the average."""
        check_is_fitted(self)
        return {row.family: row.weight for row in self.leaderboard_ if row.weight}

    @property
    def best_estimator_(self) -> Any:
        """The candidate with the best held-out score; see `interrupted_` for its rows."""
        check_is_fitted(self)
        return self._best

    def _to_html(self) -> str:
        """scikit-learn's diagram and, after `fit`, the reasons and the leaderboard."""
        shown: str = estimator_html_repr(self)
        if "leaderboard_" not in vars(self):
            return shown
        return f"{shown}<p>{escape(self.why_)}</p>{self.leaderboard_.to_html()}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:  # noqa: ARG002
        return {"text/plain": repr(self), "text/html": self._to_html()}

    _repr_html_ = _to_html


def make_leaderboard(trials: list[Trial], weights: FloatArray, plan: Plan) -> Leaderboard:
    """The trials, best log-loss first, then those that are not done."""
    share = iter(weights.tolist())
    rows = []
    for trial in trials:
        done, judged = trial.status == "done", trial.losses.size > 0
        name = trial.candidate.name
        rows.append(
            LeaderboardRow(
                name,
                _changed(plan.families[name]),
                float(trial.losses.mean()) if judged else None,
                float(trial.losses.std()) if judged else None,
                float(trial.hits.mean()) if judged else None,
                float(trial.hits.std()) if judged else None,
                next(share) if done else 0.0,
                trial.fit_seconds,
                trial.predict_seconds,
                trial.status,
                trial.reason,
            )
        )
    return Leaderboard(
        tuple(sorted(rows, key=lambda row: np.inf if row.log_loss is None else row.log_loss))
    )


def tell_why(board: Leaderboard, search: Search, scoring: str) -> str:
    """The choice in plain words."""
    done = [row for row in board if row.log_loss is not None]
    if not done:
        return f"{name_in_words(board[0].family)} is used as it is: {board[0].reason}."
    chosen = sorted((row for row in done if row.weight), key=lambda row: -row.weight)
    first = done[0]
    named = [f"{name_in_words(row.family)} {100 * row.weight:.0f} %" for row in chosen]
    what = "log-loss" if scoring == "neg_log_loss" else "accuracy"
    text = (
        f"{len(done)} of {len(board)} candidates were compared on the same "
        f"{search.folds.n_folds} folds. "
    )
    if len(chosen) == 1:
        text += f"By their held-out {what}, {name_in_words(chosen[0].family)} has all the weight. "
    else:
        text += f"By their held-out {what}, the weights of the average are: {', '.join(named)}. "
    text += (
        f"The lowest log-loss of a single candidate is that of {name_in_words(first.family)}, "
        f"{first.log_loss:.4f}; "
        f"the average has {search.log_loss:.4f}. "
    )
    left = [f"{name_in_words(row.family)}: {row.reason}" for row in board if row.log_loss is None]
    if left:
        text += f"Left out: {'; '.join(left)}. "
    if search.interrupted:
        text += FOLDS_ANSWER
    return text.strip()


def _check_seed(random_state: Any) -> None:
    try:
        check_random_state(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state={random_state!r} must be a whole number from 0 to {2**32 - 1}, a "
            "RandomState, or None."
        ) from None


def _changed(estimator: GenerativeClassifier) -> dict[str, Any]:
    """Parameters that differ from the defaults."""
    defaults = type(estimator)().get_params(deep=False)
    given = estimator.get_params(deep=False)
    return {k: v for k, v in given.items() if repr(v) != repr(defaults[k])}
