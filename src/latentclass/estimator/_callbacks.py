"""scikit-learn's callbacks where it has them (1.9 and later), nothing otherwise."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from latentclass._compat import CallbackSupportMixin, callback_context, with_callbacks

__all__ = ["CallbackSupportMixin", "FitProgress", "with_callbacks"]


class FitProgress:
    """Tells callbacks, or standard error if `verbose`, how far a fit has come."""

    def __init__(self, estimator: Any, X: Any, y: Any, max_steps: int | None) -> None:
        self._estimator, self._data = estimator, {"X": X, "y": y}
        self._left = np.inf if max_steps is None else max_steps
        self._root = callback_context(estimator, max_steps)
        if self._root is not None:
            self._root.call_on_fit_task_begin(estimator=estimator, **self._data)

    def step(self, iteration: int, objective: float) -> bool:
        """Report one iteration; true if a callback asks to stop.

        A fit of several EM runs tells callbacks no more steps than they were promised.
        """
        if self._estimator.verbose:
            name = type(self._estimator).__name__
            print(f"{name}: iteration {iteration}, objective {objective:.6f}", file=sys.stderr)
        self._left -= 1
        if self._root is None or self._left < 0:
            return False
        task = self._root.subcontext()
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return bool(task.call_on_fit_task_end(estimator=self._estimator, **self._data))

    def end(self) -> None:
        """Report that the fit is done."""
        if self._root is not None:
            self._root.call_on_fit_task_end(estimator=self._estimator, **self._data)
