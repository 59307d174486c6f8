"""Progress of a fit: scikit-learn's callbacks (from version 1.9) and messages of `verbose`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from latentclass._compat import CallbackSupportMixin, callback_context, with_callbacks

__all__ = ["CallbackSupportMixin", "FitProgress", "with_callbacks"]


class FitProgress:
    """Reports the progress of a fit to callbacks and, if `verbose` is set, to standard error.

    `max_steps` is the number of steps that callbacks are told to expect; None if unknown.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, max_steps: int | None) -> None:
        self._estimator, self._data = estimator, {"X": X, "y": y}
        self._left = np.inf if max_steps is None else max_steps
        self._root = callback_context(estimator, max_steps)
        if self._root is not None:
            self._root.call_on_fit_task_begin(estimator=estimator, **self._data)

    def step(self, iteration: int, objective: float) -> bool:
        """Report one iteration, and return whether a callback asks to stop.

        A fit may run EM several times. Steps beyond `max_steps` are not reported to callbacks.
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
        """Report the end of the fit."""
        if self._root is not None:
            self._root.call_on_fit_task_end(estimator=self._estimator, **self._data)
