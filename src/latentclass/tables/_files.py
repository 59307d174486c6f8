"""Read a table from a file of any common format."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

from latentclass.tables._shown import shown
from latentclass.tables._source import Source, open_source, system_faults

FORMATS = {
    "csv": "csv",
    "txt": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "arff": "arff",
    "parquet": "parquet",
    "pq": "parquet",
    "feather": "feather",
    "arrow": "feather",
    "ipc": "feather",
}
"""Format of each ending of a file name."""

FORMAT_NAMES = {
    "csv": "CSV",
    "tsv": "TSV",
    "arff": "ARFF",
    "parquet": "Parquet",
    "feather": "Feather",
}
CHUNK_ROWS = 65536


class _Reader(Protocol):
    names: list[str]

    def read(self) -> Any: ...

    def read_chunks(self, n_rows: int) -> Iterator[Any]: ...


class TableFile:
    """A file whose format is known and whose rows can be read, more than once.

    Attributes
    ----------
    name : str
        Name of the file, safe to print.
    format : {"csv", "tsv", "arff", "parquet", "feather"}
    names : list of str
        The columns that are read.
    separator : str or None
        What separates the cells of a text file.
    encoding : str or None
        Encoding of a text file, as Python names it.
    """

    def __init__(
        self, source: Source, format_: str, reader: _Reader, separator: str | None, scan: Any
    ) -> None:
        self.name = source.name
        self.format = format_
        self.names = reader.names
        self.separator = separator
        self.encoding: str | None = None if scan is None else scan.encoding
        self._packed = source.packed
        self._scan = scan
        self._reader = reader

    @property
    def decimal(self) -> str | None:
        """The decimal mark of a CSV or TSV file.

        It is that of the first rows until the file has been read, and that of all rows afterwards.
        """
        return getattr(self._reader, "decimal", None)

    @property
    def n_rows(self) -> int | None:
        """Number of rows, as soon as `read_chunks` knows it; for a progress bar."""
        return getattr(self._reader, "n_rows", None)

    def describe(self) -> str:
        """What was found, in one line."""
        words = [FORMAT_NAMES[self.format]]
        if self.decimal is not None:
            words.append(f"separator {separator_name(self.separator)}")
        if self.decimal == ",":
            words.append("decimal comma")
        own: Mapping[str, str] = getattr(self._reader, "column_decimals", {})
        words += [f"decimal {mark!r} in {shown(name)}" for name, mark in own.items()]
        thousands = getattr(self._reader, "thousands", None)
        if thousands is not None:
            words.append(f"thousands {shown(thousands)}")
        if self._scan is not None:
            words.append(self._scan.describe_encoding())
        if self._packed:
            words.append("gzip")
        return f"{self.name}: {', '.join(words)}"

    def read(self) -> Any:
        """All rows as one pyarrow table."""
        return self._reader.read()

    def read_chunks(self, n_rows: int = CHUNK_ROWS) -> Iterator[Any]:
        """All rows in order, in pyarrow tables of `n_rows` each, the last one shorter.

        Memory does not grow with the file, and all tables have one schema: the types of a text
        file are settled by a first pass over all rows.
        """
        return self._reader.read_chunks(n_rows)

    def __repr__(self) -> str:
        return f"<TableFile {self.describe()}>"


def separator_name(separator: str | None) -> str:
    """A separator for people."""
    names = {"\t": "tab", " ": "space"}
    return names.get(separator or "", shown(separator))


def open_table(
    source: Any,
    *,
    separator: str | None = None,
    decimal: str | Mapping[str, str] | None = None,
    encoding: str | None = None,
    columns: Sequence[str] | None = None,
    missing: Collection[str] = (),
    text: Collection[str] = (),
) -> TableFile:
    """Find out how to read a file; arguments as in `read_table`.

    Parameters
    ----------
    text : collection of str
        Columns of a CSV or TSV file that stay text, even if all their cells are numbers. A model
        that was fitted to codes such as "007" needs this, even if new rows lack the zeros.

    Raises
    ------
    TableFileError
        If the file cannot be read. Some faults show only when its rows are read.
    """
    _check_options(separator, decimal)
    if isinstance(missing, str) or not all(isinstance(word, str) for word in missing):
        raise TypeError(f"missing must be a list of texts, got {missing!r}.")
    _need_pyarrow()
    opened = open_source(source)
    format_ = _find_format(opened)
    if format_ in ("parquet", "feather"):
        from latentclass.tables._columnar import ColumnarReader

        columnar = ColumnarReader(opened, format_)
        columnar.names = _choose(opened, columnar.all_names, columns)
        return TableFile(opened, format_, columnar, None, None)
    from latentclass.tables._scan import scan_text

    scan = scan_text(opened, encoding)
    if format_ == "arff":
        from latentclass.tables._arff import ArffReader

        arff = ArffReader(opened, scan)
        arff.names = _choose(opened, arff.all_names, columns)
        return TableFile(opened, format_, arff, ",", scan)
    from latentclass.tables._delimited import DelimitedReader
    from latentclass.tables._dialect import find_dialect

    preferred = "\t" if format_ == "tsv" else ","
    dialect = find_dialect(opened, scan, separator, preferred)
    chosen = _choose(opened, dialect.names, columns)
    own = dict(decimal) if isinstance(decimal, Mapping) else {}
    whole = decimal if isinstance(decimal, str) else own.pop("", None)
    delimited = DelimitedReader(opened, scan, dialect, chosen, text, whole, own, missing)
    return TableFile(opened, format_, delimited, dialect.separator, scan)


def read_table(
    source: Any,
    *,
    container: str = "pandas",
    separator: str | None = None,
    decimal: str | Mapping[str, str] | None = None,
    encoding: str | None = None,
    columns: Sequence[str] | None = None,
    missing: Sequence[str] = (),
) -> Any:
    """Read a table from a CSV, TSV, ARFF, Parquet, Feather or Arrow file.

    Separator, decimal comma and encoding of a text file are found by looking at it. Each may also
    be compressed with gzip.

    Parameters
    ----------
    source : str, path or file
        The ending of its name tells the format: .csv, .txt, .tsv, .tab, .arff, .parquet, .pq,
        .feather, .arrow or .ipc, each also with .gz. "-" is standard input. A file that is open
        for reading and standard input may have any of the formats.
    container : {"pandas", "pyarrow", "polars"}, default="pandas"
        What is returned.
    separator : str, default=None
        What separates the cells of a CSV or TSV file. None detects it: comma, semicolon, tab, "|"
        or space.
    decimal : {".", ","} or dict, default=None
        Decimal mark of a CSV or TSV file. None detects it. A dict gives columns by name marks of
        their own, and all others the one of the key "", if there is one.
    encoding : str, default=None
        Encoding of a text file, such as "utf-8" or "cp1252". None takes UTF-8, or UTF-16 with a
        byte order mark. If the file is neither, it is taken as Windows-1252.
    columns : list of str, default=None
        Names of the columns to read, in this order. None reads all.
    missing : list of str, default=()
        Further texts that stand for a missing cell of a CSV or TSV file, such as "-".

    Returns
    -------
    DataFrame or pyarrow.Table

    Raises
    ------
    TableFileError
        If the file cannot be read. The message names the line and what to do.

    Notes
    -----
    In text files an empty cell, a cell of spaces, ?, NA, N/A, n/a, #N/A, <NA>, NaN, nan, null and
    NULL are missing, and what `missing` lists. "None" is a word like any other, because many tables
    use it as a category. A column of a CSV or TSV file is read as

    - booleans, if all cells are true or false (also True, TRUE, ...);
    - numbers, if all cells are numbers; whole numbers with missing cells stay numbers;
    - text otherwise. Dates stay text.

    Codes stay text too: a column in which some cell is a whole number with zeros in front, such as
    007, or with more digits than fit into 64 bits.

    A column with cells such as 1,234.50 (or 1.234,50 in a file with decimal commas) is read as
    numbers: what stands before each three digits marks thousands. A column in which all such cells
    are like 1,234 stays text if the separator is not a semicolon, because it could be a decimal
    comma or a list of codes. Pass `decimal="."` if the comma marks thousands, or `decimal=","` if
    decimals follow it.

    Examples
    --------
    >>> import io
    >>> from latentclass import read_table
    >>> read_table(io.StringIO("size;colour\\n1,5;red\\n?;blue\\n"))
       size colour
    0   1.5    red
    1   NaN   blue
    """
    if container not in ("pandas", "pyarrow", "polars"):
        raise ValueError(f'container must be "pandas", "pyarrow" or "polars", got {container!r}.')
    file = open_table(
        source,
        separator=separator,
        decimal=decimal,
        encoding=encoding,
        columns=columns,
        missing=missing,
    )
    for name in decimal if isinstance(decimal, Mapping) else ():
        if name and name not in file.names:
            raise ValueError(
                f"decimal names {name!r}, which is not among the columns read from {file.name}."
            )
    table = file.read()
    if container == "pyarrow":
        return table
    with system_faults(file.name):
        if container == "polars":
            import polars as pl

            return pl.from_arrow(table)
        return table.to_pandas()


def _check_options(separator: str | None, decimal: str | Mapping[str, str] | None) -> None:
    if separator is not None and (not isinstance(separator, str) or len(separator) != 1):
        raise ValueError(f"separator must be a single character, got {separator!r}.")
    if separator is not None and separator in '"\r\n\0':
        raise ValueError(f"separator must not be a quote or a line break, got {separator!r}.")
    if separator is not None and not separator.isascii():
        raise ValueError(f"separator must be an ASCII character, got {separator!r}.")
    marks = decimal.values() if isinstance(decimal, Mapping) else [decimal]
    for mark in marks:
        if mark not in (".", ",") and decimal is not None:
            raise ValueError(f'decimal must be "." or ",", got {mark!r}.')


def _need_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(
            "Reading files needs pyarrow. Install it: pip install 'latentclass[cli]'."
        ) from None


def _find_format(source: Source) -> str:
    if source.ending:
        if source.ending not in FORMATS:
            endings = ", ".join(f".{ending}" for ending in FORMATS)
            raise source.fault(
                f"the ending {shown('.' + source.ending)} is not known. Use one of {endings}, each "
                "also with .gz."
            )
        return FORMATS[source.ending]
    with system_faults(source.name), source.open() as stream:
        start = stream.read(4096)
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"ARROW1"):
        return "feather"
    lines = (line.strip().lower() for line in start.removeprefix(b"\xef\xbb\xbf").splitlines())
    first = next((line for line in lines if line and not line.startswith(b"%")), b"")
    return "arff" if first.startswith(b"@relation") else "csv"


def _choose(source: Source, names: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    if not names:
        raise source.fault("the table has no columns.")
    if wanted is None:
        return list(names)
    if isinstance(wanted, str):
        raise TypeError(f"columns must be a list of names, got the text {wanted!r}.")
    chosen, present = list(wanted), set(names)
    for name in chosen:
        if name not in present:
            known = ", ".join(shown(one) for one in names[:8]) + ", ..." * (len(names) > 8)
            raise source.fault(f"there is no column {shown(name)}. Its columns are {known}.")
    if not chosen:
        raise ValueError("columns is empty. Name at least one column, or pass None.")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"columns names a column twice: {chosen!r}.")
    return chosen
