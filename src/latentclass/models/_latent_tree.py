"""Latent tree classifier: one tree of latent variables per class."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from functools import partial
from os import PathLike
from typing import Any, Self

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._validation import check_number, check_option
from latentclass._warn import warn_user
from latentclass.core._em import run_restarts
from latentclass.core._row_parts import column_marks
from latentclass.core._side_by_side import side_by_side
from latentclass.core._tree import Tree, edge_information, marginals, observed_codes, sample_nodes
from latentclass.data._schema import Block, Table
from latentclass.models._base import FloatArray, IntArray
from latentclass.models._bif import BifVariable, free_name, write_bif
from latentclass.models._callbacks import FitProgress
from latentclass.models._discrete import Codes, DiscreteClassifier, Rows
from latentclass.models._score_name import ScoreParameter

SEARCHES = ("east", "fast")


class LatentTreeClassifier(DiscreteClassifier):
    """Latent tree classifier: each class has a tree of latent variables of its own.

    The columns are the leaves of a tree whose inner nodes are latent variables; a class is
    described by one such tree, found by search. Each latent variable splits the rows of its class
    into groups (`latent_groups`), and what its columns have in common runs through it. With no
    latent variable of two states or more this is naive Bayes. Choose it for discrete (or cut)
    columns that depend on each other, where one wants to see the groups within each class. It
    costs a search for each class: seconds to minutes.

    Parameters
    ----------
    score : {"aic", "bic"}, default="aic"
        What the search raises: the log-likelihood less 1 (AIC) or half the logarithm of the
        number of rows of the class (BIC) for each parameter.
    search : {"east", "fast"}, default="east"
        "east": nodes and states are added, moved and taken away one at a time as long as the score
        rises [2]_. "fast": structure from the mutual information of the columns, in one go; for
        many columns or rows.
    alpha : float, default=1.0
        Added to every expected count of the final tables; 0 is maximum likelihood.
    max_states : int, default=20
        Most states of a latent variable.
    max_latent : int or None, default=None
        Most latent variables in a tree; None sets no limit.
    time_budget : float or None, default=None
        Seconds after which the search in each class stops with the best tree so far.
    warm_start : bool, default=False
        Whether `fit` goes on from the trees of the last `fit` if classes and columns are the same.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete: those of text, category or boolean type; none; or the listed
        names, positions, or mask. All others are cut into bins (see Notes).
    handle_unknown : {"missing", "error"}, default="missing"
        A category not seen in `fit` is a missing value, or an error.
    calibrate : bool, default=False
        Learn a temperature for the evidence on held-out folds, and keep it where it lowers the
        held-out log-loss.
    n_init : int, default=16
        Starts from which each step of the search is judged.
    max_iter : int, default=500
        Most EM iterations on a whole tree.
    tol : float, default=1e-5
        The last EM, on all rows, stops when the objective per row gains no more than this.
    random_state : int, RandomState or None, default=None
        Seeds the starts, the folds of `calibrate`, and `sample`.
    n_jobs : int or None, default=None
        Threads over the classes, and over the steps that are compared where there are more threads
        than classes. The result does not depend on it.
    verbose : int, default=0
        1 prints each step of the search and each EM iteration to standard error.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels in sorted order.
    class_prior_ : array of shape (n_classes,)
        Share of each class.
    cut_points_ : dict of str to array
        Cut points of each continuous column.
    trees_ : dict of label to Tree
        The tree of each class; `latent_cardinalities` has the number of states of its latent
        variables, in the order of `latent_names_`. Empty if no column varies.
    latent_names_ : dict of label to tuple of str
        Names of the latent variables of each class; see `rename_latents`.
    search_steps_ : dict of label to list of Step
        What the search in each class did: move, score, n_latent, n_parameters, n_judged, seconds.
    search_ended_ : dict of label to str
        "done", "time" (out of `time_budget`) or "interrupt".
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_unlabelled_ : int
        Rows without label that were learned from.
    temperature_ : float
        Divides log p(x | class) in prediction; 1 unless `calibrate` found a better one.
    calibration_ : dict
        With `calibrate=True`: the learned temperature and the held-out log-loss before and after;
        else empty.
    log_likelihood_ : float
        log p(X, y), summed over rows with their weights, unlabelled rows by log p(x).
    history_ : list of float
        Objective of the last EM per row: at the start and after each step.
    n_iter_ : int
        M-steps of the last EM.
    converged_ : bool
        Whether its last gain was at most `tol`.
    restarts_ : dict of str to array
        One entry for the last EM: start, objective, n_iter, converged, reseeded, kept.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Their names, if the table had names.

    Notes
    -----
    Continuous columns are cut by Fayyad and Irani's rule on the labelled rows of `fit`. Inside a
    bin their density is the same in all classes: even between cuts, half a Gaussian beyond the
    outer ones; so it changes `score_samples`, not the class. A column of two numbers is always cut
    between them. Columns of one level are left out.

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

    score: Any = ScoreParameter()
    _trees: list[Tree]
    _names: list[list[str]]
    _searched: tuple[Any, list[Tree]]

    search_steps_: dict[Any, list[Any]]
    search_ended_: dict[Any, str]

    def __init__(
        self,
        *,
        score: str = "aic",
        search: str = "east",
        alpha: float = 1.0,
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
        self.score = score
        self.search = search
        self.alpha = alpha
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

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters as they were given; see scikit-learn's `BaseEstimator.get_params`."""
        return {**super().get_params(deep), "score": vars(self)["score"]}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option("score", vars(self)["score"], ("aic", "bic"))
        check_option("search", self.search, SEARCHES)
        check_option("warm_start", self.warm_start, (True, False))
        check_number("max_states", self.max_states, low=1, whole=True)
        if self.max_latent is not None:
            check_number("max_latent", self.max_latent, low=1, whole=True)
        if self.time_budget is not None:
            check_number("time_budget", self.time_budget, low=0)

    # ------------------------------------------------------------------ fit

    def _twin(self) -> Any:
        return clone(self).set_params(calibrate=False, warm_start=False)

    def _learn(self, rows: Rows, progress: FitProgress | None) -> None:
        from latentclass.core._latent_tree import arranged
        from latentclass.core._latent_tree_em import ClassTreesProblem
        from latentclass.core._tree_inference import group_rows

        n_classes = len(self.classes_)
        own = [rows.y == k for k in range(n_classes)]
        if self._coding.n_levels:
            trees = self._search_trees(rows, own)
        else:  # nothing to tell rows apart by: EM learns the shares of the classes alone
            trees = [Tree.even((-1,), (1,), (0,))] * n_classes
            rows = rows._replace(codes=_zeros(rows.codes), unlabelled=_zeros(rows.unlabelled))
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
        self.history_, self.n_iter_ = result.history, result.n_iter
        self.converged_, self.restarts_ = result.converged, result.restarts
        self.class_prior_ = np.exp(result.params.log_pi[0])
        if not self._coding.n_levels:
            self._trees, self._names = [], [[] for _ in self.classes_]
            return
        self._trees = [arranged(tree) for tree in problem.fitted(result.params.theta[0])]
        taken, number = list(self.schema_.names), 0
        self._names = []
        for tree in self._trees:
            self._names.append([])
            for _ in tree.latent:
                number += 1
                self._names[-1].append(free_name(f"Y{number}", taken))

    def _search_trees(self, rows: Rows, own: list[Any]) -> list[Tree]:
        from latentclass.core._east import Found, Settings, first_tree, search
        from latentclass.core._latent_tree import with_columns
        from latentclass.core._latent_tree_fast import search_fast

        n_levels, n_classes = self._coding.n_levels, len(self.classes_)
        seed = int(check_random_state(self.random_state).randint(2**31))
        same = (self.classes_.tolist(), self._active_names(), n_levels)
        before: list[Tree] = []
        if self.warm_start and getattr(self, "_searched", (None, []))[0] == same:
            before = self._searched[1]
        n_threads = min(joblib.effective_n_jobs(self.n_jobs), n_classes)
        stop = threading.Event()

        def visit(k: int) -> Found:
            codes, weight = rows.codes[own[k]], rows.weight[own[k]]
            if not len(codes):
                return Found(first_tree(n_levels), -np.inf, [], "done")
            marks = column_marks(codes, np.zeros(len(codes), dtype=np.intp), weight, n_levels, 1)
            # columns by what they hold, so that their order decides nothing
            order = sorted(range(len(marks)), key=lambda j: marks[j])
            settings = Settings(
                penalty=1.0 if vars(self)["score"] == "aic" else 0.5 * float(np.log(weight.sum())),
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

        every = side_by_side([partial(visit, k) for k in range(n_classes)], n_threads, stop)
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

    def _code_log_likelihood(self, codes: Codes) -> FloatArray:
        from latentclass.core._latent_tree_rows import class_log_likelihood

        if not self._trees:
            return np.zeros((len(codes), len(self.classes_)))
        return class_log_likelihood(self._trees, codes)

    def _own_log_likelihood(self, codes: Codes, y: IntArray) -> FloatArray:
        from latentclass.core._latent_tree_rows import class_log_likelihood

        out = np.zeros(len(codes))
        for k, tree in enumerate(self._trees):
            out[y == k] = class_log_likelihood([tree], codes[y == k])[:, 0]
        return out

    def _sample_codes(self, y: IntArray, rng: np.random.Generator) -> Codes:
        codes = np.empty((len(y), len(self._coding.n_levels)), dtype=np.int32)
        for k, tree in enumerate(self._trees):
            mine = y == k
            drawn = sample_nodes(tree, int(mine.sum()), rng)
            codes[mine] = observed_codes(tree, drawn, codes.shape[1])
        return codes

    def _latent(self, table: Table) -> FloatArray:
        from latentclass.core._tree_inference import group_rows, node_posteriors

        if not self._trees:
            return super()._latent(table)
        posterior = np.exp(self._log_posterior(table, None))
        start = 0

        def visit(block: Block) -> FloatArray:
            nonlocal start
            codes = group_rows(self._coding.encode(block))
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

    # ------------------------------------------------------------------ reading

    def _active_names(self) -> list[str]:
        return [self.schema_.columns[j].name for j in self._coding.positions]

    @property
    def trees_(self) -> dict[Any, Tree]:
        """The tree of each class; its columns are those that vary, in the table's order."""
        check_is_fitted(self)
        return dict(zip(self.classes_.tolist(), self._trees, strict=False))

    @property
    def latent_names_(self) -> dict[Any, tuple[str, ...]]:
        """Names of the latent variables of each class, in the order of `trees_`' latent nodes."""
        check_is_fitted(self)
        return {k: tuple(n) for k, n in zip(self.classes_.tolist(), self._names, strict=True)}

    def rename_latents(self, names: Mapping[str, str]) -> Self:
        """Give latent variables other names, which all outputs then use.

        Parameters
        ----------
        names : mapping of str to str
            New name by the present one.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if not isinstance(names, Mapping) or not all(str(new).strip() for new in names.values()):
            raise ValueError(
                f"names={names!r} must map present names of latent variables to new ones, none "
                "of them empty."
            )
        every = [name for own in self._names for name in own]
        unknown = [name for name in names if name not in every]
        if unknown:
            raise ValueError(f"No latent variable has the name {unknown[0]!r}. There are: {every}.")
        new = [[str(names.get(name, name)) for name in own] for own in self._names]
        seen = list(self.schema_.names)
        for name in (name for own in new for name in own):
            if name in seen:
                raise ValueError(
                    f"The name {name!r} is taken by a column or another latent variable. Choose "
                    "another."
                )
            seen.append(name)
        self._names = new
        return self

    def _class_code(self, y: Any) -> int:
        check_is_fitted(self)
        return int(self._label_codes(y, 1)[0])

    def _variable_names(self, k: int) -> list[str]:
        """Names of the nodes of a class's tree."""
        tree, columns, latent = self._trees[k], self._active_names(), iter(self._names[k])
        return [columns[c] if c >= 0 else next(latent) for c in tree.columns]

    def _levels(self, j: int) -> list[Any]:
        """States of an active column."""
        column = self.schema_.columns[self._coding.positions[j]]
        return list(column.categories) or [f"bin{b}" for b in range(self._coding.n_levels[j])]

    def latent_groups(self, y: Any, *, n_columns: int | None = None) -> Any:
        """The groups into which each latent variable of a class splits its rows.

        Parameters
        ----------
        y : label
            The class.
        n_columns : int, optional
            How many columns to show for each latent variable; by default all.

        Returns
        -------
        pandas.DataFrame
            For every latent variable (`latent`) and column, the one that sets the groups apart
            most first (`information`, their mutual information in nats): the `level`s of the
            column with their `probability` in each `group`, whose `size` is its share of the
            class. Levels of a cut column are its bins (`cut_points_`).
        """
        import pandas as pd

        from latentclass.core._latent_tree import separations

        k = self._class_code(y)
        if n_columns is not None:
            check_number("n_columns", n_columns, low=1, whole=True)
        columns, rows = self._active_names(), []
        for tree in self._trees[k : k + 1]:
            for name, node in zip(self._names[k], tree.latent, strict=True):
                size = marginals(tree)[node].tolist()
                for part in separations(tree, node)[:n_columns]:
                    for group, shares in enumerate(part.shares):
                        rows += [
                            (name, group, size[group], columns[part.column], part.information, *lev)
                            for lev in zip(self._levels(part.column), shares, strict=True)
                        ]
        heads = ["latent", "group", "size", "column", "information", "level", "probability"]
        return pd.DataFrame(rows, columns=heads)

    def tree_edges(self, y: Any) -> list[tuple[str, str, float]]:
        """The edges of a class's tree.

        Parameters
        ----------
        y : label
            The class.

        Returns
        -------
        list of (str, str, float)
            Parent and child by name, parents before children, and their mutual information in
            nats.
        """
        k = self._class_code(y)
        edges = []
        for tree in self._trees[k : k + 1]:
            names, information = self._variable_names(k), edge_information(tree)
            edges += [
                (names[parent], names[node], float(information[node]))
                for node, parent in enumerate(tree.parents)
                if parent >= 0
            ]
        return edges

    def to_network(self, y: Any) -> list[BifVariable]:
        """The tree of a class as an ordinary Bayesian network.

        Parameters
        ----------
        y : label
            The class.

        Returns
        -------
        list of BifVariable
            Named tuples `(name, states, parents, table)`, parents before children; it is the
            distribution of the columns within the class. Latent variables have the states
            `group0`, `group1`, and so on, cut columns `bin0`, `bin1`, at `cut_points_`. Columns of
            one level are left out.
        """
        k = self._class_code(y)
        variables = []
        for tree in self._trees[k : k + 1]:
            names = self._variable_names(k)
            for node, (parent, column) in enumerate(zip(tree.parents, tree.columns, strict=True)):
                states = self._levels(column) if column >= 0 else _groups(tree.cardinalities[node])
                table = tree.tables[node]
                given = () if parent < 0 else (names[parent],)
                variables.append(
                    BifVariable(names[node], states, given, table if given else table[0])
                )
        return variables

    def to_bif(self, y: Any, path: str | PathLike[str] | None = None) -> str:
        """The network of `to_network` in BIF, which most Bayesian-network programs read.

        Parameters
        ----------
        y : label
            The class.
        path : str or path, optional
            File to write.

        Returns
        -------
        str
            The text; see `write_bif` for how names are spelled.
        """
        return write_bif(self.to_network(y), path, title=f"{type(self).__name__}_{y}")


def _zeros(codes: Codes) -> Codes:
    return np.zeros((len(codes), 1), dtype=np.int32)


def _groups(k: int) -> list[str]:
    return [f"group{state}" for state in range(k)]
