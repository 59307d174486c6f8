"""The command line `latentclass`: a few lines for each command, over the public functions."""

from __future__ import annotations

import sys

__all__ = ["main"]


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
