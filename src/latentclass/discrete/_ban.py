"""Bayesian network augmented naive Bayes."""

from __future__ import annotations

from typing import Any

from latentclass._validation import check_number, check_option
from latentclass.discrete._base import check_searched_columns
from latentclass.discrete._network import Structure
from latentclass.discrete._network_base import NetworkClassifier
from latentclass.discrete._structure_search import Sample, Score, search_hill
from latentclass.discrete._training_rows import TrainingRows


class BAN(NetworkClassifier):
    """Bayesian network augmented naive Bayes: arcs among the columns found by hill climbing.

    The search starts with naive Bayes and adds, deletes or reverses the arc that raises the score
    most, until no change does. It may also remove the arc from the class to a column and add it
    again. At the end every column that would say nothing about the class gets the class as a parent
    again (Markov blanket correction). Choose it where the tree of TAN is too simple and there are
    enough rows.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of every category (Laplace smoothing); 0 is maximum likelihood.
    criterion : {"aic", "bic", "k2"}, default="aic"
        What the search maximises. "aic": the log-likelihood minus the number of parameters.
        "bic": the log-likelihood minus half the number of parameters times the log of the number
        of rows. "k2": the marginal likelihood with `alpha` pseudo-counts.
    max_parents : int or None, default=None
        Maximum number of parents of a column in addition to the class; None sets no limit.
    class_arcs : {"search", "fixed"}, default="search"
        Whether the search may remove arcs from the class, or keeps them all.
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

    If `fit` gets `Parts` with many rows, cut points and arcs come from a sample of them, tables
    from all rows.

    A change is judged on the labelled rows in which all columns concerned are observed. Tables of
    more than 2**18 entries are not considered. Among equally good changes, the one whose parent is
    more informative about the class is made. Missing cells are summed out exactly; `predict` raises
    an error if that needs a table of more than 2**26 entries for one row.

    References
    ----------
    .. [1] Friedman, N., Geiger, D. and Goldszmidt, M. (1997). Bayesian network classifiers.
       Machine Learning 29, 131-163.
    .. [2] Wang, Y., Zhang, N. L., Chen, T. and Poon, L. K. M. (2013). LTC: a latent tree approach
       to classification. International Journal of Approximate Reasoning 54, 560-572.

    Examples
    --------
    >>> from latentclass.baselines import BAN
    >>> X = [["no", "no"], ["no", "yes"], ["yes", "no"], ["yes", "yes"]] * 5
    >>> y = [0, 1, 1, 0] * 5
    >>> model = BAN().fit(X, y)
    >>> model.predict([["no", "yes"], ["yes", "yes"]])
    array([1, 0])
    """

    _about = "Augmented naive Bayes: each column depends on the class and on a few other columns."

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        criterion: str = "aic",
        max_parents: int | None = None,
        class_arcs: str = "search",
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
        self.criterion = criterion
        self.max_parents = max_parents
        self.class_arcs = class_arcs
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
        check_option("criterion", self.criterion, ("aic", "bic", "k2"))
        check_option("class_arcs", self.class_arcs, ("search", "fixed"))
        check_number("max_parents", self.max_parents, low=0, whole=True, none=True)
        if self.criterion == "k2":
            check_number("alpha", self.alpha, low=0, strict=True)

    def _search(self, rows: TrainingRows) -> Structure:
        check_searched_columns("BAN", rows.coding)
        order = rows.order_by_information()
        found = search_hill(
            Sample.of(rows.sample, order),
            Score(self.criterion, float(self.alpha)),
            max_parents=self.max_parents,
            free_class=self.class_arcs == "search",
        )
        return found.relabel(order.tolist())
