"""`latentclass compare`: several models on the same folds of several tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from latentclass.cli._app import INTERRUPTED, CommandError, Partial, command
from latentclass.cli._console import console
from latentclass.cli._input import labels_of, need_column, open_file
from latentclass.cli._models import MODELS, ModelName, make_model
from latentclass.cli._progress import Progress

OTHERS = ("majority", "logistic-regression", "gradient-boosting", "random-forest")
"""Classifiers of scikit-learn that can be named too."""

DEFAULT = ("naive-bayes", "tan", "hybrid", "logistic-regression", "gradient-boosting")


class ModelNames(click.ParamType):  # type: ignore[type-arg]
    """Names of models, separated by commas."""

    name = "MODELS"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Refuse names that are not known."""
        if isinstance(value, list):
            return value
        one = ModelName(OTHERS)
        return [one.convert(name.strip(), param, ctx) for name in str(value).split(",")]


@command
@click.argument("data", nargs=-1, required=True)
@click.option("--target", "-t", help="The column with the classes, for files.")
@click.option("--models", type=ModelNames(), default=",".join(DEFAULT), show_default=True,
              help=f"Names separated by commas: {', '.join((*MODELS, *OTHERS))}.")  # fmt: skip
@click.option("--folds", type=click.IntRange(2, 1000), default=10, show_default=True)
@click.option("--score", type=click.Choice(["accuracy", "log_loss", "brier", "ece"]),
              default="log_loss", show_default=True)  # fmt: skip
@click.option("--store", type=click.Path(dir_okay=False),
              help="A file of results, from which the same command continues.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
@click.option("--jobs", type=int, help="Number of fits at the same time.")
def compare(
    data: Sequence[str],
    target: str | None,
    models: list[str],
    folds: int,
    score: str,
    store: str | None,
    seed: int,
    jobs: int | None,
) -> None:
    """Compare models on the same folds of tables.

    Tables are files, or names of data sets (see `latentclass datasets`).

    Shows the score of each model on each table; > marks the best, - and * what is significantly
    worse. With --store a comparison that was interrupted continues where it stopped.
    """
    from latentclass.evaluation import compare as compare_classifiers
    from latentclass.reports._peers import PEERS

    out = console()
    problems = [_problem(name, target) for name in data]
    estimators = {
        name: PEERS[name](seed) if name in PEERS else make_model(name, seed)
        for name in dict.fromkeys(models)
    }
    try:
        with Progress(out, "comparing"):
            found = compare_classifiers(
                estimators, problems, cv=folds, n_jobs=jobs, store=store, random_state=seed,
                scoring=tuple(dict.fromkeys((score, "accuracy", "log_loss"))),
                verbose=int(out.live),
            )  # fmt: skip
    except KeyboardInterrupt:
        kept = (
            f"what was finished is in {store!r}: the same command continues from there."
            if store
            else "nothing is kept, because there was no --store."
        )
        out.say(f"Interrupted: {kept}")
        raise Partial(INTERRUPTED) from None
    if out.json:
        columns = found.columns()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        out.show_json({"computed": found.n_computed, "results": rows})
        return
    out.show(*str(found).splitlines())


def _problem(name: str, target: str | None) -> Any:
    """A file as a triple, or the name of a data set."""
    if name != "-" and not Path(name).exists() and "." not in Path(name).name:
        return name
    if target is None:
        raise click.UsageError(f"Give --target COLUMN for the file {name!r}.",
                               click.get_current_context())  # fmt: skip
    file = open_file(name)
    need_column(target, file.names, name)
    table = file.read()
    X = table.drop_columns([target])
    if not X.column_names:
        raise CommandError(f"{name!r} has no column besides the target.")
    return Path(name).stem, X, labels_of(table.column(target))
