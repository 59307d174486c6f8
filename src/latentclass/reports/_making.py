"""How a model and its report were made: versions, parameters, how the fit went."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from latentclass._version import __version__
from latentclass.reports._summary import Making
from latentclass.reports._text import count, cut, plain, plural

PACKAGES = ("numpy", "scipy", "scikit-learn")

LONGEST_VALUE = 120
"""Characters of the value of a parameter."""

COMMAND = """import latentclass

model = latentclass.load("model.lc")  # your model file
report = latentclass.report(model, X, y)  # the same table and labels
report.save("report.html")"""


def describe_making(model: Any, command: str | None, left_out: Sequence[str]) -> Making:
    """Versions, parameters and facts of the fit. No date: the same inputs give the same page."""
    versions = {"latentclass": __version__, "Python": platform.python_version()}
    versions |= {package: version(package) for package in PACKAGES}
    defaults = type(model)().get_params(deep=False)
    parameters = []
    for name, value in model.get_params(deep=False).items():
        changed = repr(value) != repr(defaults[name])
        parameters.append((name, value_text(value), changed))
    parameters.sort(key=lambda one: not one[2])
    return Making(
        versions,
        tuple(parameters),
        tuple(_facts(model)),
        plain(command or COMMAND),
        tuple(plain(name) for name in left_out),
    )


def value_text(value: Any) -> str:
    """The value of a parameter; no address in memory, which would be another in each run."""
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
    return cut(plain(re.sub(r"\s+", " ", text)), LONGEST_VALUE)


def _facts(model: Any) -> list[tuple[str, str]]:
    summary = model.summary()
    facts = []
    if summary.n_rows is not None:
        rows = count(summary.n_rows)
        if summary.n_unlabelled:
            rows += f", {count(summary.n_unlabelled)} of them without a class"
        facts.append(("training rows", rows))
    for name, value in {**summary.structure, **summary.fit}.items():
        facts.append((plain(name), _value(value)))
    seed = getattr(model, "random_state", None)
    facts.append(("seed", "none was set" if seed is None else value_text(seed)))
    starts = getattr(model, "restarts_", {}).get("start")
    if starts is not None and len(starts):
        facts.append(("restarts", plural(len(starts), "start")))
    board = getattr(model, "leaderboard_", None)
    if board is not None:
        seconds = sum(row.fit_seconds for row in board)
        facts.append(("time of one fold of all candidates", f"{seconds:.2g} s"))
    return facts


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    return f"{value:,.4g}" if isinstance(value, float) else plain(value)
