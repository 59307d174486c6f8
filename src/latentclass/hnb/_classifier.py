"""Hierarchical naive Bayes: latent variables whose states read as rules."""

from __future__ import annotations

from functools import partial
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import IndexArray
from latentclass._validation import MOST_STARTS, check_number, check_option
from latentclass.discrete._base import CountClassifier, check_searched_columns
from latentclass.discrete._training_rows import TrainingRows
from latentclass.engine._parallel import computation
from latentclass.estimator._bif import BifVariable, write_bif
from latentclass.estimator._calibration import HeldOutRows
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._clarity import StateClarity
from latentclass.estimator._fitted import FitRecord, Learned
from latentclass.estimator._inner_folds import check_inner_cv, given_folds
from latentclass.estimator._latent_names import NamedLatents, Names
from latentclass.estimator._parted import PartedTraining
from latentclass.estimator._published import AsPublished
from latentclass.hnb._explanation import RuleExplanation
from latentclass.hnb._hierarchy import FilledHierarchy, Tables, estimate_within
from latentclass.hnb._learn import (
    average_left_out,
    count_states,
    count_tops,
    find_hierarchy,
    learn_conditional,
    left_out_rows,
    top_layout,
)
from latentclass.hnb._model import AveragedHierarchies, HierarchyModel
from latentclass.hnb._reader import MAX_LENGTH, HierarchyReader, top_parts
from latentclass.hnb._search import HierarchySettings

LEAST_MASS = 1e-6
"""Least pseudo-count of a combination within its state. A combination without rows is rare but not
impossible, so that a row which shows it can be judged by its state."""


class HNBClassifier(AsPublished, StateClarity, NamedLatents, CountClassifier):
    """Hierarchical naive Bayes: pairs of columns are joined by latent variables that read as rules.

    Naive Bayes counts twice what two columns both say, and misses what they say only together. Here
    such a pair gets a latent variable between it and the class. Its states are groups of the pair's
    combinations that say the same about the class, so each state is a rule over the columns
    (`rules()`). Latent variables can be joined again. Variables are added as long as the accuracy
    in cross-validation on the training rows rises, or the log-loss falls at the same accuracy.
    Without any, the model is naive Bayes. Choose it where the class follows rules that you want to
    read. It needs a table of all pairs of levels, and a pass over the rows for every latent
    variable.

    Parameters
    ----------
    n_candidates : int, default=10
        Number of subsets of the training rows that propose candidates at every step (kappa in
        [1]_). Each leaves out another part of the rows, one in `n_candidates`. 1 takes all rows.
    pair_measure : {"chi2", "expected_kl"}, default="chi2"
        How pairs of columns are ranked. "chi2": by how surely they depend on each other given the
        class. "expected_kl": by how surely the two together say something about the class that
        they do not say separately (section 6.2 of [1]_), which leaves out pairs that do not matter.
    cv : int, splitter or iterable, default=5
        Folds of the accuracy that decides whether a latent variable is kept: a number, a
        scikit-learn splitter, or a list of (training, test) row numbers in which no row is tested
        twice.
    alpha : float, default=1.0
        Pseudo-count of every category (Laplace smoothing); 0 is maximum likelihood.
    collapse : {"greedy", "exact"}, default="greedy"
        How combinations become states, by predictive description length. "greedy": two are merged
        at a time. "exact": the best of all groupings, for two classes only.
    search : {"subsets", "hill_climbing", "published"}, default="subsets"
        How a pair is chosen. "subsets": each subset proposes the strongest pair that no other
        subset has proposed, and the best of these candidates is taken; if none helps, the subsets
        propose again, up to three times. "hill_climbing": pairs are tried in the order of the
        measure on all rows, and the first that helps is taken. "published": Algorithm 3 of [1]_ to
        the letter. Each subset proposes its strongest pair once, several may propose the same, the
        accuracy must rise, and no states are made anew.
    select_features : bool, default=False
        Leave out a column or a latent variable where that raises the accuracy in `cv`, or lowers
        the log-loss at the same accuracy, and does more than the best pair.
    discriminative : bool, default=False
        At the end, change the tables of the variables below the class to raise the probability of
        the labels given the columns. How far they go from the counts is chosen in `cv`.
    n_models : int, default=1
        Number of models with different subsets and folds to average. The average of their
        p(x, class) is itself a model with all methods. It is more accurate, but has several sets of
        rules (`models_`) and takes `n_models` times as long.
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
        Seeds the subsets, the folds, the random starts, and `sample`.
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
    models_ : list of HNBClassifier
        The fitted models that are averaged; with `n_models=1` this model alone. The next nine
        attributes belong to a single model: with several, ask each of these. New names of latent
        variables stay in the model that they were given to.
    latent_names_ : tuple of str
        Names of the latent variables; see `rename_latents`.
    latent_children_ : dict of str to tuple of str
        The two variables below each latent variable, in the order in which they were added.
    n_states_ : dict of str to int
        Number of states of each latent variable.
    entropy_ : dict of str to float
        Relative entropy of the states of each latent variable, by name: 1 if its state is certain
        in each training row, 0 if all states are equally probable.
    average_posterior_ : dict of str to array
        For each latent variable, by name, the mean probability of each state over the training rows
        for which it is the most probable.
    top_variables_ : list of str
        Columns and latent variables directly below the class.
    selected_features_ : list of str
        Columns that say something about the class: all but those that `select_features` left out
        and those below a latent variable of a single state.
    cv_scores_ : list of float
        Accuracy in cross-validation without latent variables, and after each was added; with
        `select_features=True` also after each variable that was left out.
    shrinkage_ : float
        With `discriminative=True`, the weight of the joint likelihood of the labelled rows relative
        to that of their labels; inf if counted tables are best, or with `discriminative=False`.
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
    bin the density is the same in all classes: uniform between cuts, half a Gaussian beyond the
    outer cuts. So it changes `score_samples`, but not the predicted class. A column with only two
    values is always cut between them. Columns with a single level are ignored.

    If `fit` gets `Parts` with many rows, cut points, latent variables and what `discriminative`
    changes come from a sample of them, tables from all rows.

    Given the state of a latent variable, its two children have a joint table that is the same in
    all classes, so p(x | class) sums to 1 over x. Missing cells are summed out along the hierarchy.
    The structure is learned from the labelled rows, each table from the rows in which the state is
    known.

    Each fold of `cv` makes the states of a pair anew from its own training rows. What the folds say
    of the rows that they test gives the temperature of `calibrate="auto"`.

    Where we differ from [1]_ (`as_published` gives its Algorithm 3 and maximum likelihood):

    - Pairs are ranked by the log of the chi-square tail, because the probability itself is 1 in
      floats for most pairs. Subsets then mostly agree on the strongest pair, so each proposes
      another one.
    - When a latent variable is joined again, its states may be made anew for its partner.
    - The folds have states of their own, and at equal accuracy the log-loss decides.
    - Equation (5) of the paper has its fraction upside down.
    - A combination without rows gets the state that fits what its columns say separately.
    - Tables are smoothed by `alpha`.
    - Subsets and folds are drawn by a hash of the rows' values. So the order of rows, columns and
      classes changes nothing, except for columns that agree in all their counts.

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

    _about = (
        "Hierarchical naive Bayes: latent variables, whose states are rules, join pairs of "
        "columns below the class."
    )

    _model: Any  # a HierarchyModel, or AveragedHierarchies of several
    _members: list[HNBClassifier]  # of an average; none for a single model

    cv_scores_: list[float]
    shrinkage_: float

    _PUBLISHED: ClassVar[dict[str, Any]] = {
        "search": "published",
        "alpha": 0.0,
        "calibrate": False,
    }

    def __init__(
        self,
        *,
        n_candidates: int = 10,
        pair_measure: str = "chi2",
        cv: Any = 5,
        alpha: float = 1.0,
        collapse: str = "greedy",
        search: str = "subsets",
        select_features: bool = False,
        discriminative: bool = False,
        n_models: int = 1,
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
        self.n_candidates = n_candidates
        self.pair_measure = pair_measure
        self.cv = cv
        self.alpha = alpha
        self.collapse = collapse
        self.search = search
        self.select_features = select_features
        self.discriminative = discriminative
        self.n_models = n_models
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
        check_number("n_candidates", self.n_candidates, low=1, whole=True)
        check_number("n_models", self.n_models, low=1, high=MOST_STARTS, whole=True)
        check_option("pair_measure", self.pair_measure, ("chi2", "expected_kl"))
        check_option("collapse", self.collapse, ("greedy", "exact"))
        check_option("search", self.search, ("subsets", "hill_climbing", "published"))
        check_option("select_features", self.select_features, (True, False))
        check_option("discriminative", self.discriminative, (True, False))
        check_inner_cv(self.cv)

    def _check_parted(self, parted: PartedTraining) -> None:  # noqa: ARG002
        if not isinstance(self.cv, int | np.integer):
            raise ValueError(
                f"cv={self.cv!r} chooses rows of one table, but the rows come in parts. Pass a "
                "number of folds."
            )

    # ------------------------------------------------------------------ fit

    def _unfitted_copy(self, learned: Learned) -> Any:  # noqa: ARG002
        # row numbers mean nothing in a part of the rows
        cv = self.cv if isinstance(self.cv, int | np.integer) else 5
        return self._with(calibrate=False, cv=cv)

    def _with(self, **changed: Any) -> HNBClassifier:
        """An unfitted copy with other parameters; no `clone`, because `cv` may be a generator."""
        return type(self)(**(self.get_params(deep=False) | changed))

    _few_folds = 2

    def _learn(self, rows: TrainingRows, progress: FitProgress | None) -> Learned:
        if self.collapse == "exact" and rows.n_classes > 2:
            raise ValueError(
                f'collapse="exact" is for two classes, but y has {rows.n_classes}: '
                f'{rows.training.classes.tolist()}. Use collapse="greedy".'
            )
        folds = self._folds(rows)
        check_searched_columns("HNBClassifier", rows.coding)
        if self.n_models == 1:
            return self._learn_one(rows, folds, progress)
        # the first is the model that n_models=1 would give
        more = check_random_state(self.random_state).randint(2**31, size=self.n_models - 1)
        members: list[HNBClassifier] = []
        left_out: list[HeldOutRows | None] = []
        for seed in [self.random_state, *more.tolist()]:
            one = self._with(n_models=1, calibrate=False, random_state=seed)
            learned = one._learn_one(rows, folds, None if members else progress)
            one._store(rows.source, learned)
            members.append(one)
            left_out.append(learned.left_out)
        model = AveragedHierarchies.of(tuple(one._model for one in members))
        longest = max(members, key=lambda one: one.n_iter_)
        record = FitRecord(
            longest.history_,
            longest.n_iter_,
            all(one.converged_ for one in members),
            longest.restarts_,
            rows.log_likelihood(model),
        )
        return Learned(model, record, {"_members": members}, left_out=average_left_out(left_out))

    def _folds(self, rows: TrainingRows) -> IndexArray | int:
        """The fold of each labelled row (-1 for none), or how many folds to draw."""
        if isinstance(self.cv, int | np.integer):
            return int(self.cv)
        training = rows.training
        folds = given_folds(training, self.cv)
        if folds.left_out is not None:
            raise ValueError(
                f"cv={self.cv!r} leaves rows out of both parts of a fold, but HNBClassifier learns "
                "from all rows that a fold does not test. Pass folds that use all rows."
            )
        of_row = np.full(len(training.y), -1)
        of_row[folds.row] = folds.fold
        return of_row[training.labelled]

    def _learn_one(
        self,
        rows: TrainingRows,
        folds: IndexArray | int,
        progress: FitProgress | None,
    ) -> Learned:
        """A single hierarchy."""
        alpha = float(self.alpha)
        seed = int(check_random_state(self.random_state).randint(2**31))
        found = find_hierarchy(
            rows.sample,
            HierarchySettings(
                self.pair_measure,
                self.collapse == "exact",
                self.search,
                alpha,
                bool(self.select_features),
            ),
            n_candidates=int(self.n_candidates),
            folds=folds,
            seed=seed,
        )
        hierarchy = found.hierarchy
        top_weight, pairs, support = rows.sum(partial(count_states, hierarchy))
        params, result, _ = self._run_em(
            rows,
            top_layout(hierarchy, top_weight, alpha, found.ignored),
            hierarchy.top_entries,
            partial(count_tops, hierarchy, rows.n_classes),
            progress,
        )
        within = estimate_within(hierarchy, pairs, max(alpha, LEAST_MASS))
        log_pi, shrinkage = params.log_pi, np.inf
        filled = FilledHierarchy(hierarchy, Tables(params.log_theta, within))
        if self.discriminative:
            log_pi, filled, shrinkage = learn_conditional(
                rows.sample, filled, log_pi, found.ignored, alpha, folds=folds, seed=seed
            )
        model = HierarchyModel(np.exp(log_pi), rows.coding, filled, support, found.ignored)
        attributes = {"cv_scores_": found.scores, "shrinkage_": shrinkage, "_members": []}
        left_out = None
        # the folds of the search know nothing of gradient steps
        if found.left_out is not None and not self.discriminative:
            left_out = left_out_rows(rows.sample, model.class_prior, found.left_out)
        record = FitRecord.of(result, rows.log_likelihood(model))
        return Learned(model, record, attributes, left_out=left_out)

    # ------------------------------------------------------------------ reading

    def _structure(self) -> dict[str, Any]:
        readers = self._readers()
        sizes: dict[str, Any] = {"hierarchies": len(readers)} if len(readers) > 1 else {}
        sizes["latent variables"] = sum(len(one.n_states) for one in readers)
        sizes["states"] = sum(sum(one.n_states.values()) for one in readers)
        sizes["variables below the class"] = sum(len(one.top_variables) for one in readers)
        return sizes

    @property
    def models_(self) -> list[HNBClassifier]:
        """The fitted models that are averaged; with `n_models=1` this model alone."""
        check_is_fitted(self)
        return self._members or [self]

    def _readers(self) -> list[HierarchyReader]:
        """Every hierarchy, to be read in the words of the columns."""
        check_is_fitted(self)
        model = self._model
        models = model.members if isinstance(model, AveragedHierarchies) else (model,)
        return [HierarchyReader(one, self.schema_) for one in models]

    def _reader(self, asked: str) -> HierarchyReader:
        """The only hierarchy; an error for an average, which has several."""
        readers = self._readers()
        if len(readers) > 1:
            raise AttributeError(
                f"n_models={self.n_models} averages several hierarchies: ask one of them, "
                f"models_[0].{asked}."
            )
        return readers[0]

    def _named(self, asked: str) -> Names:
        self._reader(asked)
        return super()._named(asked)

    @property
    def latent_children_(self) -> dict[str, tuple[str, str]]:
        """The two variables below each latent variable, by name."""
        return self._reader("latent_children_").latent_children

    @property
    def top_variables_(self) -> list[str]:
        """Columns and latent variables directly below the class."""
        return self._reader("top_variables_").top_variables

    @property
    def selected_features_(self) -> list[str]:
        """Columns that say something about the class."""
        return self._reader("selected_features_").selected_features

    @property
    def n_states_(self) -> dict[str, int]:
        """Number of states of each latent variable, by name."""
        return self._reader("n_states_").n_states

    def rules(self, max_length: int | None = MAX_LENGTH) -> Any:
        """Every state of every latent variable as a rule over the columns.

        A latent variable is left out if the one above it has the same rules.

        Parameters
        ----------
        max_length : int or None, default=300
            A rule with more characters is written with the states of the latent variables below
            it, whose own rules stand above. None writes every rule over the columns.

        Returns
        -------
        pandas.DataFrame
            One line per state: `latent` and `state`; `rule`, which holds for exactly the rows in
            that state; `support`, the weight of the labelled training rows known to be in it; and
            for every class `P(label)`, its share of the support (NaN without support). Bounds of
            intervals are rounded to six digits; `cut_points_` has all of them. With several models
            the first column, `model`, is the position in `models_`.
        """
        import pandas as pd

        check_is_fitted(self)
        if max_length is not None:
            check_number("max_length", max_length, low=0, whole=True)
        readers, labels = self._readers(), self.classes_.tolist()
        frames = [one.rules(labels, max_length) for one in readers]
        if len(frames) == 1:
            return frames[0]
        whole = pd.concat(frames, keys=range(len(frames)), names=["model", "row"])
        return whole.reset_index("model").reset_index(drop=True)

    @computation
    def explain(self, X: Any, y: Any = None, priors: Any = None) -> RuleExplanation:
        """Weight of evidence of each column, and of each variable below the class by its rule.

        Parameters
        ----------
        X : table with the columns of `fit`
        y : label or array-like of labels, optional
            The class to explain, for all rows or for each; by default the predicted one.
        priors : optional
            As in `predict_proba`.
        """
        table = self._read(X)
        parts = top_parts(self._readers(), self._model.coded(table))
        below = [
            frozenset(self._model.coding.positions[leaf] for leaf in part.leaves) for part in parts
        ]
        # a column directly below the class is asked about anyway; hierarchies may share a set
        larger = sorted({columns for columns in below if len(columns) > 1}, key=sorted)
        order = self.schema_.continuous + self.schema_.discrete
        sets = np.array([[j in columns for j in order] for columns in larger], dtype=bool)
        by_column, found = self._explain(X, table, y, priors, sets.reshape(-1, len(order)))
        weight_of = {frozenset([j]): column for j, column in enumerate(by_column.weights.T)}
        weight_of.update(zip(larger, found.T, strict=True))
        weights = np.array([weight_of[columns] for columns in below]).reshape(-1, table.n_rows).T
        return RuleExplanation(
            by_column.weights,
            by_column.target,
            by_column.log_odds,
            by_column.prior_log_odds,
            by_column.feature_names,
            by_column.index,
            by_column.cells,
            variable_weights=weights,
            parts=parts,
        )

    # ------------------------------------------------------------------ other programs

    def to_network(self) -> list[BifVariable]:
        """The enlarged network of section 6.3 in the paper: the same model as an ordinary network.

        A latent variable becomes two variables: its state below the class, and below the state the
        pair of its children's levels (`<name>_pair`), which determines both children.

        Returns
        -------
        list of BifVariable
            Named tuples `(name, states, parents, table)`, the class first, parents before
            children. Discretised columns have the states `bin0`, `bin1`, and so on, cut at
            `cut_points_`. Columns of one level are left out.
        """
        return self._reader("to_network()").network(self.classes_.tolist())

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
