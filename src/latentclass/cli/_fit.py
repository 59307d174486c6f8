"""`latentclass fit`: from a table to a model file, with held-out scores beside other methods."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from latentclass.cli._app import INTERRUPTED, CommandError, Partial, command
from latentclass.cli._console import Console, console
from latentclass.cli._input import (
    as_text,
    cell_advice,
    label_text,
    labels_of,
    need_column,
    open_file,
    read_decimals,
    some_of,
    table_options,
)
from latentclass.cli._models import ModelName, make_model, read_settings
from latentclass.cli._output import check_output, force_option
from latentclass.cli._progress import Progress

SEARCH_SHARE = 0.8
"""Share of the budget for the search; the rest is for the methods that are shown beside it."""

UNTRIED = ("not started", "too slow")
"""What becomes of candidates for which there is no time."""

OWN_SCORE = "this model"
"""The name of the model itself among the held-out scores."""


class Duration(click.ParamType):  # type: ignore[type-arg]
    """A time such as 60s, 2m, 1h or a number of seconds; "none" for no limit."""

    name = "TIME"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | None:
        """Seconds of a text."""
        if str(value).lower() == "none":
            return None
        found = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*(s|m|min|h)?", str(value).strip().lower())
        if found is None:
            self.fail(f"{value!r} is not a time. Write 60s, 2m, 1h, or none.", param, ctx)
        if float(found[1]) <= 0:
            self.fail("The budget must be above 0, such as 60s, 2m or 1h; or none.", param, ctx)
        return float(found[1]) * {"m": 60, "min": 60, "h": 3600}.get(found[2] or "s", 1)


@dataclass
class Job:
    """What a fit needs, read and checked.

    Attributes
    ----------
    X : pyarrow.Table
        The columns that the model learns from.
    y : array
        Labels; None where a row has none.
    weight : array or None
    folds : list of (train, test)
    end : float or None
        When the comparison ends (`time.monotonic`).
    scores : dict of str to Score
        Held-out scores, as they are found.
    interrupted : bool
        Whether Ctrl-C ended the work before all of it was done.
    page : str or None
        The report, if it was written.
    unscored : bool
        Whether there was no time to score the model itself.
    out_of_time : list of str
        Other methods that there was no time to score.
    """

    X: Any
    y: Any
    weight: Any
    folds: Any
    end: float | None
    scores: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    page: str | None = None
    unscored: bool = False
    out_of_time: list[str] = field(default_factory=list)


@command
@click.argument("data", type=click.Path(allow_dash=True))
@click.option("--target", "-t", required=True, help="The column that holds the classes.")
@click.option(
    "--model", "-m", type=ModelName(), default="auto", show_default=True,
    help="auto tries the families that suit the table and averages the best; or one of them: "
    "hybrid, lcm, hnb, latent-tree, lvc, naive-bayes, tan, aode, ...",
)  # fmt: skip
@click.option(
    "--budget", type=Duration(), default="60s", show_default=True,
    help="Time for the search and the comparison, such as 60s or 2m; none for no limit. The report "
    "comes after it.",
)  # fmt: skip
@click.option("--drop", multiple=True, help="A column to leave out; may be repeated.")
@click.option("--categorical", multiple=True, help="A column of numbers that are codes.")
@click.option("--continuous", multiple=True, help="A column of text that holds numbers.")
@click.option("--weights", metavar="COLUMN", help="A column with the weight of each row.")
@click.option("--missing-indicator", is_flag=True,
              help="Also learn from which cells are missing.")  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE",
              help="A parameter of the model, such as n_latent=3.")  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1),
    help="Random seed; 0 if not given. If given, the file holds no date and no times, so that the "
    "same seed gives the same bytes.",
)  # fmt: skip
@click.option("--output", "-o", type=click.Path(), metavar="FILE",
              help="The model file; by default the name of the data with .lc.")  # fmt: skip
@click.option("--report/--no-report", default=True, show_default=True,
              help="Also write a report about the model, as .html next to it.")  # fmt: skip
@force_option
@table_options
def fit(
    data: str,
    target: str,
    model: str,
    budget: float | None,
    drop: Sequence[str],
    categorical: Sequence[str],
    continuous: Sequence[str],
    weights: str | None,
    missing_indicator: bool,
    settings: Sequence[str],
    seed: int | None,
    output: str | None,
    report: bool,
    force: bool,
    **options: Any,
) -> None:
    """Fit a model to a table, and write it and a report about it to files.

    Says what was read and what looks wrong, shows what is tried, and ends with held-out scores
    next to those of a majority guess, logistic regression and gradient boosting on the same folds.
    Rows without a class are learned from too. Ctrl-C keeps the best model so far.
    """
    out = console()
    if output is None:
        if data == "-":
            raise click.UsageError("Give -o FILE for a table from standard input.",
                                   click.get_current_context())  # fmt: skip
        output = f"{Path(data).name.split('.')[0]}.lc"
    check_output(output, force, endings=())
    page = report_path(out, output) if report else None
    check_output(page, force, endings=())
    parameters = read_settings(model, settings)
    parameters["missing_indicator"] = missing_indicator
    estimator = make_model(model, seed or 0, parameters)

    file = open_file(data, text=categorical, **options)
    out.say(file.describe())
    for name in (target, *drop, *categorical, *continuous, *([weights] if weights else [])):
        need_column(name, file.names, data)
    with Progress(out, "reading"):
        table = file.read()
    X = declare(table.drop_columns([target]), categorical, continuous, data)
    left_out = list(dict.fromkeys([*drop, *([weights] if weights else [])]))
    X = X.drop_columns([name for name in left_out if name != target])
    if not X.column_names:
        raise CommandError(f"{data!r} has no column left to learn from. Drop fewer columns.")
    y = labels_of(table.column(target))
    need_two_classes(y, target)
    tell_flags(out, X, table.column(target), target)
    refuse_quantities(y, target)

    weight = read_weights(table.column(weights), weights, data) if weights else None
    from latentclass.cli._held_out import make_folds

    folds = make_folds(y, seed or 0)
    # from here on: how long a table takes to read does not decide which families are tried
    end = None if budget is None else time.monotonic() + budget
    job = Job(X, y, weight, folds, end)
    if model == "auto":
        search = None if budget is None else SEARCH_SHARE * budget
        fitted = fit_auto(out, estimator, job, search).set_params(time_budget=budget)
    else:
        fitted = fit_one(out, model, estimator, job)
    if end is not None and budget is not None:  # also if the fit took longer than planned
        job.end = max(end, time.monotonic() + (1 - SEARCH_SHARE) * budget)
    if model != "auto":
        score_itself(out, model, estimator, job)
    compare_with_peers(out, job, seed or 0)

    about = note(job, fitted, target, data, left_out, weights, seed, options)
    import latentclass

    latentclass.save(fitted, output, about=about, reproducible=seed is not None)
    tell_result(out, fitted, job, reported=page is not None and not job.interrupted)
    out.say(f"Model written to {output!r}.")
    if page is not None and not job.interrupted:
        write_page(out, fitted, job, table, data, about, output, page, options)
    if out.json:
        out.show_json({"model": output, "report": job.page, "class": type(fitted).__name__, **about,
                       "why": getattr(fitted, "why_", None), "interrupted": job.interrupted,
                       "partial": job.unscored or bool(untried(fitted))})  # fmt: skip
    if job.interrupted:
        out.say("Interrupted: the model is the best that was finished.")
        raise Partial(INTERRUPTED)


# ---------------------------------------------------------------------------- table


def declare(table: Any, categorical: Sequence[str], continuous: Sequence[str], path: str) -> Any:
    """The table with the declared columns as text or as numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    both = set(categorical) & set(continuous)
    if both:
        raise click.UsageError(
            f"Column {sorted(both)[0]!r} is declared both categorical and continuous.",
            click.get_current_context(),
        )
    for name in [*categorical, *continuous]:
        if name not in table.column_names:  # the target
            raise click.UsageError(
                f"{name!r} is the target: its values are classes anyway.",
                click.get_current_context(),
            )
        place, cells = table.column_names.index(name), table.column(name)
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        if name in categorical:
            new = as_text(cells)
        else:
            try:
                text = pa.types.is_string(cells.type)
                new = (pc.utf8_trim_whitespace(cells) if text else cells).cast(pa.float64())
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise CommandError(
                    f"{path!r}, column {name!r} is declared continuous, but {_first_text(cells)}"
                ) from None
        table = table.set_column(place, name, new)
    return table


def _first_text(cells: Any) -> str:
    for row, cell in enumerate(cells.to_pylist()):
        try:
            float(cell if cell is not None else 0)
        except (ValueError, TypeError):
            return f"{cell!r} in row {row + 1} is not a number. {cell_advice(cell)}"
    return "a cell is not a number. Correct it, or leave it empty."


def read_weights(cells: Any, name: str, path: str) -> Any:
    """The weights of the rows."""
    import numpy as np
    import pyarrow as pa

    try:
        weight = cells.cast(pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise CommandError(
            f"{path!r}, column {name!r} holds no numbers, so it cannot hold weights."
        ) from None
    wrong = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if wrong.size:
        raise CommandError(
            f"{path!r}, row {wrong[0] + 1}, column {name!r}: a weight must be a number that is not "
            "negative. Correct the cell; 0 leaves the row out."
        )
    return weight


def need_two_classes(y: Any, target: str) -> None:
    """Refuse labels that are all the same; a table without labels is refused by the fit."""
    labels = {label for label in y.tolist() if label is not None}
    if len(labels) == 1:
        raise CommandError(
            f"All labels of {target!r} are {label_text(labels.pop())!r}. A model needs at least "
            "two classes: add rows of others, or name another --target."
        )


def refuse_quantities(y: Any, target: str) -> None:
    """Refuse labels that are quantities, not classes: numbers with decimals, or seldom twice."""
    labels = [label for label in y.tolist() if label is not None]
    numbers = all(isinstance(label, int | float) for label in labels)
    broken = [label for label in labels if numbers and label % 1 > 0]
    if broken:
        raise CommandError(
            f"The target {target!r} holds numbers with decimals, such as {broken[0]}, but this "
            "library predicts classes. Cut it into a few ranges first, such as low, middle and "
            "high, and give that column as the target."
        )
    from latentclass.data._suspects import MANY_NUMBERS

    n_values = len(set(labels))
    if numbers and n_values > max(MANY_NUMBERS, len(labels) / 5):
        raise CommandError(
            f"The target {target!r} holds {n_values:,} different numbers in {len(labels):,} rows: "
            "it looks like a quantity, but this library predicts classes. Cut it into a few ranges "
            "first, such as low, middle and high, and give that column as the target."
        )


def tell_flags(out: Console, X: Any, y: Any, target: str) -> None:
    """Say what looks wrong in the table."""
    from latentclass import check_table

    with Progress(out, "checking the table"):
        found = check_table(X.append_column(target, y), target=target)
    for remark in found.remarks:
        out.warn(remark)
    if found.options:
        out.say(f"Suggested options: {shlex.join(found.options)}")


# ---------------------------------------------------------------------------- models


def fit_auto(out: Console, estimator: Any, job: Job, search_seconds: float | None) -> Any:
    """Search among the families, shown as it goes."""
    from latentclass.auto._search import watched
    from latentclass.cli._held_out import Score
    from latentclass.cli._search_view import SearchView

    cv = job.folds or 5
    estimator.set_params(time_budget=search_seconds, cv=cv)
    with SearchView(out) as view, watched(view.see):
        estimator.fit(job.X, job.y, sample_weight=job.weight)
    job.interrupted = estimator.interrupted_
    if view.search is not None and job.folds:
        search = view.search
        job.scores[OWN_SCORE] = Score(search.log_loss, search.accuracy, 0.0)
    return estimator.set_params(cv=len(job.folds) or 5)  # a file needs no row numbers


def fit_one(out: Console, name: str, estimator: Any, job: Job) -> Any:
    """Fit one model to all rows."""
    with Progress(out, f"fitting {name}"):
        return estimator.fit(job.X, job.y, sample_weight=job.weight)


def score_itself(out: Console, name: str, estimator: Any, job: Job) -> None:
    """Score one model on the folds."""
    if not job.folds:
        return
    from latentclass.cli._held_out import OutOfTimeError, score_on_folds

    try:
        with Progress(out, f"scoring {name} on {len(job.folds)} folds"):
            job.scores[OWN_SCORE] = score_on_folds(
                estimator, job.X, job.y, job.weight, job.folds, end=job.end
            )
    except OutOfTimeError:
        job.unscored = True
    except KeyboardInterrupt:
        job.interrupted = True


def compare_with_peers(out: Console, job: Job, seed: int) -> None:
    """Score the usual methods on the same folds, while there is time."""
    if not job.folds or job.interrupted:
        return
    from latentclass.cli._held_out import OutOfTimeError, score_on_folds
    from latentclass.data._labels import encode_labels
    from latentclass.reports._peers import PEERS, SHOWN, too_slow

    n_classes = len(encode_labels(job.y)[0])
    for name, shown in SHOWN.items():
        if too_slow(name, n_classes):
            job.out_of_time.append(shown)
            continue
        try:
            with Progress(out, f"comparing with {shown}"):
                job.scores[shown] = score_on_folds(
                    PEERS[name](seed), job.X, job.y, job.weight, job.folds, end=job.end
                )
        except OutOfTimeError:
            job.out_of_time.append(shown)
        except KeyboardInterrupt:
            job.interrupted = True
            return


def untried(fitted: Any) -> list[str]:
    """The candidates that were not tried before the budget ended."""
    from latentclass.auto._leaderboard import name_in_words

    board = getattr(fitted, "leaderboard_", ())
    return [name_in_words(row.family) for row in board if row.status in UNTRIED]


# ---------------------------------------------------------------------------- result


def note(
    job: Job,
    fitted: Any,
    target: str,
    data: str,
    left_out: Sequence[str],
    weights: str | None,
    seed: int | None,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """What the model file keeps for later commands."""
    from latentclass.cli._training_rows import mark_rows, note_rows

    about: dict[str, Any] = {
        "target": target,
        "source": "standard input" if data == "-" else Path(data).name,
        "rows": len(job.y),
        "unlabelled": int(fitted.n_unlabelled_),
        "dropped": [name for name in left_out if name != weights],
        "weights": weights,
        "seed": seed or 0,
        "training_rows": note_rows(mark_rows(fitted, job.X, job.y.tolist())),
    }
    if options["decimal"]:
        about["decimal"] = read_decimals(options["decimal"])
    if options["missing"]:
        about["missing"] = list(options["missing"])
    if job.scores:
        about["held_out"] = {
            "folds": len(job.folds),
            "scores": {name: score.to_dict() for name, score in job.scores.items()},
        }
    return about


def report_path(out: Console, model: str) -> str | None:
    """Where the report goes; None, and a sentence, if it cannot be made here."""
    from latentclass.reports._report import lacking_packages

    lacking = lacking_packages()
    if lacking:
        out.say(f"No report is written, because it needs {lacking[0]}: python -m pip install "
                '"latentclass[report]", or give --no-report.')  # fmt: skip
        return None
    page = Path(model).with_suffix(".html")
    return str(page if page != Path(model) else page.with_suffix(".report.html"))


def write_page(
    out: Console,
    fitted: Any,
    job: Job,
    table: Any,
    data: str,
    about: dict[str, Any],
    model: str,
    page: str,
    options: Mapping[str, Any],
) -> None:
    """Write the report about the model. Ctrl-C leaves it out: the model is written by now.

    `options` are those that say how the table is read.
    """
    from latentclass.cli._report import known_labels, make_page, row_ids

    try:
        y = known_labels(fitted, job.y.tolist(), data, about["target"])
        make_page(
            out, fitted, job.X, y, model=model, data=data, output=page, target=about["target"],
            left_out=about["dropped"], ids=row_ids(table, about["dropped"]), options=options,
        )  # fmt: skip
    except KeyboardInterrupt:
        out.say("Interrupted: the model is written, the report is not.")
        raise Partial(INTERRUPTED) from None
    job.page = page
    out.say(f"Report written to {page!r}.")


def tell_result(out: Console, fitted: Any, job: Job, *, reported: bool) -> None:
    """Say what was chosen and why, beside the usual methods."""
    if hasattr(fitted, "why_"):
        out.say("", fitted.why_.partition(" Left out:")[0])  # the table above shows these
    if job.scores:
        out.say("", f"Held-out scores, {len(job.folds)} folds, the same for all:")
        out.say_table(
            ("", "log-loss", "accuracy"),
            [
                (name, f"{score.log_loss:.4f}", f"{100 * score.accuracy:.1f} %")
                for name, score in job.scores.items()
            ],
        )
    if OWN_SCORE in job.scores and hasattr(fitted, "why_"):
        out.say(
            "The families and their weights were chosen on these rows, so the score of this model "
            "is a little too good."
        )
        if reported:
            out.say(
                "The score in the report comes from folds that the choice of weights did not see, "
                "and may be a little worse."
            )
    if job.unscored:
        out.say("This model was not scored: the time was up. Give more with --budget.")
    if job.out_of_time:
        out.say(f"Not compared, for lack of time: {', '.join(job.out_of_time)}.")
    if job.weight is not None and len(job.scores) > 1:
        out.say("The other methods learned without the weights; all scores are weighted.")
    if not job.folds:
        out.say("There are too few labelled rows for held-out scores.")
    left = untried(fitted)
    if left and not job.interrupted:
        out.say(
            f"The budget ended before {len(left)} of {len(fitted.leaderboard_)} candidates were "
            f"tried ({some_of(left, '; ')}): give more with --budget."
        )
