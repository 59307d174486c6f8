"""`latentclass complete`: fill the missing cells of a file."""

from __future__ import annotations

from typing import Any

import click

from latentclass.cli._app import CommandError, command
from latentclass.cli._console import console
from latentclass.cli._input import (
    ColumnsByName,
    check_input,
    chunks,
    load_model,
    open_file,
    table_options,
    text_columns,
)
from latentclass.cli._output import check_output, force_option, output_option, row_writer
from latentclass.cli._progress import Progress


@command
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@click.option(
    "--how", type=click.Choice(["expected", "most_probable"]), default="expected",
    show_default=True,
    help="expected: each cell by itself; most_probable: values that fit together.",
)  # fmt: skip
@output_option
@force_option
@table_options
def complete(
    model: str, data: str, how: str, output: str | None, force: bool, **options: Any
) -> None:
    """Fill the missing cells of a file.

    The model fills them from what it knows about the other cells of the row.

    All columns of the file are written. A column of the model that the file lacks is added at the
    end. Columns that the model does not know stay as they are.
    """
    out = console()
    check_output(output, force)
    check_input(data)
    fitted, about = load_model(model)
    if not hasattr(fitted, "complete"):
        raise CommandError(
            f"{model!r} holds a {type(fitted).__name__}, which cannot complete rows."
        )
    file = open_file(data, text=text_columns(fitted.schema_), **options)
    by_name = ColumnsByName(fitted.schema_, list(file.names))
    by_name.tell(out, data, [about.get("target", "")])
    n_rows = n_cells = 0
    with (
        row_writer(output, as_json=out.json and output is None) as write,
        Progress(out, "completing") as progress,
    ):
        for _, table, X in chunks(file, fitted.schema_, data):
            full = fitted.complete(X, how=how)
            columns = {
                name: full.column(name) if name in X.column_names else table.column(name)
                for name in [*table.column_names, *by_name.lacking]
            }
            write(columns)
            n_rows += X.num_rows
            n_cells += sum(one.null_count for one in X.columns)
            n_cells -= sum(one.null_count for one in full.columns)
            progress.advance(X.num_rows)
    out.say(f"{n_cells:,} cells filled in {n_rows:,} rows.")
    if output is not None and out.json:
        out.show_json({"rows": n_rows, "cells": n_cells, "output": output})
