"""`latentclass report`: one page about a model, for readers who have never seen it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import click

from latentclass.cli._app import CommandError, command
from latentclass.cli._console import Console, console
from latentclass.cli._input import (
    ColumnsByName,
    check_input,
    label_text,
    labels_of,
    load_classifier,
    need_column,
    noted_columns,
    open_rows,
    option_words,
    table_options,
)
from latentclass.cli._output import check_output, force_option
from latentclass.cli._progress import Progress


@command
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("--output", "-o", required=True, type=click.Path(), metavar="FILE",
              help="The page to write: a file that ends in .html.")  # fmt: skip
@click.option("--target", "-t", help="The column with the classes; by default that of the fit.")
@click.option("--title", help="Heading of the page.")
@click.option("--folds", type=click.IntRange(2, 20), default=5, show_default=True,
              help="Number of folds; the model is fitted again without each of them.")  # fmt: skip
@click.option("--new-rows", is_flag=True,
              help="The rows are new to the model: score it as it is.")  # fmt: skip
@force_option
@table_options
def report(
    model: str,
    data: str,
    output: str,
    target: str | None,
    title: str | None,
    folds: int,
    new_rows: bool,
    force: bool,
    **options: Any,
) -> None:
    """Write a page about a model for readers who have never seen it.

    How good the model is on rows it has not seen, compared with simple classifiers; what it found;
    which columns matter; which rows are hard, odd or typical; what the table holds. DATA is ideally
    the file of the fit. The page is one file that loads nothing.
    """
    out = console()
    check_input(data)
    check_output(output, force, endings=(".html", ".htm"))
    fitted, about = load_classifier(model)
    shown = {**options, "target": target, "title": title}
    target = target or about.get("target")
    file = open_rows(data, about, [fitted.schema_], **options)
    if target is not None and target not in file.names and target == about.get("target"):
        out.warn(f"{data!r} has no column {target!r}, so there are no scores.")
        target = None
    if target is not None:
        need_column(target, file.names, data)
    by_name = ColumnsByName(fitted.schema_, list(file.names))
    by_name.tell(out, data, [target or "", *noted_columns(about)])
    with Progress(out, "reading"):
        table = file.read()
    X = by_name.select(table, 0, data)
    labels = None if target is None else labels_of(table.column(target)).tolist()
    y = None if labels is None else known_labels(fitted, labels, data, str(target))
    note = about.get("training_rows")
    if note and labels is not None and not new_rows:
        from latentclass.cli._training_rows import LEAST_SEEN, mark_rows, share_of_known

        known = share_of_known(note, mark_rows(fitted, X, labels))
        if known is not None and known < LEAST_SEEN:
            out.say("The model has not learned from these rows: it is scored on them as it is.")
            new_rows = True
    page = make_page(
        out, fitted, X, y, model=model, data=data, output=output, target=target, title=title,
        left_out=about.get("dropped", []), ids=row_ids(table, about.get("dropped", [])),
        folds=folds, new_rows=new_rows, options=shown,
    )  # fmt: skip
    if out.json:
        out.show_json({"output": output, **page.summary.to_dict()})
        return
    for paragraph in page.summary.words:
        out.show(paragraph)
    for sentence in page.summary.warnings:
        out.show(f"- {sentence}")
    out.say(f"Written to {output!r}.")


def make_page(
    out: Console,
    fitted: Any,
    X: Any,
    y: Any,
    *,
    model: str,
    data: str,
    output: str,
    target: str | None,
    left_out: Sequence[str],
    ids: Any,
    options: Mapping[str, Any],
    title: str | None = None,
    folds: int = 5,
    new_rows: bool = False,
) -> Any:
    """Make the report about a model and write it; `model` and `data` are the files' names.

    `options` were given to the command and belong to the one that recreates the page.
    """
    from latentclass import report

    words = ["latentclass", "report", model, data, "-o", output, "--force"]  # the page is there
    words += ["--new-rows"] * new_rows + (["--folds", str(folds)] if folds != 5 else [])
    words += option_words(options)
    with Progress(out, "writing the report"):
        page = report(
            fitted, X, y, target=target, title=title, folds=folds, new_rows=new_rows,
            index=range(1, X.num_rows + 1), command=shlex.join(words), left_out=left_out,
            ids=ids,
        )  # fmt: skip
        page.save(output)
    return page


def row_ids(table: Any, left_out: Sequence[str]) -> Any:
    """The first column by which people call a row, with another value in each; None without one.

    Those left out of the fit come first, then those with a name such as "id". Measured numbers and
    times differ in each row too, but nobody calls a row by them.
    """
    import pandas as pd
    import pyarrow.types as kinds

    from latentclass.tables._facts import has_identifier_name

    for name in [*left_out, *filter(has_identifier_name, table.column_names)]:
        if name in table.column_names:
            column = table.column(name)
            measured = kinds.is_floating(column.type) or kinds.is_temporal(column.type)
            if not measured and not column.null_count and len(column.unique()) == len(column):
                return pd.Series(column.to_pylist(), name=name, dtype=object)
    return None


def known_labels(model: Any, labels: list[Any], data: str, target: str) -> Any:
    """Labels of a file as the classes of a model; None where a row has none."""
    import numpy as np

    place = {label_text(label): label for label in model.classes_.tolist()}
    new = sorted({label_text(label) for label in labels if label is not None} - set(place))
    if new:
        raise CommandError(
            f"{data!r}, column {target!r} holds {new[0]!r}, which is not a class of the model. Its "
            f"classes are: {', '.join(list(place)[:20])}."
        )
    found = np.empty(len(labels), dtype=object)
    found[:] = [None if label is None else place[label_text(label)] for label in labels]
    return found if any(label is not None for label in labels) else None
