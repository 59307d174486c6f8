"""`latentclass datasets`: the data sets that load by name, and one of them as a file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from latentclass.cli._app import command
from latentclass.cli._console import console
from latentclass.cli._output import check_output, force_option, output_option, row_writer


@command
@click.argument("name", required=False)
@click.option("--paper", help="Only the data sets of a paper: lcm, blcm, hnb, ltc or lvc.")
@output_option
@force_option
def datasets(name: str | None, paper: str | None, output: str | None, force: bool) -> None:
    """List data sets, or write one to a file.

    These data sets load by name, also in Python and in `latentclass compare`.

    Several come with scikit-learn or are computed. Others need the network, or a folder that the
    environment variable LATENTCLASS_DATA names.
    """
    from latentclass.datasets import list_datasets

    check_output(output, force)
    if name is not None:
        _write(name, output)
        return
    if output is not None:
        raise click.UsageError("Name the data set to write.", click.get_current_context())
    found = list_datasets(paper)
    if console().json:
        console().show_json([asdict(one) for one in found])
        return
    header = ("name", "rows", "continuous", "binary", "nominal", "classes", "from")
    console().show_table(
        header,
        [
            (one.name, one.rows, one.continuous, one.binary, one.nominal, one.classes,
             ", ".join(one.available))
            for one in found
        ],
    )  # fmt: skip


def _write(name: str, output: str | None) -> None:
    from latentclass.datasets import load_dataset

    found = load_dataset(name, container="numpy")
    columns: dict[str, Any] = {
        column: [None if value != value else value for value in found.X[:, j].tolist()]
        for j, column in enumerate(found.kinds)
    }
    target = "class" if "class" not in columns else "class_"
    columns[target] = found.y.tolist()
    with row_writer(output, as_json=console().json and output is None) as write:
        write(columns)
    if output is not None:
        console().say(f"{name}: {len(found.y):,} rows written to {output!r}; target: {target!r}.")
        if console().json:
            console().show_json(
                {"dataset": name, "rows": len(found.y), "target": target, "output": output}
            )
