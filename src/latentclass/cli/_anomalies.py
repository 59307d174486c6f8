"""`latentclass anomalies`: the rows that are least like those of the fit."""

from __future__ import annotations

import heapq
from typing import Any

import click

from latentclass.cli._app import command
from latentclass.cli._console import console
from latentclass.cli._input import (
    ColumnsByName,
    check_input,
    chunks,
    load_classifier,
    noted_columns,
    open_rows,
    table_options,
)
from latentclass.cli._output import check_output, force_option, output_option, row_writer
from latentclass.cli._predict import shown
from latentclass.cli._progress import Progress


@command
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("--top", type=click.IntRange(1), default=20, show_default=True,
              help="Number of rows to show.")  # fmt: skip
@output_option
@force_option
@table_options
def anomalies(
    model: str, data: str, top: int, output: str | None, force: bool, **options: Any
) -> None:
    """Show the most unusual rows of a file.

    These are the rows that are least like those that the model learned from.

    `unusual` is a p-value: the share of ordinary rows, with the same cells missing, that are no
    more probable. Of equal p-values the row with the lower log p(x) comes first. Row numbers begin
    with 1.
    """
    out = console()
    check_output(output, force)
    check_input(data)
    fitted, about = load_classifier(model)
    file = open_rows(data, about, [fitted.schema_], **options)
    ColumnsByName(fitted.schema_, list(file.names)).tell(out, data, noted_columns(about))
    found: list[tuple[float, float, int, tuple[str, ...]]] = []
    with Progress(out, "scoring") as progress:
        for before, _, X in chunks(file, fitted.schema_, data):
            p_values, density = fitted.unusual(X).tolist(), fitted.score_samples(X).tolist()
            order = heapq.nsmallest(top, range(X.num_rows), lambda i: (p_values[i], density[i]))  # noqa: B023
            found += [(p_values[i], density[i], before + i + 1, tuple(_cells(X, i))) for i in order]
            found = heapq.nsmallest(top, found)
            progress.advance(X.num_rows, of=file.n_rows)
    header = ["row", "unusual", "log_density", *fitted.schema_.given_names]
    rows = [(row, p, log_p, *cells) for p, log_p, row, cells in found]
    columns = {name: [row[j] for row in rows] for j, name in enumerate(header)}
    if output is not None or out.json:
        with row_writer(output, as_json=out.json and output is None) as write:
            write(columns)
        if output is not None:
            out.say(f"{len(rows)} rows written to {output!r}.")
            if out.json:
                out.show_json({"rows": len(rows), "output": output})
        return
    out.show_table(header, [(row[0], f"{row[1]:.4f}", f"{row[2]:.2f}", *row[3:]) for row in rows])


def _cells(X: Any, row: int) -> list[str]:
    cells = (X.column(j)[row].as_py() for j in range(X.num_columns))
    return ["" if cell is None or cell != cell else shown(cell) for cell in cells]
