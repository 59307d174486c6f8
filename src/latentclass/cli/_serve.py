"""`latentclass serve`: a local page to explore a model."""

from __future__ import annotations

from typing import Any

import click

from latentclass.cli._app import command
from latentclass.cli._console import Console, console
from latentclass.cli._input import (
    ColumnsByName,
    check_input,
    labels_of,
    load_classifier,
    need_column,
    noted_columns,
    open_rows,
    table_options,
)
from latentclass.cli._progress import Progress
from latentclass.cli._report import known_labels


@command
@click.argument("model", type=click.Path(), required=False)
@click.option("--data", type=click.Path(allow_dash=True), metavar="FILE",
              help="Rows to look at, ideally those of the fit.")  # fmt: skip
@click.option("--beside", type=click.Path(), metavar="MODEL",
              help="A second model, shown next to the first for the same row.")  # fmt: skip
@click.option("--digits", is_flag=True,
              help="Draw digits for a binary LCM and naive Bayes.")  # fmt: skip
@click.option("--target", "-t", help="The column with the classes; by default that of the fit.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True,
              help="Port; 0 picks any free one.")  # fmt: skip
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
@table_options
def serve(
    model: str | None,
    data: str | None,
    beside: str | None,
    digits: bool,
    target: str | None,
    port: int,
    open_browser: bool,
    **options: Any,
) -> None:
    """Open a local page to explore a model.

    Change or empty any cell of a row, and probabilities, evidence and completion follow. Look at
    what the model found, rename its latent variables, sort and search the rows. The page can be
    reached from this machine alone, with the address that is printed. Ctrl-C ends it.
    """
    from latentclass.page._server import check_installed, run

    out = console()
    if digits == (model is not None):
        raise click.UsageError("Give either a model file or --digits.", click.get_current_context())
    check_installed()
    if digits:
        from latentclass.page._digits import digits_session

        session = digits_session(out.say)
    else:
        session = _session(out, str(model), data, beside, target, options)
    run(session, port, open_browser=open_browser, block=True, say=out.show)


def _session(
    out: Console,
    model: str,
    data: str | None,
    beside: str | None,
    target: str | None,
    options: dict[str, Any],
) -> Any:
    from latentclass import describe_file
    from latentclass.page._server import saver
    from latentclass.page._session import Session

    fitted, about = load_classifier(model)
    save = saver(fitted, model, about, describe_file(model).sha256)
    other = None if beside is None else load_classifier(beside)[0]
    names = None if beside is None else (_title(fitted, model), _title(other, beside))
    target = target or about.get("target")
    X = y = index = None
    if data is not None:
        check_input(data)
        schemas = [one.schema_ for one in (fitted, other) if one is not None]
        file = open_rows(data, about, schemas, **options)
        known = {name for schema in schemas for name in schema.names}
        by_name = ColumnsByName(fitted.schema_, list(file.names))
        by_name.tell(out, data, [target or "", *noted_columns(about), *known])
        with Progress(out, "reading"):
            table = file.read()
        X = by_name.select(table, 0, data)
        if other is not None:
            more = ColumnsByName(other.schema_, list(file.names)).select(table, 0, data)
            for name in more.column_names:
                if name not in X.column_names:
                    X = X.append_column(name, more.column(name))
        index = range(1, X.num_rows + 1)
        if target is not None and target in file.names:
            labels = labels_of(table.column(target)).tolist()
            y = known_labels(fitted, labels, data, target)
        elif target is not None and target != about.get("target"):
            need_column(target, file.names, data)
    return Session(
        fitted, X, y, index=index, beside=other, names=names, target=target or "", save=save
    )


def _title(model: Any, path: str) -> str:
    from pathlib import Path

    return f"{type(model).__name__} ({Path(path).name})"
