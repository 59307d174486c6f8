"""`latentclass predict`: classes, probabilities and reasons for the rows of a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from latentclass.cli._app import command
from latentclass.cli._console import console
from latentclass.cli._input import (
    ColumnsByName,
    UnseenCells,
    check_input,
    chunks,
    load_classifier,
    need_column,
    noted_columns,
    open_rows,
    table_options,
)
from latentclass.cli._output import check_output, force_option, output_option, row_writer
from latentclass.cli._progress import Progress


@command
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option(
    "--explain", type=click.IntRange(1, 100), metavar="N",
    help="Add the N cells that weigh most for or against the class.",
)  # fmt: skip
@click.option("--unusual", is_flag=True, help="Add log p(x) and how unusual the row is (p-value).")
@click.option("--keep", multiple=True, metavar="COLUMN", help="Copy a column of the data.")
@output_option
@force_option
@table_options
def predict(
    model: str,
    data: str,
    proba: bool,
    explain: int | None,
    unusual: bool,
    keep: Sequence[str],
    output: str | None,
    force: bool,
    **options: Any,
) -> None:
    """Predict the class of each row of a file.

    The output has one line per row, in the order of the file: its number (the first is 1), the
    class, and its probability. Columns are matched by name. A column that the file lacks counts
    as missing, and so does a category that the model has not seen; a column that the model does
    not have is ignored. The rows are read in chunks, so files of any length fit into memory.
    """
    out = console()
    check_output(output, force)
    check_input(data)
    with Progress(out, "loading the model"):
        fitted, about = load_classifier(model)
    file = open_rows(data, about, [fitted.schema_], **options)
    names = list(file.names)
    for name in keep:
        need_column(name, names, data)
    ColumnsByName(fitted.schema_, names).tell(out, data, [*noted_columns(about), *keep])
    unseen, n_rows = UnseenCells(fitted.schema_), 0
    with (
        row_writer(output, as_json=out.json and output is None) as write,
        Progress(out, "predicting") as progress,
    ):
        for before, table, X in chunks(file, fitted.schema_, data):
            columns: dict[str, Any] = {"row": range(before + 1, before + 1 + table.num_rows)}
            columns |= {name: table.column(name) for name in keep}
            columns |= predicted(fitted, X, proba=proba, explain=explain, unusual=unusual)
            write(columns)
            unseen.add(X)
            n_rows += table.num_rows
            progress.advance(table.num_rows, of=file.n_rows)
    unseen.tell(out)
    if output is not None:
        out.say(f"{n_rows:,} rows written to {output!r}.")
        if out.json:
            out.show_json({"rows": n_rows, "output": output, "columns": list(columns)})


def predicted(
    model: Any, X: Any, *, proba: bool, explain: int | None, unusual: bool
) -> dict[str, Any]:
    """The columns of the output for some rows."""
    probabilities = model.predict_proba(X)
    best = probabilities.argmax(axis=1)
    columns = {"prediction": model.classes_[best], "probability": probabilities.max(axis=1)}
    if proba:
        for label, column in zip(model.classes_.tolist(), probabilities.T, strict=True):
            columns[f"P({label})"] = column
    if unusual:
        columns["log_density"] = model.score_samples(X)
        columns["unusual"] = model.unusual(X)
    if explain:
        told = model.explain(X)
        lists = [reasons(X, told, row, explain) for row in range(X.num_rows)]
        for place in range(min(explain, len(told.feature_names))):
            columns[f"reason_{place + 1}"] = [one[place] for one in lists]
    return columns


def reasons(X: Any, told: Any, row: int, n: int) -> list[str | None]:
    """The cells of a row that weigh most, with their weight; None where nothing more weighs."""
    weights = told.weights[row]
    strongest = sorted(range(len(weights)), key=lambda j: -abs(weights[j]))[:n]
    return [
        f"{told.feature_names[j]}={shown(cell_of(X, told, row, j))} ({weights[j]:+.2f})"
        if weights[j]
        else None
        for j in strongest
    ]


def cell_of(X: Any, told: Any, row: int, j: int) -> Any:
    """A cell that was explained: one of the file, or what a companion says about its holes."""
    return X.column(j)[row].as_py() if j < X.num_columns else told.cells.texts(row)[j]


def shown(cell: Any) -> str:
    """A cell in words."""
    if isinstance(cell, float):
        return f"{cell:.6g}"
    return str(cell)
