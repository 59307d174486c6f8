"""`latentclass complete`: fill the missing cells of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from latentclass.cli._app import CommandError, command
from latentclass.cli._console import console
from latentclass.cli._input import (
    ColumnsByName,
    check_input,
    chunks,
    load_model,
    noted_columns,
    open_rows,
    table_options,
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
    end. Columns that the model does not have stay as they are.
    """
    out = console()
    check_output(output, force)
    check_input(data)
    fitted, about = load_model(model)
    if not hasattr(fitted, "complete"):
        raise CommandError(f"{model!r} ({type(fitted).__name__}) cannot complete rows.")
    file = open_rows(data, about, [fitted.schema_], **options)
    by_name = ColumnsByName(fitted.schema_, list(file.names))
    by_name.tell(out, data, noted_columns(about))
    # a column of a Parquet or Feather file has one type, and whole numbers may get a mean
    exact = Path(output or "").suffix.lower() not in (".parquet", ".feather")
    n_rows = n_cells = 0
    with (
        row_writer(output, as_json=out.json and output is None) as write,
        Progress(out, "completing") as progress,
    ):
        for _, table, X in chunks(file, fitted.schema_, data):
            full = fitted.complete(X, how=how)
            columns = {
                name: _filled(table, full, name, exact=exact)
                for name in [*table.column_names, *by_name.lacking]
            }
            write(columns)
            n_rows += X.num_rows
            n_cells += sum(one.null_count for one in X.columns)
            n_cells -= sum(one.null_count for one in full.columns)
            progress.advance(X.num_rows, of=file.n_rows)
    out.say(f"{n_cells:,} cells filled in {n_rows:,} rows.")
    if output is not None and out.json:
        out.show_json({"rows": n_rows, "cells": n_cells, "output": output})


def _filled(table: Any, full: Any, name: str, *, exact: bool) -> Any:
    """A column of the output. With `exact`, cells that were there stay to the letter."""
    if name not in full.column_names:
        return table.column(name)
    filled = full.column(name)
    if name not in table.column_names or not exact:
        return filled
    pairs = zip(table.column(name).to_pylist(), filled.to_pylist(), strict=True)
    return [new if old is None else old for old, new in pairs]
