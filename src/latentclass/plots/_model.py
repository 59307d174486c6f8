"""What the pictures ask of a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray, IndexArray
from latentclass.data._labels import UNLABELLED, encode_labels
from latentclass.data._schema import Schema

LCM_PARTS = ("loadings_", "edges_", "component_prior_", "latent_means_", "latent_variances_")
"""What a latent classification model has and others have not."""


def fitted(model: Any, *needs: str) -> Any:
    """The fitted model, a search's best one; refused if it lacks an attribute that is needed."""
    check_is_fitted(model)
    model = getattr(model, "best_estimator_", model)
    for name in needs:
        if not hasattr(model, name):
            raise TypeError(
                f"{type(model).__name__} has no attribute {name}, which this picture is made "
                "from. Pass a fitted model of latentclass that has it."
            )
    return model


def continuous_column(schema: Schema, entry: Any) -> int:
    """Position of a continuous column given by name or position."""
    names = schema.names
    there = f"Continuous columns: {[names[j] for j in schema.continuous]}."
    if isinstance(entry, str):
        if entry not in names:
            raise ValueError(f"features names {entry!r}, which is not a column. {there}")
        j = names.index(entry)
    elif isinstance(entry, int | np.integer) and not isinstance(entry, bool):
        if not -len(names) <= entry < len(names):
            raise ValueError(
                f"features holds {entry}, but the table has {len(names)} columns. {there}"
            )
        j = int(entry) % len(names)
    else:
        raise ValueError(f"features holds {entry!r}, neither name nor position. {there}")
    if j not in schema.continuous:
        kind = schema.columns[j].kind
        raise ValueError(f"features holds {names[j]!r}, but that column is {kind}. {there}")
    return j


def continuous_names(model: Any) -> list[str]:
    """Names of the continuous columns."""
    return [model.schema_.names[j] for j in model.schema_.continuous]


def class_codes(model: Any, y: Any, n_rows: int) -> IndexArray:
    """Each row's place in `classes_`; -1 without label, for all rows if y is None."""
    if y is None:
        return np.full(n_rows, UNLABELLED)
    labels, codes = encode_labels(y)
    if len(codes) != n_rows:
        raise ValueError(f"y has {len(codes)} labels for {n_rows} rows. Give one label a row.")
    known = model.classes_.tolist()
    unknown = [label for label in labels.tolist() if label not in known]
    if unknown:
        raise ValueError(f"y holds {unknown[0]!r}, which is not a class. Classes: {known}.")
    places = np.array([known.index(label) for label in labels.tolist()] + [UNLABELLED])
    return np.asarray(places[codes])


def standardised_loadings(model: Any) -> FloatArray:
    """Loadings in standard deviations of the columns, shape (n_components, n_continuous, n_latent).

    The deviations are the model's own: over all classes and components, as its density has them.
    """
    loadings, mean, spread = model.loadings_, model.latent_means_, model.latent_variances_
    share = (model.class_prior_[:, None] * model.component_prior_)[..., None]  # (Y, M, 1)
    centre = np.einsum("mnq,yq->ymn", loadings, mean) + model.offsets_
    within = np.einsum("mnq,yq->ymn", loadings**2, spread) + model.noise_variances_
    overall = (share * centre).sum(axis=(0, 1))
    variance = (share * (within + (centre - overall) ** 2)).sum(axis=(0, 1))
    return np.asarray(loadings / np.sqrt(variance)[:, None])
