"""Components of a mixture that no row belongs to, and the only class of its rows."""

from __future__ import annotations

import numpy as np

from latentclass._types import FloatArray
from latentclass._warn import warn_user
from latentclass.data._schema import Table
from latentclass.exceptions import EmptyComponentWarning


def count_occupied(average_posterior: FloatArray) -> int:
    """Number of components with own rows."""
    return int(np.sum(average_posterior > 0))  # not of NaN, which stood for 0 in older files


def warn_of_empty(average_posterior: FloatArray) -> None:
    """Warn of components without own rows."""
    n, n_occupied = len(average_posterior), count_occupied(average_posterior)
    if n_occupied < n:
        warn_user(
            f"The rows belong most probably to only {n_occupied} of the {n} components; the rest "
            f"are empty. Use n_components={n_occupied}, or n_components=range(1, {n + 1}) to let "
            "the criterion choose.",
            EmptyComponentWarning,
        )


def one_class(table: Table) -> FloatArray:
    """Posterior of the only class."""
    return np.ones((table.n_rows, 1))
