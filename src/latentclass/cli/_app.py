"""The program: its commands, the options that all of them have, and how each ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from latentclass._version import __version__
from latentclass.cli._console import Console
from latentclass.exceptions import DataSetUnavailableError

HOMES = {
    "check": ("_check", "Look at a table before a model is fitted to it."),
    "fit": ("_fit", "Fit a model to a table, and write it and a report about it to files."),
    "predict": ("_predict", "Predict the class of each row of a file."),
    "evaluate": ("_evaluate", "Score a model on a file whose classes are known."),
    "compare": ("_compare", "Compare models on the same folds of tables."),
    "explain": ("_explain", "Explain why rows get their class."),
    "report": ("_report", "Write a page about a model for readers who have never seen it."),
    "serve": ("_serve", "Open a local page to explore a model."),
    "anomalies": ("_anomalies", "Show the most unusual rows of a file."),
    "complete": ("_complete", "Fill the missing cells of a file."),
    "sample": ("_sample", "Draw rows from a model."),
    "rules": ("_structure", "Show the rules of a model."),
    "groups": ("_structure", "Show the groups that a model has found."),
    "info": ("_info", "Show what a model file holds."),
    "export": ("_structure", "Write a model for other programs."),
    "reproduce": ("_reproduce", "Reproduce the tables and result figures of a paper."),
    "datasets": ("_datasets", "List data sets, or write one to a file."),
    "warmup": ("_warmup", "Compile ahead of time, for a container image."),
    "demo": ("_demo", "Show what the models do, on the wine data."),
}
"""The commands: the module of each, and the first line of its help, which a test compares. So the
list of commands needs no import. Commands load their libraries when they run."""

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""


class CommandError(Exception):
    """Something is wrong with a file, the data or the model: one sentence with a remedy."""


class Partial(Exception):
    """The work ended early; what was finished is kept."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


class Terminated(BaseException):
    """A polite kill. Nothing may take it for a fault of a model, as it could a SystemExit."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


class App(click.Group):
    """Commands that are imported only when they are asked for, and plain ends."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names, in the order in which a newcomer needs them."""
        return list(HOMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        if cmd_name not in HOMES:
            return None
        module = import_module(f"latentclass.cli.{HOMES[cmd_name][0]}")
        found: click.Command = getattr(module, cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in HOMES.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; a name that is mistyped gets a hint."""
        if args and args[0] not in HOMES and not args[0].startswith("-"):
            raise click.UsageError(unknown("command", args[0], list(HOMES)), ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click would end the process itself if the reader of a pipe has left."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise Partial(DONE) from None

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run a command, and end the process with its exit code."""
        extra |= {"standalone_mode": False, "obj": (console := Console())}
        try:
            _catch_termination()
            with console.plain_messages():
                code = super().main(args, prog_name, **extra)
            sys.stdout.flush()
        except (KeyboardInterrupt, click.exceptions.Abort):
            console.say("Interrupted: no file was written.")
            code = INTERRUPTED
        except Terminated as end:
            code = end.code
        except (Partial, BrokenPipeError) as end:
            code = end.code if isinstance(end, Partial) else DONE
            if code == DONE:  # the reader of a pipe has seen enough, as `head` does
                _close_output()
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            code = USAGE
        except click.UsageError as error:
            console.error(error.format_message())
            if error.ctx is not None and not console.quiet:
                click.echo(f"See: {error.ctx.command_path} --help", err=True)
            code = USAGE
        except Exception as error:
            code = _fail(console, error)
        sys.exit(code if isinstance(code, int) else DONE)


def _fail(console: Console, error: Exception) -> int:
    if console.debug:
        import traceback

        click.echo(traceback.format_exc(), err=True)
    # this one lists places; others are one sentence, however their library broke it
    listed = isinstance(error, DataSetUnavailableError)
    console.error(*(str(error).splitlines() if listed else [sentence(error)]))
    return FAILED


def sentence(error: Exception) -> str:
    """What to say of an error: its own words if they are meant for people."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename!r}: {error.strerror}." if error.filename else f"{error.strerror}."
    if isinstance(error, MemoryError):
        return "There is not enough memory for this table. Use fewer rows or columns."
    if isinstance(error, ModuleNotFoundError):
        return (
            f"This needs {error.name}, which is not installed: python -m pip install {error.name}."
        )
    meant = (CommandError, ValueError, TypeError, ImportError, OSError, click.ClickException)
    text = error.format_message() if isinstance(error, click.ClickException) else str(error)
    if isinstance(error, meant) and text:
        return text
    return (
        f"{type(error).__name__}: {text}. This is a fault in latentclass: please report it with "
        "what --debug prints."
    )


def _close_output() -> None:
    """Let what is still to be written go nowhere, so that Python does not complain at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):  # no real stream, as in a test
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


def _catch_termination() -> None:
    """Let a polite kill end as Ctrl-C does, so that nothing half-written stays behind."""

    def stop(number: int, _: Any) -> NoReturn:
        raise Terminated(128 + number)

    if hasattr(signal, "SIGTERM"):
        try:
            signal.signal(signal.SIGTERM, stop)
        except ValueError:  # not in the main thread
            return


def unknown(what: str, name: str, known: Sequence[str]) -> str:
    """Say that there is no such thing, with the nearest name and all of them."""
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(known[:30]) + (", ..." if len(known) > 30 else "")
    return f"There is no {what} {name!r}.{hint} There are: {listed}."


# ------------------------------------------------------------------- common options


def _manner(names: list[str], attribute: str, value: bool, text: str) -> click.Option:
    def remember(ctx: click.Context, _: click.Parameter, given: bool) -> None:
        if given:
            setattr(ctx.find_root().obj, attribute, value)

    return click.Option(
        names, is_flag=True, expose_value=False, is_eager=True, callback=remember, help=text
    )


def _manners() -> list[click.Option]:
    """Options of every command."""
    return [
        _manner(["--json"], "json", True, "Write JSON to standard output."),
        _manner(["--quiet", "-q"], "quiet", True, "No messages, only errors."),
        _manner(["--no-color"], "color", False, "No colours; NO_COLOR does the same."),
        _manner(["--debug"], "debug", True, "Show the traceback of an error."),
    ]


def command(function: Callable[..., Any]) -> click.Command:
    """Make a command of a function; its docstring is the help."""
    made = click.command(function.__name__, context_settings=SETTINGS)(function)
    made.params += _manners()
    return made


SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=App, context_settings=SETTINGS)
@click.version_option(__version__, "--version", message="latentclass %(version)s")
def app() -> None:
    """Classify the rows of a table, with reasons.

    Begin with `latentclass check data.csv --target COLUMN`, then `latentclass fit`.

    Data goes to standard output, messages and progress to standard error. Exit codes: 0 done, 1
    something is wrong with the data or the model, 2 wrong usage, 3 the time budget ended and the
    result is partial, 130 interrupted.
    """


app.params += _manners()
