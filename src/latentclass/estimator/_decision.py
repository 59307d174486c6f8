"""From class probabilities to a decision: the class of least expected loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from latentclass._types import FloatArray, IndexArray


def least_loss(proba: FloatArray, loss: Any, classes: npt.NDArray[Any]) -> IndexArray:
    """Code of the class of least expected loss in each row; of equal ones the first.

        y* = argmin_y sum_y' L(y', y) P(y' | x)

    This is the Bayes optimal decision of the LCM paper (section 2). Our `loss` has the true class
    first; the paper's L has it second.

    Parameters
    ----------
    proba : array of shape (n_rows, n_classes)
        P(class | x).
    loss : array, data frame or dict
        See `read_loss`.
    classes : array of shape (n_classes,)
    """
    return np.asarray((proba @ read_loss(loss, classes)).argmin(axis=1))


def read_loss(loss: Any, classes: npt.NDArray[Any]) -> FloatArray:
    """Matrix of losses, true classes in rows and predicted ones in columns, in class order.

    `loss` is such a matrix already, or a data frame with the labels as index and columns, or a dict
    of dicts: `loss[true][predicted]`. A dict may leave out the loss of a right answer, which is 0
    then.
    """
    labels = classes.tolist()
    if hasattr(loss, "iloc"):  # a pandas data frame by its labels
        if not (loss.index.is_unique and loss.columns.is_unique):
            raise ValueError("loss has a label twice among its rows or its columns: name it once.")
        loss = loss.to_dict(orient="index")
    if isinstance(loss, Mapping):
        loss = _by_label(loss, labels)
    try:
        values = np.asarray(loss, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "loss must be a matrix of numbers, true classes in rows and predicted ones in columns, "
            f"got {loss!r}."
        ) from None
    if values.shape != (len(labels), len(labels)):
        raise ValueError(
            f"loss has shape {values.shape}, but there are {len(labels)} classes: {labels}. Pass "
            "one row for each true class and one column for each predicted class."
        )
    wrong = np.argwhere(~np.isfinite(values))
    if wrong.size:
        true, predicted = wrong[0]
        raise ValueError(
            f"loss is {values[true, predicted]:g} where {labels[true]!r} is taken for "
            f"{labels[predicted]!r}; every loss must be a finite number."
        )
    return values


def _by_label(loss: Mapping[Any, Any], labels: list[Any]) -> list[list[Any]]:
    """Rows of a dict of dicts in class order."""
    check_names("loss", loss, labels)
    rows = []
    for true in labels:
        row = loss[true]
        if not isinstance(row, Mapping):
            raise ValueError(
                f"loss[{true!r}] must be a dict of predicted label to loss, got {row!r}."
            )
        row = {true: 0.0, **row}
        check_names(f"loss[{true!r}]", row, labels)
        rows.append([row[predicted] for predicted in labels])
    return rows


def check_names(what: str, named: Mapping[Any, Any], labels: list[Any]) -> None:
    """Refuse a mapping whose keys are not the labels."""
    unknown = [label for label in named if label not in labels]
    lacking = [label for label in labels if label not in named]
    if unknown or lacking:
        raise ValueError(f"{what} must name each class once: unknown {unknown}, lacking {lacking}.")
