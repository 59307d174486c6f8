"""Class labels to codes, unlabelled rows included."""

from __future__ import annotations

import warnings
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from latentclass.data._read import missing_cells

UNLABELLED = -1
"""Code of a row whose class is not known."""


def encode_labels(y: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Sorted distinct labels of `y`, and each row's code (-1: unlabelled).

    None, NaN and NA mark unlabelled rows. The integer -1 does too, as in scikit-learn's
    semi-supervised estimators, unless fewer than two other classes would remain: in {-1, +1} it
    is a class. Reading -1 as "unlabelled" is announced by a warning, because {-1, 0, 1} may well
    be three classes.

    Examples
    --------
    >>> encode_labels(["b", None, "a"])
    (array(['a', 'b'], dtype='<U1'), array([ 1, -1,  0]))
    """
    values = _as_array(y)
    missing = _missing(values)
    if missing.all():
        raise ValueError(
            f"y has no labelled row: all {len(values)} labels are missing. "
            "Label at least one row of each class."
        )
    if values.dtype.kind == "f" and np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise ValueError(
            f"Input y contains infinity: row {row} holds {values[row]}. A class label must be "
            "finite; None or NaN marks a row without label."
        )
    known = values[~missing]
    if known.dtype == object:
        known = _plain(known)
    check_classification_targets(known)
    classes, inverse = np.unique(known, return_inverse=True)
    codes = np.full(len(values), UNLABELLED, dtype=np.intp)
    codes[~missing] = inverse
    if classes.dtype.kind in "if" and classes[0] == -1 and len(classes) > 2:
        n_rows = int(np.sum(codes == 0))
        warnings.warn(
            f"y is -1 in {n_rows} rows: read as unlabelled, scikit-learn's convention. Write None "
            "or NaN there to say so without this warning; if -1 is a class, pass y as strings.",
            UserWarning,
            stacklevel=4,
        )
        classes = classes[1:]
        codes = np.where(codes >= 0, codes - 1, UNLABELLED)
    return classes, codes


def _as_array(y: Any) -> npt.NDArray[Any]:
    if y is None:
        raise ValueError(
            "fit requires y to be passed, but the target y is None. Give one label a row; "
            "None or NaN marks a row without label."
        )
    if nw.dependencies.is_into_series(y):
        y = nw.from_native(y, series_only=True).to_numpy()
    elif isinstance(y, list | tuple) and any(label is None for label in y):
        y = np.array(y, dtype=object)
    values: npt.NDArray[Any] = column_or_1d(y, warn=True)
    return values


def _missing(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    return missing_cells(values)


def _plain(known: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Object labels as the plain array numpy would have made, if they are of one sort."""
    plain = np.array(known.tolist())
    if plain.dtype.kind in "US" and not all(isinstance(label, str) for label in known):
        kinds = sorted({type(label).__name__ for label in known})
        raise ValueError(
            f"Unknown label type: y mixes labels of types {kinds}. Make them all strings or "
            "all numbers."
        )
    return plain
