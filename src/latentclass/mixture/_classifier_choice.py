"""Which classifier the components have, and how many components there are, by held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine._em import EMResult
from latentclass.mixture._classifier_model import LatentVariableModel


class Recipe(NamedTuple):
    """What to fit: the classifier of each component, and how many components there are."""

    estimator: Any
    n_components: int


@dataclass(frozen=True, eq=False)
class Found:
    """A fit.

    Attributes
    ----------
    recipe : Recipe
    best : EMResult
        The best start of the search.
    objective : float
        Log-likelihood plus log-prior of the model, per row.
    model : LatentVariableModel
    held_out : array of shape (n_rows, n_classes) or None
        P(y | x) of each row by classifiers that have not seen it, NaN where it was not asked for;
        None if the classifiers were not cross-fitted.
    """

    recipe: Recipe
    best: EMResult[Any]
    objective: float
    model: LatentVariableModel
    held_out: FloatArray | None = None


def fewest_components(losses: Sequence[tuple[Recipe, FloatArray]]) -> int:
    """The place of the recipe with the lowest sum of the rows' losses, or of fewer components.

    Fewer components of the same classifier are taken if their loss is within one standard error of
    the lowest. Recipes of a classifier are in the order of their numbers of components.
    """
    best, least = min(losses, key=lambda one: float(one[1].sum()))
    for place, (recipe, loss) in enumerate(losses):
        # the difference to the best, summed over rows, and its standard error
        excess = loss - least
        close = excess.sum() <= np.sqrt(len(excess)) * excess.std()
        if recipe.estimator is best.estimator and close:
            return place
    raise AssertionError("the best is as good as itself")
