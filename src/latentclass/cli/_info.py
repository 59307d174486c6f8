"""`latentclass info`: what a model file holds, without loading the model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from latentclass.cli._app import command
from latentclass.cli._console import console, text_table


@command
@click.argument("model", type=click.Path())
def info(model: str) -> None:
    """Show what a model file holds.

    Class, parameters, columns, classes, scores and versions.

    Only the file's description is read and checked, so this is quick and needs no scikit-learn.
    """
    from latentclass.files._describe import describe_file

    found = describe_file(model)
    if console().json:
        console().show_json({"file": model, **asdict(found)})
        return
    console().show(*str(found).splitlines())
    console().show(*_told(found.about))


def _told(about: dict[str, Any]) -> list[str]:
    """What `latentclass fit` noted, in words."""
    lines = []
    if "target" in about:
        lines.append(f"target: {about['target']}")
    for key in ("source", "rows", "unlabelled", "dropped", "weights", "seed"):
        if about.get(key) not in (None, [], 0):
            value = about[key]
            lines.append(f"{key}: {', '.join(map(str, value)) if type(value) is list else value}")
    scores = about.get("held_out")
    if scores:
        lines.append(f"held-out scores ({scores['folds']} folds):")
        rows = [
            (name, f"{one['log_loss']:.4f}", f"{100 * one['accuracy']:.1f} %")
            for name, one in scores["scores"].items()
        ]
        lines += [f"  {line}" for line in text_table(("", "log-loss", "accuracy"), rows)]
    return lines
