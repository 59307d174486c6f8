"""The classifiers of other libraries that `field.py` has beside ours, on any table.

Each gets what suits it: trees and boosting get missing cells as they are, the others the mean;
categories become one column each. Unlabelled rows are left out, but for self-training. EBM averages
4 bags instead of 14, which takes a quarter of the time.
"""

import importlib.util
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC

from latentclass.auto._weights import LogLoss, greedy_weights


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

    def fit(self, X: Any, y: Any) -> Self:
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

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.estimator_.predict_proba(self.columns_.transform(X))

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class GreedyAverage(ClassifierMixin, BaseEstimator):
    """A weighted average of peers, the weights by greedy selection on five inner folds."""

    def __init__(self, members: dict[str, Peer]) -> None:
        self.members = members

    def fit(self, X: Any, y: Any) -> Self:
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

    def predict_proba(self, X: Any) -> np.ndarray:
        return sum(
            weight * member.predict_proba(X)
            for member, weight in zip(self.members_, self.weights_, strict=True)
            if member is not None
        )

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class TunedSVC(ClassifierMixin, BaseEstimator):
    """An SVC with radial kernel: C and gamma by accuracy on inner folds, sigmoid probabilities."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        n_folds = int(min(5, max(2, np.bincount(y).min())))
        grid = {"C": [0.1, 1, 10, 100], "gamma": ["scale", 0.01, 0.1]}
        found = GridSearchCV(SVC(), grid, cv=n_folds).fit(X, y).best_params_
        self.estimator_ = CalibratedClassifierCV(SVC(**found), cv=n_folds).fit(X, y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.estimator_.predict_proba(X)


class TunedLogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression with C by log-loss on inner folds."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        n_folds = int(min(5, np.bincount(y).min()))
        model = LogisticRegression(max_iter=500)
        if n_folds >= 2:
            model = LogisticRegressionCV(
                Cs=8, cv=n_folds, scoring="neg_log_loss", max_iter=500,
                l1_ratios=(0,), use_legacy_attributes=False,
            )  # fmt: skip
        self.estimator_ = model.fit(X, y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.estimator_.predict_proba(X)


def peers() -> dict[str, BaseEstimator]:
    """The classifiers that are installed, by name."""
    found = {
        "logistic regression": Peer(TunedLogisticRegression()),
        "random forest": Peer(RandomForestClassifier(500, random_state=0), fill=False),
        "SVC": Peer(TunedSVC()),
        "gradient boosting": Peer(HistGradientBoostingClassifier(random_state=0), fill=False),
    }
    if importlib.util.find_spec("catboost"):
        from catboost import CatBoostClassifier

        boost = CatBoostClassifier(
            iterations=300, verbose=False, allow_writing_files=False, thread_count=1, random_seed=0
        )
        found["CatBoost"] = Peer(boost, fill=False)
    average = GreedyAverage(dict(found))
    if importlib.util.find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        found["LightGBM"] = Peer(LGBMClassifier(n_jobs=1, verbose=-1, random_state=0), fill=False)
    if importlib.util.find_spec("interpret"):
        from interpret.glassbox import ExplainableBoostingClassifier

        found["EBM"] = Peer(
            ExplainableBoostingClassifier(outer_bags=4, n_jobs=1, random_state=0), fill=False
        )
    return {**found, "average of peers": average}


def self_training() -> BaseEstimator:
    """Logistic regression that learns from unlabelled rows too."""
    return Peer(SelfTrainingClassifier(LogisticRegression(max_iter=500)), unlabelled=True)
