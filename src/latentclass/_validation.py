"""Checks of parameters, with messages that say what to change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any


def check_number(
    name: str,
    value: Any,
    *,
    low: float,
    whole: bool = False,
    none: bool = False,
    strict: bool = False,
) -> None:
    """Refuse a parameter that is not a number of at least `low` (above `low` if `strict`)."""
    if none and value is None:
        return
    kind = Integral if whole else Real
    fits = isinstance(value, kind) and not isinstance(value, bool)
    if fits and math.isfinite(value) and (value > low if strict else value >= low):
        return
    wanted = "a whole number" if whole else "a number"
    bound = f" {'above' if strict else 'of at least'} {low:g}" if math.isfinite(low) else ""
    also = ", or None" if none else ""
    raise ValueError(f"{name}={value!r} must be {wanted}{bound}{also}.")


def check_option(name: str, value: Any, options: Sequence[Any]) -> None:
    """Refuse a parameter that is not one of the options."""
    if not any(
        value is option or (type(value) is type(option) and value == option) for option in options
    ):
        listed = ", ".join(repr(option) for option in options)
        raise ValueError(f"{name}={value!r} must be one of {listed}.")
