"""Tree-augmented naive Bayes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from latentclass._types import FloatArray
from latentclass._validation import check_option
from latentclass.discrete._network import Structure
from latentclass.discrete._network_base import NetworkClassifier
from latentclass.discrete._structure_search import maximum_spanning_tree
from latentclass.discrete._training_rows import TrainingRows, count_pairs
from latentclass.engine._counts import level_offsets, pair_information
from latentclass.estimator._tuning import TRUSTING


class TAN(NetworkClassifier):
    """Tree-augmented naive Bayes: each column may depend on one other column.

    Given the class, the columns form a tree: the one with the largest sum of conditional mutual
    information along its arcs, which is the tree of highest likelihood. Choose it where columns
    repeat each other, which makes naive Bayes overconfident. It takes one pass over the rows and a
    table of all pairs of levels. Missing cells are summed out along the tree.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the smoothing, in rows; 0 is maximum likelihood.
    smoothing : {"laplace", "marginal"}, default="laplace"
        "laplace": `alpha` is added to every count. "marginal": `alpha` rows are added to every
        distribution, with the column's shares over all classes; with `alpha=5` this is TAN+ of
        [1]_.
    root : str, int or None, default=None
        Column (by name or position) at the root of the tree; None takes the column that is most
        informative about the class. The root changes the result only through the smoothing.
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
    n_init : int, default=1
        Number of EM starts if there are unlabelled rows. The first begins with the labelled rows
        alone, each of the others with a random re-weighting of them.
    drop_starts : bool, default=True
        Drop the worse half of the starts after 1, 2, 4, ... iterations, until one is left. If
        false, all run to the end before one is kept.
    max_iter : int, default=200
        Maximum number of EM iterations.
    tol : float, default=1e-4
        EM stops when the objective per row gains no more than this.
    random_state : int, RandomState or None, default=None
        Seeds the random starts, the folds of `calibrate`, and `sample`.
    n_jobs : int or None, default=None
        Number of threads over blocks of rows. The result does not depend on it.
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
    parents_ : dict of str to tuple of str
        Parents of each column, apart from the class.
    depends_on_class_ : dict of str to bool
        Whether the class is a parent of each column.
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
        Objective per row (log-likelihood plus log-prior): at the start and after each EM step.
    n_iter_ : int
        Number of M-steps of the kept start.
    converged_ : bool
        Whether the last gain of EM was at most `tol`. Always true without unlabelled rows.
    restarts_ : dict of str to array
        One entry per start: start, objective, n_iter, converged, reseeded, kept.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if the table had names.

    Notes
    -----
    Continuous columns are cut by Fayyad and Irani's rule on the labelled rows of `fit`. Inside a
    bin the density is the same in all classes: uniform between cuts, half a Gaussian beyond the
    outer cuts. So it changes `score_samples`, but not the predicted class. A column with only two
    values is always cut between them. Columns with a single level are ignored.

    If `fit` gets `Parts` with many rows, cut points come from a sample of them, arcs and tables
    from all rows.

    Arcs are learned from the labelled rows in which both cells are observed, tables from the rows
    in which the column and its parents are observed. Prediction sums missing cells out exactly. By
    default, Weka's TAN weighs arcs by a Bayesian score and adds 0.5 to the counts; its option
    `-S ENTROPY` weighs them as here.

    References
    ----------
    .. [1] Friedman, N., Geiger, D. and Goldszmidt, M. (1997). Bayesian network classifiers.
       Machine Learning 29, 131-163.

    Examples
    --------
    >>> from latentclass.baselines import TAN
    >>> X = [["no", "no"], ["no", "yes"], ["yes", "no"], ["yes", "yes"]] * 5
    >>> y = [0, 1, 1, 0] * 5
    >>> model = TAN().fit(X, y)
    >>> model.predict([["no", "yes"], ["yes", "yes"]])
    array([1, 0])
    >>> model.parents_
    {'x0': (), 'x1': ('x0',)}
    """

    _about = (
        "Tree-augmented naive Bayes: each column depends on the class and on at most one "
        "other column."
    )

    _unlabelled_errors = TRUSTING

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        smoothing: str = "laplace",
        root: str | int | None = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        columns: str = "by_name",
        missing_indicator: bool = False,
        calibrate: bool | str = "auto",
        unlabelled_weight: float | str = "auto",
        n_init: int = 1,
        drop_starts: bool = True,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.smoothing = smoothing
        self.root = root
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.columns = columns
        self.missing_indicator = missing_indicator
        self.calibrate = calibrate
        self.unlabelled_weight = unlabelled_weight
        self.n_init = n_init
        self.drop_starts = drop_starts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option("smoothing", self.smoothing, ("laplace", "marginal"))
        if self.root is not None and (
            isinstance(self.root, bool) or not isinstance(self.root, str | int | np.integer)
        ):
            raise ValueError(f"root={self.root!r} must be a column's name, its position, or None.")

    def _search(self, rows: TrainingRows) -> Structure:
        offsets = level_offsets(rows.n_levels)
        information = pair_information(
            lambda first, n_first: rows.sum(partial(count_pairs, first, n_first)),
            rows.n_classes,
            offsets,
        )
        parents = maximum_spanning_tree(information, self._root_place(rows))
        return Structure(rows.n_levels, parents, (True,) * len(rows.n_levels))

    def _root_place(self, rows: TrainingRows) -> int:
        names, positions = rows.training.schema.names, rows.coding.positions
        if self.root is None:
            return int(rows.order_by_information()[0]) if positions else 0
        known = (
            self.root in names
            if isinstance(self.root, str)
            else -len(names) <= self.root < len(names)
        )
        if not known:
            raise ValueError(f"root={self.root!r} is not a column of X. Columns: {names}.")
        place = (
            names.index(self.root) if isinstance(self.root, str) else int(self.root) % len(names)
        )
        # a column of one level is not in the tree, so the first of the others is the root
        return positions.index(place) if place in positions else 0

    def _mass(self, rows: TrainingRows) -> list[FloatArray]:
        if self.smoothing == "laplace":
            return super()._mass(rows)
        return [self.alpha * share for share in rows.level_shares()]
