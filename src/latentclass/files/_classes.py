"""The closed table of what a model file can hold, by the names that stand in files.

A name never changes, even if its class moves, because old files have it. Nothing else is ever
imported or built from a file.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple


class Home(NamedTuple):
    """Where a class is: its module below `latentclass`, and its name there."""

    module: str
    name: str


ESTIMATORS = {
    name: Home(module, name)
    for name, module in {
        "AODE": "discrete._aode",
        "AutoLatentClassifier": "auto._classifier",
        "BAN": "discrete._ban",
        "BinaryLCMClassifier": "lcm._binary_classifier",
        "BinaryLCMClassifierCV": "lcm._binary_classifier_cv",
        "FiniteMixtureNaiveBayes": "naive_bayes._finite_mixture",
        "HNBClassifier": "hnb._classifier",
        "HiddenNaiveBayes": "discrete._hidden_naive_bayes",
        "HybridLCMClassifier": "lcm._hybrid_classifier",
        "K2": "discrete._k2",
        "LCMClassifier": "lcm._classifier",
        "LCMClassifierCV": "lcm._classifier_cv",
        "LatentMixture": "mixture._latent_mixture",
        "LatentTreeClassifier": "latent_tree._classifier",
        "LatentVariableClassifier": "mixture._classifier",
        "MDLDiscretizer": "discrete._discretizer",
        "MixtureNaiveBayes": "naive_bayes._mixture",
        "NaiveBayes": "naive_bayes._naive_bayes",
        "ProjectedNaiveBayes": "naive_bayes._projected",
        "TAN": "discrete._tan",
    }.items()
}
"""Estimators: parameters, and what they have learned."""

VALUES = {
    "AODEModel": Home("discrete._one_dependence_model", "AODEModel"),
    "AODETables": Home("discrete._one_dependence", "AODETables"),
    "Average": Home("estimator._average", "Average"),
    "AveragedHierarchies": Home("hnb._model", "AveragedHierarchies"),
    "Bins": Home("discrete._bins", "Bins"),
    "BoostedClassifier": Home("mixture._plain_classifiers", "BoostedClassifier"),
    "ClassComponents": Home("engine._class_components", "ClassComponents"),
    "Coding": Home("discrete._coding", "Coding"),
    "Column": Home("data._schema", "Column"),
    "ColumnComponents": Home("naive_bayes._column_mixture", "ColumnComponents"),
    "ComponentClassifier": Home("mixture._component_classifiers", "ComponentClassifier"),
    "CutSet": Home("discrete._cut_sets", "CutSet"),
    "FilledCoder": Home("mixture._classifier_presets", "FilledCoder"),
    "FilledHierarchy": Home("hnb._hierarchy", "FilledHierarchy"),
    "FiniteMixtureModel": Home("naive_bayes._finite_mixture_model", "FiniteMixtureModel"),
    "FittedClassifiers": Home("mixture._component_classifiers", "FittedClassifiers"),
    "ForestClassifier": Home("mixture._plain_classifiers", "ForestClassifier"),
    "ForestTrees": Home("mixture._plain_classifiers", "Trees"),
    "Gaussians": Home("engine._gaussian", "Gaussians"),
    "Halving": Home("lcm._halving", "Halving"),
    "HiddenNaiveBayesModel": Home("discrete._one_dependence_model", "HiddenNaiveBayesModel"),
    "HiddenTables": Home("discrete._one_dependence", "HiddenTables"),
    "Hierarchy": Home("hnb._hierarchy", "Hierarchy"),
    "HierarchyLatent": Home("hnb._hierarchy", "Latent"),
    "HierarchyModel": Home("hnb._model", "HierarchyModel"),
    "HierarchyTables": Home("hnb._hierarchy", "Tables"),
    "HybridColumns": Home("lcm._hybrid_columns", "HybridColumns"),
    "HybridModel": Home("lcm._hybrid_model", "HybridModel"),
    "HybridParams": Home("lcm._hybrid_em", "HybridParams"),
    "KernelClassifier": Home("mixture._plain_classifiers", "KernelClassifier"),
    "LCMModel": Home("lcm._model", "LCMModel"),
    "LCMParams": Home("lcm._em", "LCMParams"),
    "LabelledSums": Home("naive_bayes._parted_problem", "LabelledSums"),
    "LatentTreeModel": Home("latent_tree._model", "LatentTreeModel"),
    "LatentVariableModel": Home("mixture._classifier_model", "LatentVariableModel"),
    "Leaderboard": Home("auto._leaderboard", "Leaderboard"),
    "LeaderboardRow": Home("auto._leaderboard", "LeaderboardRow"),
    "LinearClassifier": Home("mixture._plain_classifiers", "LinearClassifier"),
    "MatrixCoder": Home("mixture._component_classifiers", "MatrixCoder"),
    "Member": Home("auto._model", "Member"),
    "MixtureNaiveBayesModel": Home("naive_bayes._mixture_model", "MixtureNaiveBayesModel"),
    "NaiveBayesClassifiers": Home("mixture._classifier_model", "NaiveBayesClassifiers"),
    "NaiveBayesModel": Home("naive_bayes._model", "NaiveBayesModel"),
    "NetworkModel": Home("discrete._network_model", "NetworkModel"),
    "NetworkStructure": Home("discrete._network", "Structure"),
    "Plan": Home("auto._classifier", "Plan"),
    "PowerRound": Home("engine._power_transform", "Round"),
    "PowerTransform": Home("engine._power_transform", "PowerTransform"),
    "ProductComponents": Home("naive_bayes._components", "ProductComponents"),
    "ProductLayout": Home("engine._product", "Layout"),
    "ProductParams": Home("engine._product", "Params"),
    "ProductStats": Home("engine._product", "Stats"),
    "ProjectedModel": Home("naive_bayes._projected_model", "ProjectedModel"),
    "Projection": Home("naive_bayes._projection", "Projection"),
    "Scaling": Home("estimator._gaussian_model", "Scaling"),
    "Schema": Home("data._schema", "Schema"),
    "SearchStep": Home("latent_tree._east", "Step"),
    "SoftMax": Home("lcm._soft_max", "SoftMax"),
    "StickBreaking": Home("lcm._stick_breaking", "StickBreaking"),
    "Table": Home("data._schema", "Table"),
    "Training": Home("estimator._reading", "Training"),
    "Tree": Home("latent_tree._tree", "Tree"),
    "WeightedModels": Home("auto._model", "WeightedModels"),
}
"""Frozen dataclasses and named tuples: what models are made of."""

_EVERY = {**ESTIMATORS, **VALUES}
_NAMES = {(f"latentclass.{home.module}", home.name): name for name, home in _EVERY.items()}
_BY_CLASS = {home.name: home for home in _EVERY.values()}


def name_of(kind: type) -> str | None:
    """The name of a class in files; None if files do not hold it."""
    return _NAMES.get((kind.__module__, kind.__qualname__))


@cache
def class_of(name: str) -> Any:
    """The class of a name in files."""
    return _load(_EVERY[name])


def is_known(name: str) -> bool:
    """Whether files may hold a class of this name."""
    return name in _EVERY


def is_estimator(name: str) -> bool:
    """Whether a name is that of an estimator."""
    return name in ESTIMATORS


class KnownClasses(dict[str, Any]):
    """Names of a module, and after them those of all classes of the table."""

    def __missing__(self, name: str) -> Any:
        if name not in _BY_CLASS:
            raise KeyError(name)
        return _load(_BY_CLASS[name])


def _load(home: Home) -> Any:
    return getattr(import_module(f"latentclass.{home.module}"), home.name)
