"""All that depends on scikit-learn's version or on names that it keeps private.

Such names may change with any release of scikit-learn. They are used here and nowhere else, so
a change needs a fix in this file only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils._set_output import _get_output_config

from latentclass._types import IndexArray

__all__ = [
    "CallbackSupportMixin",
    "boosting_baseline",
    "boosting_nodes",
    "callback_context",
    "output_container",
    "parameter_names",
    "take_rows",
    "with_callbacks",
]

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Takes the place of scikit-learn's mixin where there is none."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method unchanged."""
        return method


def callback_context(estimator: Any, max_subtasks: int | None) -> Any:
    """The root context of a fit with callbacks; None if scikit-learn has no callbacks."""
    begin = getattr(estimator, "_init_callback_context", None)
    return None if begin is None else begin(max_subtasks=max_subtasks)


def boosting_nodes(classifier: Any) -> list[list[Any]]:
    """Nodes of the trees of a fitted histogram gradient boosting, round by round."""
    return [[tree.nodes for tree in trees] for trees in classifier._predictors]


def boosting_baseline(classifier: Any) -> Any:
    """What a fitted histogram gradient boosting adds its trees to, one number for each of them."""
    return classifier._baseline_prediction.ravel()


def output_container(transformer: BaseEstimator) -> str:
    """The container that `set_output` asks `transform` for: "default", "pandas" or "polars"."""
    return str(_get_output_config("transform", transformer)["dense"])


def parameter_names(estimator_class: type[BaseEstimator]) -> list[str]:
    """Names of the parameters of an estimator class, without making an instance."""
    return list(estimator_class._get_param_names())


def take_rows(X: Any, rows: IndexArray) -> Any:
    """Rows of a table in any container, in the same container."""
    return _safe_indexing(X, rows)
