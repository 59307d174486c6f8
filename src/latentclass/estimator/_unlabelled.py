"""How much rows without a label count: their likelihood is weighted by a factor (EM-lambda).

A model's assumptions never hold exactly. If there are many rows without a label, EM fits their
density rather than the classes, and the classes drift. So the likelihood of these rows is
multiplied by a factor from 0 (they are not there) on. Since the weight of a row multiplies its
likelihood, that is the same as another `sample_weight`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from latentclass._types import FloatArray
from latentclass._validation import check_number
from latentclass._warn import warn_user
from latentclass.data._labels import UNLABELLED, code_labels, label_array
from latentclass.estimator._reading import Training, check_weight

SHARE = 0.3
"""Weight of all rows without a label that "auto" tries, as a share of that of the labelled rows.

So their number does not matter: many of them cannot outvote few labels. With 5, 15 and 50 labels a
class TAN, AODE and LCM gained by it in the mean, and shares from 0.1 to 1 were about equal.
"""

FAR_SHARE, FAR_DEVIATIONS = 0.2, 2.0
"""Class shares are far from those of the labelled rows if one of them differs by more than this,
and by more than so many standard deviations of a share of so few labelled rows."""


def check_unlabelled_weight(value: Any) -> None:
    """Refuse what is neither "auto" nor a number of at least 0."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'unlabelled_weight={value!r} must be "auto" or a number.')
        return
    check_number("unlabelled_weight", value, low=0, high=1e50)
    if 0 < value < 1e-50:
        raise ValueError(
            f"unlabelled_weight={value!r} is lost to rounding: pass 0, or at least 1e-50."
        )


def weigh_unlabelled(training: Training, factor: float) -> Training:
    """The rows with the weight of those without a label multiplied; with 0 they are left out."""
    labelled = training.labelled
    if factor == 1.0 or labelled.all():
        return training
    if factor == 0.0:
        return training.take(labelled)
    return replace(training, weight=np.where(labelled, training.weight, training.weight * factor))


def usual_factor(training: Training) -> float:
    """The factor that "auto" compares with 0; no such row counts more than a labelled one."""
    labelled = training.labelled
    known, hidden = (float(training.weight[rows].sum()) for rows in (labelled, ~labelled))
    return min(SHARE * known / hidden, 1.0) if hidden else 1.0


def weights_without_unlabelled(y: Any, sample_weight: Any) -> FloatArray:
    """Weights of all rows, 0 for those without a label."""
    labels = label_array(y)
    weight = check_weight(sample_weight, len(labels))
    _, codes = code_labels(labels, None if weight.all() else weight)
    return np.where(codes == UNLABELLED, 0.0, weight)


def warn_of_drift(training: Training, class_prior: FloatArray) -> None:
    """Warn if the class shares of a fit are far from those of the labelled rows."""
    labelled = training.labelled
    if labelled.all():
        return
    weight = np.bincount(
        training.y[labelled], training.weight[labelled], minlength=training.n_classes
    )
    share = weight / weight.sum()
    n_rows = max(float(np.count_nonzero(labelled)), float(weight.sum()))
    deviation = np.sqrt(share * (1 - share) / n_rows)
    moved = np.abs(class_prior - share)
    if np.any((moved > FAR_SHARE) & (moved > FAR_DEVIATIONS * deviation)):
        warn_user(
            "The rows without a label moved the class shares from "
            f"{_show(share)} (labelled rows) to {_show(class_prior)}. "
            "If that cannot be right, lower unlabelled_weight, or pass "
            "priors in prediction."
        )


def _show(shares: FloatArray) -> str:
    return " / ".join(f"{share:.2f}" for share in shares)
