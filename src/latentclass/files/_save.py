"""Save fitted estimators to a file, and load them."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import numpy as np

from latentclass._version import __version__
from latentclass.exceptions import ModelFileError
from latentclass.files._classes import ESTIMATORS, name_of
from latentclass.files._codec import Decoder, Encoder, Unstorable
from latentclass.files._container import Arrays, read_contents, write_contents

Path = str | os.PathLike[str]

MOST_ABOUT, MOST_ABOUT_DEPTH = 2**16, 6
"""Largest size of `about` as JSON, and its deepest nesting."""


def save(
    model: Any,
    path: Path,
    *,
    about: Mapping[str, Any] | None = None,
    reproducible: bool = False,
    foreign: str | None = None,
) -> None:
    """Save a fitted estimator, or several by name, to one file.

    The file holds arrays and plain values, no code: `load` cannot be made to run anything. It is
    written to disk under another name first, so that, whatever happens, there is either the old
    file or the whole new one.

    Parameters
    ----------
    model : estimator of this library, or dict of str to estimator
        A pipeline of scikit-learn is not an estimator of this library: save its last step.
    path : str or path
        By convention it ends in ".lc".
    about : dict of str to plain values, optional
        What you want to keep with the model, such as where the rows came from: text, numbers,
        booleans, None, and lists and dicts of these. `describe_file` shows it. The command line
        keeps the name of the target here.
    reproducible : bool, default=False
        Leave out the date, and the seconds that steps of the fit took. Equal models then give
        equal files.
    foreign : "skops" or None, default=None
        How parts of other libraries are stored, such as the classifiers that
        `LatentVariableClassifier(estimator=...)` was given. None: they are refused. "skops": by
        that library, if it is installed; `load` then needs `trusted`.

    See Also
    --------
    load, describe_file

    Examples
    --------
    >>> import latentclass, os, tempfile
    >>> from latentclass.baselines import NaiveBayes
    >>> model = NaiveBayes().fit([[1.0], [1.2], [3.0], [3.1]], ["a", "a", "b", "b"])
    >>> path = os.path.join(tempfile.mkdtemp(), "small.lc")
    >>> latentclass.save(model, path)
    >>> latentclass.load(path).predict([[1.1]])
    array(['a'], dtype='<U1')
    """
    if foreign not in (None, "skops"):
        raise ValueError(f'foreign must be None or "skops", got {foreign!r}.')
    several = isinstance(model, Mapping)
    models = dict(model) if several else {"": model}
    if not models or not all(type(name) is str for name in models):
        raise ValueError("A dict of models needs at least one, and text as their names.")
    for one in models.values():
        _check_estimator(one)
    if about is not None:
        _check_own_about(about)
    encoder = Encoder(_dump_foreign if foreign else None, seconds=not reproducible)
    try:
        trees = {name: encoder.encode(one) for name, one in models.items()}
    except Unstorable as error:
        raise ModelFileError(f"The model cannot be saved: {error}") from None
    except RecursionError:
        raise ModelFileError("The model cannot be saved: it is nested too deeply.") from None
    document = {
        "date": "" if reproducible else datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "several": several,
        "models": trees,
    }
    if about is not None:
        document["about"] = dict(about)
    arrays = encoder.arrays
    if foreign is None:
        _check_loads(trees, arrays)
    write_contents(path, document, arrays)


@cache
def _versions() -> dict[str, str]:
    """What a file is written with."""
    from importlib.metadata import version  # not needed to read one, and slow to load

    return {
        "latentclass": __version__,
        "scikit-learn": version("scikit-learn"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
    }


def _check_loads(trees: dict[str, Any], arrays: Arrays) -> None:
    """Refuse to write a file that `load` would refuse."""
    try:
        _build(trees, arrays, None)
    except Exception as error:
        raise ModelFileError(
            f"The model cannot be saved: {str(error).rstrip('.')}. Please report this."
        ) from error


def _build(trees: dict[str, Any], arrays: Arrays, trusted: Sequence[str] | None) -> dict[str, Any]:
    """Estimators by name, checked in every part."""
    from latentclass.files._build import build_object

    decoder = Decoder(arrays, build_object, _foreign_loader(trusted))
    with np.errstate(all="ignore"):  # odd numbers are refused, not warned of
        models = {key: decoder.decode(tree) for key, tree in trees.items()}
    decoder.finish()
    for one in models.values():
        if name_of(type(one)) not in ESTIMATORS:
            raise ValueError("it holds something that is not an estimator")
    return models


def load(path: Path, *, trusted: Sequence[str] | None = None) -> Any:
    """Load what `save` has written.

    Every part is checked before it is used: a file that was damaged, or made to do harm, gives a
    `ModelFileError`.

    Parameters
    ----------
    path : str or path
    trusted : list of str, optional
        Full names of types of other libraries that may be loaded, if the file holds such parts.
        Only list what you trust: loading them can run code. Without it they are refused.

    Returns
    -------
    estimator, or dict of str to estimator
        As it was saved. It predicts the same to the last bit on a machine of the same kind with the
        same versions of the libraries.

    See Also
    --------
    save, describe_file
    """
    contents, name = read_contents(path), os.fspath(path)
    try:
        document = check_document(contents.document)
        models = _build(document["models"], contents.arrays, trusted)
        if not document["several"] and list(models) != [""]:
            raise ValueError("a single model must have no name")
    except ModelFileError:
        raise
    except Exception as error:  # a file may hold anything: whatever happens is told in one way
        raise invalid(name, error) from error
    return models if document["several"] else models[""]


def invalid(name: str, error: Exception) -> ModelFileError:
    """What to say of a file whose model cannot be built."""
    reason = str(error).rstrip(".") or type(error).__name__
    if isinstance(error, RecursionError):
        reason = "it is nested too deeply"
    elif isinstance(error, MemoryError):
        reason = "it needs more memory than there is"
    return ModelFileError(f"{name!r} holds no valid model: {reason}. Save the model anew.")


def check_document(document: Any) -> dict[str, Any]:
    wanted = {"date": str, "versions": dict, "several": bool, "models": dict}
    fits = isinstance(document, dict) and set(document) - {"about"} == set(wanted)
    if not fits or not all(type(document[key]) is kind for key, kind in wanted.items()):
        raise ValueError("its document does not have the right parts")
    if not document["models"] or not all(
        type(value) is str for value in document["versions"].values()
    ):
        raise ValueError("its document does not have the right parts")
    if "about" in document:
        check_about(document["about"])
    found: dict[str, Any] = document
    return found


def check_about(about: Any) -> None:
    """Refuse what is not a dict of plain values of moderate size."""
    if type(about) is not dict or not _is_plain(about, MOST_ABOUT_DEPTH):
        raise ValueError("its note is not a dict of plain values")
    if len(json.dumps(about)) > MOST_ABOUT:
        raise ValueError("its note is too long")


def _is_plain(value: Any, depth: int) -> bool:
    if value is None or type(value) in (str, bool, int):
        return True
    if type(value) is float:
        return math.isfinite(value)
    if not depth:
        return False
    if type(value) is list:
        return all(_is_plain(one, depth - 1) for one in value)
    return type(value) is dict and all(
        type(key) is str and _is_plain(one, depth - 1) for key, one in value.items()
    )


def _check_own_about(about: Any) -> None:
    try:
        check_about(dict(about) if isinstance(about, Mapping) else about)
    except ValueError:
        raise ValueError(
            "about must be a dict of text, finite numbers, booleans, None, and lists and dicts of "
            f"these, {MOST_ABOUT_DEPTH} levels deep and {MOST_ABOUT:,} characters long at most."
        ) from None


def _check_estimator(model: Any) -> None:
    kind = type(model)
    if name_of(kind) in ESTIMATORS:
        return
    remedy = "Use pickle or joblib for it."
    if hasattr(model, "steps"):
        remedy = "Save the last step of a pipeline: model[-1]."
    raise ModelFileError(
        f"A model file holds estimators of latentclass, not {kind.__name__!r} of "
        f"{kind.__module__.partition('.')[0]!r}. {remedy}"
    )


# ------------------------------------------------------------ parts of other libraries


def _import_skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ModelFileError(
            "Parts of other libraries need skops, which is not installed: pip install "
            "latentclass[files]."
        ) from None
    return skops.io


def _dump_foreign(value: Any) -> bytes:
    try:
        return bytes(_import_skops().dumps(value))
    except ModelFileError:
        raise
    except Exception as error:
        raise Unstorable(f"skops cannot store a {type(value).__name__} ({error}).") from None


def _foreign_loader(trusted: Sequence[str] | None) -> Callable[[str, bytes], Any]:
    def load_foreign(name: str, data: bytes) -> Any:
        if trusted is None:
            raise ModelFileError(
                f"The file holds a {name!r} of another library, which is loaded only if you trust "
                "it: load(path, trusted=[...]) with the full names of its types."
            )
        skops = _import_skops()
        try:
            return skops.loads(data, trusted=list(trusted))
        except Exception as error:
            raise ModelFileError(
                f"The {name!r} of another library in the file cannot be loaded: {error}"
            ) from None

    return load_foreign
