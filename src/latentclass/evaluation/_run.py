"""One fold of one classifier: fit, predict, and what there is to record."""

from __future__ import annotations

import base64
import time
import traceback
import warnings
import zlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from latentclass._compat import take_rows
from latentclass._types import IndexArray
from latentclass.evaluation._folds import Fold
from latentclass.evaluation._identity import derived_seed
from latentclass.evaluation._metrics import Predictions
from latentclass.evaluation._problem import Problem
from latentclass.evaluation._store import Record


class Task(NamedTuple):
    """One computation: a classifier on a fold of a data set."""

    key: str
    content: dict[str, Any]
    problem: Problem
    classifier: str
    estimator: Any
    fold: Fold
    seed: int


def run_task(task: Task) -> Record:
    """Fit on the training part and predict the test part; an error is recorded, not raised.

    Linear algebra runs on one thread: the last bits, and so the results, are then the same
    alone and beside other workers, and the seconds can be compared.
    """
    record: Record = {
        "key": task.key,
        "content": task.content,
        "dataset": task.problem.name,
        "classifier": task.classifier,
        "fold": task.fold.number,
        "n_train": int(np.sum(task.problem.codes[task.fold.train] >= 0)),  # labelled ones
        "n_test": len(task.fold.test),
        "error": None,
    }
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            record |= _fit_and_predict(task)
        except Exception as error:
            record["error"] = f"{type(error).__name__}: {error}"
            record["traceback"] = traceback.format_exc(limit=-5)
    seen = dict.fromkeys(f"{entry.category.__name__}: {entry.message}" for entry in caught)
    record["warnings"] = list(seen)
    return record


def _fit_and_predict(task: Task) -> dict[str, Any]:
    problem, fold = task.problem, task.fold
    model = seeded(task.estimator, derived_seed(task.seed, problem.checksum, fold.checksum))
    X_train, X_test = (take_rows(problem.X, rows) for rows in (fold.train, fold.test))
    start = time.perf_counter()
    model.fit(X_train, problem.labels[fold.train])
    fitted = time.perf_counter()
    labels = np.asarray(model.predict(X_test))
    predicted = time.perf_counter()
    has_proba = hasattr(model, "predict_proba")
    proba = np.asarray(model.predict_proba(X_test)) if has_proba else None
    return {
        "fit_seconds": fitted - start,
        "predict_seconds": predicted - fitted,
        "classes": [str(label) for label in problem.classes],
        "y": pack(problem.codes[fold.test].astype(np.int32)),
        "predicted": pack(class_codes(labels, problem.classes).astype(np.int32)),
        "proba": None if proba is None else pack(_all_classes(proba, model.classes_, problem)),
    }


def seeded(estimator: Any, seed: int) -> Any:
    """A clone in which every `random_state` that is None, at any depth, is a number.

    So a fold's result depends on the fold alone, not on what ran before it. Seeds that the user
    gave stay.
    """
    model = clone(estimator)
    free = [
        name
        for name, value in model.get_params(deep=True).items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    return model.set_params(**{name: derived_seed(seed, name) for name in free})


def class_codes(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> IndexArray:
    """Positions of labels in the list of classes; -1 for a label that is none of them."""
    position = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([position.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def _all_classes(proba: npt.NDArray[Any], seen: Any, problem: Problem) -> npt.NDArray[np.float32]:
    """Probabilities of the data set's classes; 0 for those that the training part lacks."""
    codes = class_codes(np.asarray(seen), problem.classes)
    if proba.shape[1] != len(codes) or np.any(codes < 0):
        raise ValueError(
            f"predict_proba has {proba.shape[1]} columns for the classes {list(seen)}, which are "
            f"not all among {problem.classes.tolist()}."
        )
    wide = np.zeros((len(proba), len(problem.classes)), dtype=np.float32)
    wide[:, codes] = proba
    if not np.all(np.isfinite(wide)):
        raise ValueError("predict_proba gave values that are not finite.")
    return wide


def pack(array: npt.NDArray[Any]) -> dict[str, Any]:
    """An array as JSON content."""
    raw = array.astype(array.dtype.newbyteorder("<")).tobytes()
    text = base64.b64encode(zlib.compress(raw, level=6)).decode()
    return {"dtype": array.dtype.newbyteorder("<").str, "shape": list(array.shape), "data": text}


def unpack(content: dict[str, Any]) -> npt.NDArray[Any]:
    """The array of `pack`."""
    raw = zlib.decompress(base64.b64decode(content["data"]))
    return np.frombuffer(raw, dtype=content["dtype"]).reshape(content["shape"])


def predictions_of(record: Record) -> Predictions:
    """Labels and probabilities of a record without error."""
    proba = record["proba"]
    return Predictions(
        unpack(record["y"]).astype(np.intp),
        unpack(record["predicted"]).astype(np.intp),
        None if proba is None else unpack(proba).astype(np.float64),
    )
