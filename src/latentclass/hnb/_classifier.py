"""Hierarchical naive Bayes: latent variables whose states read as rules."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass._validation import check_number, check_option
from latentclass.data._labels import UNLABELLED
from latentclass.data._schema import Block, Table
from latentclass.discrete._coding import CodedRows
from latentclass.discrete._em import CountLayout
from latentclass.discrete._legacy_base import DiscreteClassifier
from latentclass.discrete._network import draw_levels
from latentclass.engine._content_folds import (
    assign_folds,
    column_fingerprints,
    distinct_rows,
    given_parts,
)
from latentclass.estimator._bif import BifVariable, free_name, write_bif
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._legacy_base import _log_odds
from latentclass.estimator._legacy_folds import InnerFolds, check_inner_cv, given_folds
from latentclass.estimator._legacy_reading import Training
from latentclass.hnb._explanation import RuleExplanation, write_intervals
from latentclass.hnb._hierarchy import (
    Hierarchy,
    Model,
    Tables,
    best_log_likelihood,
    count_within,
    draw_codes,
    latent_posterior,
    log_likelihood,
)
from latentclass.hnb._network import enlarged_network
from latentclass.hnb._rules import RuleFinder, write
from latentclass.hnb._search import HierarchySettings, search_hierarchy

MAX_LENGTH = 300
"""Characters up to which a rule is written out over the columns, unless told otherwise."""

LEAST_MASS = 1e-6
"""Pseudo-count of a pair of levels within its state where `alpha` is smaller: a pair that no row
shows is rare, but not impossible, or it could not be judged by its state."""


class _TopPart(NamedTuple):
    """A variable right below a class: its columns, its state in each row, what each state says."""

    name: str
    leaves: tuple[int, ...]
    states: CodeArray
    conditions: list[str]


class HNBClassifier(InnerFolds, DiscreteClassifier):
    """Hierarchical naive Bayes: pairs of columns are joined where that helps, into named states.

    Naive Bayes counts twice what two columns say together, and cannot see what they say only
    together. Here such a pair gets a latent variable between it and the class; its states are
    groups of the pair's combinations that say the same about the class, and so each is a rule over
    the columns (`rules()`). Latent variables can be joined again. One is added as long as the
    accuracy in cross-validation on the training rows rises, or the log-loss there falls and the
    accuracy stays; with none this is naive Bayes. Choose it where the class follows rules and one
    wants to read them. It costs a table of all pairs of levels, and a pass over the rows for every
    latent variable.

    Parameters
    ----------
    n_candidates : int, default=10
        Subsets of the training rows, each without a different part of this share, from which
        candidates come at every step (kappa in [1]_). 1 takes all rows.
    pair_measure : {"chi2", "expected_kl"}, default="chi2"
        How strongly two columns ask to be joined. "chi2": how surely they depend on each other
        given the class. "expected_kl": how surely the two together say something else about the
        class than each for itself (section 6.2 of [1]_), which leaves out pairs that do not matter.
    cv : int, splitter or iterable, default=5
        Folds of the accuracy that decides whether a latent variable is kept: a number, a
        scikit-learn splitter, or a list of (training, test) row numbers in which no row is tested
        twice.
    alpha : float, default=1.0
        Pseudo-count of every category (Laplace smoothing); 0 is maximum likelihood.
    collapse : {"greedy", "exact"}, default="greedy"
        How combinations become states: by joining two at a time, or as the best of all groupings,
        which is known for two classes only. Both by predictive description length.
    search : {"subsets", "hill_climbing"}, default="subsets"
        "subsets": each subset proposes the strongest pair that none before it has, and the best
        of these candidates is taken; if none helps they propose once more, three times at most.
        "hill_climbing": pairs in the order of the measure on all
        rows, the first that helps is taken.
    n_models : int, default=1
        Models with different subsets and folds that are averaged. The average of their p(x, class)
        is a model itself, with all verbs; it is more accurate, but has several sets of rules
        (`models_`), and takes so many times as long.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete. "from_dtype": those of text, category or boolean type; None:
        none; or a list of names or positions, or a mask. All other columns are cut into bins (see
        Notes).
    handle_unknown : {"missing", "error"}, default="missing"
        Whether a category not seen in `fit` is read as missing or raises an error.
    calibrate : bool, default=False
        Learn a temperature for the evidence on held-out folds, and keep it if it lowers the
        held-out log-loss.
    n_init : int, default=1
        Number of EM starts if there are unlabelled rows. The first begins with the labelled rows
        alone, each of the others with a random re-weighting of them.
    max_iter : int, default=200
        Maximum number of EM iterations.
    tol : float, default=1e-4
        EM stops when the objective per row gains no more than this.
    random_state : int, RandomState or None, default=None
        Seeds the subsets, the folds, the random starts, and `sample`.
    n_jobs : int or None, default=None
        Number of threads over blocks of rows, through joblib. The result does not depend on it.
    verbose : int, default=0
        1 prints each EM iteration to standard error.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
    class_prior_ : array of shape (n_classes,)
        Share of each class.
    cut_points_ : dict of str to array
        Cut points of each continuous column.
    models_ : list of HNBClassifier
        The models that are averaged, each fitted; with `n_models=1` this one alone. The next four
        attributes are those of a single model: with several, ask these.
    latent_children_ : dict of str to tuple of str
        The two variables below each latent variable, in the order in which they were added.
    n_states_ : dict of str to int
        Number of states of each latent variable.
    top_variables_ : list of str
        Columns and latent variables right below the class, which naive Bayes judges by.
    cv_scores_ : list of float
        Accuracy in cross-validation without any latent variable, and after each.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_unlabelled_ : int
        Number of rows without label that were learned from.
    temperature_ : float
        Divides log p(x | class) in prediction; 1 unless `calibrate` found a better one.
    calibration_ : dict
        With `calibrate=True`, the learned temperature and the held-out log-loss before and after
        it; otherwise empty.
    log_likelihood_ : float
        log p(X, y), summed over rows with their weights; unlabelled rows count by log p(x).
    history_ : list of float
        Objective per row (log-likelihood plus log-prior): at the start and after each EM step. Of
        several models, that of the one with the most steps.
    n_iter_ : int
        Number of M-steps of the kept start.
    converged_ : bool
        Whether the last gain of EM was at most `tol`, for every model. Always true without
        unlabelled rows.
    restarts_ : dict of str to array
        One entry per start: start, objective, n_iter, converged, reseeded, kept.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if the table had names.

    Notes
    -----
    Continuous columns are cut by Fayyad and Irani's rule on the labelled rows of `fit`. Inside a
    bin their density is the same in all classes: even between cuts, half a Gaussian beyond the
    outer ones; so it changes `score_samples`, not the class. A column of two numbers is always cut
    between them. Columns of one level are left out.

    Given the state of a latent variable, its two children have a joint table, the same in all
    classes, so that p(x | class) sums to 1 over x. Missing cells are summed out along the
    hierarchy. Structure is learned from the labelled rows; a table from the rows in which the
    state is known.

    Where we differ from [1]_: pairs are ranked by the log of the chi-square tail, for its
    probability is 1 in floats for most pairs; as subsets then mostly agree on the strongest pair,
    each proposes another; when a latent variable is joined again, its states may be made anew for
    its partner; at equal accuracy the log-loss decides; equation (5) there is inverted; a
    combination that no row shows gets the state that fits what its columns say apart; tables are
    smoothed by `alpha`. Subsets and folds are drawn by a hash of what the rows hold: the order of
    rows, columns and classes changes nothing (but for columns that agree in all their counts).

    References
    ----------
    .. [1] Langseth, H. and Nielsen, T. D. (2006). Classification using hierarchical naive Bayes
       models. Machine Learning 63, 135-159.

    Examples
    --------
    >>> from latentclass import HNBClassifier
    >>> X = [["no", "no"], ["no", "yes"], ["yes", "no"], ["yes", "yes"]] * 5
    >>> y = [0, 1, 1, 0] * 5
    >>> model = HNBClassifier(random_state=0).fit(X, y)
    >>> model.predict([["no", "yes"], ["yes", "yes"]])
    array([1, 0])
    >>> model.rules()["rule"].tolist()
    ['x0 = x1', 'x0 != x1']
    """

    _model: Model
    _support: list[FloatArray]
    _numbers: IndexArray

    def __init__(
        self,
        *,
        n_candidates: int = 10,
        pair_measure: str = "chi2",
        cv: Any = 5,
        alpha: float = 1.0,
        collapse: str = "greedy",
        search: str = "subsets",
        n_models: int = 1,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        calibrate: bool = False,
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_candidates = n_candidates
        self.pair_measure = pair_measure
        self.cv = cv
        self.alpha = alpha
        self.collapse = collapse
        self.search = search
        self.n_models = n_models
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.calibrate = calibrate
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("n_candidates", self.n_candidates, low=1, whole=True)
        check_number("n_models", self.n_models, low=1, whole=True)
        check_option("pair_measure", self.pair_measure, ("chi2", "expected_kl"))
        check_option("collapse", self.collapse, ("greedy", "exact"))
        check_option("search", self.search, ("subsets", "hill_climbing"))
        check_inner_cv(self.cv)

    # ------------------------------------------------------------------ fit

    def _unfitted_copy(self) -> Any:
        # row numbers mean nothing in a part of the rows
        cv = self.cv if isinstance(self.cv, int | np.integer) else 5
        return self._with(calibrate=False, cv=cv)

    def _with(self, **changed: Any) -> HNBClassifier:
        """Unfitted, with other parameters; not by `clone`, for `cv` may be a generator."""
        return type(self)(**(self.get_params(deep=False) | changed))

    def _fit_training(self, training: Training, progress: FitProgress | None) -> None:
        if self.collapse == "exact" and len(self.classes_) > 2:
            raise ValueError(
                f'collapse="exact" is for two classes, but y has {len(self.classes_)}: '
                f'{self.classes_.tolist()}. Use collapse="greedy".'
            )
        self._members: list[HNBClassifier] = []
        self._folds_of = None
        if not isinstance(self.cv, int | np.integer):
            fold, n_folds, left_out = given_folds(training.y, self.cv, self._numbers, self._n_given)
            if left_out is not None:
                raise ValueError(
                    f"cv={self.cv!r} leaves rows out of both parts of a fold, but HNBClassifier's "
                    "folds learn from all rows that they do not test. Give such folds."
                )
            self._folds_of = (fold[training.y != UNLABELLED], n_folds)
        if self.n_models > 1:
            # the first is the model that n_models=1 would give
            more = check_random_state(self.random_state).randint(2**31, size=self.n_models - 1)
            for seed in [self.random_state, *more.tolist()]:
                one = self._member(seed)
                one._fit_one(training, None if self._members else progress)
                self._members.append(one)
        self._fit_one(training, progress)

    def _member(self, seed: Any) -> HNBClassifier:
        """An unfitted model of the average, which reads tables as this one does."""
        one = self._with(n_models=1, calibrate=False, random_state=seed)
        for name in ("schema_", "classes_", "n_unlabelled_", "n_features_in_", "_folds_of"):
            setattr(one, name, getattr(self, name, None))
        if hasattr(self, "feature_names_in_"):
            one.feature_names_in_ = self.feature_names_in_
        one.temperature_, one.calibration_, one._members = 1.0, {}, []
        return one

    def _fit_one(self, training: Training, progress: FitProgress | None) -> None:
        super()._fit_training(training, progress)
        del self._folds_of

    def _learn(self, rows: CodedRows, progress: FitProgress | None) -> None:
        if self._members:
            self._take_average()
        else:
            self._learn_one(rows, progress)

    def _take_average(self) -> None:
        """What the average of p(x, class) over the models needs, and what is told of their fits."""
        priors = np.stack([one.class_prior_ for one in self._members])
        self.class_prior_ = priors.mean(axis=0)
        # P(model | class); a fold of `calibrate` may lack a class
        share = np.full_like(priors, 1.0 / len(priors))
        np.divide(priors, priors.sum(axis=0), out=share, where=priors.sum(axis=0) > 0)
        self._model_shares = share
        longest = max(self._members, key=lambda one: one.n_iter_)
        self.history_, self.n_iter_ = longest.history_, longest.n_iter_
        self.restarts_ = longest.restarts_
        self.converged_ = all(one.converged_ for one in self._members)

    def _learn_one(self, rows: CodedRows, progress: FitProgress | None) -> None:
        hierarchy = self._search_hierarchy(rows)
        n_classes, sizes = len(self.classes_), hierarchy.sizes
        n_cells = int(hierarchy.offsets[-1])
        codes = np.concatenate([rows.codes, rows.unlabelled])
        weight = np.concatenate([rows.weight, rows.unlabelled_weight])
        states = hierarchy.encode(codes)
        fallback = [np.empty(0)]
        for v in hierarchy.tops:
            seen = states[:, v] >= 0
            counts = np.bincount(states[seen, v], weight[seen], sizes[v]) + 1e-300
            fallback.append(counts / counts.sum())
        cells = CountLayout(
            hierarchy.offsets[:-1],
            np.full(n_cells, float(self.alpha)),
            np.concatenate(fallback),
            np.ones(n_cells),
            np.zeros(n_cells, dtype=bool),
        )

        def count(codes: CodeArray, y: IndexArray, weight: FloatArray) -> FloatArray:
            place = hierarchy.top_cells(codes)
            total = np.zeros(n_classes * n_cells)
            for column in place.T:
                seen = column >= 0
                where = y[seen] * n_cells + column[seen]
                total += np.bincount(where, weight[seen], len(total))
            return total.reshape(n_classes, n_cells)

        params, _ = self._run_em(rows, cells, hierarchy.top_cells, count, progress)
        within = count_within(hierarchy, codes, weight, max(float(self.alpha), LEAST_MASS))
        self._model = Model(hierarchy, Tables(params.log_theta, within))
        self.class_prior_ = np.exp(params.log_pi)
        # labelled rows of each class in each state, for the rules
        known = states[: len(rows.codes)]
        self._support = []
        for v in range(len(hierarchy.n_levels), len(sizes)):
            seen = known[:, v] >= 0
            place = known[seen, v].astype(np.intp) * n_classes + rows.y[seen]
            support = np.bincount(place, rows.weight[seen], sizes[v] * n_classes).astype(np.float64)
            self._support.append(support.reshape(sizes[v], n_classes))

    def _search_hierarchy(self, rows: CodedRows) -> Hierarchy:
        n_levels, n_classes = self._coding.n_levels, len(self.classes_)
        marks = column_fingerprints(rows.codes, rows.y, rows.weight, n_levels, n_classes)
        # by what they hold, so that their order cannot decide between equal pairs
        order = sorted(range(len(marks)), key=lambda j: marks[j])
        seed = int(check_random_state(self.random_state).randint(2**31))
        codes = np.ascontiguousarray(rows.codes[:, order])
        distinct = distinct_rows(codes, rows.y, rows.weight, sorted(marks), seed)
        climb = self.search == "hill_climbing"
        if self._folds_of is None:
            folds = assign_folds(distinct, int(self.cv), salt=1)
        else:
            folds = given_parts(distinct, self._folds_of[0], rows.weight, self._folds_of[1])
        found = search_hierarchy(
            distinct,
            tuple(n_levels[j] for j in order),
            n_classes,
            assign_folds(distinct, 1 if climb else int(self.n_candidates), salt=2),
            folds,
            HierarchySettings(
                self.pair_measure, self.collapse == "exact", climb, float(self.alpha)
            ),
        )
        self.cv_scores_ = found.scores
        # back to the columns' own order
        n = len(n_levels)
        hierarchy = Hierarchy(n_levels)
        for latent in found.hierarchy.latents:
            first, second = (order[v] if v < n else v for v in latent.children)
            hierarchy = hierarchy.join(first, second, latent.states)
        return hierarchy

    # ----------------------------------------------------------- prediction, samples

    def _code_log_likelihood(self, codes: CodeArray) -> FloatArray:
        if not self._members:
            return log_likelihood(self._model, codes)
        total = np.full((len(codes), len(self.classes_)), -np.inf)
        with np.errstate(divide="ignore"):
            log_share = np.log(self._model_shares)
        for one, log_weight in zip(self._members, log_share, strict=True):
            np.logaddexp(total, log_likelihood(one._model, codes) + log_weight, out=total)
        return total

    def _sample_codes(self, y: IndexArray, rng: np.random.Generator) -> CodeArray:
        if not self._members:
            return draw_codes(self._model, y, rng)
        number = draw_levels(self._model_shares.T[y], rng)
        codes = np.empty((len(y), len(self._coding.n_levels)), dtype=np.int32)
        for m, one in enumerate(self._members):
            rows = np.flatnonzero(number == m)
            codes[rows] = draw_codes(one._model, y[rows], rng)
        return codes

    def _most_probable_codes(self, codes: CodeArray) -> CodeArray:
        """Exact: each cell in turn gets the level from which the others can reach the most.

        Not so for an average, which has no tree to send the best along: see the base class.
        """
        if self._members:
            return super()._most_probable_codes(codes)
        peaks = self._coding.peaks()
        with np.errstate(divide="ignore"):
            log_prior = np.log(self.class_prior_)
        for j, n_levels in enumerate(self._coding.n_levels):
            rows = np.flatnonzero(codes[:, j] < 0)
            if not rows.size:
                continue
            values = []
            for level in range(n_levels):
                codes[rows, j] = level
                best = best_log_likelihood(self._model, codes[rows], peaks)
                values.append((best + log_prior).max(axis=1))
            codes[rows, j] = np.stack(values, axis=1).argmax(axis=1)
        return codes

    def _latent(self, table: Table) -> FloatArray:
        if self._members:
            return np.hstack([one._latent(table) for one in self._members])
        if not self._model.hierarchy.latents:
            return super()._latent(table)
        log_posterior = self._log_posterior(table, None)
        start = 0

        def visit(block: Block) -> FloatArray:
            nonlocal start
            codes = self._coding.encode(block)
            rows = slice(start, start + len(codes))
            start += len(codes)
            return np.hstack(latent_posterior(self._model, codes, log_posterior[rows]))

        return np.concatenate([visit(block) for block in table.blocks()])

    def _latent_names(self) -> list[str]:
        if self._members:
            return [
                f"model{m}_{name}"
                for m, one in enumerate(self._members)
                for name in one._latent_names()
            ]
        hierarchy = self._model.hierarchy
        if not hierarchy.latents:
            return super()._latent_names()
        return [
            f"{name}={state}"
            for name, latent in zip(self.latent_children_, hierarchy.latents, strict=True)
            for state in range(latent.n_states)
        ]

    # ------------------------------------------------------------------ reading

    @property
    def models_(self) -> list[HNBClassifier]:
        """The models that are averaged, each fitted; with `n_models=1` this one alone."""
        check_is_fitted(self)
        return self._members or [self]

    def _only_model(self, asked: str) -> Model:
        """The hierarchy of a single model; an error for an average, which has several."""
        check_is_fitted(self)
        if self._members:
            raise AttributeError(
                f"n_models={self.n_models} averages several hierarchies: ask one of them, "
                f"models_[0].{asked}."
            )
        return self._model

    def _active_names(self) -> list[str]:
        return [self.schema_.columns[j].name for j in self._coding.positions]

    def _variable_names(self) -> list[str]:
        taken = list(self.schema_.names)
        names = self._active_names()
        for t in range(len(self._model.hierarchy.latents)):
            names.append(free_name(f"L{t + 1}", taken))
        return names

    @property
    def latent_children_(self) -> dict[str, tuple[str, str]]:
        """The two variables below each latent variable, by name."""
        hierarchy = self._only_model("latent_children_").hierarchy
        names, n = self._variable_names(), len(hierarchy.n_levels)
        return {
            names[n + t]: (names[latent.children[0]], names[latent.children[1]])
            for t, latent in enumerate(hierarchy.latents)
        }

    @property
    def top_variables_(self) -> list[str]:
        """Columns and latent variables right below the class."""
        tops = self._only_model("top_variables_").hierarchy.tops
        names = self._variable_names()
        return [names[v] for v in tops]

    @property
    def n_states_(self) -> dict[str, int]:
        """Number of states of each latent variable, by name."""
        latents = self._only_model("n_states_").hierarchy.latents
        return {
            name: latent.n_states
            for name, latent in zip(self.latent_children_, latents, strict=True)
        }

    def rules(self, max_length: int | None = MAX_LENGTH) -> Any:
        """Every state of every latent variable as a rule over the columns.

        Parameters
        ----------
        max_length : int or None, default=300
            A rule with more characters is told by the states of the latent variables below it,
            whose own rules stand above. None writes all out over the columns.

        Returns
        -------
        pandas.DataFrame
            One row a state: `latent` and `state`; `rule`, which holds for exactly the rows in that
            state; `support`, the weight of the labelled training rows known to be in it; and for
            every class `P(label)`, its share among those (NaN without any). Bounds of intervals
            are rounded to six digits; `cut_points_` has all. With several models, the first column
            `model` is the place in `models_`.
        """
        import pandas as pd

        check_is_fitted(self)
        if max_length is not None:
            check_number("max_length", max_length, low=0, whole=True)
        if self._members:
            frames = [one.rules(max_length) for one in self._members]
            whole = pd.concat(frames, keys=range(len(frames)), names=["model", "row"])
            return whole.reset_index("model").reset_index(drop=True)
        hierarchy, n = self._model.hierarchy, len(self._model.hierarchy.n_levels)
        labels = [f"P({label})" for label in self.classes_.tolist()]
        rows = []
        for t, (name, counts) in enumerate(zip(self.latent_children_, self._support, strict=True)):
            for state in range(hierarchy.latents[t].n_states):
                total = counts[state].sum()
                share = counts[state] / total if total > 0 else np.full(len(labels), np.nan)
                rule = self._rule(n + t, state, max_length)
                rows.append((name, state, rule, float(total), *share))
        frame = pd.DataFrame(rows, columns=["latent", "state", "rule", "support", *labels])
        if not rows:
            return frame.astype({"state": int, "support": float, **dict.fromkeys(labels, float)})
        if np.all(frame["support"] == np.rint(frame["support"])):
            frame["support"] = frame["support"].astype(int)
        return frame

    def _rule(self, variable: int, state: int, max_length: int | None = None) -> str:
        columns = [self.schema_.columns[j] for j in self._coding.positions]

        def alike(i: int, j: int) -> bool:
            both = columns[i].categories, columns[j].categories
            return len(both[0]) > 0 and list(both[0]) == list(both[1])

        def written(*, expand: bool) -> str:
            finder = RuleFinder(self._model.hierarchy, alike, expand)
            proposition = finder.find(variable, frozenset([state]))
            return write(proposition, self._active_names(), self._condition)

        text = written(expand=True)
        if max_length is not None and len(text) > max_length:
            return written(expand=False)
        return text

    def _condition(self, j: int, levels: tuple[int, ...]) -> str:
        """That a variable has one of some levels, in words."""
        name = self._variable_names()[j]
        categories: Sequence[Any] = range(self._model.hierarchy.sizes[j])  # states of a latent one
        if j < len(self._coding.active):
            continuous, place = self._coding.active[j]
            if continuous:
                return write_intervals(name, self._coding.bins[place].cuts, levels)
            categories = self.schema_.columns[self._coding.positions[j]].categories
        rest = [c for i, c in enumerate(categories) if i not in levels]
        chosen = [categories[i] for i in levels]
        if len(chosen) == 1:
            return f"{name} = {chosen[0]}"
        if len(rest) == 1:
            return f"{name} != {rest[0]}"
        listed, word = (chosen, "in") if len(chosen) <= len(rest) + 1 else (rest, "not in")
        return f"{name} {word} {{{', '.join(str(c) for c in listed)}}}"

    def explain(self, X: Any, y: Any = None, priors: Any = None) -> RuleExplanation:
        """Weight of evidence of each column, and of each variable below the class with its rule.

        Parameters
        ----------
        X : table with the columns of `fit`
        y : label or array-like of labels, optional
            The class to explain, for all rows or for each; by default the predicted one.
        priors : optional
            As in `predict_proba`.
        """
        told = super().explain(X, y, priors)
        table = self._read(X)
        target = self._label_codes(told.target, table.n_rows)
        parts = self._top_parts(table)
        weights = np.empty((table.n_rows, len(parts)))
        for place, part in enumerate(parts):
            hidden = table
            for leaf in part.leaves:
                hidden = self.schema_.hide(hidden, self._coding.positions[leaf])
            with np.errstate(invalid="ignore"):
                without = _log_odds(self._log_posterior(hidden, priors), target)
                weights[:, place] = told.log_odds - without
        weights[np.isnan(weights)] = 0.0
        return RuleExplanation(
            told.weights,
            told.target,
            told.log_odds,
            told.prior_log_odds,
            told.feature_names,
            told.index,
            [part.name for part in parts],
            weights,
            np.array([part.states for part in parts], dtype=np.int32).T,
            [part.conditions for part in parts],
        )

    def _top_parts(self, table: Table) -> list[_TopPart]:
        """The variables right below the class; of several models, a column only once."""
        found: dict[str, _TopPart] = {}
        codes = np.concatenate([self._coding.encode(block) for block in table.blocks()])
        for m, one in enumerate(self.models_):
            hierarchy = one._model.hierarchy
            states = hierarchy.encode(codes)
            for v, name in zip(hierarchy.tops, one.top_variables_, strict=True):
                latent = hierarchy.latent(v) is not None
                every = range(hierarchy.sizes[v])
                if not latent:
                    conditions = [one._condition(v, (state,)) for state in every]
                else:
                    conditions = [one._rule(v, state, MAX_LENGTH) for state in every]
                    if self._members:
                        name = f"model{m}_{name}"
                        conditions = [f"{text} (model {m})" for text in conditions]
                part = _TopPart(name, hierarchy.leaves(v), states[:, v], conditions)
                found.setdefault(name, part)
        return list(found.values())

    # ------------------------------------------------------------------ other programs

    def to_network(self) -> list[BifVariable]:
        """The enlarged network of section 6.3 in the paper: the same model as an ordinary network.

        A latent variable becomes two: its state below the class, and below that the pair of its
        children's levels (`<name>_pair`), which decides both children.

        Returns
        -------
        list of BifVariable
            Named tuples `(name, states, parents, table)`, the class first, parents before
            children. Discretised columns have the states `bin0`, `bin1`, and so on, cut at
            `cut_points_`. Columns of one level are left out.
        """
        model = self._only_model("to_network()")
        levels: list[list[Any]] = []
        for j, n_levels in enumerate(model.hierarchy.n_levels):
            column = self.schema_.columns[self._coding.positions[j]]
            levels.append(list(column.categories) or [f"bin{b}" for b in range(n_levels)])
        names, taken = self._variable_names(), list(self.schema_.names)
        root = BifVariable(
            free_name("class", [*taken, *names]), self.classes_.tolist(), (), self.class_prior_
        )
        return enlarged_network(model, root, names, levels, taken)

    def to_bif(self, path: str | PathLike[str] | None = None) -> str:
        """The network of `to_network` in BIF, which most Bayesian-network programs read.

        Parameters
        ----------
        path : str or path, optional
            File to write.

        Returns
        -------
        str
            The text; see `write_bif` for how names are spelled.
        """
        return write_bif(self.to_network(), path, title=type(self).__name__)
