"""`latentclass demo`: what the library does with a damaged table, without a file of your own."""

from __future__ import annotations

from typing import Any

from latentclass.cli._app import command
from latentclass.cli._console import console
from latentclass.cli._explain import explained, show
from latentclass.cli._progress import Progress

SEED = 0


@command
def demo() -> None:
    """Show what the models do, on the wine data.

    A tenth of the cells and a third of the classes are removed. Classifiers are compared on the
    same folds, one row is explained, one completed, and the most unusual rows are named. Needs no
    network.
    """
    import numpy as np

    from latentclass import LCMClassifier
    from latentclass.baselines import NaiveBayes
    from latentclass.evaluation import compare
    from latentclass.reports._peers import PEERS

    out = console()
    X, y = damaged_wine()
    n_missing = sum(column.null_count for column in X.columns)
    out.show(
        f"Wine: {X.num_rows} rows, {X.num_columns} columns, one of them text; {n_missing} cells "
        f"missing, {sum(label is None for label in y)} rows without a class.",
        "",
    ) if not out.json else None
    model = NaiveBayes(random_state=SEED)
    contenders = {
        "naive-bayes": model,
        "lcm": LCMClassifier(2, 1, n_init=1, unlabelled_weight=0.1, random_state=SEED),
        **{name: PEERS[name](SEED) for name in ("majority", "logistic-regression")},
    }
    with Progress(out, "comparing"):
        result = compare(contenders, [("wine, damaged", X, y)], cv=5, random_state=SEED,
                         scoring=("log_loss", "accuracy"))  # fmt: skip
    with Progress(out, "fitting"):
        model.fit(X, y)
        least_certain = int(model.predict_proba(X).max(axis=1).argmin())
        told = explained(model, X.take([least_certain]), [least_certain + 1], 5)[0]
        emptiest = int(np.argmax([sum(map(_is_missing, row.values())) for row in X.to_pylist()]))
        before = X.take([emptiest])
        after = model.complete(before)
        p_values = model.unusual(X)
    strangest = np.argsort(p_values, kind="stable")[:3].tolist()
    filled = {
        name: after.column(name)[0].as_py()
        for name in X.column_names
        if before.column(name)[0].as_py() is None
    }
    if out.json:
        out.show_json(
            {
                "log_loss": dict(
                    zip(result.classifiers, result.scores("log_loss")[0], strict=True)
                ),
                "explained": told,
                "completed": {"row": emptiest + 1, "cells": filled},
                "unusual": [{"row": k + 1, "p": p_values[k]} for k in strangest],
            }
        )
        return
    out.show(*str(result.summary()).splitlines(), "", "The least certain prediction, explained:")
    show(out, told)
    out.show("", f"Row {emptiest + 1}, its missing cells filled in:")
    out.show_table(("column", "value"), [(name, _shown(cell)) for name, cell in filled.items()])
    named = ", ".join(f"{k + 1} (p = {p_values[k]:.3f})" for k in strangest)
    out.show("", f"The most unusual rows: {named}")


def damaged_wine() -> tuple[Any, Any]:
    """The wines with a text column, a tenth of the cells missing, a third of the classes too."""
    import numpy as np
    import pyarrow as pa

    from latentclass.datasets import load_dataset

    rng = np.random.default_rng(SEED)
    wine = load_dataset("wine", container="numpy")
    hole = rng.random(wine.X.shape) < 0.1
    columns: dict[str, Any] = {}
    for j, name in enumerate(wine.kinds):
        cells = wine.X[:, j]
        if name == "Color_intensity":
            shade = np.array(["pale", "medium", "deep"], dtype=object)
            columns["Shade"] = pa.array(shade[np.digitize(cells, [3.5, 6])], mask=hole[:, j])
        else:
            columns[name.replace("OD280/OD315_of_diluted_wines", "Dilution")] = pa.array(
                cells, mask=hole[:, j]
            )
    labels = np.array([f"grower {label}" for label in wine.y], dtype=object)
    labels[rng.random(len(labels)) < 1 / 3] = None
    return pa.table(columns), labels


def _is_missing(cell: Any) -> bool:
    return cell is None


def _shown(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
