"""Classification through latent variables: probabilities to trust, a structure to read.

`import latentclass` is quick: what a name needs is loaded when the name is first used.
"""

from importlib import import_module
from typing import Any

from latentclass._version import __version__

__all__ = [
    "BinaryLCMClassifier",
    "BinaryLCMClassifierCV",
    "Explanation",
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
    "BinaryLCMClassifier": "latentclass.lcm._binary_classifier",
    "BinaryLCMClassifierCV": "latentclass.lcm._binary_classifier_cv",
    "Explanation": "latentclass.estimator._explanation",
    "HNBClassifier": "latentclass.hnb._classifier",
    "HybridLCMClassifier": "latentclass.lcm._hybrid_classifier",
    "LCMClassifier": "latentclass.lcm._classifier",
    "LCMClassifierCV": "latentclass.lcm._classifier_cv",
    "LatentTreeClassifier": "latentclass.latent_tree._classifier",
    "LatentMixture": "latentclass.mixture._latent_mixture",
    "LatentVariableClassifier": "latentclass.mixture._classifier",
    "MDLDiscretizer": "latentclass.discrete._discretizer",
}


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"latentclass.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'latentclass' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
