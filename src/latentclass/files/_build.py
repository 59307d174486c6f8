"""Objects from their fields: through their constructors, and checked in every part."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from latentclass.files._checks import CHECKS, check_temperature, need, size_of
from latentclass.files._classes import class_of, is_estimator
from latentclass.files._codec import stored_fields
from latentclass.files._types import field_types, fits

MODELS = {
    "AODE": ("AODEModel",),
    "AutoLatentClassifier": ("WeightedModels",),
    "BAN": ("NetworkModel",),
    "BinaryLCMClassifier": ("HybridModel", "LCMModel"),
    "BinaryLCMClassifierCV": ("HybridModel", "LCMModel"),
    "FiniteMixtureNaiveBayes": ("FiniteMixtureModel",),
    "HNBClassifier": ("HierarchyModel", "AveragedHierarchies"),
    "HiddenNaiveBayes": ("HiddenNaiveBayesModel",),
    "HybridLCMClassifier": ("HybridModel", "LCMModel"),
    "K2": ("NetworkModel",),
    "LCMClassifier": ("LCMModel",),
    "LCMClassifierCV": ("LCMModel",),
    "LatentMixture": ("FiniteMixtureModel",),
    "LatentTreeClassifier": ("LatentTreeModel",),
    "LatentVariableClassifier": ("LatentVariableModel",),
    "MixtureNaiveBayes": ("MixtureNaiveBayesModel",),
    "NaiveBayes": ("NaiveBayesModel",),
    "ProjectedNaiveBayes": ("ProjectedModel",),
    "TAN": ("NetworkModel",),
}
"""The kinds of fitted model of each estimator that has one."""

PRIVATE = {
    "_best",
    "_calibration",
    "_gaps",
    "_latent_clarity",
    "_members",
    "_model",
    "_n_rows",
    "_searched",
    "_sklearn_output_config",
    "_sums_",
}
"""Attributes of estimators with a leading underscore."""

COMMON = {"n_features_in_", "schema_"}
CLASSIFIER = COMMON | {
    "classes_",
    "n_unlabelled_",
    "_model",
    "temperature_",
    "calibration_",
    "unlabelled_weight_",
    "history_",
    "n_iter_",
    "converged_",
    "restarts_",
    "log_likelihood_",
}
"""What every fitted classifier has."""


def build_object(name: str, content: dict[str, Any]) -> Any:
    """An estimator or a value from its fields."""
    value = _estimator(name, content) if is_estimator(name) else _value(name, content)
    check = CHECKS.get(name)
    if check is not None:
        check(value)
    return value


# -------------------------------------------------------------------------- values


class _Plan(NamedTuple):
    """How a class of values is built: its fields, those without default, and their types."""

    kind: Any
    required: frozenset[str]
    known: frozenset[str]
    hints: Mapping[str, Any]


@cache
def _plan(name: str) -> _Plan:
    kind = class_of(name)
    known = frozenset(stored_fields(kind))
    if is_dataclass(kind):
        missing = (MISSING, MISSING)
        required = {
            field.name
            for field in fields(kind)
            if field.init and (field.default, field.default_factory) == missing
        }
    else:
        required = set(kind._fields) - set(kind._field_defaults)
    return _Plan(kind, frozenset(required), known, field_types(kind))


def _value(name: str, content: Mapping[str, Any]) -> Any:
    kind, required, known, hints = _plan(name)
    given = content.keys()
    if not required <= given <= known:
        wrong = sorted(required - given) or sorted(given - known)
        raise ValueError(f"{name} does not have its fields: {wrong[0][:40]!r}")
    for field, value in content.items():
        if not fits(value, hints[field]):
            raise ValueError(f"{name}.{field} is of a wrong type")
    return kind(**content)


# ---------------------------------------------------------------------- estimators


@cache
def _parameters(kind: Any) -> frozenset[str]:
    return frozenset(inspect.signature(kind).parameters)


def _estimator(name: str, content: Mapping[str, dict[str, Any]]) -> Any:
    kind = class_of(name)
    parameters, learned = content["parameters"], content["fitted"]
    unknown = sorted(set(parameters) - _parameters(kind))
    if unknown:
        raise ValueError(f"{name} has the unknown parameter {unknown[0][:40]!r}")
    estimator = kind(**parameters)
    hints = field_types(kind)
    for field, value in learned.items():
        if not _may_be_learned(kind, field):
            raise ValueError(f"{name} has the unknown attribute {field[:40]!r}")
        if field in hints and not fits(value, hints[field]):
            raise ValueError(f"{name}.{field} is of a wrong type")
    vars(estimator).update(learned)
    _check_parameters(estimator)
    if learned:
        _check_fitted(name, estimator)
    return estimator


def _may_be_learned(kind: Any, field: str) -> bool:
    """Whether an attribute may stand in a file: it must not hide a method or a parameter."""
    if field in PRIVATE:
        return True
    return re.fullmatch(r"[a-z][a-z0-9_]*_", field) is not None and not hasattr(kind, field)


def _check_parameters(estimator: Any) -> None:
    """Refuse parameters that prediction uses and that make no sense."""
    if hasattr(estimator, "n_jobs"):
        from latentclass.estimator._common_parameters import check_common_parameters

        check_common_parameters(estimator)
        need(estimator.n_jobs is None or abs(estimator.n_jobs) <= 10_000, "n_jobs is too large")


def _check_fitted(name: str, estimator: Any) -> None:
    """Refuse what was learned if its parts do not fit each other."""
    learned = vars(estimator)
    wanted = CLASSIFIER if name in MODELS and name != "LatentMixture" else COMMON
    lacking = sorted(wanted - set(learned))
    need(not lacking, f"{name} lacks {', '.join(lacking)}")
    schema = estimator.schema_
    fits_schema = fits(schema, class_of("Schema"))
    need(fits_schema, f"{name}.schema_ is of a wrong type")
    need(
        type(estimator.n_features_in_) is int and estimator.n_features_in_ == len(schema.given),
        "n_features_in_ is not the number of columns",
    )
    _check_names(learned.get("feature_names_in_"), schema)
    if "_sklearn_output_config" in learned:
        config = learned["_sklearn_output_config"]
        plain = fits(config, dict[str, str | None]) and set(config) <= {"transform"}
        need(plain, "the output container is of a wrong form")
    if "classes_" in learned:
        _check_classes(estimator.classes_)
    if name == "MDLDiscretizer":
        _check_discretizer(estimator)
    else:
        _check_model(name, estimator)


def _check_names(names: Any, schema: Any) -> None:
    if names is None:
        return
    plain = isinstance(names, np.ndarray) and names.dtype == object and names.ndim == 1
    need(plain and all(type(one) is str for one in names), "feature_names_in_ must be text")
    need(list(names) == schema.given_names, "feature_names_in_ are not the names of the columns")


def _check_classes(classes: Any) -> None:
    need(classes.ndim == 1 and classes.dtype.kind in "biufU", "classes_ must be labels")
    need(len(classes) > 0, "classes_ is empty")
    if classes.dtype.kind == "f":
        need(np.all(np.isfinite(classes)), "classes_ must be finite")
    need(np.all(classes[1:] > classes[:-1]), "classes_ must be sorted")


def _check_model(name: str, estimator: Any) -> None:
    model, schema = vars(estimator).get("_model"), estimator.schema_
    need(type(model) in map(class_of, MODELS[name]), f"{name} has no model of its own kind")
    n_classes = len(estimator.classes_) if "classes_" in vars(estimator) else 1
    n_levels = tuple(int(n) for n in schema.n_levels)
    wanted = len(schema.continuous), n_levels, n_classes
    need(size_of(model) == wanted, "the model is not one of these columns and classes")
    for part in _models_in(model):
        if hasattr(part, "coding"):
            _check_positions(part.coding, schema)
    if "temperature_" in vars(estimator):
        check_temperature(estimator.temperature_)
    for other in (vars(estimator).get("_best"), *vars(estimator).get("_members", ())):
        if other is not None:
            need(is_same_kind(other, estimator), "a part of the average is another kind of model")
    if "_sums_" in vars(estimator):
        _check_sums(estimator)


def is_same_kind(other: Any, estimator: Any) -> bool:
    """Whether another fitted estimator knows the same columns and classes."""
    learned = vars(other)
    if "schema_" not in learned or "classes_" not in learned:
        return False
    same = np.array_equal(learned["classes_"], estimator.classes_)
    return same and len(learned["schema_"].columns) == len(estimator.schema_.columns)


def _models_in(model: Any) -> list[Any]:
    if hasattr(model, "weights") and hasattr(model, "members"):
        return [inner for member in model.members for inner in _models_in(member.model)]
    return [model, *getattr(model, "members", ())]


def _check_positions(coding: Any, schema: Any) -> None:
    """Refuse a coding whose active columns are not where the schema has them."""
    for (continuous, place), position in zip(coding.active, coding.positions, strict=True):
        places = schema.continuous if continuous else schema.discrete
        need(places[place] == position, "the active columns are at other places")


def _check_sums(estimator: Any) -> None:
    """Refuse sums of `partial_fit` of other columns or classes."""
    inner = (class_of("ProductLayout"), class_of("LabelledSums"))
    wanted = types.GenericAlias(tuple, (class_of("Training"), types.GenericAlias(tuple, inner)))
    need(fits(estimator._sums_, wanted), "sums are of a wrong type")
    about, (layout, sums) = estimator._sums_
    n, n_classes = len(estimator.schema_.continuous), len(estimator.classes_)
    n_levels = int(estimator.schema_.n_levels.sum())
    for stats, k in ((sums.known, n_classes), (sums.hidden, 1)):
        need(stats.mean.shape == (k, n) and stats.counts.shape == (k, n_levels), "sums have holes")
    fits_layout = len(layout.centre) == n and layout.offsets[-1] == n_levels
    need(fits_layout, "sums are of other columns")
    need(about.schema == estimator.schema_, "sums are of other columns")
    need(np.array_equal(about.classes, estimator.classes_), "sums are of other classes")


def _check_discretizer(estimator: Any) -> None:
    columns = estimator.schema_.columns
    lists = [vars(estimator).get(name) for name in ("cut_points_", "class_counts_", "_gaps")]
    need(all(len(one or ()) == len(columns) for one in lists), "not all columns have cut points")
    n_classes = len(estimator.classes_)
    for column, cuts, counts, gaps in zip(columns, *lists, strict=True):
        need(cuts.ndim == 1 and np.all(np.isfinite(cuts)), "cut points must be finite")
        need(np.all(np.diff(cuts) > 0), "cut points must rise")
        n_intervals = len(cuts) + 1 if column.kind == "continuous" else 0
        need(counts.shape == (n_intervals, n_classes), "class_counts_ has another shape")
        need(np.all(np.isfinite(counts)) and np.all(counts >= 0), "class_counts_ must be weights")
        need(gaps.shape == (len(cuts), 2) and np.all(np.isfinite(gaps)), "gaps must be finite")
        inside = np.all((gaps[:, 0] <= cuts) & (cuts <= gaps[:, 1]))
        need(column.kind == "continuous" or not len(cuts), "a discrete column has cut points")
        need(inside, "cut points lie outside their gaps")
