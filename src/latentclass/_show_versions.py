"""What a bug report needs to know of an installation."""

from __future__ import annotations

import platform
import re
from importlib import metadata

from latentclass._version import __version__

DEVELOPMENT = re.compile(r"extra == ['\"](test|docs|dev)['\"]")
"""Marks what is needed only by those who work on this library."""


def show_versions() -> None:
    """Print the versions of this library, of Python, and of the libraries that it uses.

    Paste them into a bug report. They name no user, folder or machine.

    Examples
    --------
    >>> import latentclass
    >>> latentclass.show_versions()  # doctest: +ELLIPSIS
    latentclass ...
    """
    lines = [
        f"latentclass {__version__}",
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}",
    ]
    for name in _libraries():
        try:
            lines.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            lines.append(f"{name} is not installed")
    print("\n".join(lines))


def _libraries() -> list[str]:
    """Names of what the package requires, for all extras of users, each once."""
    required = metadata.requires("latentclass") or []
    names = [re.split(r"[^\w.-]", one)[0] for one in required if not DEVELOPMENT.search(one)]
    return list(dict.fromkeys(names))
