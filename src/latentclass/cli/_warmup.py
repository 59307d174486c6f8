"""`latentclass warmup`: compile all kernels ahead of time."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from latentclass.cli._app import command
from latentclass.cli._console import console
from latentclass.cli._models import MODELS, ModelName, make_model
from latentclass.cli._progress import Progress


@command
@click.argument("models", nargs=-1, type=ModelName())
def warmup(models: Sequence[str]) -> None:
    """Compile ahead of time, for a container image.

    Compiles what models need, and keeps the machine code beside the package, or in the folder that
    the environment variable NUMBA_CACHE_DIR names. Without names, for all models.
    """
    from latentclass import LatentMixture
    from latentclass import warmup as compile_kernels

    out = console()
    names = list(dict.fromkeys(models)) or [name for name in MODELS if name != "auto"]
    seconds = {}
    with Progress(out, "compiling", len(names), "models") as progress:
        for name in names:
            progress.tell(f"compiling {name}")
            began = time.monotonic()
            compile_kernels(make_model(name, 0))
            if not models and name == names[-1]:
                compile_kernels(LatentMixture(2))
            seconds[name] = round(time.monotonic() - began, 1)
            out.say(f"{name}: {seconds[name]} s")
            progress.advance()
    if out.json:
        out.show_json({"seconds": seconds})
