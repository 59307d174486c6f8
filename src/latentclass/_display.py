"""What all displays have: the numbers behind the picture as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Display:
    """A picture that keeps what it draws. `frame` is a pandas data frame of it."""

    def _columns(self) -> list[tuple[str, Any]]:
        """Name and values of each column of `frame`."""
        raise NotImplementedError

    @property
    def frame(self) -> Any:
        """The numbers behind the picture: a pandas data frame, one line per thing drawn."""
        import pandas as pd

        names, values = zip(*self._columns(), strict=True)
        # by place first: a column of the user's may have the name of one of ours
        return pd.DataFrame(dict(enumerate(values))).set_axis(list(names), axis=1)


def crossed(*names: Sequence[Any]) -> list[list[Any]]:
    """All combinations of names, the last changing fastest; one list per sequence.

    They label the cells of an array with an axis for each sequence, in the order of its `ravel`.

    >>> crossed(["a", "b"], [0, 1])
    [['a', 'a', 'b', 'b'], [0, 1, 0, 1]]
    """
    places = np.indices([len(some) for some in names])
    return [[some[k] for k in place.ravel()] for some, place in zip(names, places, strict=True)]


def counts_or_none(values: Sequence[int | None]) -> Any:
    """Whole numbers, some of which are missing, as a pandas array."""
    import pandas as pd

    return pd.array(list(values), dtype="Int64")
