"""The classifiers of scikit-learn that reports and the command line show beside a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from latentclass.baselines import majority
from latentclass.evaluation import TableClassifier

PEERS: dict[str, Callable[[int], Any]] = {
    "majority": lambda _: TableClassifier(majority()),
    "logistic-regression": lambda _: TableClassifier(LogisticRegression(max_iter=1000)),
    "gradient-boosting": lambda seed: TableClassifier(
        HistGradientBoostingClassifier(random_state=seed), scale=False
    ),
    "random-forest": lambda seed: TableClassifier(
        RandomForestClassifier(random_state=seed), scale=False
    ),
}
"""Classifiers by name, made with a seed."""

SHOWN = {
    "majority": "majority guess",
    "logistic-regression": "logistic regression",
    "gradient-boosting": "gradient boosting",
}
"""Those beside every fit, and how they are called there."""

MOST_BOOSTED = 50
"""Classes up to which gradient boosting is shown: each round fits a tree for each of them."""


def too_slow(name: str, n_classes: int) -> bool:
    """Whether a classifier takes too long with so many classes to be shown beside a fit."""
    return name == "gradient-boosting" and n_classes > MOST_BOOSTED
