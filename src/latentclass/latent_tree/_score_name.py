"""A parameter called `score` beside scikit-learn's method `score`."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin


class ScoreName(str):
    """The name of a score that can be called: `model.score(X, y)` is the accuracy."""

    _model: Any

    def __call__(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy, as in every scikit-learn classifier."""
        return float(ClassifierMixin.score(self._model, X, y, sample_weight))


class ScoreParameter:
    """Descriptor: the parameter as it was given, callable where it is a text."""

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return ClassifierMixin.score
        value = vars(model)["score"]
        if not isinstance(value, str):
            return value
        name = ScoreName(value)
        name._model = model
        return name

    def __set__(self, model: Any, value: Any) -> None:
        vars(model)["score"] = value
