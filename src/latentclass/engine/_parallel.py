"""Run a function over blocks of rows, on several threads if wanted, results in row order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import joblib

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_blocks(
    function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None = None
) -> Iterator[Result]:
    """Apply `function` to each item; results come in the items' order, whatever `n_jobs`.

    Threads by default, because the work is in numpy calls that release the GIL;
    `joblib.parallel_config` may put another backend (Dask, say) in their place.
    """
    if len(items) < 2 or joblib.effective_n_jobs(n_jobs) == 1:
        yield from map(function, items)
        return
    parallel = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    results: Iterable[Result] = parallel(joblib.delayed(function)(item) for item in items)
    yield from results
