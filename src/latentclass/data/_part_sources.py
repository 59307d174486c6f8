"""How files, folders, arrays and collections are cut into pieces that can be read one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from mmap import ALLOCATIONGRANULARITY
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from latentclass._missing_words import MISSING_WORDS

LINE_BYTES = 64
"""Size of a line of a CSV file that its first look assumes."""


class PieceError(RuntimeError):
    """A piece of a source that could not be read."""


class Piece(NamedTuple):
    """A piece of a source: its name, and a function that reads its X, y and weight.

    y and weight are None if they are columns of X.
    """

    name: str
    read: Callable[[], tuple[Any, Any, Any]]


Pieces = list[Piece] | Iterable[Piece]


def split_source(source: Any, target: Any, weight: Any, part_rows: int) -> Pieces:
    """The pieces of a source: a list, or an iterable that begins anew each time."""
    if isinstance(source, str | PathLike):
        return _split_path(Path(source), part_rows)
    if isinstance(source, np.ndarray):
        return _split_array(source, target, weight, part_rows)
    if hasattr(source, "to_delayed"):
        return _split_dask(source)
    if hasattr(source, "get_fragments"):
        return _split_dataset(source, "dataset")
    return _split_iterable(source)


# ------------------------------------------------------------------------------- files


def _split_path(path: Path, part_rows: int) -> Pieces:
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {str(path)!r}.")
    ending = path.name.lower().removesuffix(".gz").rsplit(".", 1)[-1]
    if ending in ("csv", "tsv"):
        return _split_csv(path, "\t" if ending == "tsv" else ",", part_rows)
    if ending in ("feather", "arrow", "ipc"):
        return _split_feather(path)
    if path.is_dir() or ending in ("parquet", "pq"):
        from pyarrow import dataset

        return _split_dataset(dataset.dataset(path, format="parquet"), path.name)
    raise ValueError(
        f"{path.name!r} is not a CSV, Parquet or Feather file, nor a folder of Parquet files. "
        "Convert it, or pass a list of tables."
    )


def _split_dataset(dataset: Any, name: str) -> list[Piece]:
    """One piece per row group of a Parquet file, and per file of another format."""
    pieces = []
    for fragment in dataset.get_fragments():
        groups = fragment.split_by_row_group() if hasattr(fragment, "row_groups") else [fragment]
        file = Path(fragment.path).name if getattr(fragment, "path", "") else name
        for number, group in enumerate(groups):
            read = partial(_read_fragment, group, dataset.schema)
            pieces.append(Piece(f"{file}, row group {number}", read))
    return _some(pieces, name)


def _read_fragment(fragment: Any, schema: Any) -> tuple[Any, None, None]:
    return fragment.to_table(schema=schema, use_threads=False), None, None


def _split_feather(path: Path) -> list[Piece]:
    from pyarrow import ipc, memory_map

    with memory_map(str(path)) as file:
        n_batches = ipc.open_file(file).num_record_batches
    pieces = [
        Piece(f"{path.name}, record batch {number}", partial(_read_batch, str(path), number))
        for number in range(n_batches)
    ]
    return _some(pieces, path.name)


def _read_batch(path: str, number: int) -> tuple[Any, None, None]:
    from pyarrow import Table, ipc, memory_map

    with memory_map(path) as file:
        # a copy: the batch would keep the file mapped
        batch = ipc.open_file(file).get_batch(number)
        return Table.from_batches([batch]).take(np.arange(batch.num_rows)), None, None


def _split_csv(path: Path, separator: str, part_rows: int) -> Pieces:
    """Byte ranges that begin at the start of a line, or, if compressed, batches in a row."""
    if path.suffix == ".gz":
        return _CsvBatches(path, separator, part_rows)
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.readline()
        start = file.tell()
        if not header.strip():
            raise ValueError(f"{path.name!r} is empty: it has no line with column names.")
        sample = file.read(2**16)
        lines = max(sample.count(b"\n"), 1)
        step = max(len(sample) // lines, 1) * part_rows if sample else LINE_BYTES * part_rows
        bounds = [start, *_line_starts(file, start, size, step), size]
    pieces = []
    for begin, end in pairwise(bounds):
        if end > begin:
            read = partial(_read_csv, str(path), header, begin, end, separator)
            pieces.append(Piece(f"{path.name}, bytes {begin:,} to {end:,}", read))
    return _some(pieces, path.name)


def _line_starts(file: Any, start: int, size: int, step: int) -> Iterator[int]:
    """Places where a line begins outside quotes, about `step` bytes apart."""
    file.seek(start)
    place, quoted, wanted = start, False, start + step
    while place < size and wanted < size:
        chunk = file.read(min(2**20, size - place))
        if place + len(chunk) <= wanted:
            quoted ^= chunk.count(b'"') % 2 == 1
            place += len(chunk)
            continue
        inside = max(wanted - place, 0)
        quoted ^= chunk[:inside].count(b'"') % 2 == 1
        for offset in range(inside, len(chunk)):
            byte = chunk[offset]
            if byte == 0x22:
                quoted = not quoted
            elif byte == 0x0A and not quoted:
                place += offset + 1
                yield place
                wanted = place + step
                break
        else:
            place += len(chunk)
        file.seek(place)


def _read_csv(
    path: str, header: bytes, begin: int, end: int, separator: str
) -> tuple[Any, None, None]:
    from pyarrow import BufferReader, csv

    with open(path, "rb") as file:
        file.seek(begin)
        text = header + file.read(end - begin)
    options = _csv_options(separator)
    return csv.read_csv(BufferReader(text), **options), None, None


def _csv_options(separator: str) -> dict[str, Any]:
    from pyarrow import csv

    return {
        "read_options": csv.ReadOptions(use_threads=False),
        "parse_options": csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        "convert_options": csv.ConvertOptions(
            null_values=list(MISSING_WORDS),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    }


@dataclass(frozen=True)
class _CsvBatches:
    """A compressed CSV file, which can only be read from its start."""

    path: Path
    separator: str
    part_rows: int

    def __iter__(self) -> Iterator[Piece]:
        from pyarrow import CompressedInputStream, OSFile, Table, csv

        options = _csv_options(self.separator)
        options["read_options"].block_size = LINE_BYTES * self.part_rows
        with OSFile(str(self.path)) as file, CompressedInputStream(file, "gzip") as text:
            for number, batch in enumerate(csv.open_csv(text, **options)):
                table = Table.from_batches([batch])
                yield Piece(f"{self.path.name}, batch {number}", partial(_give, table))


# ------------------------------------------------------------- arrays and collections


def _split_array(array: Any, target: Any, weight: Any, part_rows: int) -> list[Piece]:
    if array.ndim != 2:
        raise ValueError(
            f"source is an array with {array.ndim} dimension(s), but a table has two. Reshape it."
        )
    beside = [
        None if given is None or isinstance(given, str | int) else np.asarray(given)
        for given in (target, weight)
    ]
    for name, given in zip(("target", "weight"), beside, strict=True):
        if given is not None and given.shape != (len(array),):
            raise ValueError(
                f"{name} has shape {given.shape}, but source has {len(array)} rows. Pass one value "
                "per row."
            )
    pieces = []
    for begin in range(0, len(array), part_rows):
        rows = slice(begin, min(begin + part_rows, len(array)))
        y, own = (None if given is None else given[rows] for given in beside)
        table = _MappedRows.of(array, rows) or partial(_copy_rows, array[rows])
        name = f"rows {rows.start:,} to {rows.stop - 1:,}"
        pieces.append(Piece(name, partial(_read_rows, table, y, own)))
    return _some(pieces, "source")


def _read_rows(table: Callable[[], Any], y: Any, weight: Any) -> tuple[Any, Any, Any]:
    return table(), y, weight


def _copy_rows(rows: Any) -> Any:
    return np.array(rows)


@dataclass(frozen=True)
class _MappedRows:
    """Rows of a memory map, which are read with file calls, so that they do not stay in memory."""

    path: str
    dtype: Any
    shape: tuple[int, int]
    offset: int

    @classmethod
    def of(cls, array: Any, rows: slice) -> _MappedRows | None:
        """The rows of an array, if it is a memory map in C order, or a slice of one."""
        mapped = getattr(array, "_mmap", None)
        if mapped is None or array.filename is None or not array.flags.c_contiguous:
            return None
        begin = np.frombuffer(mapped, dtype=np.uint8).ctypes.data
        # the map begins where a page of the file does
        place = array.offset - array.offset % ALLOCATIONGRANULARITY + array.ctypes.data - begin
        n_columns = array.shape[1]
        start = place + rows.start * n_columns * array.dtype.itemsize
        shape = (rows.stop - rows.start, n_columns)
        return cls(str(array.filename), array.dtype, shape, start)

    def __call__(self) -> Any:
        count = self.shape[0] * self.shape[1]
        return np.fromfile(self.path, self.dtype, count, offset=self.offset).reshape(self.shape)


def _split_dask(source: Any) -> list[Piece]:
    delayed = np.ravel(np.asarray(source.to_delayed(), dtype=object)).tolist()
    if getattr(source, "ndim", 2) != 2 or (
        hasattr(source, "numblocks") and source.numblocks[1] != 1
    ):
        raise ValueError(
            "source is a dask array that is also cut between columns. Make each row whole: "
            "source.rechunk({1: -1})."
        )
    return _some(
        [Piece(f"partition {i}", partial(_compute, one)) for i, one in enumerate(delayed)], "source"
    )


def _compute(delayed: Any) -> tuple[Any, None, None]:
    # inside a task of a cluster it runs here too, not as another task
    return delayed.compute(scheduler="synchronous"), None, None


def _split_iterable(source: Any) -> Pieces:
    if not isinstance(source, Iterable):
        raise TypeError(
            f"source is {type(source).__name__}. Pass a path, a pyarrow Dataset, a dask DataFrame, "
            "an array, or a list of tables."
        )
    if iter(source) is source:
        raise TypeError(
            "source can be read only once, but a fit reads it several times. Pass a list, or an "
            "object whose __iter__ begins anew."
        )
    if isinstance(source, list | tuple):
        return _some(list(_ThereTables(source)), "source")
    return _ThereTables(source)


@dataclass(frozen=True)
class _ThereTables:
    """Tables, or tuples (X, y) or (X, y, weight), from an object that can be read again."""

    tables: Iterable[Any]

    def __iter__(self) -> Iterator[Piece]:
        for number, item in enumerate(self.tables):
            if isinstance(item, tuple):
                if len(item) not in (2, 3):
                    raise ValueError(
                        f"Part {number} is a tuple of {len(item)} items. Pass (X, y) or "
                        "(X, y, weight)."
                    )
                yield Piece(f"{number}", partial(_give, *item))
            else:
                yield Piece(f"{number}", partial(_give, item))


def _give(X: Any, y: Any = None, weight: Any = None) -> tuple[Any, Any, Any]:
    return X, y, weight


def _some(pieces: list[Piece], name: str) -> list[Piece]:
    if not pieces:
        raise ValueError(f"{name!r} has no rows.")
    return pieces
