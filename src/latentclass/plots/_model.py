"""What the pictures need from a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray, IndexArray
from latentclass.data._labels import UNLABELLED, encode_labels
from latentclass.data._schema import Schema

LCM_PARTS = ("loadings_", "edges_", "component_prior_", "latent_means_", "latent_variances_")
"""Attributes that only latent classification models have."""


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


def continuous_names(model: Any) -> list[str]:
    """Return the names of the continuous columns."""
    return [model.schema_.names[j] for j in model.schema_.continuous]


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
    loadings, mean, spread = model.loadings_, model.latent_means_, model.latent_variances_
    share = (model.class_prior_[:, None] * model.component_prior_)[..., None]  # (Y, M, 1)
    centre = np.einsum("mnq,yq->ymn", loadings, mean) + model.offsets_
    within = np.einsum("mnq,yq->ymn", loadings**2, spread) + model.noise_variances_
    overall = (share * centre).sum(axis=(0, 1))
    variance = (share * (within + (centre - overall) ** 2)).sum(axis=(0, 1))
    return np.asarray(loadings / np.sqrt(variance)[:, None])
