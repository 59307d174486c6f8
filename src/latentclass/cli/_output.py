"""Files that a command writes: checked before any work, whole at the end, safe in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import click

from latentclass._files import replacing
from latentclass._show import clean
from latentclass._spreadsheet import guarded
from latentclass.cli._app import CommandError
from latentclass.cli._console import plain

ENDINGS = (".csv", ".tsv", ".parquet", ".feather", ".jsonl")

Columns = Mapping[str, Sequence[Any]]
"""Some rows: a list or an array for each column."""

output_option = click.option(
    "--output", "-o", type=click.Path(), metavar="FILE",
    help="Where to write: .csv, .tsv, .parquet, .feather or .jsonl; by default standard output.",
)  # fmt: skip
force_option = click.option("--force", is_flag=True, help="Overwrite a file that exists.")


def check_output(path: str | None, force: bool, *, endings: Sequence[str] = ENDINGS) -> None:
    """Refuse, before any work, a file that could not or should not be written."""
    if path is None or path == "-":
        return
    target = Path(path)
    if target.is_dir():
        raise CommandError(f"{path!r} is a folder. Give the name of a file in it.")
    if endings and target.suffix.lower() not in endings:
        raise CommandError(
            f"The ending of {path!r} is not a known format: use {', '.join(endings)}."
        )
    if not target.parent.is_dir():
        raise CommandError(f"The folder of {path!r} does not exist. Make it first.")
    if target.exists() and not force:
        raise CommandError(f"{path!r} exists. Give another name, or --force to overwrite it.")
    if not os.access(target.parent, os.W_OK):
        raise CommandError(f"The folder of {path!r} cannot be written to. Give another one.")


@contextmanager
def row_writer(path: str | None, *, as_json: bool = False) -> Iterator[Callable[[Columns], None]]:
    """A function that writes rows, to a file by its ending or to standard output.

    The file appears when the block ends without an error. CSV is written to standard output, or
    one JSON object per row with `as_json`.
    """
    if path is None or path == "-":
        stream, terminal = sys.stdout.buffer, sys.stdout.isatty()
        sys.stdout.flush()
        yield _json_lines(stream) if as_json else _delimited(stream, ",", terminal=terminal)
        stream.flush()
        return
    with ExitStack() as stack:
        file = stack.enter_context(replacing(path))
        ending = Path(path).suffix.lower()
        if ending in (".parquet", ".feather"):
            yield _arrow(file, ending, stack)
        elif ending == ".jsonl":
            yield _json_lines(file)
        else:
            yield _delimited(file, "\t" if ending == ".tsv" else ",")


def write_text(path: str | None, text: str) -> None:
    """Write a text to a file, whole, or to standard output."""
    if path is None or path == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
        return
    with replacing(path) as file:
        file.write(text.encode())


# ------------------------------------------------------------------------- formats


def _delimited(
    stream: IO[bytes], separator: str, *, terminal: bool = False
) -> Callable[[Columns], None]:
    begun = False

    def write(columns: Columns) -> None:
        nonlocal begun
        text = io.StringIO()
        writer = csv.writer(text, delimiter=separator, lineterminator="\n")
        if not begun:
            writer.writerow([_cell(name, terminal) for name in columns])
            begun = True
        lists = [_guarded(values, terminal) for values in columns.values()]
        writer.writerows(zip(*lists, strict=True))
        stream.write(text.getvalue().encode())

    return write


def _guarded(values: Sequence[Any], terminal: bool) -> list[Any]:
    cells = _list(values)
    kinds = set(map(type, cells))
    if kinds <= {int} or (kinds <= {float} and not any(map(math.isnan, cells))):
        return cells
    if kinds <= {str, type(None)}:  # a column of classes has few different ones
        guard = {cell: _cell(cell, terminal) for cell in set(cells)}
        return [guard[cell] for cell in cells]
    return [_cell(cell, terminal) for cell in cells]


def _cell(cell: Any, terminal: bool) -> Any:
    """A cell for CSV: text that a spreadsheet would compute gets a leading apostrophe."""
    if isinstance(cell, str):
        text = guarded(cell)
        return clean(text) if terminal else text
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return "" if math.isnan(cell) else cell
    return "" if cell is None else cell if isinstance(cell, int) else _cell(str(cell), terminal)


def _json_lines(stream: IO[bytes]) -> Callable[[Columns], None]:
    def write(columns: Columns) -> None:
        names = list(columns)
        lines = [
            json.dumps(dict(zip(names, map(plain, row), strict=True)), allow_nan=False)
            for row in zip(*map(_list, columns.values()), strict=True)
        ]
        stream.write("".join(f"{line}\n" for line in lines).encode())

    return write


def _arrow(file: IO[bytes], ending: str, stack: ExitStack) -> Callable[[Columns], None]:
    import pyarrow as pa

    writer: Any = None

    def write(columns: Columns) -> None:
        nonlocal writer
        if writer is None:
            table = pa.table(dict(columns))
            writer = stack.enter_context(_arrow_writer(file, table.schema, ending))
        else:
            table = pa.table(dict(columns), schema=writer.schema)
        writer.write_table(table)

    return write


def _arrow_writer(file: IO[bytes], schema: Any, ending: str) -> Any:
    if ending == ".parquet":
        import pyarrow.parquet

        return pyarrow.parquet.ParquetWriter(file, schema)
    import pyarrow as pa

    return _FeatherWriter(pa.ipc.new_file(file, schema), schema)


class _FeatherWriter:
    def __init__(self, writer: Any, schema: Any) -> None:
        self._writer, self.schema = writer, schema
        self.write_table = writer.write_table

    def __enter__(self) -> _FeatherWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()


def _list(values: Any) -> list[Any]:
    if hasattr(values, "to_pylist"):
        return list(values.to_pylist())
    return list(values.tolist() if hasattr(values, "tolist") else values)
