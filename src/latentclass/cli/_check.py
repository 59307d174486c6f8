"""`latentclass check`: look at a table before a model is fitted to it."""

from __future__ import annotations

import shlex
from typing import Any

import click

from latentclass.cli._app import command
from latentclass.cli._console import console
from latentclass.cli._input import need_column, open_file, option_words, table_options
from latentclass.cli._progress import Progress


@command
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("--target", "-t", required=True, help="The column that holds the classes.")
@table_options
def check(data: str, target: str, **options: Any) -> None:
    """Look at a table before a model is fitted to it.

    Shows the kind of each column, its distinct values and missing cells, and what looks wrong:
    identifiers, dates, codes that look nominal, constant and duplicate columns, columns that give
    the class away, classes with few rows. It ends with options for `latentclass fit` and a verdict.
    """
    from latentclass import check_table

    out = console()
    file = open_file(data, **options)
    out.say(file.describe())
    need_column(target, file.names, data)
    with Progress(out, "checking"):
        table = file.read()
        found = check_table(table, target=target)
    if out.json:
        out.show_json(found.to_dict())
    else:
        out.show(*str(found).splitlines())
        if found.can_be_fitted:
            given = option_words(options)
            words = ["latentclass", "fit", data, "--target", target, *given, *found.options]
            out.say("", f"Next: {shlex.join(words)}")
