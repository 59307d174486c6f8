"""The command line `latentclass`: a few lines for each command, over the public functions."""

from __future__ import annotations

import atexit
import os
import sys
from typing import NoReturn

__all__ = ["main", "run"]


def run() -> NoReturn:
    """Run the command line, and end the process at once.

    Python would free what the commands have loaded, piece by piece, which takes up to half a second
    of the one that is left after Ctrl-C. The system frees it all the same.
    """
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        code = 0 if end.code is None else end.code if isinstance(end.code, int) else 1
    else:
        code = 0
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # its reader has left
            code = code or 1
    os._exit(code)


def main() -> None:
    """Run the command line with the arguments of this process."""
    try:
        from latentclass.cli._app import app
    except KeyboardInterrupt:  # before there is anything to tidy up
        sys.exit(130)
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich", "pyarrow"):
            raise
        sys.exit(
            f"Error: the command line needs {error.name}, which is not installed: "
            'python -m pip install "latentclass[cli]".'
        )
    app(prog_name="latentclass")
