"""Cut a stream of rows into tables of equal size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa


def rechunk(batches: Iterable[Any], n_rows: int) -> Iterator[Any]:
    """Tables of `n_rows` each, the last one shorter, from record batches of any size."""
    waiting: list[Any] = []
    n_waiting = 0
    for batch in batches:
        start = 0
        while batch.num_rows - start + n_waiting >= n_rows:
            part = batch.slice(start, n_rows - n_waiting)
            yield pa.Table.from_batches([*waiting, part])
            start += part.num_rows
            waiting, n_waiting = [], 0
        if start < batch.num_rows:
            waiting.append(batch.slice(start))
            n_waiting += waiting[-1].num_rows
    if waiting:
        yield pa.Table.from_batches(waiting)
