"""Classification through latent variables, with scikit-learn's interface.

`import latentclass` is quick: each name loads its module when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from latentclass._version import __version__

if TYPE_CHECKING:
    # Editors, type checkers and the reference page need real names. `_HOMES` says the same at run
    # time, and a test compares the two.
    from latentclass import baselines, datasets, evaluation, plots
    from latentclass._show_versions import show_versions
    from latentclass.auto._classifier import AutoLatentClassifier, Plan
    from latentclass.auto._leaderboard import Leaderboard, LeaderboardRow
    from latentclass.discrete._discretizer import CutSummary, MDLDiscretizer
    from latentclass.estimator._explanation import Explanation
    from latentclass.estimator._importance import Importance
    from latentclass.estimator._parts import Parts
    from latentclass.estimator._summary import ModelSummary
    from latentclass.estimator._warmup import warmup
    from latentclass.files._describe import FileDescription, ModelDescription, describe_file
    from latentclass.files._save import load, save
    from latentclass.hnb._classifier import HNBClassifier
    from latentclass.latent_tree._classifier import LatentTreeClassifier
    from latentclass.lcm._binary_classifier import BinaryLCMClassifier
    from latentclass.lcm._binary_classifier_cv import BinaryLCMClassifierCV
    from latentclass.lcm._classifier import LCMClassifier
    from latentclass.lcm._classifier_cv import LCMClassifierCV
    from latentclass.lcm._hybrid_classifier import HybridLCMClassifier
    from latentclass.mixture._classifier import LatentVariableClassifier
    from latentclass.mixture._latent_mixture import LatentMixture
    from latentclass.monitoring._drift import drift
    from latentclass.monitoring._summary import ColumnDrift, DriftSummary
    from latentclass.page._server import LivePage, serve
    from latentclass.reports._report import Report, report
    from latentclass.reports._summary import ReportSummary
    from latentclass.tables._check import check_table
    from latentclass.tables._files import read_table
    from latentclass.tables._result import ColumnCheck, RowCheck, TableCheck, TableFlag

__all__ = [
    "AutoLatentClassifier",
    "BinaryLCMClassifier",
    "BinaryLCMClassifierCV",
    "ColumnCheck",
    "ColumnDrift",
    "CutSummary",
    "DriftSummary",
    "Explanation",
    "FileDescription",
    "HNBClassifier",
    "HybridLCMClassifier",
    "Importance",
    "LCMClassifier",
    "LCMClassifierCV",
    "LatentMixture",
    "LatentTreeClassifier",
    "LatentVariableClassifier",
    "Leaderboard",
    "LeaderboardRow",
    "LivePage",
    "MDLDiscretizer",
    "ModelDescription",
    "ModelSummary",
    "Parts",
    "Plan",
    "Report",
    "ReportSummary",
    "RowCheck",
    "TableCheck",
    "TableFlag",
    "__version__",
    "baselines",
    "check_table",
    "datasets",
    "describe_file",
    "drift",
    "evaluation",
    "load",
    "plots",
    "read_table",
    "report",
    "save",
    "serve",
    "show_versions",
    "warmup",
]

_SUBMODULES = ("baselines", "datasets", "evaluation", "plots")
_HOMES = {
    "Report": "latentclass.reports._report",
    "ReportSummary": "latentclass.reports._summary",
    "report": "latentclass.reports._report",
    "AutoLatentClassifier": "latentclass.auto._classifier",
    "BinaryLCMClassifier": "latentclass.lcm._binary_classifier",
    "BinaryLCMClassifierCV": "latentclass.lcm._binary_classifier_cv",
    "ColumnDrift": "latentclass.monitoring._summary",
    "CutSummary": "latentclass.discrete._discretizer",
    "DriftSummary": "latentclass.monitoring._summary",
    "Explanation": "latentclass.estimator._explanation",
    "FileDescription": "latentclass.files._describe",
    "HNBClassifier": "latentclass.hnb._classifier",
    "HybridLCMClassifier": "latentclass.lcm._hybrid_classifier",
    "Importance": "latentclass.estimator._importance",
    "LCMClassifier": "latentclass.lcm._classifier",
    "LCMClassifierCV": "latentclass.lcm._classifier_cv",
    "LatentTreeClassifier": "latentclass.latent_tree._classifier",
    "LatentMixture": "latentclass.mixture._latent_mixture",
    "LatentVariableClassifier": "latentclass.mixture._classifier",
    "MDLDiscretizer": "latentclass.discrete._discretizer",
    "ModelDescription": "latentclass.files._describe",
    "ModelSummary": "latentclass.estimator._summary",
    "Leaderboard": "latentclass.auto._leaderboard",
    "LeaderboardRow": "latentclass.auto._leaderboard",
    "Parts": "latentclass.estimator._parts",
    "describe_file": "latentclass.files._describe",
    "drift": "latentclass.monitoring._drift",
    "load": "latentclass.files._save",
    "ColumnCheck": "latentclass.tables._result",
    "RowCheck": "latentclass.tables._result",
    "TableCheck": "latentclass.tables._result",
    "TableFlag": "latentclass.tables._result",
    "check_table": "latentclass.tables._check",
    "read_table": "latentclass.tables._files",
    "save": "latentclass.files._save",
    "LivePage": "latentclass.page._server",
    "serve": "latentclass.page._server",
    "show_versions": "latentclass._show_versions",
    "warmup": "latentclass.estimator._warmup",
    "Plan": "latentclass.auto._classifier",
}


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"latentclass.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    message = f"module 'latentclass' has no attribute {name!r}{_hint(name)}"
    if _is_import(name):  # Python would put words of its own in place of an AttributeError
        raise ImportError(message)
    raise AttributeError(message)


def _hint(name: str) -> str:
    """Where a name is that was looked for here, or what it may have been meant to be."""
    if name.startswith("_"):
        return ""
    from difflib import get_close_matches

    homes = dict.fromkeys(__all__, "latentclass")
    for module in _SUBMODULES:
        for known in import_module(f"latentclass.{module}").__all__:
            homes.setdefault(known, f"latentclass.{module}")
    small = {known.lower(): known for known in homes}
    for found in get_close_matches(name.lower(), small, n=1, cutoff=0.75):
        known = small[found]
        where = f"from {homes[known]} import {known}"
        return f". It is elsewhere: {where}" if known == name else f". Did you mean: {where}"
    return ""


def _is_import(name: str) -> bool:
    """Whether a name that is no submodule is looked for by `from latentclass import name`."""
    import sys
    from importlib.util import find_spec

    asked = sys._getframe(2).f_globals.get("__name__")
    return asked == "importlib._bootstrap" and find_spec(f"latentclass.{name}") is None


def __dir__() -> list[str]:
    return sorted(__all__)
