"""What the pictures need from a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray, IndexArray
from latentclass.data._labels import UNLABELLED, encode_labels
from latentclass.data._schema import Schema

LCM_PARTS = ("loadings_", "edges_", "component_prior_", "latent_means_", "latent_variances_")
"""Attributes that only latent classification models have."""

LOGISTIC, GUMBEL = np.pi**2 / 3, np.pi**2 / 6
"""Variances of the noise of a yes-or-no question, and of the score of one of several categories."""

MANY_ANSWERS = 3
"""Categories that a question names."""


OWNERS = {
    "loadings_": "a fitted LCMClassifier, LCMClassifierCV, BinaryLCMClassifier or "
    "HybridLCMClassifier",
    "means_": "a fitted LatentMixture",
    "top_variables_": "a fitted HNBClassifier",
    "trees_": "a fitted LatentTreeClassifier",
    "weights_": "a fitted BinaryLCMClassifier or HybridLCMClassifier",
}
"""The models that a picture is of, by the first attribute that it needs."""


def fitted(model: Any, *needs: str) -> Any:
    """Return the fitted model if it has the attributes needed, or the best model of a search."""
    check_is_fitted(model)
    if not all(hasattr(model, name) for name in needs):
        model = getattr(model, "best_estimator_", model)
    for name in needs:
        if not hasattr(model, name):
            owners = OWNERS.get(needs[0], "a fitted model of latentclass that has it")
            raise TypeError(
                f"{type(model).__name__} has no attribute {name}, which this picture needs. Pass "
                f"{owners}."
            )
    return model


def continuous_column(schema: Schema, entry: Any) -> int:
    """Return the position of a continuous column, given by name or position."""
    names = schema.names
    there = f"Continuous columns: {[names[j] for j in schema.continuous]}."
    if isinstance(entry, str):
        if entry not in names:
            raise ValueError(f"features contains {entry!r}, which is not a column. {there}")
        j = names.index(entry)
    elif isinstance(entry, int | np.integer) and not isinstance(entry, bool):
        if not -len(names) <= entry < len(names):
            raise ValueError(
                f"features contains {entry}, but the table has {len(names)} columns. {there}"
            )
        j = int(entry) % len(names)
    else:
        raise ValueError(
            f"features contains {entry!r}, which is neither a name nor a position. {there}"
        )
    if j not in schema.continuous:
        kind = schema.columns[j].kind
        raise ValueError(f"features contains {names[j]!r}, but that column is {kind}. {there}")
    return j


def latent_labels(names: Sequence[str] | None, by_latent: FloatArray) -> list[str]:
    """Names of latent variables, z0, z1 and so on if there are none; one per column of an array."""
    return [f"z{k}" for k in range(by_latent.shape[1])] if names is None else list(names)


def continuous_names(model: Any) -> list[str]:
    """Return the names of the continuous columns."""
    return [model.schema_.names[j] for j in model.schema_.continuous]


def discrete_names(model: Any) -> list[str]:
    """Return the names of the discrete columns."""
    return [model.schema_.names[j] for j in model.schema_.discrete]


def class_codes(model: Any, y: Any, n_rows: int) -> IndexArray:
    """Return the position of each label in `classes_`; -1 for unlabelled rows, or without y."""
    if y is None:
        return np.full(n_rows, UNLABELLED)
    labels, codes = encode_labels(y)
    if len(codes) != n_rows:
        raise ValueError(f"y has {len(codes)} labels for {n_rows} rows. Pass one label per row.")
    known = model.classes_.tolist()
    unknown = [label for label in labels.tolist() if label not in known]
    if unknown:
        raise ValueError(f"y contains {unknown[0]!r}, which is not a class. Classes: {known}.")
    places = np.array([known.index(label) for label in labels.tolist()] + [UNLABELLED])
    return np.asarray(places[codes])


def dense(table: Any) -> npt.NDArray[Any]:
    """Return a table, sparse or not, as an array."""
    return np.asarray(table.toarray() if sp.issparse(table) else table)


def standardised_loadings(model: Any) -> FloatArray:
    """Return loadings in standard deviations, shape (n_components, n_continuous, n_latent).

    The standard deviations of the columns are those of the fitted density, over all classes and
    components.
    """
    return _standardised(model, model.loadings_, model.offsets_, model.noise_variances_)


class LatentQuestion(NamedTuple):
    """A yes-or-no question about a discrete column that depends on the latent variables.

    `loadings` has shape (n_components, n_latent).
    """

    column: str
    text: str
    loadings: FloatArray


def latent_questions(model: Any) -> list[LatentQuestion]:
    """Return the questions about discrete columns, in the order of the columns.

    A question is a threshold on a hidden quantity: linear in the latent variables, plus noise that
    makes the answers logistic. The loadings are in standard deviations of that quantity, over all
    classes and components, so they compare with those of continuous columns. Models in which
    discrete columns depend on the class alone have no questions.
    """
    asked = getattr(model, "questions_", [])
    weights, intercepts = (
        np.array(getattr(model, name, ())) for name in ("weights_", "intercepts_")
    )
    columns = {column.name: column for column in model.schema_.columns}
    noise = np.full(len(asked), LOGISTIC)
    for name in dict.fromkeys(name for name, _ in asked):
        mine = [i for i, (other, _) in enumerate(asked) if other == name]
        if len(mine) == len(columns[name].categories) > 2:  # soft-max: only differences count
            weights[:, mine] -= weights[:, mine].mean(axis=1, keepdims=True)
            intercepts[:, mine] -= intercepts[:, mine].mean(axis=1, keepdims=True)
            noise[mine] = GUMBEL
    if not asked:
        return []
    loadings = _standardised(model, weights, intercepts, noise)
    found = [
        LatentQuestion(name, f"{name} {_answer(wanted)}", loadings[:, i])
        for i, (name, wanted) in enumerate(asked)
    ]
    order = {name: place for place, name in enumerate(discrete_names(model))}
    return sorted(found, key=lambda question: order[question.column])


def _answer(wanted: Any) -> str:
    if not isinstance(wanted, tuple):
        return f"= {wanted}"
    rest = ", ..." if len(wanted) > MANY_ANSWERS else ""
    return f"in {{{', '.join(map(str, wanted[:MANY_ANSWERS]))}{rest}}}"


def _standardised(
    model: Any, loadings: FloatArray, offsets: FloatArray, noise: FloatArray
) -> FloatArray:
    """Loadings (M, n, q) over the standard deviations of columns with offsets and noise (M, n)."""
    mean, spread = model.latent_means_, model.latent_variances_
    share = (model.class_prior_[:, None] * model.component_prior_)[..., None]  # (Y, M, 1)
    centre = np.einsum("mnq,yq->ymn", loadings, mean) + offsets
    within = np.einsum("mnq,yq->ymn", loadings**2, spread) + noise
    overall = (share * centre).sum(axis=(0, 1))
    variance = (share * (within + (centre - overall) ** 2)).sum(axis=(0, 1))
    return np.asarray(loadings / np.sqrt(variance)[:, None])
