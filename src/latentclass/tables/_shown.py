"""Text from files, made safe to print.

Names and cells may come from anyone. Control characters could move the cursor or change colours,
and marks of writing direction could disguise a name. Both are written as escapes, and long text is
cut.
"""

from __future__ import annotations

from typing import Any

from latentclass._show import clean

LONGEST = 40
"""Characters of a name or cell in a sentence."""


def shown(value: Any, most: int = LONGEST) -> str:
    r"""Text in quotes, with escapes for what is not printable, cut after `most` characters.

    Examples
    --------
    >>> print(shown("red\x1b[31m"))
    'red\x1b[31m'
    """
    return repr(_cut(str(value), most))


def plain(value: Any, most: int = LONGEST) -> str:
    r"""As `shown`, without the quotes and without escapes for what is printable.

    Examples
    --------
    >>> print(plain("it's\n\u202ered"))
    it's\n\u202ered
    """
    return clean(_cut(str(value), most))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
