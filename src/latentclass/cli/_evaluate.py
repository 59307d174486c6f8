"""`latentclass evaluate`: how well a model does on rows with known classes."""

from __future__ import annotations

from typing import Any

import click

from latentclass.cli._app import CommandError, command
from latentclass.cli._console import Console, console
from latentclass.cli._input import (
    ColumnsByName,
    UnseenCells,
    check_input,
    chunks,
    label_text,
    labels_of,
    load_classifier,
    need_column,
    noted_columns,
    open_rows,
    table_options,
)
from latentclass.cli._progress import Progress

N_BINS = 5
"""Bins of the table of calibration."""


@command
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("--target", "-t", help="The column with the classes; by default that of the fit.")
@table_options
def evaluate(model: str, data: str, target: str | None, **options: Any) -> None:
    """Score a model on a file whose classes are known.

    Accuracy, log-loss, Brier score (from 0 to 2), calibration and the confusion matrix. It warns
    if the rows look like those that the model learned from. Rows without a class are left out.
    """
    import numpy as np

    out = console()
    check_input(data)
    fitted, about = load_classifier(model)
    given, target = target, target or about.get("target")
    if target is None:
        raise click.UsageError("The model file names no target: give --target COLUMN.",
                               click.get_current_context())  # fmt: skip
    file = open_rows(data, about, [fitted.schema_], **options)
    if given is not None:
        need_column(target, file.names, data)
    elif target not in file.names:
        raise CommandError(
            f"{data!r} has no column {target!r} with the true classes. Use latentclass predict, or "
            "add it."
        )
    ColumnsByName(fitted.schema_, list(file.names)).tell(out, data, [target, *noted_columns(about)])
    from latentclass.cli._training_rows import LEAST_SEEN, mark_rows, share_of_known

    labels: list[Any] = []
    parts, marks = [], []
    note = about.get("training_rows")
    unseen = UnseenCells(fitted.schema_)
    with Progress(out, "predicting") as progress:
        for _, table, X in chunks(file, fitted.schema_, data):
            mine = labels_of(table.column(target))
            labels += mine.tolist()
            parts.append(fitted.predict_proba(X))
            unseen.add(X)
            if note:
                marks += mark_rows(fitted, X, mine.tolist())
            progress.advance(X.num_rows, of=file.n_rows)
    unseen.tell(out)
    if not any(label is not None for label in labels):
        raise CommandError(f"{data!r}, column {target!r} holds no class in any row.")
    result = scores(fitted.classes_, labels, np.concatenate(parts))
    known = share_of_known(note, marks) if note else None
    result["known_rows"] = known
    if known is not None and known >= LEAST_SEEN:
        out.warn(
            f"The model learned from about {100 * known:.0f} % of these rows, so the scores are "
            "too good. Evaluate it on rows that it has not seen."
        )
    if result["unknown_classes"]:
        names = ", ".join(map(repr, result["unknown_classes"]))
        out.warn(f"These classes are new to the model, so their rows count as wrong: {names}.")
    if out.json:
        out.show_json(result)
    else:
        show(out, result)


def scores(classes: Any, labels: list[Any], probabilities: Any) -> dict[str, Any]:
    """All scores of some predictions."""
    import numpy as np

    from latentclass.evaluation._metrics import METRICS, Predictions

    place = {label_text(label): k for k, label in enumerate(classes.tolist())}
    names = list(place)
    seen = [k for k, label in enumerate(labels) if label is not None]
    texts = [label_text(labels[k]) for k in seen]
    new = sorted(set(texts) - set(place))
    place |= {name: len(names) + k for k, name in enumerate(new)}
    proba = np.hstack([probabilities[seen], np.zeros((len(seen), len(new)))])
    truth = np.array([place[text] for text in texts])
    best = proba.argmax(axis=1)
    found = Predictions(truth, best, proba)
    confusion = np.zeros((len(place), len(names)), dtype=int)
    np.add.at(confusion, (truth, best), 1)
    return {
        "rows": len(seen),
        "unlabelled": len(labels) - len(seen),
        **{
            name: METRICS[name].function(found) for name in ("accuracy", "log_loss", "brier", "ece")
        },
        "classes": [*names, *new],
        "unknown_classes": new,
        "confusion": {
            name: dict(zip(names, map(int, row), strict=True))
            for name, row in zip([*names, *new], confusion, strict=True)
        },
        "calibration": _calibration(proba.max(axis=1), best == truth),
    }


def _calibration(confidence: Any, right: Any) -> list[dict[str, Any]]:
    """Confidence and accuracy in bins of equal numbers of rows, the least certain first."""
    import numpy as np

    order = np.argsort(confidence, kind="stable")
    return [
        {
            "rows": len(part),
            "confidence": float(confidence[part].mean()),
            "accuracy": float(right[part].mean()),
        }
        for part in np.array_split(order, min(N_BINS, len(order)))
    ]


def show(out: Console, result: dict[str, Any]) -> None:
    """The scores in words."""
    out.show_table(
        ("rows", "accuracy", "log-loss", "Brier", "calibration error"),
        [
            (
                result["rows"],
                f"{100 * result['accuracy']:.1f} %",
                *(f"{result[name]:.4f}" for name in ("log_loss", "brier", "ece")),
            )
        ],
    )
    out.show("", "Confusion matrix: true classes down, predicted classes across")
    names = list(next(iter(result["confusion"].values())))
    out.show_table(
        ("", *names), [(name, *row.values()) for name, row in result["confusion"].items()]
    )
    out.show("", "Calibration: rows by how certain the model is, in groups of equal size")
    out.show_table(
        ("rows", "mean probability", "accuracy"),
        [
            (bin_["rows"], f"{bin_['confidence']:.3f}", f"{bin_['accuracy']:.3f}")
            for bin_ in result["calibration"]
        ],
    )
