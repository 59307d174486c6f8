"""`latentclass explain`: why a row gets its class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from latentclass.cli._app import CommandError, command
from latentclass.cli._console import Console, console
from latentclass.cli._input import (
    ColumnsByName,
    UnseenCells,
    check_input,
    chunks,
    load_classifier,
    noted_columns,
    open_rows,
    table_options,
)
from latentclass.cli._predict import cell_of, shown


@command
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@click.option(
    "--row", "rows", type=click.IntRange(1), multiple=True, required=True,
    help="Number of the row; the first below the header is 1. May be repeated.",
)  # fmt: skip
@click.option("--top", type=click.IntRange(1), default=10, show_default=True,
              help="Number of cells to show.")  # fmt: skip
@table_options
def explain(model: str, data: str, rows: Sequence[int], top: int, **options: Any) -> None:
    """Explain why rows get their class.

    Shows the weight of evidence of each cell. It is how much the log-odds of the predicted class
    fall if the model does not see the cell. A positive weight supports the class, a negative one
    opposes it.
    """
    out = console()
    check_input(data)
    fitted, about = load_classifier(model)
    file = open_rows(data, about, [fitted.schema_], **options)
    ColumnsByName(fitted.schema_, list(file.names)).tell(out, data, noted_columns(about))
    wanted = sorted(set(rows))
    unseen = UnseenCells(fitted.schema_)
    told, n_rows = [], 0
    for before, _, X in chunks(file, fitted.schema_, data):
        n_rows = before + X.num_rows
        inside = [row for row in wanted if before < row <= n_rows]
        if inside:
            part = X.take([row - before - 1 for row in inside])
            unseen.add(part)
            told += explained(fitted, part, inside, top)
        if n_rows >= wanted[-1]:
            break
    else:
        raise CommandError(
            f"{data!r} has {n_rows:,} rows, so there is no row {wanted[-1]:,}. "
            f"Pass --row with a number from 1 to {n_rows:,}."
        )
    unseen.tell(out)
    for one in told:
        if out.json:
            out.show_json(one)
        else:
            show(out, one)


def explained(model: Any, X: Any, numbers: Sequence[int], top: int) -> list[dict[str, Any]]:
    """What is to be said about some rows."""
    told, probabilities = model.explain(X), model.predict_proba(X)
    out = []
    for place, number in enumerate(numbers):
        weights = told.weights[place]
        order = sorted(range(len(weights)), key=lambda j: -abs(weights[j]))
        cells = [
            {
                "column": told.feature_names[j],
                "value": cell_of(X, told, place, j),
                "weight": float(weights[j]),
            }
            for j in order[:top]
            if weights[j]
        ]
        out.append(
            {
                "row": number,
                "prediction": told.target[place],
                "probability": float(probabilities[place].max()),
                "log_odds": float(told.log_odds[place]),
                "prior_log_odds": float(told.prior_log_odds[place]),
                "evidence": cells,
            }
        )
    return out


def show(out: Console, one: dict[str, Any]) -> None:
    """One row in words."""
    out.show(
        f"row {one['row']}: {one['prediction']} with probability {one['probability']:.3f} "
        f"(log-odds {one['log_odds']:+.2f}; {one['prior_log_odds']:+.2f} before any cell is seen)"
    )
    cells = [
        (cell["column"], shown(cell["value"]), f"{cell['weight']:+.2f}") for cell in one["evidence"]
    ]
    out.show_table(("column", "value", "weight of evidence"), cells)
