"""`latentclass sample`: draw rows from a model."""

from __future__ import annotations

from typing import Any

import click

from latentclass.cli._app import CommandError, command, unknown
from latentclass.cli._console import console
from latentclass.cli._input import label_text, load_model
from latentclass.cli._output import check_output, force_option, output_option, row_writer
from latentclass.cli._progress import Progress


@command
@click.argument("model", type=click.Path())
@click.option("-n", "n_rows", type=click.IntRange(1), default=10, show_default=True,
              help="Number of rows.")  # fmt: skip
@click.option("--class", "label", help="Draw rows of this class only.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
@output_option
@force_option
def sample(
    model: str, n_rows: int, label: str | None, seed: int, output: str | None, force: bool
) -> None:
    """Draw rows from a model.

    The table is like the one that the model learned from, with classes.
    """
    import numpy as np

    out = console()
    check_output(output, force)
    fitted, about = load_model(model)
    if not hasattr(fitted, "sample"):
        raise CommandError(f"{model!r} ({type(fitted).__name__}) cannot draw rows.")
    given: dict[str, Any] = {"y": find_label(fitted, label)} if label is not None else {}
    with Progress(out, "drawing"):
        X, y = fitted.sample(n_rows, random_state=seed, **given)
    columns = as_columns(X, fitted.schema_.given_names)
    target = about.get("target") or ("class" if hasattr(fitted, "classes_") else "component")
    columns[target] = np.asarray(y)
    with row_writer(output, as_json=out.json and output is None) as write:
        write(columns)
    if output is not None:
        out.say(f"{n_rows:,} rows written to {output!r}.")
        if out.json:
            out.show_json({"rows": n_rows, "output": output, "target": target})


def find_label(model: Any, text: str) -> Any:
    """The class of a model whose label reads so."""
    labels = getattr(model, "classes_", [])
    for label in list(labels):
        if label_text(label) == text:
            return label
    raise CommandError(unknown("class", text, [label_text(label) for label in labels]))


def as_columns(X: Any, names: list[str]) -> dict[str, Any]:
    """The columns of a table in any container that a model was fitted to."""
    if hasattr(X, "column_names"):  # pyarrow
        return {name: X.column(name) for name in X.column_names}
    if hasattr(X, "columns"):
        return {name: [_plain(cell) for cell in X[name].to_list()] for name in list(X.columns)}
    dense = X.toarray() if hasattr(X, "toarray") else X
    return {name: [row[j] for row in dense.tolist()] for j, name in enumerate(names)}


def _plain(cell: Any) -> Any:
    return None if cell is None or cell != cell else cell
