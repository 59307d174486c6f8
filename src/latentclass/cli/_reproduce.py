"""`latentclass reproduce`: the tables and result figures of the papers."""

from __future__ import annotations

import click

from latentclass.cli._app import INTERRUPTED, Partial, command, unknown
from latentclass.cli._console import console

PAPERS = ("lcm", "blcm", "hnb", "ltc", "lvc", "field")


@command
@click.argument("paper", required=False, metavar="[lcm|blcm|hnb|ltc|lvc|field]")
@click.option("--table", type=int, help="Only the table with this number.")
@click.option("--figure", type=int, help="Only the figure with this number.")
@click.option("--profile", type=click.Choice(["quick", "paper"]), default="quick",
              show_default=True,
              help="quick: fewer restarts or folds; paper: to the letter.")  # fmt: skip
@click.option("--out", type=click.Path(file_okay=False), default="latentclass-reproduction",
              show_default=True, help="Folder for results, tables and pictures.")  # fmt: skip
@click.option("--jobs", type=int, help="Number of fits at the same time.")
@click.option("--list", "listed", is_flag=True,
              help="List the tables and figures, with the minutes that they took.")  # fmt: skip
@click.option("--from-store", is_flag=True,
              help="Do not compute anything; build the tables from stored results.")  # fmt: skip
def reproduce(
    paper: str | None,
    table: int | None,
    figure: int | None,
    profile: str,
    out: str,
    jobs: int | None,
    listed: bool,
    from_store: bool,
) -> None:
    """Reproduce the tables and result figures of a paper.

    Shows our values next to the published ones, with difference, standard deviation, significance
    and time. Each finished fold is kept in the folder, so the same command continues a run that was
    stopped.

    "field" is not a paper: it compares our classifiers with those of other libraries on many
    tables.

    Data sets come from the folder that LATENTCLASS_DATA names, or from OpenML.
    """
    context = click.get_current_context()
    if paper is not None and paper not in PAPERS:
        raise click.UsageError(unknown("paper", paper, PAPERS), context)
    if table is not None and figure is not None:
        raise click.UsageError("Name a table or a figure, not both.", context)
    if jobs == 0:
        raise click.UsageError(
            "--jobs 0 has no meaning: use 1 or more, or -1 for all cores.", context
        )
    if listed:
        _list(paper, table, figure)
        return
    if paper is None:
        raise click.UsageError(f"Name a paper: {', '.join(PAPERS)}. Or use --list.", context)
    from latentclass.reproduction import reproduce as run

    said = console()
    try:
        made = run(
            paper, table=table, figure=figure, profile=profile, out=out, n_jobs=jobs,
            from_store=from_store, say=said.say,
        )  # fmt: skip
    except KeyboardInterrupt:
        said.say(f"Interrupted: what is finished is in {out!r}; the same command continues.")
        raise Partial(INTERRUPTED) from None
    if said.json:
        said.show_json([{"caption": one.caption, **one.data} for one in made])
        return
    for one in made:
        said.show(*one.to_text(said.width).splitlines(), "")
    said.say(f"Records, tables and pictures are in {out!r}.")


def _list(paper: str | None, table: int | None, figure: int | None) -> None:
    from latentclass.reproduction._registry import find_entries

    entries = find_entries(paper, table, figure)
    if console().json:
        console().show_json(
            [
                {"entry": one.name, "title": one.title, "data": one.data,
                 "classifiers": one.classifiers, "protocol": one.protocol,
                 "minutes": dict(one.minutes)}
                for one in entries
            ]
        )  # fmt: skip
        return
    rows = [
        (f"{one.paper} --{one.kind} {one.number}", one.title, _data(one.data),
         *(_minutes(one.minutes.get(profile)) for profile in ("quick", "paper")))
        for one in entries
    ]  # fmt: skip
    header = ("entry", "shows", "data", "quick, CPU minutes", "paper, CPU minutes")
    console().show_table(header, rows)


def _data(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} sets"


def _minutes(timed: float | None) -> str:
    return "not timed" if timed is None else f"{timed:.2g}" if timed < 10 else f"{timed:.0f}"
