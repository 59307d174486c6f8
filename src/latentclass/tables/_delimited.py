"""Read CSV, TSV and their like.

pyarrow parses, and every cell comes as text. `_kinds` then decides what each column means from all
of its cells. Only if pyarrow refuses a file does Python's slow parser look for the line at fault.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from shlex import quote
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from latentclass._missing_words import MISSING_WORDS
from latentclass._warn import warn_user
from latentclass.exceptions import TableWarning
from latentclass.tables._chunks import rechunk
from latentclass.tables._dialect import Dialect
from latentclass.tables._kinds import (
    TYPES,
    Kind,
    convert,
    join_kinds,
    kind_of,
    read_as,
    settle_decimal,
    understand,
)
from latentclass.tables._scan import LONGEST_LINE, Scan
from latentclass.tables._shown import shown
from latentclass.tables._source import Source, system_faults

BLOCK_SIZE = 2 * LONGEST_LINE
"""Bytes that are parsed at once. A row must fit into them."""

SMALL_BLOCK = 2**20
"""The same, for files without quotes: blocks are parsed in parallel, and small ones stay in the
cache. Longer rows need `BLOCK_SIZE`."""

STREAM_BLOCK = 2**18
"""The same, for a file that is read in chunks: pyarrow reads some 30 blocks ahead."""

BLANK = 16
"""Cells of up to so many spaces are missing, as the empty cell is."""

NO_ROWS = (
    "there are names of columns, but no rows below them. Export the table again, or check the name "
    "of the file."
)
BLANKS = [" " * width for width in range(1, BLANK + 1)]


@dataclass
class DelimitedReader:
    """The rows of a text file.

    Attributes
    ----------
    names : list of str
        Columns that are read.
    text : collection of str
        Columns that stay text, whatever they hold.
    given_decimal : str or None
        The decimal mark that the user named for the file.
    column_decimals : mapping of str to str
        The decimal marks that the user named for columns.
    missing : collection of str
        Further cells that count as missing.
    n_rows : int or None
        Number of rows, once `read_chunks` has begun.
    """

    source: Source
    scan: Scan
    dialect: Dialect
    names: list[str]
    text: Collection[str] = ()
    given_decimal: str | None = None
    column_decimals: Mapping[str, str] = field(default_factory=dict)
    missing: Collection[str] = ()
    n_rows: int | None = None
    _kinds: list[Kind] | None = None
    _block: int = SMALL_BLOCK

    def __post_init__(self) -> None:
        self.text = frozenset(self.text)
        if not self.dialect.rows and self.scan.whole:
            self._refuse_odd_quote()
            raise self.source.fault(NO_ROWS)

    @property
    def decimal(self) -> str:
        """The decimal mark: of the whole file if it has been read, of its first rows until then."""
        if self.given_decimal is not None:
            return self.given_decimal
        kinds = zip(self.names, self._kinds or self._sample_kinds(), strict=False)
        others = [kind for name, kind in kinds if name not in self.column_decimals]
        return settle_decimal(others, self.dialect.separator)

    @property
    def thousands(self) -> str | None:
        """The mark between thousands in columns of numbers, if some have one; as `decimal`."""
        read = set(self._read_as(self._kinds or self._sample_kinds()))
        marks = {"comma thousands": ",", "point thousands": "."}
        return next((mark for kind, mark in marks.items() if kind in read), None)

    def _sample_kinds(self) -> list[Kind]:
        width = len(self.dialect.names)
        text = io.StringIO()
        csv.writer(text).writerows(row for row in self.dialect.rows if len(row) == width)
        data = text.getvalue().encode("utf-8", "replace")
        if not data:
            return []
        read = pacsv.ReadOptions(column_names=self._places(), block_size=len(data) + 1)
        parse = pacsv.ParseOptions(newlines_in_values=True)
        table = pacsv.read_csv(io.BytesIO(data), read, parse, self._convert_options())
        return [kind_of(cells) for cells in table.columns]

    def read(self) -> Any:
        """All rows as one pyarrow table."""
        with self._faults():
            sizes = (BLOCK_SIZE,) if self.scan.n_quotes else (SMALL_BLOCK, BLOCK_SIZE)
            table = self._in_blocks(sizes, self._read_whole)
            self._refuse_no_rows(table.num_rows)
            with ThreadPoolExecutor(pa.cpu_count()) as pool:
                columns = list(pool.map(self._tidy, table.columns))
                understood = list(pool.map(understand, columns))
                self._kinds = [kind for kind, _ in understood]
                known = [values for _, values in understood]
                arrays = list(pool.map(convert, columns, self._read_as(self._kinds), known))
            self._warn_of_commas(columns)
            return pa.Table.from_arrays(arrays, names=self.names)

    def _warn_of_commas(self, columns: list[Any]) -> None:
        """Say which columns were read with decimal commas that look like marks of thousands."""
        kinds = zip(self.names, self._kinds or [], columns, strict=True)
        for name, kind, cells in kinds if self.decimal == "," else ():
            if kind != "grouped" or name in self.text or name in self.column_decimals:
                continue
            marked = pc.match_substring(cells, ",")
            if pc.all(pc.or_(marked, pc.equal(cells, ""))).as_py():
                continue  # 1,250 and 0,375: three decimals each
            example = cells.filter(marked)[0].as_py().strip()
            warn_user(
                f"{name}: {example} was read as {example.replace(',', '.')}, but every comma in "
                "this column has three digits after it, and other cells are whole numbers. If it "
                f"marks thousands, give this column a decimal point: --decimal {quote(name)}=., or "
                f"decimal={{{name!r}: '.'}} in Python.",
                TableWarning,
            )

    def _read_whole(self) -> Any:
        options = self._options()
        with self._stream() as stream:
            return pacsv.read_csv(stream, *options)

    def _in_blocks(self, sizes: Sequence[int], read: Callable[[], Any]) -> Any:
        """What `read` gives with the first of some sizes of blocks into which every row fits."""
        for self._block in sizes:
            try:
                return read()
            except pa.ArrowInvalid as error:
                if "straddling" not in str(error) or self._block == sizes[-1]:
                    raise
        raise AssertionError

    def read_chunks(self, n_rows: int) -> Iterator[Any]:
        """All rows in tables of `n_rows`, the last one shorter, all of one schema."""
        with self._faults():
            if self._kinds is None:
                self._kinds = self._in_blocks((STREAM_BLOCK, BLOCK_SIZE), self._find_kinds)
            kinds = self._read_as(self._kinds)
            schema = pa.schema(
                [(name, TYPES[kind]) for name, kind in zip(self.names, kinds, strict=True)]
            )
            for table in rechunk(self._batches(), n_rows):
                columns = [self._tidy(column) for column in table.columns]
                yield pa.Table.from_arrays(list(map(convert, columns, kinds)), schema=schema)

    def _find_kinds(self) -> list[Kind]:
        kinds: list[Kind] = ["empty"] * len(self.names)
        total = 0
        for batch in self._batches():
            total += batch.num_rows
            for place, cells in enumerate(batch.columns):
                if kinds[place] != "text":
                    kinds[place] = join_kinds([kinds[place], kind_of(self._tidy(cells))])
        self._refuse_no_rows(total)
        self.n_rows = total
        return kinds

    def _read_as(self, kinds: Sequence[Kind]) -> list[Kind]:
        decimal, given = self.decimal, self.given_decimal is not None
        own = self.column_decimals
        return [
            "text"
            if name in self.text
            else read_as(kind, own.get(name, decimal), given=given or name in own)
            for name, kind in zip(self.names, kinds, strict=False)
        ]

    def _tidy(self, cells: Any) -> Any:
        return pc.utf8_trim_whitespace(cells) if self.dialect.spaced else cells

    def _batches(self) -> Iterator[Any]:
        options = self._options()
        with self._stream() as stream, pacsv.open_csv(stream, *options) as reader:
            yield from reader

    @contextmanager
    def _stream(self) -> Iterator[Any]:
        """The bytes of the file in UTF-8."""
        if self.scan.encoding not in ("utf-8", "utf-8-sig"):  # pyarrow skips a byte order mark
            with self.source.open() as raw:
                stream = pa.PythonFile(raw, mode="r")
                yield pa.transcoding_input_stream(stream, self.scan.encoding, "utf-8")
        elif self.source.path is not None and not self.source.packed:
            with pa.OSFile(str(self.source.path)) as plain:
                yield plain
        else:
            with self.source.open() as raw:
                yield raw

    def _options(self) -> tuple[Any, Any, Any]:
        quoted = self.scan.n_quotes > 0
        self._refuse_odd_quote()
        read = pacsv.ReadOptions(
            column_names=self._places(),
            skip_rows=self.dialect.header_lines,
            block_size=self._block,
        )
        parse = pacsv.ParseOptions(
            delimiter=self.dialect.separator,
            quote_char='"' if quoted else False,
            newlines_in_values=quoted,
        )
        return read, parse, self._convert_options()

    def _places(self) -> list[str]:
        """Names for pyarrow: those in the file may be odd."""
        return [str(place) for place in range(len(self.dialect.names))]

    def _convert_options(self) -> Any:
        place = dict(zip(self.dialect.names, self._places(), strict=True))
        words = [*MISSING_WORDS, *self.missing]
        return pacsv.ConvertOptions(
            column_types=dict.fromkeys(self._places(), pa.string()),
            include_columns=[place[name] for name in self.names],
            null_values=[*words, *(f" {word}" for word in words if word), *BLANKS],
            strings_can_be_null=True,
            check_utf8=False,  # the scan has done it
        )

    def _refuse_no_rows(self, n_rows: int) -> None:
        if not n_rows:
            raise self.source.fault(NO_ROWS)

    def _refuse_odd_quote(self) -> None:
        """Look for a quote that is not closed, which pyarrow may take as the end of the file."""
        if self.scan.n_quotes % 2:
            self._find_fault(only_quotes=True)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        with system_faults(self.source.name):
            try:
                yield
            except pa.ArrowInvalid as error:
                self._find_fault()
                raise self.source.fault(f"the rows cannot be read ({shown(error, 120)}).") from None

    def _find_fault(self, *, only_quotes: bool = False) -> None:
        """Read the file again with Python's parser and refuse the first line at fault."""
        width = len(self.dialect.names)
        with (
            self.source.open() as stream,
            io.TextIOWrapper(stream, encoding=self.scan.encoding, newline="") as lines,
        ):
            reader = csv.reader(lines, delimiter=self.dialect.separator, strict=True)
            line = 1
            try:
                for row in reader:
                    if row and len(row) != width and not only_quotes:
                        self._refuse_ragged(row, line)
                    line = reader.line_num + 1
            except csv.Error as error:
                self._refuse_quote(str(error), line)

    def _refuse_ragged(self, row: Sequence[str], line: int) -> NoReturn:
        expected, found = len(self.dialect.names), len(row)
        cells = f"{found} cell{'s' * (found != 1)}"
        raise self.source.fault(
            f"{cells} instead of {expected}, which is the number of names in line "
            f"{self.dialect.header_lines}. Correct the line, put quotes around cells that contain "
            f"the separator, or name a separator other than {shown(self.dialect.separator)}.",
            line,
        )

    def _refuse_quote(self, error: str, line: int) -> NoReturn:
        if "expected after" in error:
            raise self.source.fault(
                "text follows a closing quote. Write a quote inside a cell as two quotes.", line
            )
        raise self.source.fault(
            'a quote (") opens here and is never closed. Close or remove it.', line
        )
