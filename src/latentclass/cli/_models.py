"""The models by the names that the command line has for them, and their settings."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from latentclass.cli._app import unknown

MODELS = {
    "auto": ("latentclass", "AutoLatentClassifier"),
    "hybrid": ("latentclass", "HybridLCMClassifier"),
    "lcm": ("latentclass", "LCMClassifier"),
    "lcm-cv": ("latentclass", "LCMClassifierCV"),
    "binary-lcm": ("latentclass", "BinaryLCMClassifier"),
    "binary-lcm-cv": ("latentclass", "BinaryLCMClassifierCV"),
    "hnb": ("latentclass", "HNBClassifier"),
    "latent-tree": ("latentclass", "LatentTreeClassifier"),
    "lvc": ("latentclass", "LatentVariableClassifier"),
    "naive-bayes": ("latentclass.baselines", "NaiveBayes"),
    "mixture-naive-bayes": ("latentclass.baselines", "MixtureNaiveBayes"),
    "finite-mixture": ("latentclass.baselines", "FiniteMixtureNaiveBayes"),
    "projected": ("latentclass.baselines", "ProjectedNaiveBayes"),
    "tan": ("latentclass.baselines", "TAN"),
    "ban": ("latentclass.baselines", "BAN"),
    "k2": ("latentclass.baselines", "K2"),
    "aode": ("latentclass.baselines", "AODE"),
    "hidden-naive-bayes": ("latentclass.baselines", "HiddenNaiveBayes"),
}
"""Where each model is, by its name on the command line."""

NOT_SET = {
    "random_state": "use --seed",
    "time_budget": "use --budget",
    "categorical_features": "use --categorical and --continuous",
    "missing_indicator": "use --missing-indicator",
    "verbose": "progress is shown anyway",
    "cv": "the folds are those that the other scores use",
    "plan": "it is for Python",
}
"""Parameters with an option of their own, or without a use here."""


class ModelName(click.ParamType):  # type: ignore[type-arg]
    """A model by its name."""

    name = "MODEL"

    def __init__(self, more: Sequence[str] = ()) -> None:
        self._known = [*MODELS, *more]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse a name that is not known."""
        if value not in self._known:
            self.fail(unknown("model", str(value), self._known), param, ctx)
        return str(value)


def model_class(name: str) -> Any:
    """The class of a model."""
    module, attribute = MODELS[name]
    return getattr(import_module(module), attribute)


def make_model(name: str, seed: int, settings: Mapping[str, Any] | None = None) -> Any:
    """An unfitted model with a seed and further settings."""
    kind = model_class(name)
    model = kind()
    known = model.get_params(deep=False)
    given = {"random_state": seed} if "random_state" in known else {}
    return model.set_params(**given, **(settings or {}))


def read_settings(name: str, entries: Sequence[str]) -> dict[str, Any]:
    """The settings of `--set name=value`, which must be parameters of the model."""
    known = [one for one in model_class(name)().get_params(deep=False) if one not in NOT_SET]
    settings: dict[str, Any] = {}
    for entry in entries:
        key, sign, text = entry.partition("=")
        key = key.strip()
        if not sign or not key:
            raise click.UsageError(
                f"--set {entry!r} is not of the form name=value, such as --set n_latent=3.",
                click.get_current_context(),
            )
        if key in NOT_SET:
            raise click.UsageError(
                f"--set {key} is not for the command line: {NOT_SET[key]}.",
                click.get_current_context(),
            )
        if key not in known:
            raise click.UsageError(
                unknown(f"parameter for {name} called", key, known), click.get_current_context()
            )
        settings[key] = read_value(text.strip())
    return settings


def read_value(text: str) -> Any:
    """A value of an option: a number, true, false, none, a list, or else text."""
    small = {"none": None, "null": None, "true": True, "false": False}
    if text.lower() in small:
        return small[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
