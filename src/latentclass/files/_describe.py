"""What a model file holds, without building the model."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from latentclass.files._classes import ESTIMATORS
from latentclass.files._codec import Decoder
from latentclass.files._container import read_contents
from latentclass.files._save import check_document, invalid

MOST_SHOWN = 12
"""Columns, classes and categories that are shown of each model."""


@dataclass(frozen=True)
class ModelDescription:
    """One model of a file.

    Attributes
    ----------
    class_name : str
    parameters : dict
        Those of other libraries are shown as text.
    columns : dict of str to str
        Kind of each column by name.
    classes : list
        Labels; empty if the model has none.
    fitted : bool
    """

    class_name: str
    parameters: dict[str, Any]
    columns: dict[str, str]
    classes: list[Any]
    fitted: bool

    def __str__(self) -> str:
        parameters = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items())
        lines = [f"{self.class_name}({parameters})"]
        if not self.fitted:
            return f"{lines[0]}, not fitted"
        kinds = [f"{name} ({kind})" for name, kind in self.columns.items()]
        lines.append(f"  {len(kinds)} columns: {_some(kinds)}")
        if self.classes:
            lines.append(f"  {len(self.classes)} classes: {_some(map(repr, self.classes))}")
        return "\n".join(lines)


@dataclass(frozen=True)
class FileDescription:
    """What a model file holds. Printed, it is a short text.

    Attributes
    ----------
    models : dict of str to ModelDescription
        By name; a single model has the name "".
    versions : dict of str to str
        Of latentclass and other libraries when the file was written.
    date : str
        When it was written, in UTC; empty if the file leaves it out.
    n_bytes : int
        Size of the file.
    sha256 : str
        Checksum of its contents, which has been verified.
    about : dict
        What was given to `save` as `about`; empty if nothing was.
    """

    models: dict[str, ModelDescription]
    versions: dict[str, str]
    date: str
    n_bytes: int
    sha256: str
    about: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        lines = [f"{name}: {model}" if name else str(model) for name, model in self.models.items()]
        lines += [
            f"written {self.date} by {versions}" if self.date else f"written by {versions}",
            f"{self.n_bytes:,} bytes, sha256 {self.sha256}",
        ]
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True)
class _Object:
    """An object of the file that is not built."""

    name: str
    content: dict[str, Any]

    def __repr__(self) -> str:
        parameters = self.content.get("parameters", {})
        shown = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
        return f"{self.name}({shown})" if "parameters" in self.content else f"<{self.name}>"


def describe_file(path: str | os.PathLike[str]) -> FileDescription:
    """Tell what a model file holds, without loading the model.

    Sizes and checksum are verified. Whether the model is valid is only known after `load`.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    FileDescription
        Class, parameters, columns and classes of each model; versions, date, size and checksum.

    See Also
    --------
    load, save
    """
    contents, name = read_contents(path), os.fspath(path)
    decoder = Decoder(contents.arrays, _Object, lambda kind, _: _Object(kind, {}))
    try:
        document = check_document(contents.document)
        models = {key: _describe(decoder.decode(tree)) for key, tree in document["models"].items()}
    except Exception as error:  # as in `load`
        raise invalid(name, error) from error
    return FileDescription(
        models,
        document["versions"],
        document["date"],
        contents.n_bytes,
        contents.sha256,
        document.get("about", {}),
    )


def _describe(found: Any) -> ModelDescription:
    if not isinstance(found, _Object) or found.name not in ESTIMATORS:
        raise ValueError("it holds something that is not an estimator")
    learned = found.content["fitted"]
    columns = {}
    if learned:
        schema = learned["schema_"].content
        columns = {str(one.content["name"]): str(one.content["kind"]) for one in schema["columns"]}
    classes = learned["classes_"].tolist() if "classes_" in learned else []
    parameters = found.content["parameters"]
    return ModelDescription(found.name, parameters, columns, classes, bool(learned))


def _some(texts: Any) -> str:
    shown = list(texts)
    more = f", ... ({len(shown) - MOST_SHOWN} more)" if len(shown) > MOST_SHOWN else ""
    return ", ".join(shown[:MOST_SHOWN]) + more
