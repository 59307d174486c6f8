"""Classification through latent variables: probabilities to trust, a structure to read.

`import latentclass` is quick: what a name needs is loaded when the name is first used.
"""

from importlib import import_module
from typing import Any

from latentclass._version import __version__

__all__ = [
    "HNBClassifier",
    "LCMClassifier",
    "LCMClassifierCV",
    "LatentMixture",
    "MDLDiscretizer",
    "__version__",
    "baselines",
    "datasets",
    "evaluation",
    "plots",
]

_SUBMODULES = ("baselines", "datasets", "evaluation", "plots")
_HOMES = {
    "HNBClassifier": "latentclass.models._hnb",
    "LCMClassifier": "latentclass.models._lcm",
    "LCMClassifierCV": "latentclass.models._lcm_cv",
    "LatentMixture": "latentclass.models._latent_mixture",
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
