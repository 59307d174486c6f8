"""Estimators: thin scikit-learn classes over the engines in `latentclass.core`."""

from latentclass.models._explanation import Explanation

__all__ = ["Explanation"]
