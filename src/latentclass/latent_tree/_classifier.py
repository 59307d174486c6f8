"""Latent tree classifier: one tree of latent variables per class."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray
from latentclass._validation import MOST_ROWS, MOST_STARTS, check_number, check_option
from latentclass._warn import warn_user
from latentclass.discrete._base import DiscreteClassifier, check_searched_columns
from latentclass.discrete._coding import code_rows
from latentclass.discrete._cut_sets import learn_cut_sets
from latentclass.discrete._training_rows import TrainingRows
from latentclass.estimator._average import Average
from latentclass.estimator._bif import BifVariable, write_bif
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._clarity import StateClarity
from latentclass.estimator._fitted import FitRecord, Learned
from latentclass.estimator._latent_names import NamedLatents
from latentclass.estimator._parted import PartedTraining
from latentclass.estimator._published import AsPublished
from latentclass.estimator._reading import Training, label_codes
from latentclass.estimator._tuning import Tuned
from latentclass.latent_tree._inspection import (
    GROUP_HEADS,
    ClassTree,
    name_latents,
    tree_edges,
    tree_groups,
    tree_variables,
)
from latentclass.latent_tree._model import LatentTreeModel
from latentclass.latent_tree._settings import TreeSettings
from latentclass.latent_tree._tree import Tree

MANY_COLUMNS = 200
"""From more columns on, a warning says that the search takes long."""


class LatentTreeClassifier(AsPublished, StateClarity, NamedLatents, DiscreteClassifier):
    """Latent tree classifier: each class has its own tree of latent variables.

    The columns are the leaves of a tree whose inner nodes are latent variables. A search finds one
    such tree for each class. Each latent variable splits the rows of its class into groups
    (`latent_groups`) and explains how the columns below it depend on each other. If no latent
    variable has two or more states, the model is naive Bayes. Choose it for discrete columns, or
    continuous ones that can be cut into bins, which depend on each other, and to see the groups
    within each class. The search for each class takes seconds to minutes.

    Parameters
    ----------
    criterion : {"aic", "bic"}, default="aic"
        The score that the search maximises: the log-likelihood minus a penalty per parameter. The
        penalty is 1 for AIC, and half the logarithm of the number of rows searched with for BIC.
    search : {"east", "fast"}, default="east"
        "east": nodes and states are added, moved and removed one at a time as long as the score
        rises [2]_. "fast": the search starts from the mutual information of the columns and makes
        many changes at a time; for many columns or rows.
    lazy : bool, default=True
        Judge a step of the search from few starts first, remember its gain until one of its nodes
        changes, and judge only the steps that look best from all `n_init` starts. If false, all
        steps are judged from all starts every time.
    alpha : float, default=1.0
        Pseudo-count of every category and latent state in the final tables; 0 is maximum
        likelihood.
    alpha_once : bool, default=False
        Add `alpha` to the expected counts only once, after EM by maximum likelihood, and not in
        every iteration of the last EM.
    n_cuts : int, default=10
        Number of sets of cut points of the continuous columns over which the model is averaged.
        The first set is learned from the rows with their own weights, the others with redrawn
        weights (see Notes). 1 uses only the first set. Tables without continuous columns have a
        single set.
    max_states : int, default=20
        Maximum number of states of a latent variable.
    max_latent : int or None, default=None
        Maximum number of latent variables in a tree; None sets no limit.
    search_rows : int or None, default=5000
        Maximum number of rows that the search in each class looks at. If more of them are distinct,
        it gets a random sample of this many; the tables are then learned from all rows. None
        searches with all rows.
    time_budget : float or None, default=None
        Seconds after which the search in each class stops with the best tree so far. The result
        then depends on how busy the machine is.
    work_budget : float or None, default=100
        Work after which the search in each class stops with the best tree so far, in billions of
        visits: a visit is one state of one node in one row, in one pass of EM. 10 take about a
        minute. The result does not depend on the machine. None sets no limit.
    warm_start : bool, default=False
        Whether `fit` continues from the trees of the last `fit` if classes and columns are the
        same.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete. "from_dtype": those of text, category or boolean type; None:
        none; or a list of names or positions, or a mask. All other columns are cut into bins (see
        Notes).
    handle_unknown : {"missing", "error", "smooth"}, default="missing"
        What a category not seen in `fit` does: count as missing, raise an error, or, with "smooth",
        count as one more category of its column, which no training row has.
    columns : {"by_name", "strict"}, default="by_name"
        How prediction finds the columns of `fit` in a table with names. "by_name": in any order;
        columns that are lacking count as missing, others are ignored, with a warning. "strict":
        the same columns in the same order, or an error. See the page about tables.
    missing_indicator : bool, default=False
        Learn from where cells are missing, too: each column with holes in `fit` gets a companion,
        the yes/no column "<name> is missing". See the page about informative holes.
    calibrate : "auto" or bool, default="auto"
        Learn a temperature for the evidence on held-out folds. True: five folds of all rows, kept
        if it lowers the held-out log-loss. "auto": only as many folds as are enough, of a sample if
        there are many rows, with a prior that expects the model to be too sure.
    unlabelled_weight : "auto" or float, default="auto"
        Factor of the weight of rows without a label: 0 leaves them out, 1 counts them like the
        others. "auto" takes 0 or, if that lowers the log-loss on held-out rows, a factor that gives
        all of them together 0.3 times the weight of the labelled rows.
    n_init : int, default=16
        Number of starts that judge each step of the search.
    n_full_init : int, default=1
        Number of starts of EM on a whole tree after each step of the search: the tables that the
        step was judged by, and random ones. The worse half is dropped after 1, 2, 4, ...
        iterations.
    max_iter : int, default=500
        Maximum number of EM iterations on a whole tree.
    tol : float, default=1e-5
        The last EM, on all rows, stops when the objective per row gains no more than this.
    accelerate : bool, default=True
        Extrapolate EM steps (SQUAREM). The objective still never falls.
    random_state : int, RandomState or None, default=None
        Seeds the random starts, the folds of `calibrate`, and `sample`.
    n_jobs : int or None, default=None
        Number of threads. The classes are searched in parallel, and with more threads than classes
        the steps of each search too. The result does not depend on it.
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
        The tree of each class, for the first set of cut points. Its `latent_cardinalities` are the
        numbers of states of its latent variables, in the order of `latent_names_`. Empty if no
        column varies.
    latent_names_ : dict of label to tuple of str
        Names of the latent variables of each class; see `rename_latents`.
    entropy_ : dict of str to float
        Relative entropy of the states of each latent variable, by name: 1 if its state is certain
        in each training row, 0 if all states are equally probable.
    average_posterior_ : dict of str to array
        For each latent variable, by name, the mean probability of each state over the training rows
        for which it is the most probable.
    search_steps_ : dict of label to list of Step
        The steps of the search in each class: move, score (on the rows searched with), n_latent,
        n_parameters, n_judged, seconds.
    search_ended_ : dict of label to str
        "done", "time" (out of `time_budget`), "work" (out of `work_budget`) or "interrupt".
    search_left_ : dict of label to int
        Number of moves that each search was about to judge when `work_budget` ended it; 0 if it did
        not.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_unlabelled_ : int
        Number of rows without a label that were learned from.
    unlabelled_weight_ : float
        Factor of the weight of rows without a label that was used.
    temperature_ : float
        Divides log p(x | class) in prediction; 1 unless `calibrate` found a better one.
    calibration_ : dict
        With `calibrate`, the learned temperature and the held-out log-loss before and after it;
        otherwise empty.
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
    bin the density is the same in all classes: uniform between two cuts, half a Gaussian beyond the
    outer cuts. So it affects `score_samples` but not the predicted class. A column with only two
    distinct numbers is always cut between them. Columns with one level are left out.

    Where a column is cut depends on the training sample. So `n_cuts` sets of cut points are
    learned, and class probabilities and densities are averaged over them. All sets but the first
    use random weights of the rows (Bayesian bootstrap [3]_). All sets share the trees found for the
    first set, but have their own tables. Everything that describes the trees (`trees_`,
    `latent_groups`, `transform`, `to_bif`) refers to the first set.

    The structure of the trees is learned from the labelled rows, or a sample of them: which rows it
    has depends on their contents and on `random_state`, not on their order, and a row of weight 2
    counts as two. Then EM learns all tables, first from the sample and then from all rows, with
    `alpha` added to the counts. An unlabelled row counts for each class in proportion to
    P(class | x). Missing cells are summed out exactly. `transform` gives P(class, state | x) for
    every state of every latent variable of every class.

    The paper [1]_ judges all steps from all starts (`lazy=False`), runs EM on a whole tree from 64
    starts (`n_full_init=64`), searches with all rows (`search_rows=None`), adds `alpha` once, after
    plain EM (`alpha_once=True`, `accelerate=False`), and cuts the columns once (`n_cuts=1`): see
    `as_published`.

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

    _about = "A tree of latent variables for each class, with the columns as its leaves."

    # section 4.1 of the paper
    _PUBLISHED: ClassVar[dict[str, Any]] = {
        "calibrate": False,
        "lazy": False,
        "alpha_once": True,
        "n_cuts": 1,
        "n_full_init": 64,
        "search_rows": None,
        "accelerate": False,
    }

    _model: LatentTreeModel
    _searched: tuple[Any, list[Tree]]
    """Labels, columns and levels of the last search, and the trees it found, for `warm_start`."""

    search_steps_: dict[Any, list[Any]]
    search_ended_: dict[Any, str]
    search_left_: dict[Any, int]

    def __init__(
        self,
        *,
        criterion: str = "aic",
        search: str = "east",
        lazy: bool = True,
        alpha: float = 1.0,
        alpha_once: bool = False,
        n_cuts: int = 10,
        max_states: int = 20,
        max_latent: int | None = None,
        search_rows: int | None = 5000,
        time_budget: float | None = None,
        work_budget: float | None = 100,
        warm_start: bool = False,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        columns: str = "by_name",
        missing_indicator: bool = False,
        calibrate: bool | str = "auto",
        unlabelled_weight: float | str = "auto",
        n_init: int = 16,
        n_full_init: int = 1,
        max_iter: int = 500,
        tol: float = 1e-5,
        accelerate: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.criterion = criterion
        self.search = search
        self.lazy = lazy
        self.alpha = alpha
        self.alpha_once = alpha_once
        self.n_cuts = n_cuts
        self.max_states = max_states
        self.max_latent = max_latent
        self.search_rows = search_rows
        self.time_budget = time_budget
        self.work_budget = work_budget
        self.warm_start = warm_start
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.columns = columns
        self.missing_indicator = missing_indicator
        self.calibrate = calibrate
        self.unlabelled_weight = unlabelled_weight
        self.n_init = n_init
        self.n_full_init = n_full_init
        self.max_iter = max_iter
        self.tol = tol
        self.accelerate = accelerate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option("criterion", self.criterion, ("aic", "bic"))
        check_option("search", self.search, ("east", "fast"))
        check_option("lazy", self.lazy, (True, False))
        check_option("alpha_once", self.alpha_once, (True, False))
        check_option("accelerate", self.accelerate, (True, False))
        check_option("warm_start", self.warm_start, (True, False))
        check_number("n_full_init", self.n_full_init, low=1, high=MOST_STARTS, whole=True)
        check_number("n_cuts", self.n_cuts, low=1, high=MOST_STARTS, whole=True)
        check_number("max_states", self.max_states, low=1, whole=True)
        if self.max_latent is not None:
            check_number("max_latent", self.max_latent, low=1, whole=True)
        if self.search_rows is not None:
            check_number("search_rows", self.search_rows, low=1, whole=True)
        if self.time_budget is not None:
            check_number("time_budget", self.time_budget, low=0)
        if self.work_budget is not None:
            check_number("work_budget", self.work_budget, low=0, high=MOST_ROWS)

    # ------------------------------------------------------------------ fit

    def _unfitted_copy(self, learned: Learned) -> Any:  # noqa: ARG002
        return clone(self).set_params(calibrate=False, warm_start=False)

    _few_folds = 2

    def _fit_again(self, learned: Learned, part: Training) -> Learned:
        from latentclass.latent_tree._fit import learn_class_shares, learn_known_trees

        model = learned.model
        assert isinstance(model, LatentTreeModel)
        every = TrainingRows.of(part, model.coding)
        if model.trees:
            found = learn_known_trees(every.sample, model.cut_sets, model.trees, self._settings())
        else:
            found = learn_class_shares(every.sample, self._settings(), None)
        average = Average(np.stack(found.priors), "posteriors")
        trees = tuple(found.trees)
        new = replace(model, class_prior=average.class_prior, average=average, trees=trees)
        return Learned(new, learned.record)

    def _fit_model(self, training: Training, progress: FitProgress | None) -> Learned:
        return self._learn(training, progress)

    def _fit_parted(self, parted: PartedTraining, progress: FitProgress) -> Learned:
        return self._learn(parted, progress)

    def _learn(self, source: Training | PartedTraining, progress: FitProgress | None) -> Learned:
        # imported here because it loads numba, which a fitted model does not always need
        from latentclass.latent_tree._fit import learn_class_shares, learn_class_trees

        training = source.sample if isinstance(source, PartedTraining) else source
        table, y, weight = training.table, training.y, training.weight
        seeds = check_random_state(self.random_state).randint(2**31, size=int(self.n_cuts) - 1)
        coding, cut_sets = learn_cut_sets(
            training.schema, table, y, weight, training.n_classes, seeds.tolist()
        )
        check_searched_columns("LatentTreeClassifier", coding)
        unlimited = self.time_budget is None and self.work_budget is None
        n_columns, slow = len(coding.active), self.search == "east" and unlimited
        if n_columns > MANY_COLUMNS and slow and progress is not None:  # once, not in every fold
            warn_user(
                f"The search for trees of {n_columns} columns may take hours. Set time_budget, "
                'in seconds, or search="fast"; verbose=1 shows the steps.'
            )
        rows = code_rows(coding, table, y, weight, training.n_classes)
        every = TrainingRows(source, coding, rows)
        parts = every if every.parted else None
        step = None if progress is None else progress.step
        attributes: dict[str, Any] = {
            name: {} for name in ("search_steps_", "search_ended_", "search_left_")
        }
        if coding.n_levels:
            names = [training.schema.columns[j].name for j in coding.positions]
            searched = (training.classes.tolist(), names, cut_sets[0].n_levels)
            learned = learn_class_trees(
                rows,
                cut_sets,
                self._settings(),
                before=self._trees_to_continue(searched),
                on_step=partial(_print_step, training.classes) if self.verbose else None,
                on_iteration=step,
                parts=parts,
            )
            by_label = dict(zip(training.classes.tolist(), learned.found, strict=True))
            if progress is None and "interrupt" in (found.ended for found in learned.found):
                raise KeyboardInterrupt  # a fold: the fit that it belongs to must end too
            attributes = {
                "search_steps_": {label: found.steps for label, found in by_label.items()},
                "search_ended_": {label: found.ended for label, found in by_label.items()},
                "search_left_": {label: found.n_left for label, found in by_label.items()},
                "_searched": (searched, [found.tree for found in learned.found]),
            }
        else:
            learned = learn_class_shares(rows, self._settings(), step, parts)
        average = Average(np.stack(learned.priors), "posteriors")
        model = LatentTreeModel(
            average.class_prior,
            coding,
            average,
            tuple(cut_sets[: len(learned.priors)]),  # fewer than planned after an interrupt
            tuple(learned.trees),
            name_latents(learned.trees, training.n_classes, training.schema.names),
        )
        record = FitRecord.of(learned.result, every.log_likelihood(model))
        return Learned(model, record, attributes)

    def _settings(self) -> TreeSettings:
        return TreeSettings(
            criterion=self.criterion,
            search=self.search,
            lazy=self.lazy,
            alpha=float(self.alpha),
            alpha_once=self.alpha_once,
            max_states=int(self.max_states),
            max_latent=sys.maxsize if self.max_latent is None else int(self.max_latent),
            search_rows=None if self.search_rows is None else int(self.search_rows),
            time_budget=self.time_budget,
            work_budget=self.work_budget,
            n_init=int(self.n_init),
            n_full_init=int(self.n_full_init),
            max_iter=int(self.max_iter),
            tol=self.tol,
            accelerate=self.accelerate,
            seed=int(check_random_state(self.random_state).randint(2**31)),
            n_jobs=self.n_jobs,
        )

    def _trees_to_continue(self, searched: Any) -> list[Tree]:
        """The trees of the last fit if `warm_start` is set and they fit the table, otherwise []."""
        last, trees = getattr(self, "_searched", (None, []))
        return trees if self.warm_start and last == searched else []

    def _warn(self, learned: Learned) -> None:
        ended = learned.attributes["search_ended_"]
        self._warn_if_stopped(ended, learned.attributes["search_left_"])
        if "interrupt" not in ended.values():
            super()._warn(learned)

    def _calibrated(self, training: Training, learned: Learned, tuned: Tuned) -> Tuned:
        if "interrupt" in learned.attributes["search_ended_"].values():
            return tuned  # the user wants the fit to end
        return super()._calibrated(training, learned, tuned)

    def _warn_if_stopped(self, ended: Mapping[Any, str], left: Mapping[Any, int]) -> None:
        labels = [label for label, how in ended.items() if how != "done"]
        if not labels:
            return
        name, without = "time_budget", ""
        if "work" in ended.values():
            name = "work_budget"
            left = {label: n for label, n in left.items() if n}
            without = f". It left moves unjudged: {left}"
        cause = f"by {name}={getattr(self, name)}"
        if "interrupt" in ended.values():
            cause = "by an interrupt"
            without = ", without calibration" * bool(self.calibrate)
        warn_user(
            f"The search was stopped {cause} in {len(labels)} of {len(ended)} classes "
            f"({labels}), and the best trees so far are kept{without}. To continue, fit again with "
            f"warm_start=True or raise {name}.",
            ConvergenceWarning,
        )

    # ------------------------------------------------------------------ inspection

    def _structure(self) -> dict[str, Any]:
        trees = self.trees_.values()
        return {
            "sets of cut points": len(self._model.cut_sets),
            "latent variables": sum(len(tree.latent_cardinalities) for tree in trees),
            "states": sum(sum(tree.latent_cardinalities) for tree in trees),
        }

    @property
    def cut_points_(self) -> dict[str, FloatArray]:
        """Cut points of each continuous column by name, in the first set."""
        return dict(zip(super().cut_points_, self._model.cut_sets[0].cuts, strict=True))

    @property
    def trees_(self) -> dict[Any, Tree]:
        """The tree of each class. Its columns are those that vary, in the order of the table."""
        check_is_fitted(self)
        return dict(zip(self.classes_.tolist(), self._model.first_trees, strict=False))

    @property
    def latent_names_(self) -> dict[Any, tuple[str, ...]]:
        """Names of the latent variables of each class, in the order of the tree's latent nodes."""
        check_is_fitted(self)
        return dict(zip(self.classes_.tolist(), self._model.names, strict=True))

    def _class_tree(self, y: Any) -> ClassTree | None:
        """The tree of a class with the names of its nodes; None if no column varies."""
        check_is_fitted(self)
        k, model = int(label_codes(y, self.classes_, 1)[0]), self._model
        if not model.trees:
            return None
        columns = [self.schema_.columns[j] for j in model.coding.positions]
        levels = [
            list(column.categories) or [f"bin{b}" for b in range(n_levels)]
            for column, n_levels in zip(columns, model.cut_sets[0].n_levels, strict=True)
        ]
        names = [column.name for column in columns]
        return ClassTree(model.first_trees[k], model.names[k], names, levels)

    def latent_groups(self, y: Any = None, *, top: int | None = None) -> Any:
        """The groups into which each latent variable of a class splits its rows.

        Parameters
        ----------
        y : label, optional
            The class; by default all of them.
        top : int, optional
            Number of columns to show for each latent variable, those that say most about it; by
            default all.

        Returns
        -------
        pandas.DataFrame
            One line for each `latent` variable, `column`, `group` and `level` of the column, with
            the `probability` of the level in the group. `size` is the share of the group in the
            class, and `information` the mutual information of latent variable and column in nats.
            The columns with the most information come first. The levels of a continuous column are
            its bins (`cut_points_`). Without `y` the first column is the `class`.
        """
        import pandas as pd

        check_is_fitted(self)
        if top is not None:
            check_number("top", top, low=1, whole=True)
        if y is not None:
            return pd.DataFrame(self._group_rows(y, top), columns=list(GROUP_HEADS))
        rows = [
            (label, *row)
            for label in self.classes_.tolist()
            for row in self._group_rows(label, top)
        ]
        return pd.DataFrame(rows, columns=["class", *GROUP_HEADS])

    def _group_rows(self, y: Any, top: int | None) -> list[tuple[Any, ...]]:
        shown = self._class_tree(y)
        return [] if shown is None else tree_groups(shown, top)

    def tree_edges(self, y: Any) -> list[tuple[str, str, float]]:
        """The edges of a class's tree.

        Parameters
        ----------
        y : label
            The class.

        Returns
        -------
        list of (str, str, float)
            Name of the parent, name of the child, and their mutual information in nats. Parents
            come before their children.
        """
        shown = self._class_tree(y)
        return [] if shown is None else tree_edges(shown)

    def to_network(self, y: Any) -> list[BifVariable]:
        """The tree of a class as an ordinary Bayesian network.

        Parameters
        ----------
        y : label
            The class.

        Returns
        -------
        list of BifVariable
            Named tuples `(name, states, parents, table)`, parents before children. The network is
            the distribution of the columns within the class. Latent variables have the states
            `group0`, `group1` and so on, continuous columns the states `bin0`, `bin1` and so on,
            separated by `cut_points_`. Columns with one level are left out.
        """
        shown = self._class_tree(y)
        return [] if shown is None else tree_variables(shown)

    def to_bif(self, y: Any, path: str | PathLike[str] | None = None) -> str:
        """The network of `to_network` in BIF, a format that most Bayesian network programs read.

        Parameters
        ----------
        y : label
            The class.
        path : str or path, optional
            File to write the text to.

        Returns
        -------
        str
            The text. Characters in names that BIF does not allow are replaced by underscores.
        """
        return write_bif(self.to_network(y), path, title=f"{type(self).__name__}_{y}")


def _print_step(classes: Any, k: int, step: Any) -> None:
    print(
        f"LatentTreeClassifier: class {classes[k]}, {step.move}, score {step.score:.2f}, "
        f"{step.n_latent} latent, {step.n_parameters} parameters, {step.seconds:.1f} s",
        file=sys.stderr,
    )
