"""Read Parquet, Feather and Arrow files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from latentclass.tables._chunks import rechunk
from latentclass.tables._shown import shown
from latentclass.tables._source import GZIP_FAULTS, Source, system_faults

PANDAS_INDEX = re.compile(r"__index_level_\d+__$")
"""Row labels that pandas stores beside the columns."""


@dataclass
class ColumnarReader:
    """The rows of a Parquet, Feather or Arrow file.

    Attributes
    ----------
    source : Source
    format : {"parquet", "feather"}
    names : list of str
        Columns that are read: all of them at first.
    all_names : list of str
    n_rows : int or None
        Number of rows of a Parquet file, once `read_chunks` has begun.
    """

    source: Source
    format: str
    names: list[str] = field(init=False)
    all_names: list[str] = field(init=False)
    n_rows: int | None = None

    def __post_init__(self) -> None:
        with self._faults():
            schema = self._open().schema_arrow if self.format == "parquet" else self._open().schema
            self.all_names = [name for name in schema.names if not PANDAS_INDEX.match(name)]
            self.names = self.all_names

    def read(self) -> Any:
        """All rows as one pyarrow table."""
        with self._faults():
            file = self._open()
            if self.format == "parquet":
                table = file.read(columns=self.names)
            else:
                table = file.read_all().select(self.names)
            self._refuse_no_rows(table.num_rows)
            return self._checked(table)

    def read_chunks(self, n_rows: int) -> Iterator[Any]:
        """All rows in tables of `n_rows`, the last one shorter."""
        with self._faults():
            file = self._open()
            if self.format == "parquet":
                self.n_rows = file.metadata.num_rows
                self._refuse_no_rows(self.n_rows)
                batches = file.iter_batches(n_rows, columns=self.names)
            else:
                batches = (
                    file.get_batch(place).select(self.names)
                    for place in range(file.num_record_batches)
                )
            for table in rechunk(batches, n_rows):
                yield self._checked(table)

    def _open(self) -> Any:
        place = self.source.open_at_random()
        if self.format == "parquet":
            return pq.ParquetFile(place)
        return ipc.open_file(pa.memory_map(str(place)) if place is self.source.path else place)

    def _checked(self, table: Any) -> Any:
        table.validate(full=True)  # a damaged file must not reach a model
        # Without what pandas knew of its index, all containers get the same columns. Chunks of a
        # Parquet file may come with other columns in another order.
        return table.select(self.names).replace_schema_metadata(None)

    def _refuse_no_rows(self, n_rows: int) -> None:
        if not n_rows:
            raise self.source.fault("the table has no rows.")

    @contextmanager
    def _faults(self) -> Iterator[None]:
        what = {"parquet": "Parquet", "feather": "Feather or Arrow"}[self.format]
        with system_faults(self.source.name):
            try:
                yield
            except (FileNotFoundError, PermissionError, *GZIP_FAULTS):
                raise
            except (pa.ArrowException, OSError) as error:
                raise self.source.fault(
                    f"this is not a whole {what} file ({shown(error, 120)}). Write it anew."
                ) from None
