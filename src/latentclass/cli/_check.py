"""`latentclass check`: look at a table before a model is fitted to it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import click

from latentclass.cli._app import command
from latentclass.cli._console import console
from latentclass.cli._input import (
    need_column,
    open_file,
    option_words,
    table_options,
    without_signs_of,
)
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
            ready, signs = _split_signs(found.options)
            if file.decimal is None and signs:
                names = ", ".join(map(repr, signs))
                out.say("", f"Not a text file: convert {names} to numbers in the file itself.")
                signs = {}
            given = {**options, "decimal": without_signs_of(options["decimal"], signs)}
            words = ["latentclass", "fit", data, "--target", target, *option_words(given), *ready]
            words += [word for one in signs.values() for word in ("--decimal", one)]
            out.say("", f"Next: {shlex.join(words)}")


def _split_signs(options: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Ready options without the decimal signs among them, and these by column."""
    ready, signs = list(options), dict[str, str]()
    while "--decimal" in ready:
        place = ready.index("--decimal")
        one = ready[place + 1]
        signs[one.rpartition("=")[0]] = one
        del ready[place : place + 2]
    return ready, signs
