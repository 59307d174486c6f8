"""Tables and models that a command reads: files, columns by name, labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from latentclass.cli._app import CommandError, unknown
from latentclass.cli._console import Console
from latentclass.exceptions import UnseenValueWarning

if TYPE_CHECKING:
    import numpy.typing as npt

MOST_NAMED = 5
"""Columns or candidates that a message names."""


def table_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how a file is to be read, if what is detected is wrong."""
    options = (
        click.option(
            "--separator", help="The separator of cells, if it is not detected; \\t for tab."
        ),
        click.option(
            "--decimal",
            multiple=True,
            metavar="[COLUMN=]SIGN",
            callback=_check_decimals,
            help="Decimal sign, '.' or ',', if it is not detected: of the file, or of a column, as "
            "in price=, for one of them; may be repeated. The other may mark thousands.",
        ),
        click.option("--encoding", help="Encoding of the text, if it is not detected."),
        click.option(
            "--missing",
            multiple=True,
            metavar="TEXT",
            help="A text that stands for a missing cell, such as -; may be repeated.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def _check_decimals(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuse signs that are none, and two signs for one thing."""
    names = [name for name, _ in map(_split_decimal, value)]
    for one, (name, sign) in zip(value, map(_split_decimal, value), strict=True):
        if sign not in (".", ","):
            raise click.BadParameter(
                f"{one!r} must be '.' or ',', or a column with its sign, as in price=,.", ctx, param
            )
        if names.count(name) > 1:
            of = f"column {name!r}" if name else "the file"
            raise click.BadParameter(f"there are two signs for {of}. Give one.", ctx, param)
    return value


def _split_decimal(one: str) -> tuple[str, str]:
    name, equals, sign = one.rpartition("=")
    return (name, sign) if equals else ("", one)


def read_decimals(value: Sequence[str]) -> dict[str, str]:
    """The decimal sign of each column that was given one; under "" that of all others."""
    return dict(map(_split_decimal, value))


def without_signs_of(decimal: Sequence[str], columns: Collection[str]) -> tuple[str, ...]:
    """The given decimal signs, but for those of some columns."""
    return tuple(one for one in decimal if _split_decimal(one)[0] not in columns)


def option_words(options: Mapping[str, Any]) -> list[str]:
    """The options of a command that were given, word by word."""
    words = []
    for name, value in options.items():
        for one in value if isinstance(value, tuple) else (value,):
            words += [] if one is None else [f"--{name}", one]
    return words


def open_file(path: str, **options: Any) -> Any:
    """Open a table file, or standard input as "-"; options that are None are detected."""
    return _open_with(path, {}, (), **options)


def _open_with(
    path: str,
    noted_marks: Mapping[str, str],
    noted_missing: Sequence[str],
    decimal: Sequence[str] = (),
    missing: Sequence[str] = (),
    **options: Any,
) -> Any:
    """Open a table file with what was noted of its cells, and what is given in place of it."""
    marks = read_decimals(decimal)
    file = _open(
        path,
        decimal={**noted_marks, **marks} or None,
        missing=missing or noted_missing,
        **options,
    )
    if marks and file.decimal is None:
        raise CommandError(
            f"{path!r} is not a CSV or TSV file, so its numbers have no decimal sign. Leave out "
            "--decimal; convert columns of text in the file itself."
        )
    if missing and file.decimal is None:
        raise CommandError(
            f"{path!r} is not a CSV or TSV file: its missing cells are marked. Leave out --missing."
        )
    for name in filter(None, marks):
        need_column(name, file.names, path)
    return file


def _open(path: str, **options: Any) -> Any:
    from latentclass.tables import open_table

    check_input(path)
    given = {key: value for key, value in options.items() if value is not None}
    if "separator" in given:
        given["separator"] = given["separator"].replace("\\t", "\t")
    return open_table(path, **given)


def check_input(path: str) -> None:
    """Refuse a table file that is not there, before anything else is done."""
    if path != "-" and not Path(path).exists():
        raise CommandError(f"There is no file {path!r}. Check its name and the folder.")


def load_model(path: str) -> tuple[Any, dict[str, Any]]:
    """A fitted model of this library from its file, and what was noted about it."""
    from latentclass import describe_file, load

    model = load(path)
    if isinstance(model, dict):
        raise CommandError(
            f"{path!r} holds {len(model)} models. Save the one that you want in a file of its own: "
            f"latentclass.save(latentclass.load({path!r})[{next(iter(model))!r}], ...)."
        )
    if "schema_" not in vars(model):
        raise CommandError(f"{path!r} holds a model that is not fitted. Use `latentclass fit`.")
    return model, describe_file(path).about


def load_classifier(path: str) -> tuple[Any, dict[str, Any]]:
    """As `load_model`, but it must have classes."""
    model, about = load_model(path)
    if not hasattr(model, "classes_") or not hasattr(model, "explain"):
        raise CommandError(
            f"{path!r} ({type(model).__name__}) is not a classifier: it has no classes."
        )
    return model, about


def noted_columns(about: dict[str, Any]) -> list[str]:
    """Columns of the training table that the model was not given: the user knows of them."""
    names = [about.get("target"), about.get("weights"), *about.get("dropped", [])]
    return [name for name in names if name]


def text_columns(schema: Any) -> list[str]:
    """Columns that a model learned as text: in a file, codes such as 007 must stay so."""
    return [
        column.name
        for column in schema.given
        if column.kind != "continuous" and all(type(one) is str for one in column.categories)
    ]


def open_rows(
    path: str,
    about: dict[str, Any],
    schemas: Sequence[Any],
    **options: Any,
) -> Any:
    """Open a table file with rows for models, to be read as the table of the fit was.

    Codes that were learned as text stay text, and what `fit` was told of decimal signs and missing
    cells counts unless the options say something else.
    """
    text = sorted({name for schema in schemas for name in text_columns(schema)})
    noted = about.get("decimal")
    marks = {"": noted} if isinstance(noted, str) else noted if isinstance(noted, dict) else {}
    if not set(marks.values()) <= {".", ","}:
        marks = {}
    words = about.get("missing")
    known = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
    return _open_with(path, marks, known, text=text, **options)


def need_column(name: str, names: Sequence[str], path: str) -> None:
    """Refuse a column that a file does not have."""
    if name not in names:
        raise CommandError(f"{path!r}: {unknown('column', name, list(names))}")


# ----------------------------------------------------------------------- prediction


@dataclass(frozen=True)
class ColumnsByName:
    """Gives a model its columns, whatever their order in a file.

    Attributes
    ----------
    schema : Schema
        Of the model.
    names : list of str
        Columns of the file.
    """

    schema: Any
    names: list[str]

    @property
    def lacking(self) -> list[str]:
        """Columns that the file has not: they count as missing."""
        return [name for name in self.schema.given_names if name not in self.names]

    def extra(self, expected: Sequence[str] = ()) -> list[str]:
        """Columns that the model does not know; `expected` ones are not counted."""
        known = {*self.schema.given_names, *expected}
        return [name for name in self.names if name not in known]

    def tell(self, console: Console, path: str, expected: Sequence[str] = ()) -> None:
        """Say which columns are lacking or ignored; refuse a file that has none of them."""
        lacking, extra = self.lacking, self.extra(expected)
        known = self.schema.given_names
        if len(lacking) == len(known):
            raise CommandError(
                f"{path!r} has none of the model's columns {_some(known)}; it has "
                f"{_some(self.names)}. Is it the right file, and is its first line a header?"
            )
        if lacking:
            console.warn(
                f"{path!r} lacks {_count(lacking)}, which {_verb(lacking)} as missing: "
                f"{_some(lacking)}."
            )
        if extra:
            console.say(f"Ignored, because the model has no such columns: {_some(extra)}.")

    def select(self, table: Any, first_row: int, path: str) -> Any:
        """The model's columns of some rows, in its order and with the types that it learned."""
        import pyarrow as pa

        from latentclass.data._read import LACKING

        columns, fields = [], []
        for column in self.schema.given:
            if column.name in table.column_names:
                cells = table.column(column.name)
                columns.append(as_learned(cells, column, partial(_refuse, path, first_row)))
                fields.append(pa.field(column.name, columns[-1].type))
            else:
                columns.append(pa.nulls(table.num_rows, type_of(column)))
                # these holes are the file's and not the rows': they say nothing about a class
                fields.append(pa.field(column.name, columns[-1].type, metadata={LACKING: b""}))
        return pa.table(columns, schema=pa.schema(fields))


class UnseenCells:
    """Counts the cells of a file whose category a model has not seen, part by part."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._found: dict[str, tuple[Any, int]] = {}
        warnings.simplefilter("ignore", UnseenValueWarning)  # of each part, until the command ends

    def add(self, X: Any) -> None:
        """Count the cells of some rows; the columns are the model's."""
        from latentclass.data._unseen import unseen_values

        for name, counts in unseen_values(self._schema, X).items():
            example, before = self._found.get(name, (next(iter(counts)), 0))
            self._found[name] = example, before + sum(counts.values())

    def tell(self, console: Console) -> None:
        """Say once for each column what was found."""
        from latentclass.data._unseen import tell_unseen

        for name, (example, count) in self._found.items():
            console.warn(tell_unseen(name, example, count))


def type_of(column: Any) -> Any:
    """The type of a model's column in a file."""
    import pyarrow as pa

    if column.kind == "continuous":
        return pa.float64()
    kinds = {type(category) for category in column.categories}
    if kinds == {bool}:
        return pa.bool_()
    return pa.string() if kinds <= {str} else pa.float64()


def as_learned(cells: Any, column: Any, refuse: Callable[[Any, Any], None]) -> Any:
    """Cells as the model learned them: a file may hold codes as numbers, or numbers as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = type_of(column)
    kind = cells.type
    if pa.types.is_null(kind):
        return pa.nulls(len(cells), wanted)
    if pa.types.is_dictionary(kind):
        cells = cells.cast(kind.value_type)
        kind = cells.type
    if wanted == pa.string() and not _is_text(kind):
        return as_text(cells)
    if wanted == pa.float64() and _is_text(kind):
        try:
            return pc.utf8_trim_whitespace(cells).cast(pa.float64())
        except pa.ArrowInvalid:
            refuse(cells, column)
    if wanted == pa.bool_() and (_is_text(kind) or pa.types.is_integer(kind)):
        try:
            return cells.cast(pa.bool_())
        except pa.ArrowInvalid:
            refuse(cells, column)
    return cells


def as_text(cells: Any) -> Any:
    """Cells as text; whole numbers without a decimal point."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(cells.type):
        seen = cells.filter(pc.is_finite(cells))
        if pc.all(pc.equal(pc.floor(seen), seen)).as_py() is not False:
            nan = pc.fill_null(pc.is_nan(cells), False)
            cells = pc.if_else(nan, pa.scalar(None, cells.type), cells).cast(pa.int64())
    return cells.cast(pa.string())


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _refuse(path: str, first_row: int, cells: Any, column: Any) -> None:
    for place, cell in enumerate(cells.to_pylist()):
        try:
            float(cell if cell is not None else 0)
        except ValueError:
            raise CommandError(
                f"{path!r}, row {first_row + place + 1}, column {column.name!r} holds {cell!r}, "
                f"but the model learned {_word(column)} there. {cell_advice(cell)}"
            ) from None


def cell_advice(cell: Any) -> str:
    """What to do about a cell that should be a number."""
    from latentclass.tables._facts import thousands_mark

    mark = thousands_mark(str(cell))
    if mark is None:
        return (
            "Correct the cell, or leave it empty. If it means that nothing is known, pass "
            f"--missing {quote(str(cell))}."
        )
    advice = "Write numbers without thousands separators"
    if mark != ",":
        return f"{advice}."
    return f"{advice}, or pass --decimal COLUMN=. if all cells of it are numbers like this."


def _word(column: Any) -> str:
    return "numbers" if column.kind == "continuous" else "true and false"


CHUNK = 16384
"""Rows that are read, predicted and written at a time. More of them are hardly quicker."""


def chunks(
    file: Any, schema: Any, path: str, n_rows: int = CHUNK
) -> Iterator[tuple[int, Any, Any]]:
    """The rows of a file, some at a time: number of rows before, all columns, the model's."""
    by_name = ColumnsByName(schema, list(file.names))
    before = 0
    for table in file.read_chunks(n_rows):
        yield before, table, by_name.select(table, before, path)
        before += table.num_rows


# --------------------------------------------------------------------------- labels


def labels_of(column: Any) -> npt.NDArray[Any]:
    """Class labels of a column of a file; None where a row has none."""
    import numpy as np
    import pyarrow as pa

    cells = column
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    values = cells.to_pylist()
    if -1 in values:  # a class like any other: in a file, an empty cell marks a missing label
        values = [None if value is None else str(value) for value in values]
    if None not in values:
        return np.array(values)
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels


def label_text(label: Any) -> str:
    """A label as text, the same for 1, 1.0 and "1"."""
    value = label.item() if hasattr(label, "item") else label
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def some_of(texts: Sequence[str], between: str = ", ") -> str:
    """The first few of many texts, and how many more there are."""
    more = f" and {len(texts) - MOST_NAMED} more" if len(texts) > MOST_NAMED else ""
    return between.join(texts[:MOST_NAMED]) + more


def _some(names: Sequence[str]) -> str:
    return some_of([repr(name) for name in names])


def _count(names: Sequence[str]) -> str:
    return "a column" if len(names) == 1 else f"{len(names)} columns"


def _verb(names: Sequence[str]) -> str:
    return "counts" if len(names) == 1 else "count"
