"""Fit and predict one fold with one classifier, and record the result."""

from __future__ import annotations

import base64
import math
import numbers
import operator
import time
import traceback
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from latentclass._compat import take_rows
from latentclass._types import IndexArray
from latentclass._warn import recorded_warnings
from latentclass.estimator._base import GenerativeClassifier
from latentclass.evaluation._folds import Fold
from latentclass.evaluation._identity import derived_seed
from latentclass.evaluation._metrics import SECONDS, Predictions
from latentclass.evaluation._problem import Problem
from latentclass.evaluation._store import Record
from latentclass.evaluation._table_classifier import TableClassifier, read_numbers
from latentclass.exceptions import UnseenValueWarning

CODES = np.int32
PROBABILITIES = np.float32
"""Types of the arrays in a record."""

ROUNDING = 1e-6
"""By how much a probability may miss 0 or 1."""

LONGEST = 1e10
"""Seconds that no fit takes: more than 300 years."""


class Task(NamedTuple):
    """A computation: one classifier on one fold of a data set."""

    key: str
    content: dict[str, Any]
    problem: Problem
    classifier: str
    estimator: Any
    fold: Fold
    seed: int


def run_task(task: Task) -> Record:
    """Fit on the training rows and predict the test rows; an error is recorded, not raised.

    Linear algebra uses one thread. So the results are the same to the last bit with any number of
    workers, and times can be compared.
    """
    outcome: Record
    with recorded_warnings() as caught, threadpool_limits(1):
        try:
            outcome = {"error": None, **_fit_and_predict(task)}
        except (Exception, SystemExit) as error:
            outcome = _failure(error)
    seen = dict.fromkeys(
        f"{entry.category.__name__}: {entry.message}"
        for entry in caught
        if not issubclass(entry.category, UnseenValueWarning)  # folds part rare values
    )
    return _heading(task) | outcome | {"warnings": list(seen)}


def failed_task(task: Task, error: BaseException) -> Record:
    """Record that a task could not be run to its end."""
    return _heading(task) | _failure(error) | {"warnings": []}


def _heading(task: Task) -> Record:
    return {
        "key": task.key,
        "content": task.content,
        "dataset": task.problem.name,
        "classifier": task.classifier,
        "fold": task.fold.number,
        **_sizes(task),
    }


def _sizes(task: Task) -> dict[str, Any]:
    """Number of labelled training rows and of test rows."""
    n_train = int(np.sum(task.problem.codes[task.fold.train] >= 0))
    return {"n_train": n_train, "n_test": len(task.fold.test)}


def _failure(error: BaseException) -> Record:
    lines = traceback.format_exception(type(error), error, error.__traceback__, limit=-5)
    texts = {"error": f"{type(error).__name__}: {error}", "traceback": "".join(lines)}
    # a message may hold half a character, as of a file's name, which cannot be written to a file
    return {name: text.encode(errors="backslashreplace").decode() for name, text in texts.items()}


def _fit_and_predict(task: Task) -> dict[str, Any]:
    problem, fold = task.problem, task.fold
    model = seeded(task.estimator, derived_seed(task.seed, problem.checksum, fold.checksum))
    X_train, X_test = (take_rows(problem.X, rows) for rows in (fold.train, fold.test))
    start = time.perf_counter()
    model.fit(X_train, problem.labels[fold.train])
    fitted = time.perf_counter()
    labels, proba, predicted = _predict(model, X_test)
    return {
        "chosen": {
            name: int(size)
            for name in SIZES
            if isinstance(size := getattr(model, name, None), numbers.Integral)
        },
        "fit_seconds": fitted - start,
        "predict_seconds": predicted - fitted,
        "classes": _class_names(problem),
        "y": pack(problem.codes[fold.test].astype(CODES)),
        "predicted": pack(class_codes(labels, problem.classes).astype(CODES)),
        "proba": None if proba is None else pack(_all_classes(proba, model.classes_, problem)),
    }


SIZES = ("n_latent_", "n_components_")
"""Attributes of fitted models that a record keeps: sizes that were found by a search."""


class _Answers(NamedTuple):
    labels: npt.NDArray[Any]
    proba: npt.NDArray[Any] | None
    clock: float  # when the labels were known


def _predict(model: Any, X: Any) -> _Answers:
    """Predict labels and probabilities, reading the rows only once where that is possible."""
    if type(model) is TableClassifier:
        return _predict(model.estimator_, read_numbers(model, X))
    if _predicts_from_log_proba(type(model)):
        log_proba = model.predict_log_proba(X)
        labels = model.classes_[log_proba.argmax(axis=1)]
        return _Answers(labels, np.exp(log_proba), time.perf_counter())
    labels = np.asarray(model.predict(X))
    clock = time.perf_counter()
    proba = np.asarray(model.predict_proba(X)) if hasattr(model, "predict_proba") else None
    return _Answers(labels, proba, clock)


def _predicts_from_log_proba(kind: type) -> bool:
    """Whether `predict` and `predict_proba` follow from `predict_log_proba`.

    They do in the classifiers of this library, unless a subclass overrides them.
    """
    ours = GenerativeClassifier
    return issubclass(kind, ours) and (
        (kind.predict, kind.predict_proba) == (ours.predict, ours.predict_proba)
    )


def seeded(estimator: Any, seed: int) -> Any:
    """Return a clone in which every `random_state` that is None, at any depth, has a number.

    So the result of a fold depends on the fold alone, not on what ran before it. Seeds that the
    user has set are kept.
    """
    model = clone(estimator)
    free = [
        name
        for name, value in model.get_params(deep=True).items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    return model.set_params(**{name: derived_seed(seed, name) for name in free})


def class_codes(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> IndexArray:
    """Return the positions of labels in the list of classes; -1 for an unknown label."""
    position = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([position.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def _class_names(problem: Problem) -> list[str]:
    return [str(label) for label in problem.classes]


def _all_classes(proba: npt.NDArray[Any], seen: Any, problem: Problem) -> npt.NDArray[np.float32]:
    """Return probabilities of all classes of the data set; 0 for those not in the training rows."""
    codes = class_codes(np.asarray(seen), problem.classes)
    if proba.shape[1] != len(codes) or np.any(codes < 0):
        raise ValueError(
            f"predict_proba has {proba.shape[1]} columns for the classes {list(seen)}. It must "
            f"have one column per class, and all classes must be among {problem.classes.tolist()}."
        )
    wide = np.zeros((len(proba), len(problem.classes)), dtype=PROBABILITIES)
    wide[:, codes] = proba
    if not _are_probabilities(wide):
        raise ValueError("predict_proba returned values that are not between 0 and 1.")
    return wide


def _are_probabilities(values: npt.NDArray[np.float32]) -> bool:
    """Whether all values are between 0 and 1, up to rounding; NaN is not."""
    return bool(np.all((values >= -ROUNDING) & (values <= 1 + ROUNDING)))


def pack(array: npt.NDArray[Any]) -> dict[str, Any]:
    """Encode an array as JSON content."""
    raw = array.astype(array.dtype.newbyteorder("<")).tobytes()
    text = base64.b64encode(zlib.compress(raw, level=6)).decode()
    return {"dtype": array.dtype.newbyteorder("<").str, "shape": list(array.shape), "data": text}


def unpack(content: dict[str, Any], dtype: Any, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Decode an array that `pack` encoded. Content of another type or size is an error.

    It takes no more memory than this array, whatever the content is.
    """
    kind = np.dtype(dtype).newbyteorder("<")
    n_bytes = kind.itemsize * math.prod(shape)
    decoder = zlib.decompressobj()
    raw = decoder.decompress(base64.b64decode(content["data"]), n_bytes + 1)
    if (content["dtype"], content["shape"]) != (kind.str, list(shape)) or len(raw) != n_bytes:
        raise ValueError(f"The array is not one of type {kind.str} and shape {shape}.")
    return np.frombuffer(raw, dtype=kind).reshape(shape)


def predictions_of(record: Record) -> Predictions:
    """Return the labels and probabilities of a record without error."""
    n_rows, proba = record["n_test"], record["proba"]
    return Predictions(
        unpack(record["y"], CODES, (n_rows,)).astype(np.intp),
        unpack(record["predicted"], CODES, (n_rows,)).astype(np.intp),
        None
        if proba is None
        else unpack(proba, PROBABILITIES, (n_rows, len(record["classes"]))).astype(np.float64),
    )


def _same_number(expected: int, found: Any) -> bool:
    return type(found) is int and found == expected


def find_fault(record: Record, task: Task) -> str | None:
    """Say which field of a stored record cannot be a result of the task; None if all of them can.

    A record with a right checksum may have been written by hand, or by another program.
    """
    rules: dict[str, Callable[[Any], bool]] = {
        **{name: partial(_same_number, size) for name, size in _sizes(task).items()},
        "warnings": lambda texts: isinstance(texts, list) and {*map(type, texts)} <= {str},
    }
    if record["error"] is None:
        names, codes = _class_names(task.problem), task.problem.codes[task.fold.test]

        def are_codes(content: Any) -> bool:
            found = unpack(content, CODES, codes.shape)
            return bool(np.all((found >= -1) & (found < len(names))))

        def are_probabilities(content: Any) -> bool:
            shape = (len(codes), len(names))
            return content is None or _are_probabilities(unpack(content, PROBABILITIES, shape))

        rules |= {
            **dict.fromkeys(SECONDS, lambda seconds: 0 <= seconds <= LONGEST),
            "classes": partial(operator.eq, names),
            "y": lambda content: np.array_equal(unpack(content, CODES, codes.shape), codes),
            "predicted": are_codes,
            "proba": are_probabilities,
        }
    else:
        rules["traceback"] = lambda text: isinstance(text, str)
    for name, holds in rules.items():
        try:
            if holds(record[name]):
                continue
        except (LookupError, TypeError, ValueError, zlib.error):
            pass
        return f"has no valid {name!r}"
    return None
