"""Text and numbers as the page shows them.

Names, labels and cells may come from anyone. What HTML cannot hold is replaced here; the template
escapes the rest.
"""

from __future__ import annotations

import math
import re
from typing import Any

LONGEST = 28
"""Characters of a name before it is cut."""

NOTHING, MINUS = "\u2013", "\u2212"
"""What stands where there is no number, and a minus sign as wide as a plus."""

UNUSUAL = ((0.01, "Very unusual"), (0.05, "Unusual"), (2.0, "Not unusual"))
MADE_UP = "of the rows drawn from the model are as improbable as this one, or more so."
"""Words for a row by the share of rows drawn from the model that are at least as unusual."""

CALIBRATED = ((0.03, "which is good"), (0.06, "which is fair"), (0.1, "which is a lot"))
TOO_FAR = "which is too much to rely on them"
"""Words for the mean gap between what a model says and how often it is right."""

# control characters, halves of surrogate pairs, and code points that HTML forbids
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


def plain(value: Any) -> str:
    """A value as text that an HTML page can hold."""
    return _FORBIDDEN.sub("\ufffd", str(value))


def cut(text: str, most: int = LONGEST) -> str:
    """Text with at most so many characters."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def percent(share: float | None) -> str:
    """A share in percent; very small and very large shares keep a digit that tells something."""
    if share is None:
        return NOTHING
    value = 100.0 * share
    if 0 < value < 0.05:
        return "< 0.1 %"
    if 99.95 <= value < 100:
        return "> 99.9 %"
    return f"{value:.1f} %"


def points(gap: float) -> str:
    """The difference of two shares."""
    return f"{100 * gap:.1f} percentage points"


def calibration_words(gap: float) -> str:
    """How far probabilities are off, and whether that is good."""
    word = next((word for bound, word in CALIBRATED if gap < bound), TOO_FAR)
    return f"{points(gap)}, {word}"


def how_unusual(share: float) -> str:
    """How unusual a row is, from the share of made-up rows that are at least as unusual."""
    word = next(word for bound, word in UNUSUAL if share < bound)
    return f"{word}: {percent(share)} {MADE_UP}"


def count(number: int) -> str:
    """A whole number with a comma between thousands."""
    return f"{number:,}"


def loss(value: float | None) -> str:
    """A log-loss."""
    return NOTHING if value is None else f"{value:.3f}"


def signed(value: float | None, decimals: int = 2) -> str:
    """A weight of evidence, or a difference."""
    if value is None or not math.isfinite(value):
        return (
            NOTHING if value is None or math.isnan(value) else ("+∞" if value > 0 else f"{MINUS}∞")
        )
    rounded = round(value, decimals) + 0.0
    return f"{rounded:+.{decimals}f}".replace("-", MINUS)


def number(value: float | None, decimals: int | None = None) -> str:
    """A number of a column, with decimals that suit the column."""
    if value is None or math.isnan(value):
        return NOTHING
    if decimals is None or not math.isfinite(value) or abs(value) >= 1e9:
        return f"{value:.4g}".replace("-", MINUS)
    return f"{round(value, decimals) + 0.0:,.{decimals}f}".replace("-", MINUS)


def decimals_for(spread: float) -> int:
    """Decimals that show about three digits of the spread of a column."""
    if not math.isfinite(spread) or spread <= 0:
        return 2
    return min(max(2 - math.floor(math.log10(spread)), 0), 9)


def listed(names: list[str], most: int = 3, longest: int = LONGEST) -> str:
    """Names as part of a sentence: "a, b and c"."""
    shown = [cut(name, longest) for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    if len(shown) <= 1:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def plural(n: int, one: str, many: str = "") -> str:
    """A number and its noun."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
