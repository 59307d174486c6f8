"""Warnings that point to the line of the user, not to a line inside the library."""

from __future__ import annotations

import sys
import warnings

_INSIDE = ("latentclass.", "sklearn.callback")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first frame outside this library and outside scikit-learn's wrapper of `fit`."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
