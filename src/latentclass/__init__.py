"""Classification through latent variables: probabilities to trust, a structure to read.

`import latentclass` is quick: what a name needs is loaded when the name is first used.
"""

from importlib import import_module
from typing import Any

from latentclass._version import __version__

__all__ = [
    "BinaryLCMClassifier",
    "BinaryLCMClassifierCV",
    "HNBClassifier",
    "HybridLCMClassifier",
    "LCMClassifier",
    "LCMClassifierCV",
    "LatentMixture",
    "LatentTreeClassifier",
    "LatentVariableClassifier",
    "MDLDiscretizer",
    "__version__",
    "baselines",
    "datasets",
    "evaluation",
    "plots",
]

_SUBMODULES = ("baselines", "datasets", "evaluation", "plots")
_HOMES = {
    "BinaryLCMClassifier": "latentclass.models._binary_lcm",
    "BinaryLCMClassifierCV": "latentclass.models._binary_lcm_cv",
    "HNBClassifier": "latentclass.models._hnb",
    "HybridLCMClassifier": "latentclass.models._hybrid_lcm",
    "LCMClassifier": "latentclass.models._lcm",
    "LCMClassifierCV": "latentclass.models._lcm_cv",
    "LatentTreeClassifier": "latentclass.models._latent_tree",
    "LatentMixture": "latentclass.models._latent_mixture",
    "LatentVariableClassifier": "latentclass.models._latent_variable_classifier",
    "MDLDiscretizer": "latentclass.models._mdl_discretizer",
}


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"latentclass.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'latentclass' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
