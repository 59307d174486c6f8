"""Discretisation of continuous columns by class entropy, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from latentclass._compat import output_container
from latentclass._types import CodeArray, FloatArray
from latentclass._validation import check_option
from latentclass.data._read import listed_to_array, missing_cells
from latentclass.engine._mdl import bin_codes, class_entropy, cut_columns
from latentclass.engine._parallel import computation
from latentclass.estimator._reading import TableReader, store_fitted


class MDLDiscretizer(TableReader, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Cut continuous columns into intervals that tell the classes apart.

    Each column is cut at the value that leaves the least class entropy. The parts are cut again in
    the same way, as long as a cut gains more than it costs to describe (Fayyad and Irani's minimum
    description length criterion). So the data decide the number of intervals. Each column is
    judged by itself: a column that matters only together with another is not cut, and becomes a
    single interval without information. Discrete columns are passed on unchanged, and missing cells
    stay missing.

    Choose it before a model of discrete columns, or to see where a column matters. It sorts each
    column once and then passes over its distinct values once for each depth of cuts.

    Parameters
    ----------
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete. "from_dtype": those of text, category or boolean type; None:
        none; or a list of names or positions, or a mask.
    output : {"auto", "codes", "intervals"}, default="auto"
        What `transform` makes of a continuous column. "codes": the number of the interval, 0, 1,
        ..., as a float, NaN where missing. "intervals": its bounds as a label such as
        "(2.45, 4.75]", an ordered category in a data frame, text (None where missing) in an
        array. "auto": intervals for a data frame, which the classifiers of this library then read
        as discrete; codes for an array of numbers.

    Attributes
    ----------
    cut_points_ : list of arrays
        Cut points of each column in ascending order; empty for a discrete column and for a column
        that is not cut. A value equal to a cut point belongs to the interval below it.
    class_counts_ : list of arrays of shape (n_intervals, n_classes)
        Weight of each class in each interval of each column, over the labelled rows of `fit`
        that have a value there; without rows for a discrete column.
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_unlabelled_ : int
        Number of rows without a label. They do not influence the cuts.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if the table had names.

    Notes
    -----
    Cut points are midpoints between neighbouring values. Without weights they equal those of Weka
    and Orange, except where two cuts are equally good: here the lower one is taken, while in the
    others rounding decides. Weight w counts as w copies of the row inside the criterion too (Weka
    uses log2(N - 1) with the number of rows there). So the scale of the weights matters: with
    weights that sum to less than 2 there is no cut.

    References
    ----------
    .. [1] Fayyad, U. M. and Irani, K. B. (1993). Multi-interval discretization of
       continuous-valued attributes for classification learning. IJCAI-93, 1022-1027.

    Examples
    --------
    >>> from latentclass import MDLDiscretizer
    >>> X = [[1.0, 5.0], [1.2, 7.0], [1.4, 6.0], [8.0, 5.0], [9.0, 7.0], [9.5, 6.0]]
    >>> discretizer = MDLDiscretizer().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> discretizer.cut_points_
    [array([4.7]), array([], dtype=float64)]
    >>> discretizer.transform([[2.0, 6.0], [5.0, None]])
    array([[ 0.,  0.],
           [ 1., nan]])
    >>> print(discretizer.summary())
    column  intervals   gain  bounds
    x0              2  1.000  (-inf, 4.7], (4.7, inf)
    x1              1  0.000  (-inf, inf)
    """

    output: str
    handle_unknown = "missing"  # discrete columns are passed on, whatever they hold

    cut_points_: list[FloatArray]
    class_counts_: list[FloatArray]
    _gaps: list[FloatArray]

    def __init__(self, *, categorical_features: Any = "from_dtype", output: str = "auto") -> None:
        self.categorical_features = categorical_features
        self.output = output

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags

    @computation
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the cut points of every continuous column.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Missing cells (NaN, None, NA) are left out, each for its own column.
        y : array-like of shape (n_samples,)
            Class labels; rows without a label (None, NaN or -1) are left out.
        sample_weight : array-like of shape (n_samples,), optional
            Weight 3 is three copies of the row, weight 0 no row.

        Returns
        -------
        self
        """
        check_option("output", self.output, ("auto", "codes", "intervals"))
        _refuse_sparse(X)
        training = self._read_training(X, y, sample_weight)
        numeric, codes, weight = training.table.numeric, training.y, training.weight
        labelled = training.labelled
        if not labelled.all():
            numeric, codes, weight = numeric[labelled], codes[labelled], weight[labelled]
        n_columns, n_classes = len(training.schema.columns), training.n_classes
        points, gaps = [np.empty(0)] * n_columns, [np.empty((0, 2))] * n_columns
        counts = [np.empty((0, n_classes))] * n_columns
        cuts = cut_columns(_columns(numeric), codes, weight, n_classes)
        for j, cut in zip(training.schema.continuous, cuts, strict=True):
            points[j], gaps[j], counts[j] = cut
        found = {"cut_points_": points, "class_counts_": counts, "_gaps": gaps}
        store_fitted(self, {**training.attributes(), **found})
        return self

    @computation
    def transform(self, X: Any) -> Any:
        """Replace the values of continuous columns by their intervals.

        Parameters
        ----------
        X : table with the columns of `fit`

        Returns
        -------
        Table of the same columns in the container of X; `set_output` changes the container.
        """
        _refuse_sparse(X)
        numeric = self._encode(X)[1].numeric  # discrete columns are passed on, unseen values too
        codes = {
            j: bin_codes(values, self.cut_points_[j])
            for j, values in zip(self.schema_.continuous, _columns(numeric), strict=True)
        }
        framed = nw.dependencies.is_into_dataframe(X)
        labelled = self.output == "intervals" or (self.output == "auto" and framed)
        labels = self.intervals_ if labelled else None
        container = output_container(self)
        if framed or container != "default":
            return _fill_frame(_to_frame(X, self.schema_.names, container), codes, labels)
        return _fill_array(np.asarray(listed_to_array(X)), codes, labels)

    @property
    def intervals_(self) -> list[list[str]]:
        """Labels of the intervals of each column; none for a discrete column.

        Bounds are rounded to four significant digits, or to more if the rows of `fit` would
        otherwise fall into other intervals.
        """
        check_is_fitted(self)
        labels: list[list[str]] = [[] for _ in self.cut_points_]
        for j in self.schema_.continuous:
            labels[j] = _interval_labels(self.cut_points_[j], self._gaps[j])
        return labels

    def summary(self) -> CutSummary:
        """The intervals of the continuous columns, and how informative each is about the class."""
        intervals = self.intervals_
        counts = [self.class_counts_[j] for j in self.schema_.continuous]
        return CutSummary(
            columns=[self.schema_.columns[j].name for j in self.schema_.continuous],
            gain=np.array([_information_gain(each) for each in counts]),
            intervals=[intervals[j] for j in self.schema_.continuous],
        )


@dataclass(frozen=True)
class CutSummary:
    """What `MDLDiscretizer.summary` returns; `print` shows it as a table.

    Attributes
    ----------
    columns : list of str
        Names of the continuous columns.
    gain : array of shape (n_continuous,)
        Information gain: bits by which knowing the interval lowers the class entropy of the rows
        of `fit` that have a value in the column.
    intervals : list of list of str
        Labels of each column's intervals, in ascending order.
    """

    columns: list[str]
    gain: FloatArray
    intervals: list[list[str]]

    def __str__(self) -> str:
        width = max(6, *map(len, self.columns)) if self.columns else 6
        lines = [f"{'column':{width}}  intervals   gain  bounds"]
        for name, gain, labels in zip(self.columns, self.gain, self.intervals, strict=True):
            lines.append(f"{name:{width}}  {len(labels):9}  {gain:5.3f}  {', '.join(labels)}")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """As a pandas data frame: one line per column, with its intervals and information gain."""
        import pandas as pd

        return pd.DataFrame(
            {
                "column": self.columns,
                "n_intervals": [len(labels) for labels in self.intervals],
                "gain": self.gain,
                "intervals": self.intervals,
            }
        )


def _refuse_sparse(X: Any) -> None:
    if sp.issparse(X):
        raise TypeError("X is sparse, but MDLDiscretizer needs a dense table: pass X.toarray().")


def _columns(numeric: FloatArray) -> Iterator[FloatArray]:
    """Contiguous columns, a few at a time, so that a large table is never copied as a whole."""
    if numeric.flags.f_contiguous:
        yield from numeric.T
        return
    n_rows, n_columns = numeric.shape
    for start in range(0, n_columns, 16):
        part = numeric[:, start : start + 16]
        turned = np.empty(part.shape[::-1])
        for row in range(0, n_rows, 256):  # parts that fit into a cache are transposed faster
            turned[:, row : row + 256] = part[row : row + 256].T
        yield from turned


def _information_gain(counts: FloatArray) -> float:
    total = counts.sum(axis=0)
    if total.sum() == 0:
        return 0.0
    shares = counts.sum(axis=1) / total.sum()
    return max(0.0, float(class_entropy(total) - shares @ class_entropy(counts)))


def _interval_labels(points: FloatArray, gaps: FloatArray) -> list[str]:
    bounds = ["-inf", *map(_rounded, points.tolist(), gaps[:, 0], gaps[:, 1]), "inf"]
    labels = [f"({low}, {high}]" for low, high in pairwise(bounds)]
    return [*labels[:-1], labels[-1][:-1] + ")"]


def _rounded(point: float, low: float, high: float) -> str:
    """A cut point in the fewest digits, at least four, that still separates low from high."""
    texts = (f"{point:.{digits}g}" for digits in range(4, 18))  # 17 digits separate all floats
    return next(text for text in texts if low <= float(text) < high)


def _fill_array(
    given: npt.NDArray[Any], codes: dict[int, CodeArray], labels: list[list[str]] | None
) -> npt.NDArray[Any]:
    dtype: Any = np.float64
    if labels is not None or (len(codes) < given.shape[1] and given.dtype.kind not in "fiub"):
        dtype = object
    out: npt.NDArray[Any] = np.empty(given.shape, dtype=dtype)
    for j in range(given.shape[1]):
        if j not in codes:
            out[:, j] = given[:, j]
        elif labels is None:
            out[:, j] = _float_codes(codes[j])
        else:
            out[:, j] = np.array([*labels[j], None], dtype=object)[codes[j]]  # -1 picks the last
    return out


def _to_frame(X: Any, names: list[str], container: str) -> Any:
    """X as narwhals' data frame, of the library that `set_output` names or of its own."""
    if not nw.dependencies.is_into_dataframe(X):
        array = np.asarray(listed_to_array(X))
        columns = {name: _cells(array[:, j]) for j, name in enumerate(names)}
        return nw.from_dict(columns, backend=container)  # type: ignore[arg-type]
    frame = nw.from_native(X, eager_only=True)
    if container not in ("default", str(frame.implementation)):
        native = frame.to_pandas() if container == "pandas" else frame.to_polars()
        frame = nw.from_native(native, eager_only=True)
    return frame


def _cells(column: npt.NDArray[Any]) -> Any:
    if column.dtype.kind in "fiub":
        return column
    cells = column.astype(object)
    cells[missing_cells(cells)] = None  # polars takes no NaN in text
    return cells.tolist()


def _fill_frame(frame: Any, codes: dict[int, CodeArray], labels: list[list[str]] | None) -> Any:
    new = []
    for j, own in codes.items():
        series = frame[:, j]
        new.append(
            _float_series(series, own) if labels is None else _label_series(series, own, labels[j])
        )
    # a clone, because with_columns may share memory with its frame
    return frame.clone().with_columns(*new).to_native()


def _float_codes(codes: CodeArray) -> FloatArray:
    return np.where(codes < 0, np.nan, codes)


def _float_series(series: nw.Series[Any], codes: CodeArray) -> nw.Series[Any]:
    library, values = series.__native_namespace__(), _float_codes(codes)
    if series.implementation.is_polars():
        return _named(library.Series(values, nan_to_null=True), series.name)
    if series.implementation.is_pyarrow():
        return _named(library.chunked_array([library.array(values, from_pandas=True)]), series.name)
    return _named(library.Series(values, index=series.to_native().index), series.name)


def _label_series(series: nw.Series[Any], codes: CodeArray, labels: list[str]) -> nw.Series[Any]:
    """An ordered category, made from codes without one Python object per row."""
    library = series.__native_namespace__()
    if series.implementation.is_polars():
        levels = library.Series([*labels, None], dtype=library.Enum(labels))
        return _named(levels[np.where(codes < 0, len(labels), codes)], series.name)
    if series.implementation.is_pyarrow():
        places = library.array(codes, mask=codes < 0)
        column = library.DictionaryArray.from_arrays(places, labels, ordered=True)
        return _named(library.chunked_array([column]), series.name)
    categories = library.Categorical.from_codes(codes, categories=labels, ordered=True)
    return _named(library.Series(categories, index=series.to_native().index), series.name)


def _named(native: Any, name: Any) -> nw.Series[Any]:
    series: nw.Series[Any] = nw.from_native(native, series_only=True).alias(name)
    return series
