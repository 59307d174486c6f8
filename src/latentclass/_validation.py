"""Checks of parameters, with messages that say what to change."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

MOST_ROWS = 10**9
"""Most rows that `sample` draws at once: their numbers alone fill 8 GB per column. It is also the
largest whole number of any parameter, so that compiled code can hold it."""

MOST_STATES = 10**4
"""Most latent variables, components or states: far above any use, far below what fills memory."""

MOST_STARTS = 10**5
"""Most starts, folds or models that are averaged: each is a fit of its own."""

MOST_BYTES = 2**33
"""Most memory that the tables of one model may need (8 GiB)."""


def check_memory(what: str, n_bytes: float, remedy: str) -> None:
    """Refuse what needs more than `MOST_BYTES`, before it is computed."""
    if n_bytes > MOST_BYTES:
        raise ValueError(
            f"{what} would need {n_bytes / 2**30:,.1f} GiB of memory, above the limit of "
            f"{MOST_BYTES / 2**30:.0f} GiB. {remedy}"
        )


def check_number(
    name: str,
    value: Any,
    *,
    low: float,
    high: float | None = None,
    whole: bool = False,
    none: bool = False,
    strict: bool = False,
) -> None:
    """Refuse a parameter that is not a number from `low` to `high` (above `low` if `strict`)."""
    if none and value is None:
        return
    if high is None:
        high = MOST_ROWS if whole else sys.float_info.max
    kind = Integral if whole else Real
    fits = isinstance(value, kind) and not isinstance(value, bool)
    if fits and _finite(value) and (value > low if strict else value >= low):
        # numpy would turn the limit into the type of the value
        if (int(value) if isinstance(value, Integral) else float(value)) <= high:
            return
        shown = repr(value)
        if len(shown) > 20:
            shown = f"{shown[:20]}..."
        limit = f"{high:,.0f}" if high < 1e15 else f"{high:.1e}"
        raise ValueError(f"{name}={shown} is too large: pass at most {limit}.")
    wanted = "a whole number" if whole else "a number"
    bound = f" {'above' if strict else 'of at least'} {low:g}" if math.isfinite(low) else ""
    also = ", or None" if none else ""
    raise ValueError(f"{name}={value!r} must be {wanted}{bound}{also}.")


def _finite(value: Any) -> bool:
    """Whether a number is finite; a whole number may be too large for a float."""
    return isinstance(value, Integral) or math.isfinite(value)


def check_option(name: str, value: Any, options: Sequence[Any]) -> None:
    """Refuse a parameter that is not one of the options."""
    same = [value is one or (type(value) is type(one) and value == one) for one in options]
    if not any(same):
        listed = ", ".join(repr(option) for option in options)
        raise ValueError(f"{name}={value!r} must be one of {listed}.")
