"""How many components a mixture has: the numbers to try, and the best of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from math import isclose
from typing import Any

from latentclass._validation import MOST_STATES, check_number

ROUNDING = 1e-9
"""Criteria with a smaller relative difference are equal."""


def numbers_of_components(given: Any) -> list[int]:
    """The numbers of components to try, in order."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    numbers = list(given) if several else [given]
    if not numbers:
        raise ValueError("n_components is empty: pass a number of components, or several to try.")
    try:
        for k in numbers:
            check_number("n_components", k, low=1, high=math.inf, whole=True)
    except ValueError:
        raise ValueError(
            f"n_components={given!r} must be a whole number of at least 1, or several of them to "
            "try, such as range(1, 6)."
        ) from None
    check_number("n_components", max(numbers), low=1, high=MOST_STATES, whole=True)
    return sorted({int(k) for k in numbers})


def fewest_of_the_best(criteria: dict[int, float]) -> int:
    """The smallest number of components whose criterion is the lowest, up to rounding."""
    best = min(criteria, key=lambda k: criteria[k])

    def as_good(k: int) -> bool:
        return isclose(criteria[k], criteria[best], rel_tol=ROUNDING, abs_tol=ROUNDING)

    return min([best, *filter(as_good, criteria)])
