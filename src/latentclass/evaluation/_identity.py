"""The key of a result: text that contains everything that determines it."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import inspect
import pickle
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from latentclass._version import __version__
from latentclass.evaluation._store import canonical_json, checksum

NO_INFLUENCE = ("n_jobs", "verbose", "columns")
"""Parameters that do not change what an estimator learns from and predicts for a given table."""

_ALWAYS = ("numpy", "scipy", "sklearn")


def describe(value: Any) -> Any:
    """Describe a value as JSON content: equal for equal values, different for different ones.

    An estimator is described by its class and parameters, another object by its class and
    attributes, an array by a checksum. For a class or function that is not part of an installed
    package, a checksum of its source is added, because it has no version that shows a change.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> description = describe(DecisionTreeClassifier(max_depth=3))
    >>> description["class"], description["parameters"]["max_depth"]
    ('sklearn.tree._classes.DecisionTreeClassifier', 3)
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {"array": f"{value.dtype.str}{list(value.shape)}", "sha256": digest}
    if isinstance(value, float | complex | np.generic):
        return {type(value).__name__: repr(value)}
    if isinstance(value, list | tuple | np.ndarray):
        return {type(value).__name__: [describe(entry) for entry in value]}
    if isinstance(value, set | frozenset):
        return {type(value).__name__: sorted(canonical_json(describe(entry)) for entry in value)}
    if isinstance(value, Mapping):
        pairs = [[describe(key), describe(entry)] for key, entry in value.items()]
        return {type(value).__name__: pairs}
    if isinstance(value, functools.partial):
        return {"partial": describe([value.func, value.args, value.keywords])}
    if isinstance(value, type | types.FunctionType):
        return _described_code(value)
    if hasattr(value, "get_params") and not isinstance(value, type):
        parameters = {
            name: describe(entry)
            for name, entry in value.get_params(deep=False).items()
            if name not in NO_INFLUENCE
        }
        return {"class": _code_name(type(value)), "parameters": parameters}
    if getattr(value, "__dict__", None):
        content = {str(name): describe(entry) for name, entry in vars(value).items()}
        return {"class": _code_name(type(value)), "attributes": content}
    try:
        digest = hashlib.sha256(pickle.dumps(value, protocol=4)).hexdigest()
    except (pickle.PicklingError, TypeError, AttributeError):
        raise TypeError(
            f"A parameter of type {type(value).__name__} cannot be described, because it cannot be "
            "pickled, so no result can be stored. Use a parameter that can be pickled."
        ) from None
    return {"class": _code_name(type(value)), "pickle": digest}


def _described_code(value: Any) -> dict[str, Any]:
    described = {"code": _code_name(value)}
    closure = getattr(value, "__closure__", None)
    inside = [cell.cell_contents for cell in closure] if closure else []
    defaults = getattr(value, "__defaults__", None)
    return described | {"bound": describe([inside, defaults])} if inside or defaults else described


def _code_name(thing: Any) -> str:
    """Return module and name, and a checksum of the source if the code has no version."""
    name = f"{thing.__module__}.{thing.__qualname__}"
    family = inspect.getmro(thing) if isinstance(thing, type) else (thing,)
    own = [part for part in family if package_version(part.__module__) is None]
    if not own:
        return name
    return f"{name} sha256:{checksum(''.join(_source(part) for part in own))[:16]}"


def _source(thing: Any) -> str:
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):  # typed at a prompt or created at run time
        code = getattr(thing, "__code__", None)
        return thing.__qualname__ if code is None else repr((code.co_code, code.co_consts))


def package_version(module: str) -> str | None:
    """Return the version of the installed package of a module, or None if there is none."""
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names and root != "__main__":
        return "python"
    if root == "latentclass":
        return __version__
    return _installed_version(root)


@functools.cache
def _installed_version(root: str) -> str | None:
    for name in _distributions().get(root, [root]):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


_SURFACE = ("evaluation", "datasets", "reproduction", "cli")
"""Parts of the package that run classifiers: what these find does not depend on them."""


def versions(description: Any) -> dict[str, str]:
    """Return the versions of this library, its dependencies, and the packages described."""
    names = _code_names(description)
    roots = set(_ALWAYS) | {name.partition(".")[0] for name in names}
    found = {root: package_version(root) for root in roots}
    known = {root: version for root, version in found.items() if version not in (None, "python")}
    ours = any(
        name.startswith("latentclass.") and name.split(".")[1] not in _SURFACE for name in names
    )
    return {root: str(version) for root, version in sorted(known.items())} | {
        "latentclass": __version__ + (_development_mark() if ours else "")
    }


@functools.cache
def _development_mark() -> str:
    """Return a checksum of the source in a development version, where code changes daily."""
    if ".dev" not in __version__:
        return ""
    home = Path(__file__).parents[1]
    surface = {home / name for name in _SURFACE}
    files = sorted(path for path in home.rglob("*.py") if not surface & set(path.parents))
    texts = (f"{path.relative_to(home).as_posix()}\n{path.read_text('utf-8')}" for path in files)
    return f"+sha256.{checksum(''.join(texts))[:16]}"


def _code_names(description: Any) -> set[str]:
    if isinstance(description, dict):
        names = {description[key] for key in ("class", "code") if key in description}
        names = {name for name in names if isinstance(name, str)}
        return names.union(*map(_code_names, description.values()))
    if isinstance(description, list):
        return set().union(*map(_code_names, description))
    return set()


def identity(
    estimator: Any, *, data: str, fold: str, seed: int, protocol: str
) -> tuple[str, dict[str, Any]]:
    """Return the key of a computation and the content that it is a checksum of.

    The names of data sets and classifiers are not part of it, nor are the scores to show, because
    they do not change what is computed.
    """
    description = describe(estimator)
    content = {
        "data": data,
        "estimator": description,
        "fold": fold,
        "seed": seed,
        "protocol": protocol,
        "versions": versions(description),
    }
    return checksum(canonical_json(content)), content


def derived_seed(*parts: object) -> int:
    """Return a seed below 2^31 that depends only on the arguments."""
    return int(checksum(repr(parts))[:12], 16) % 2**31
