"""Latent tree classifier: one tree of latent variables per class."""

from __future__ import annotations

import sys
import threading
import time
from functools import partial
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass._validation import check_number, check_option
from latentclass._warn import warn_user
from latentclass.data._schema import Block, Table
from latentclass.discrete._coding import CodedRows, Coding
from latentclass.discrete._cut_sets import CutSet, learn_cut_sets
from latentclass.engine._content_folds import column_fingerprints
from latentclass.engine._em import run_restarts
from latentclass.engine._parallel import run_interruptible
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._gaussian_model import mix_models
from latentclass.estimator._legacy_reading import Training
from latentclass.latent_tree._inspection import TreeReading
from latentclass.latent_tree._tree import Tree, observed_codes, sample_nodes

SEARCHES = ("east", "fast")


class LatentTreeClassifier(TreeReading):
    """Latent tree classifier: each class has a tree of latent variables of its own.

    The columns are the leaves of a tree whose inner nodes are latent variables; a class is
    described by one such tree, found by search. Each latent variable splits the rows of its class
    into groups (`latent_groups`), and what its columns have in common runs through it. With no
    latent variable of two states or more this is naive Bayes. Choose it for discrete (or cut)
    columns that depend on each other, where one wants to see the groups within each class. It
    costs a search for each class: seconds to minutes.

    Parameters
    ----------
    criterion : {"aic", "bic"}, default="aic"
        What the search raises: the log-likelihood less 1 (AIC) or half the logarithm of the
        number of rows of the class (BIC) for each parameter.
    search : {"east", "fast"}, default="east"
        "east": nodes and states are added, moved and taken away one at a time as long as the score
        rises [2]_. "fast": structure from the mutual information of the columns, in one go; for
        many columns or rows.
    alpha : float, default=1.0
        Pseudo-count of every category and latent state in the final tables; 0 is maximum
        likelihood.
    n_cuts : int, default=10
        Sets of cut points of the continuous columns over which the model is averaged. The first is
        that of the rows as they are; the others come from redrawn weights (see Notes). 1 takes the
        first alone. Tables without continuous columns have a single set.
    max_states : int, default=20
        Most states of a latent variable.
    max_latent : int or None, default=None
        Most latent variables in a tree; None sets no limit.
    time_budget : float or None, default=None
        Seconds after which the search in each class stops with the best tree so far.
    warm_start : bool, default=False
        Whether `fit` goes on from the trees of the last `fit` if classes and columns are the same.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete. "from_dtype": those of text, category or boolean type; None:
        none; or a list of names or positions, or a mask. All other columns are cut into bins (see
        Notes).
    handle_unknown : {"missing", "error"}, default="missing"
        Whether a category not seen in `fit` is read as missing or raises an error.
    calibrate : bool, default=False
        Learn a temperature for the evidence on held-out folds, and keep it if it lowers the
        held-out log-loss.
    n_init : int, default=16
        Number of starts that judge each step of the search.
    max_iter : int, default=500
        Maximum number of EM iterations on a whole tree.
    tol : float, default=1e-5
        The last EM, on all rows, stops when the objective per row gains no more than this.
    random_state : int, RandomState or None, default=None
        Seeds the random starts, the folds of `calibrate`, and `sample`.
    n_jobs : int or None, default=None
        Number of threads over the classes, and over the steps that are compared if there are more
        threads than classes. The result does not depend on it.
    verbose : int, default=0
        1 prints each step of the search and each EM iteration to standard error.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
    class_prior_ : array of shape (n_classes,)
        Share of each class.
    cut_points_ : dict of str to array
        Cut points of each continuous column, in the first set.
    trees_ : dict of label to Tree
        The tree of each class, for the first set of cut points; `latent_cardinalities` has the
        number of states of its latent variables, in the order of `latent_names_`. Empty if no
        column varies.
    latent_names_ : dict of label to tuple of str
        Names of the latent variables of each class; see `rename_latents`.
    search_steps_ : dict of label to list of Step
        What the search in each class did: move, score, n_latent, n_parameters, n_judged, seconds.
    search_ended_ : dict of label to str
        "done", "time" (out of `time_budget`) or "interrupt".
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
        Objective per row of the last EM: at its start and after each step.
    n_iter_ : int
        Number of M-steps of the last EM.
    converged_ : bool
        Whether the last gain of EM was at most `tol`.
    restarts_ : dict of str to array
        One entry for the last EM: start, objective, n_iter, converged, reseeded, kept.
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

    Where a column is cut depends on the rows one happens to have. So `n_cuts` sets of cut points
    are learned, all but the first from rows whose weights are drawn anew (Bayesian bootstrap
    [3]_), and class probabilities and densities are averaged over them. All have the trees that
    were found for the first set, with tables of their own; what one reads (`trees_`,
    `latent_groups`, `transform`, `to_bif`) is of the first.

    The trees' structure is learned from the labelled rows. Then EM learns all tables from all
    rows, those without label shared out over the classes, with `alpha` added to the counts.
    Missing cells are summed out exactly. `transform` gives P(class, state | x) for every state of
    every latent variable of every class.

    Where we differ from [1]_: steps are judged by local EM with all messages from the unchanged
    part of the tree computed once; a step is first judged from few starts, what it was found to
    gain is remembered until one of its nodes changes, and only steps that look best are judged
    from all; EM on a whole tree starts from the tables that local EM found only; the final
    tables are those of EM with `alpha` in every step, not of one step at its end.

    References
    ----------
    .. [1] Wang, Y., Zhang, N. L., Chen, T. and Poon, L. K. M. (2011). Latent tree classifier.
       ECSQARU 2011, 410-421.
    .. [2] Chen, T., Zhang, N. L., Liu, T., Poon, K. M. and Wang, Y. (2012). Model-based
       multidimensional clustering of categorical data. Artificial Intelligence 176, 2246-2269.
    .. [3] Rubin, D. B. (1981). The Bayesian bootstrap. The Annals of Statistics 9, 130-134.

    Examples
    --------
    >>> from latentclass import LatentTreeClassifier
    >>> from latentclass.datasets import load_dataset
    >>> corral = load_dataset("corral", container="pandas")
    >>> model = LatentTreeClassifier(random_state=0).fit(corral.X, corral.y)
    >>> {label: tree.latent_cardinalities for label, tree in model.trees_.items()}
    {'0': (2, 2), '1': (2,)}
    >>> model.score(corral.X, corral.y)
    1.0
    """

    _priors: list[FloatArray]
    _searched: tuple[Any, list[Tree]]

    search_steps_: dict[Any, list[Any]]
    search_ended_: dict[Any, str]

    def __init__(
        self,
        *,
        criterion: str = "aic",
        search: str = "east",
        alpha: float = 1.0,
        n_cuts: int = 10,
        max_states: int = 20,
        max_latent: int | None = None,
        time_budget: float | None = None,
        warm_start: bool = False,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        calibrate: bool = False,
        n_init: int = 16,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.criterion = criterion
        self.search = search
        self.alpha = alpha
        self.n_cuts = n_cuts
        self.max_states = max_states
        self.max_latent = max_latent
        self.time_budget = time_budget
        self.warm_start = warm_start
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
        check_option("criterion", self.criterion, ("aic", "bic"))
        check_option("search", self.search, SEARCHES)
        check_option("warm_start", self.warm_start, (True, False))
        check_number("n_cuts", self.n_cuts, low=1, whole=True)
        check_number("max_states", self.max_states, low=1, whole=True)
        if self.max_latent is not None:
            check_number("max_latent", self.max_latent, low=1, whole=True)
        if self.time_budget is not None:
            check_number("time_budget", self.time_budget, low=0)

    # ------------------------------------------------------------------ fit

    def _unfitted_copy(self) -> Any:
        return clone(self).set_params(calibrate=False, warm_start=False)

    def _learn_coding(self, training: Training) -> Coding:
        seeds = check_random_state(self.random_state).randint(2**31, size=int(self.n_cuts) - 1)
        fine, self._sets = learn_cut_sets(
            self.schema_, *training, len(self.classes_), seeds.tolist()
        )
        return fine

    def _learn(self, rows: CodedRows, progress: FitProgress | None) -> None:
        from latentclass.latent_tree._arrange import arranged, with_leaves

        own = [rows.y == k for k in range(len(self.classes_))]
        self._models = []
        if not self._coding.n_levels:
            # nothing to tell rows apart by: EM learns the classes' shares alone
            rows = rows._replace(codes=_zeros(rows.codes), unlabelled=_zeros(rows.unlabelled))
            none = [Tree.even((-1,), (1,), (0,))] * len(self.classes_)
            self._priors = [self._learn_tables(none, rows, own, progress)[1]]
            self.class_prior_ = self._priors[0]
            self._name_latents()
            return
        first = self._seen(rows, self._sets[0])
        found = self._search_trees(first, own)
        learned, prior = self._learn_tables(found, first, own, progress)
        trees = [arranged(tree) for tree in learned]
        self._models, self._priors = [trees], [prior]
        for cuts in self._sets[1:]:
            other = self._seen(rows, cuts)
            start = [
                with_leaves(tree, first.codes[k], other.codes[k], rows.weight[k], cuts.n_levels)
                for tree, k in zip(trees, own, strict=True)
            ]
            more, prior = self._learn_tables(start, other, own)
            self._models.append(more)
            self._priors.append(prior)
        self.class_prior_ = np.mean(self._priors, axis=0)
        self._name_latents()

    def _seen(self, rows: CodedRows, cuts: CutSet) -> CodedRows:
        """The rows by the levels of one set of cut points."""
        if len(self._sets) == 1:
            return rows
        return rows._replace(codes=cuts.coarse(rows.codes), unlabelled=cuts.coarse(rows.unlabelled))

    def _learn_tables(
        self,
        trees: list[Tree],
        rows: CodedRows,
        own: list[Any],
        progress: FitProgress | None = None,
    ) -> tuple[list[Tree], FloatArray]:
        """EM for the tables of all trees from all rows; the trees, and the classes' shares."""
        from latentclass.latent_tree._class_trees_em import ClassTreesProblem
        from latentclass.latent_tree._inference import group_rows

        problem = ClassTreesProblem(
            tuple(trees),
            tuple(group_rows(rows.codes[k], rows.weight[k]) if k.any() else None for k in own),
            group_rows(rows.unlabelled, rows.unlabelled_weight) if len(rows.unlabelled) else None,
            float(self.alpha),
            self.n_jobs,
        )
        result = run_restarts(
            problem,
            problem.start(),
            tol=self.tol,
            max_iter=self.max_iter,
            rngs=[np.random.default_rng(0)],
            on_iteration=None if progress is None else progress.step,
        )
        if not self._models:  # the attributes tell of the first set of cut points
            self.history_, self.n_iter_ = result.history, result.n_iter
            self.converged_, self.restarts_ = result.converged, result.restarts
        return list(problem.fitted(result.params.theta[0])), np.exp(result.params.log_pi[0])

    def _search_trees(self, rows: CodedRows, own: list[Any]) -> list[Tree]:
        from latentclass.latent_tree._arrange import with_columns
        from latentclass.latent_tree._chow_liu_search import search_fast
        from latentclass.latent_tree._east import EastSettings, FoundTree, first_tree, search

        n_levels, n_classes = self._sets[0].n_levels, len(self.classes_)
        seed = int(check_random_state(self.random_state).randint(2**31))
        same = (self.classes_.tolist(), self._active_names(), n_levels)
        before: list[Tree] = []
        if self.warm_start and getattr(self, "_searched", (None, []))[0] == same:
            before = self._searched[1]
        n_threads = min(joblib.effective_n_jobs(self.n_jobs), n_classes)
        stop = threading.Event()

        def visit(k: int) -> FoundTree:
            codes, weight = rows.codes[own[k]], rows.weight[own[k]]
            if not len(codes):
                return FoundTree(first_tree(n_levels), -np.inf, [], "done")
            marks = column_fingerprints(
                codes, np.zeros(len(codes), dtype=np.intp), weight, n_levels, 1
            )
            # columns by what they hold, so that their order decides nothing
            order = sorted(range(len(marks)), key=lambda j: marks[j])
            settings = EastSettings(
                penalty=1.0 if self.criterion == "aic" else 0.5 * float(np.log(weight.sum())),
                n_init=int(self.n_init),
                max_states=int(self.max_states),
                max_latent=sys.maxsize if self.max_latent is None else int(self.max_latent),
                max_iter=int(self.max_iter),
                seed=seed,
                n_jobs=joblib.effective_n_jobs(self.n_jobs) // n_threads,
                deadline=None if self.time_budget is None else time.monotonic() + self.time_budget,
                stop=stop,
            )
            found = (search if self.search == "east" else search_fast)(
                np.ascontiguousarray(codes[:, order]),
                weight,
                [n_levels[j] for j in order],
                settings,
                start=with_columns(before[k], np.argsort(order).tolist()) if before else None,
                on_step=self._report(self.classes_[k]) if self.verbose else None,
            )
            return found._replace(tree=with_columns(found.tree, order))

        every = run_interruptible([partial(visit, k) for k in range(n_classes)], n_threads, stop)
        labels = self.classes_.tolist()
        self.search_steps_ = {label: f.steps for label, f in zip(labels, every, strict=True)}
        self.search_ended_ = {label: f.ended for label, f in zip(labels, every, strict=True)}
        trees = [found.tree for found in every]
        self._searched = (same, trees)
        self._warn_if_stopped()
        return trees

    def _report(self, label: Any) -> Any:
        def report(step: Any) -> None:
            print(
                f"LatentTreeClassifier: class {label}, {step.move}, score {step.score:.2f}, "
                f"{step.n_latent} latent, {step.n_parameters} parameters, {step.seconds:.1f} s",
                file=sys.stderr,
            )

        return report

    def _warn_if_stopped(self) -> None:
        labels = [label for label, how in self.search_ended_.items() if how != "done"]
        if not labels:
            return
        cause = f"by time_budget={self.time_budget}"
        if "interrupt" in self.search_ended_.values():
            cause = "by an interrupt"
        warn_user(
            f"The search was stopped {cause} in {len(labels)} of {len(self.classes_)} classes "
            f"({labels}); their best trees so far are kept. To go on, fit again with "
            "warm_start=True, or raise time_budget.",
            ConvergenceWarning,
        )

    # ----------------------------------------------------------- prediction, samples

    def _code_log_likelihood(self, codes: CodeArray) -> FloatArray:
        from latentclass.latent_tree._predict_kernels import class_log_likelihood

        if not self._models:
            return np.zeros((len(codes), len(self.classes_)))
        if len(self._models) == 1:
            return class_log_likelihood(self._trees, codes)
        evidence = [
            class_log_likelihood(trees, cuts.coarse(codes)) + cuts.log_inside(codes)[:, None]
            for trees, cuts in zip(self._models, self._sets, strict=True)
        ]
        with np.errstate(divide="ignore"):  # a fold of `calibrate` may lack a class
            return mix_models(np.stack(evidence), np.log(self._priors), self.class_prior_)

    def _own_log_likelihood(self, codes: CodeArray, y: IndexArray) -> FloatArray:
        from latentclass.latent_tree._predict_kernels import class_log_likelihood

        if len(self._models) > 1:
            return super()._own_log_likelihood(codes, y)
        out = np.zeros(len(codes))
        for k, tree in enumerate(self._trees):
            out[y == k] = class_log_likelihood([tree], codes[y == k])[:, 0]
        return out

    def _sample_codes(self, y: IndexArray, rng: np.random.Generator) -> CodeArray:
        codes = np.empty((len(y), len(self._coding.n_levels)), dtype=np.int32)
        chosen = rng.integers(len(self._models), size=len(y)) if len(self._models) > 1 else 0 * y
        for number, (trees, cuts) in enumerate(zip(self._models, self._sets, strict=False)):
            for k, tree in enumerate(trees):
                mine = (chosen == number) & (y == k)
                drawn = sample_nodes(tree, int(mine.sum()), rng)
                own = observed_codes(tree, drawn, codes.shape[1])
                codes[mine] = cuts.draw(own, rng) if len(self._models) > 1 else own
        return codes

    def _latent(self, table: Table) -> FloatArray:
        from latentclass.latent_tree._inference import group_rows, node_posteriors

        if not self._trees:
            return super()._latent(table)
        posterior = np.exp(self._log_posterior(table, None))
        start = 0

        def visit(block: Block) -> FloatArray:
            nonlocal start
            codes = group_rows(self._sets[0].coarse(self._coding.encode(block)))
            share = posterior[start : start + len(codes)]
            start += len(codes)
            return np.hstack(
                [
                    part * share[:, k : k + 1]
                    for k, tree in enumerate(self._trees)
                    for part in node_posteriors(tree, codes)
                ]
            )

        return np.concatenate([visit(block) for block in table.blocks()])

    def _latent_names(self) -> list[str]:
        if not self._trees:
            return super()._latent_names()
        return [
            f"{label}:{name}={state}"
            for label, tree in self.trees_.items()
            for name, k in zip(self.latent_names_[label], tree.latent_cardinalities, strict=True)
            for state in range(k)
        ]


def _zeros(codes: CodeArray) -> CodeArray:
    return np.zeros((len(codes), 1), dtype=np.int32)
