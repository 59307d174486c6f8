"""Encode class labels, where some rows may be unlabelled."""

from __future__ import annotations

from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass._warn import warn_user
from latentclass.data._read import (
    dictionary_codes,
    distinct_text,
    listed_to_array,
    missing_cells,
    unmask,
)

UNLABELLED = -1
"""Code of a row whose class is unknown."""

COLUMN_VECTOR = "A column-vector y was passed when a 1d array was expected. Pass the column itself."


def encode_labels(y: Any, weight: FloatArray | None = None) -> tuple[npt.NDArray[Any], IndexArray]:
    """Return the sorted distinct labels of `y` and the code of each row (-1: unlabelled).

    None, NaN and NA mark unlabelled rows. The integer -1 does too, as in scikit-learn's
    semi-supervised estimators, but only if it is the smallest label and there are at least two
    others. So in {-1, +1} it is a class. A warning says that -1 was read as "unlabelled", because
    {-1, 0, 1} could also be three classes. Rows with `weight` 0 count as unlabelled.

    Examples
    --------
    >>> encode_labels(["b", None, "a"])
    (array(['a', 'b'], dtype='<U1'), array([ 1, -1,  0]))
    """
    return code_labels(label_array(y), weight)


def code_labels(
    values: npt.NDArray[Any], weight: FloatArray | None = None
) -> tuple[npt.NDArray[Any], IndexArray]:
    """As `encode_labels`, for labels that `label_array` returned."""
    if not len(values):
        raise ValueError("y is empty. Pass one label per row; None or NaN marks an unlabelled row.")
    classes, codes = distinct_labels(values, weight)
    if not len(classes):
        _refuse_unlabelled(len(values))
    if marks_unlabelled(classes):
        _warn_of_minus_one(int(np.sum(codes == 0)))
        classes = classes[1:]
        codes = np.where(codes >= 0, codes - 1, UNLABELLED)
    return classes, codes


def distinct_labels(
    values: npt.NDArray[Any], weight: FloatArray | None = None
) -> tuple[npt.NDArray[Any], IndexArray]:
    """As `code_labels`, but -1 is a label like any other, and all rows may be unlabelled."""
    missing = _missing(values)
    if weight is not None and len(weight) == len(values):
        missing |= weight == 0  # such a row is left out, so its label is not a class
    whole = not missing.any()
    codes = np.full(len(values), UNLABELLED, dtype=np.intp)
    if not whole and missing.all():
        return np.empty(0, dtype=object), codes
    known = _plain(values if whole else values[~missing])
    _refuse_infinite(known, missing)
    classes, known_codes = _distinct(known)
    if whole:
        return classes, known_codes.astype(np.intp, copy=False)
    codes[~missing] = known_codes
    return classes, codes


def merge_labels(
    parts: list[tuple[npt.NDArray[Any], IndexArray]],
) -> tuple[npt.NDArray[Any], IndexArray]:
    """The classes of rows in parts and their numbers of rows, from those of each part."""
    known = [(labels, counts) for labels, counts in parts if len(labels)]
    if not known:
        raise ValueError("No part has a labelled row. Label at least one row of each class.")
    listed = [label for labels, _ in known for label in labels.tolist()]
    _plain(np.array(listed, dtype=object))  # refuses text beside numbers
    classes, place = np.unique(np.concatenate([labels for labels, _ in known]), return_inverse=True)
    counts = np.zeros(len(classes), dtype=np.intp)
    np.add.at(counts, place.reshape(-1), np.concatenate([counts for _, counts in known]))
    if marks_unlabelled(classes):
        _warn_of_minus_one(None)
        classes, counts = classes[1:], counts[1:]
    return classes, counts


def place_labels(
    values: npt.NDArray[Any], weight: FloatArray | None, classes: npt.NDArray[Any]
) -> IndexArray:
    """Codes of labels, given all classes; -1 is unlabelled if it is none of them."""
    own, codes = distinct_labels(values, weight)
    known = {label: code for code, label in enumerate(classes.tolist())}
    place = [known.get(label, UNLABELLED) for label in own.tolist()]
    lost = [label for label, code in zip(own.tolist(), place, strict=True) if code < 0]
    if any(label != -1 for label in lost):
        raise ValueError(f"y holds {lost[-1]!r}, which was not there when it was first read.")
    return np.array([*place, UNLABELLED], dtype=np.intp)[codes]  # code -1 selects the last


def marks_unlabelled(classes: npt.NDArray[Any]) -> bool:
    """Whether the smallest label is a -1 that stands for rows without a label."""
    return bool(classes.dtype.kind in "if" and classes[0] == -1 and len(classes) > 2)


def _warn_of_minus_one(n_rows: int | None) -> None:
    rows = "some" if n_rows is None else f"{n_rows}"
    warn_user(
        f"y is -1 in {rows} rows, which are read as unlabelled, as in scikit-learn. Write "
        "None or NaN there to avoid this warning. If -1 is a class, pass y as strings.",
    )


def _refuse_unlabelled(n_rows: int) -> NoReturn:
    raise ValueError(
        f"y has no labelled row: all {n_rows} labels are missing. "
        "Label at least one row of each class."
    )


def _distinct(known: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the sorted distinct labels, and the position of each row's label in them."""
    if known.dtype.kind in "OU":
        labels, places = distinct_text(known)
        return np.array(labels), places
    if known.dtype.kind in "iu":
        low, high = int(known.min()), int(known.max())
        if high - low < len(known) and high <= np.iinfo(np.intp).max:
            # whole numbers in a short range are counted, which is faster than sorting
            offset = known.astype(np.intp) - low
            occurs = np.bincount(offset) > 0
            n_classes = np.count_nonzero(occurs)
            if 2 * n_classes <= len(known):  # scikit-learn warns about more classes
                values = (np.flatnonzero(occurs) + low).astype(known.dtype)
                return values, (np.cumsum(occurs) - 1)[offset]
    check_classification_targets(known)
    classes, codes = np.unique(known, return_inverse=True)
    return classes, codes


def label_array(y: Any) -> npt.NDArray[Any]:
    """Return the labels of any container as a flat array, unchanged; None where missing."""
    if y is None:
        raise ValueError(
            "fit requires y to be passed, but the target y is None. Pass one label per row; "
            "None or NaN marks an unlabelled row."
        )
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufUO":
        return y  # the usual case
    if nw.dependencies.is_into_dataframe(y) and y.shape[1] == 1:
        warn_user(COLUMN_VECTOR, DataConversionWarning)
        y = nw.from_native(y, eager_only=True)[:, 0].to_native()
    if nw.dependencies.is_into_series(y):
        y = _series_array(nw.from_native(y, series_only=True))
    elif hasattr(y, "to_pylist"):  # a pyarrow array that is not chunked
        y = y.to_pylist()
    elif hasattr(y, "dtype") and (not isinstance(y.dtype, np.dtype) or y.dtype.kind == "T"):
        y = np.asarray(y, dtype=object)  # pandas' own arrays, numpy's variable-width strings
    elif isinstance(y, np.ma.MaskedArray):
        y = unmask(y, object)  # so that whole numbers stay whole
    try:
        listed = listed_to_array(y, "y")
        values: npt.NDArray[Any] = column_or_1d(listed)
    except ValueError as error:
        if "1d array" not in str(error):
            raise
        raise ValueError(f"{error} Pass one label per row.") from None
    if np.asarray(listed).ndim == 2:
        warn_user(COLUMN_VECTOR, DataConversionWarning)
    return values


def _series_array(series: nw.Series[Any]) -> npt.NDArray[Any]:
    """Return the labels of a column of any data frame library; None where missing."""
    if not len(series):
        return np.empty(0, dtype=object)
    if series.dtype in (nw.String, nw.Categorical) or isinstance(series.dtype, nw.Enum):
        codes, labels, *_ = dictionary_codes(series, categorical_dtype=False)
        distinct = np.empty(len(labels) + 1, dtype=object)
        distinct[:-1] = labels  # code -1 selects the None at the end
        return np.asarray(distinct[codes])
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    known = np.asarray(series.drop_nulls().to_numpy())
    if not missing.any():
        return known
    values = np.full(len(series), None, dtype=object)  # so that whole numbers stay whole
    values[~missing] = known
    return values


def _missing(values: npt.NDArray[Any]) -> BoolArray:
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    return missing_cells(values)


def _plain(known: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels as numbers of one type or as text; refuse anything else."""
    types = set(map(type, known.tolist())) if known.dtype == object else {known.dtype.type}
    if all(issubclass(label, str) for label in types):
        return known
    if all(issubclass(label, int | float | complex | np.number | np.bool_) for label in types):
        return np.array(known.tolist()) if known.dtype == object else known
    kinds = sorted(label.__name__ for label in types)
    raise ValueError(
        f"Unknown label type: y holds labels of types {kinds}. Make them all strings or all "
        "numbers; None or NaN marks an unlabelled row."
    )


def _refuse_infinite(known: npt.NDArray[Any], missing: BoolArray) -> None:
    if known.dtype.kind == "f" and np.isinf(known).any():
        place = int(np.flatnonzero(np.isinf(known))[0])
        row = int(np.flatnonzero(~missing)[place])
        raise ValueError(
            f"Input y contains infinity: row {row} holds {known[place]}. A class label must be "
            "finite; None or NaN marks an unlabelled row."
        )
