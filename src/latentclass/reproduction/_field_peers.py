"""The classifiers of other libraries that stand beside ours in the field, on any table.

Each gets what suits it: trees, boosting and StepMix get missing cells as they are, the others the
mean; categories become one column each. Unlabelled rows are left out, but for self-training.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC

from latentclass._types import FloatArray, IndexArray
from latentclass.auto._weights import LogLoss, greedy_weights

if TYPE_CHECKING:
    import pandas as pd

Labels = npt.NDArray[np.object_]

N_FOLDS = 5
"""Inner folds, fewer where a class has fewer labelled rows."""

ANCHOR = "average of peers"
PEERS = (
    "logistic regression", "random forest", "SVC", "gradient boosting", "CatBoost", "LightGBM",
    "EBM", "QDA", "k-NN", "StepMix", ANCHOR,
)  # fmt: skip
"""Their names, without importing them."""

STEPMIX_SIZES = (1, 2, 3)
"""Numbers of latent classes for each class."""


class Peer(ClassifierMixin, BaseEstimator):
    """A classifier of numbers on a data frame, with labels of which some may be None.

    Parameters
    ----------
    estimator : classifier
    fill : bool
        Whether numbers are standardised and their missing cells replaced by the mean.
    unlabelled : bool
        Whether the classifier learns from unlabelled rows, which it gets as -1.
    """

    def __init__(self, estimator: Any, fill: bool = True, unlabelled: bool = False) -> None:
        self.estimator = estimator
        self.fill = fill
        self.unlabelled = unlabelled

    def fit(self, X: pd.DataFrame, y: Labels) -> Self:
        y = np.asarray(y, dtype=object)
        labelled = np.array([label is not None for label in y])
        self.classes_ = np.unique(y[labelled].astype(str)).astype(object)
        codes = np.full(len(y), -1)
        codes[labelled] = np.searchsorted(self.classes_, y[labelled])
        used = np.full(len(y), True) if self.unlabelled else labelled
        numbers = (
            make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
            if self.fill
            else "passthrough"
        )
        self.columns_ = make_column_transformer(
            (numbers, make_column_selector(dtype_include="number")),
            (
                OneHotEncoder(handle_unknown="ignore", sparse_output=False),
                make_column_selector(dtype_exclude="number"),
            ),
        )
        matrix = self.columns_.fit_transform(X[used])
        self.estimator_ = clone(self.estimator).fit(matrix, codes[used])
        return self

    def predict_proba(self, X: pd.DataFrame) -> FloatArray:
        return np.asarray(self.estimator_.predict_proba(self.columns_.transform(X)))

    def predict(self, X: pd.DataFrame) -> Labels:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class GreedyAverage(ClassifierMixin, BaseEstimator):
    """A weighted average of peers, the weights by greedy selection on five inner folds."""

    def __init__(self, members: Mapping[str, Peer]) -> None:
        self.members = members

    def fit(self, X: pd.DataFrame, y: Labels) -> Self:
        y = np.asarray(y, dtype=object)
        labelled = np.array([label is not None for label in y])
        X, y = X[labelled], y[labelled]
        self.classes_, codes = np.unique(y, return_inverse=True)
        n_folds = min(5, int(np.bincount(codes).min()))
        weights = np.ones(len(self.members)) / len(self.members)
        if n_folds >= 2:
            folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
            held_out = np.empty((len(self.members), len(y), len(self.classes_)))
            for train, test in folds.split(X, codes):
                for place, member in enumerate(self.members.values()):
                    fitted = clone(member).fit(X.iloc[train], y[train])
                    held_out[place, test] = fitted.predict_proba(X.iloc[test])
            weights = greedy_weights(held_out, LogLoss(codes, np.ones(len(y))).score)
        self.weights_ = weights
        self.members_ = [
            clone(member).fit(X, y) if weight else None
            for member, weight in zip(self.members.values(), weights, strict=True)
        ]
        return self

    def predict_proba(self, X: pd.DataFrame) -> FloatArray:
        weighted = (
            weight * member.predict_proba(X)
            for member, weight in zip(self.members_, self.weights_, strict=True)
            if member is not None
        )
        return np.asarray(sum(weighted))

    def predict(self, X: pd.DataFrame) -> Labels:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class Tuned(ClassifierMixin, BaseEstimator):
    """A classifier of numbers whose parameters are chosen by log-loss on inner folds.

    With a single labelled row of a class there are no folds, and the first parameters are taken.

    Parameters
    ----------
    estimator : classifier
    grid : dict of parameter to list of values
    scoring : str
    """

    def __init__(
        self, estimator: Any, grid: Mapping[str, list[Any]], scoring: str = "neg_log_loss"
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.scoring = scoring

    def fit(self, X: FloatArray, y: IndexArray) -> Self:
        n_folds = int(min(N_FOLDS, np.bincount(y).min()))
        model = clone(self.estimator).set_params(**{key: one[0] for key, one in self.grid.items()})
        if n_folds >= 2:
            model = GridSearchCV(model, dict(self.grid), cv=n_folds, scoring=self.scoring)
        self.estimator_ = model.fit(X, y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        return np.asarray(self.estimator_.predict_proba(X))


class TunedSVC(ClassifierMixin, BaseEstimator):
    """An SVC with radial kernel: C and gamma by accuracy on inner folds, sigmoid probabilities."""

    def fit(self, X: FloatArray, y: IndexArray) -> Self:
        n_folds = int(min(N_FOLDS, max(2, np.bincount(y).min())))
        grid = {"C": [0.1, 1, 10, 100], "gamma": ["scale", 0.01, 0.1]}
        found = GridSearchCV(SVC(), grid, cv=n_folds).fit(X, y).best_params_
        self.estimator_ = CalibratedClassifierCV(SVC(**found), cv=n_folds).fit(X, y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        return np.asarray(self.estimator_.predict_proba(X))


class OutcomeOfStepMix(ClassifierMixin, BaseEstimator):
    """StepMix with the class as the outcome; the number of its latent classes by BIC."""

    def fit(self, X: FloatArray, y: IndexArray) -> Self:
        from stepmix.stepmix import StepMix

        self.classes_ = np.unique(y)
        self.is_yes_no_ = np.array([set(np.unique(one)) <= {0.0, 1.0} for one in X.T])
        self.scaler_ = StandardScaler().fit(X[:, ~self.is_yes_no_]) if self.n_numbers_ else None
        kinds = {
            "numbers": {"model": "continuous_nan", "n_columns": self.n_numbers_},
            "yes or no": {"model": "binary_nan", "n_columns": int(self.is_yes_no_.sum())},
        }
        measurement = {name: kind for name, kind in kinds.items() if kind["n_columns"]}
        arranged = self._arrange(X)
        best: tuple[float, Any] = (np.inf, None)
        for n_components in (len(self.classes_) * size for size in STEPMIX_SIZES):
            model = StepMix(
                n_components,
                measurement=measurement,
                structural="categorical",
                n_init=3,
                max_iter=200,
                random_state=0,
                progress_bar=0,
            )
            # a latent class whose variance falls to zero makes everything NaN: not that size then
            with np.errstate(all="ignore"):
                criterion = model.fit(arranged, y).bic(arranged, y)
                if criterion < best[0] and np.isfinite(model.predict_proba_Y(arranged)).all():
                    best = (criterion, model)
        self.estimator_ = best[1]
        if self.estimator_ is None:
            raise ValueError("Every StepMix model has a latent class without variance.")
        return self

    @property
    def n_numbers_(self) -> int:
        return int((~self.is_yes_no_).sum())

    def _arrange(self, X: FloatArray) -> FloatArray:
        """Numbers first, as the measurement says."""
        yes_no = X[:, self.is_yes_no_]
        if self.scaler_ is None:
            return yes_no
        return np.hstack([self.scaler_.transform(X[:, ~self.is_yes_no_]), yes_no])

    def predict_proba(self, X: FloatArray) -> FloatArray:
        return np.asarray(self.estimator_.predict_proba_Y(self._arrange(X)))


def peers() -> dict[str, Any]:
    """Return the classifiers by name; one that is not installed is None."""
    linear = LogisticRegression(max_iter=500)
    found = {
        "logistic regression": Peer(Tuned(linear, {"C": [1.0, *np.logspace(-4, 4, 8)]})),
        "random forest": Peer(RandomForestClassifier(500, random_state=0), fill=False),
        "SVC": Peer(TunedSVC()),
        "gradient boosting": Peer(HistGradientBoostingClassifier(random_state=0), fill=False),
        "CatBoost": _catboost(),
    }
    members = {name: one for name, one in found.items() if one is not None}
    nearest = KNeighborsClassifier(weights="distance")
    return {
        **found,
        "LightGBM": _lightgbm(),
        "EBM": _ebm(),
        "QDA": _qda(),
        "k-NN": Peer(Tuned(nearest, {"n_neighbors": [10, 5, 20, 40]})),
        "StepMix": Peer(OutcomeOfStepMix(), fill=False) if _has("stepmix") else None,
        ANCHOR: GreedyAverage(members),
    }


def _has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _catboost() -> Peer | None:
    if not _has("catboost"):
        return None
    from catboost import CatBoostClassifier

    settings = {"iterations": 300, "verbose": False, "thread_count": 1, "random_seed": 0}
    return Peer(CatBoostClassifier(allow_writing_files=False, **settings), fill=False)


def _lightgbm() -> Peer | None:
    if not _has("lightgbm"):
        return None
    from lightgbm import LGBMClassifier

    return Peer(LGBMClassifier(n_jobs=1, verbose=-1, random_state=0), fill=False)


def _ebm() -> Peer | None:
    if not _has("interpret"):
        return None
    from interpret.glassbox import ExplainableBoostingClassifier

    # 4 bags instead of 14 and 10 pairs instead of 3 for each column: seconds instead of minutes
    settings = {"outer_bags": 4, "interactions": 10, "n_jobs": 1, "random_state": 0}
    return Peer(ExplainableBoostingClassifier(**settings), fill=False)


def _qda() -> Peer | None:
    if "shrinkage" not in QuadraticDiscriminantAnalysis().get_params():
        return None  # scikit-learn before 1.8
    model = QuadraticDiscriminantAnalysis(solver="eigen")
    return Peer(Tuned(model, {"shrinkage": [0.5, 0.01, 0.1, 0.9]}))


def self_training() -> Peer:
    """Logistic regression that learns from unlabelled rows too."""
    return Peer(SelfTrainingClassifier(LogisticRegression(max_iter=500)), unlabelled=True)
