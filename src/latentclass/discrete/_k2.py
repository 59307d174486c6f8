"""Bayesian network classifier by the K2 search."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from latentclass._validation import check_number, check_option
from latentclass.discrete._base import check_searched_columns
from latentclass.discrete._network import Structure
from latentclass.discrete._network_base import NetworkClassifier
from latentclass.discrete._structure_search import Sample, Score, search_k2
from latentclass.discrete._training_rows import TrainingRows
from latentclass.estimator._published import AsPublished


class K2(AsPublished, NetworkClassifier):
    """Bayesian network classifier learned by K2.

    The columns are put in an order. The parents of a column are the class and, added one at a time,
    those earlier columns that raise the marginal likelihood of its table most. It is fast and
    simple, but the result depends on the order.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of every category (Laplace smoothing), in the score and in the estimates. 1
        gives the K2 metric of [1]_.
    max_parents : int, default=2
        Maximum number of parents of a column, including the class.
    order : {"information", "columns"}, default="information"
        Order of the columns. "information": the most informative about the class first.
        "columns": as in the table, which is what Weka does.
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

    Weka adds 0.5 to the counts, in the score and in the tables, and takes the columns in their
    order. By default it allows one parent, which is naive Bayes. `as_published` gives this one, the
    BayesNet of the binary LCM's paper [2]_. Tables of more than 2**18 entries are not considered.

    References
    ----------
    .. [1] Cooper, G. F. and Herskovits, E. (1992). A Bayesian method for the induction of
       probabilistic networks from data. Machine Learning 9, 309-347.
    .. [2] Langseth, H. and Nielsen, T. D. (2009). Latent classification models for binary data.
       Pattern Recognition 42, 2724-2736.

    Examples
    --------
    >>> from latentclass.baselines import K2
    >>> X = [["no", "no"], ["no", "yes"], ["yes", "no"], ["yes", "yes"]] * 5
    >>> y = [0, 1, 1, 0] * 5
    >>> model = K2().fit(X, y)
    >>> model.parents_
    {'x0': (), 'x1': ('x0',)}
    """

    _about = "A network of the class and the columns, searched for by K2."

    # BayesNet of Weka, as in Table 2 of the binary LCM's paper (see its Appendix D)
    _PUBLISHED: ClassVar[dict[str, Any]] = {
        "alpha": 0.5,
        "max_parents": 1,
        "order": "columns",
        "calibrate": False,
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        max_parents: int = 2,
        order: str = "information",
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
        self.max_parents = max_parents
        self.order = order
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
        check_number("alpha", self.alpha, low=0, strict=True)
        check_number("max_parents", self.max_parents, low=1, whole=True)
        check_option("order", self.order, ("information", "columns"))

    def _search(self, rows: TrainingRows) -> Structure:
        check_searched_columns("K2", rows.coding)
        order = np.arange(len(rows.n_levels))
        if self.order == "information":
            order = rows.order_by_information()
        sample, score = Sample.of(rows.sample, order), Score("k2", float(self.alpha))
        return search_k2(sample, score, self.max_parents).relabel(order.tolist())
