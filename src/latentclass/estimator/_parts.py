"""Tables that are read in parts, as often as needed, and never held in memory as a whole.

A part is a piece of the source with a name, such as a row group of a Parquet file. It can be read
again at any time and in any process. So an EM step is a loop over the parts, on this machine or on
a cluster, and a part that is lost is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import narwhals.stable.v2 as nw
import numpy as np

from latentclass._validation import check_number
from latentclass.data._part_sources import Piece, PieceError, split_source
from latentclass.data._read import default_names
from latentclass.engine._blas import one_library_thread
from latentclass.engine._parallel import count_threads, map_blocks

Result = TypeVar("Result")

PART_ROWS = 2**17
"""Rows of a part of an array, and about as many of a CSV file."""


GATHERED = 64
"""Answers that are fetched from a cluster at a time: a fetch takes 10 ms, however many they are."""


class Part(NamedTuple):
    """One part in memory: its table without target and weight, labels and weights or None."""

    X: Any
    y: Any
    weight: Any
    name: str


class Parts:
    """A table in parts, for rows that do not fit into memory.

    Every classifier and `LatentMixture` learn from it: `fit(Parts(...))`. The labels are a column
    of the table.

    Parameters
    ----------
    source : path, pyarrow Dataset, dask DataFrame, array, or iterable of tables
        Path of a Parquet, Feather or CSV file, or of a folder of Parquet files; each row group,
        record batch or some 131,072 lines are a part. A two-dimensional array, which may be a
        memory map, is cut into parts of as many rows. A list, or any other object that can be read
        again from the start, has one table per part. Instead of a table it may have tuples
        (X, y) or (X, y, weight).
    target : str, int or array-like, optional
        Name or position of the column of labels; for an array, all its labels, one per row.
    weight : str, int or array-like, optional
        Name or position of the column of weights; for an array, all its weights.
    client : distributed.Client, optional
        Runs the parts as tasks on a Dask cluster, whose workers must be able to read the source.
        By default, parts run on threads of this process, as many as the estimator's `n_jobs`.
    sample_rows : int, default=20000
        Where a fit searches, for starts, sizes, cut points or a structure, it does so on a sample
        of about this many rows, at least about 200 of each class. Then all rows are used for the
        parameters. The sample depends on the contents of the rows and the estimator's
        `random_state`, not on the order or number of the parts. A source with no more rows is
        fitted as one table.

    Examples
    --------
    >>> import numpy as np
    >>> from latentclass import Parts
    >>> from latentclass.baselines import NaiveBayes
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> X = rng.normal(y[:, None], 1.0, (300, 2))
    >>> parts = Parts([(X[:100], y[:100]), (X[100:], y[100:])])
    >>> model = NaiveBayes().fit(parts)
    >>> [len(answer) for answer in parts.map(model.predict)]
    [100, 200]
    """

    def __init__(
        self,
        source: Any,
        target: Any = None,
        weight: Any = None,
        *,
        client: Any = None,
        sample_rows: int = 20_000,
    ) -> None:
        check_number("sample_rows", sample_rows, low=1, whole=True)
        self.source, self.target, self.weight = source, target, weight
        self.client, self.sample_rows = client, sample_rows
        self._pieces = split_source(source, target, weight, PART_ROWS)
        if client is not None and not isinstance(self._pieces, list):
            raise TypeError(
                "client= needs a source whose parts can be read one by one, but this one can only "
                "be read from the start. Pass a list, a file or a folder."
            )

    def __len__(self) -> int:
        """Number of parts."""
        if isinstance(self._pieces, list):
            return len(self._pieces)
        return sum(1 for _ in self._pieces)

    def __iter__(self) -> Iterator[Part]:
        """Read the parts one by one."""
        return (self._reader(piece) for piece in self._pieces)

    def __repr__(self) -> str:
        n_parts = f"{len(self):,} parts" if isinstance(self._pieces, list) else "parts"
        return f"Parts({type(self.source).__name__} in {n_parts}, target={_shown(self.target)})"

    def map(self, function: Callable[[Any], Result], n_jobs: int | None = None) -> Iterator[Result]:
        """Apply a function to the table of each part, such as `model.predict_proba`.

        Parameters
        ----------
        function : callable
            It gets the columns of one part, without target and weight.
        n_jobs : int, optional
            Number of threads; each has a part in memory.

        Yields
        ------
        The answers, in the order of the parts.
        """
        return self.prepare(_take_columns, n_jobs).map(function)

    def prepare(self, function: Callable[[Part], Any], n_jobs: int | None = None) -> PreparedParts:
        """Parts as `function` makes them, for several calls of `PreparedParts.map`."""
        make = _Make(self._reader, function)
        if self.client is not None:
            return ClusterParts(make, list(self._pieces), self.client)
        return PreparedParts(make, self._pieces, n_jobs)

    @property
    def _reader(self) -> _Reader:
        return _Reader(
            *(
                given if isinstance(given, str | int) else None
                for given in (self.target, self.weight)
            )
        )


def refuse_beside_parts(y: Any, sample_weight: Any) -> None:
    """Refuse labels or weights beside parts, which hold their own."""
    for given, name, column in ((y, "y", "target"), (sample_weight, "sample_weight", "weight")):
        if given is not None:
            raise TypeError(
                f"{name} was passed in addition to Parts. It must be in the parts: "
                f"Parts(source, {column}=...)."
            )


@dataclass(frozen=True)
class _Reader:
    """Reads a piece of the source, and takes target and weight out of its table."""

    target: str | int | None
    weight: str | int | None

    def __call__(self, piece: Piece) -> Part:
        X, y, weight = piece.read()
        if self.target is None and self.weight is None:
            return Part(X, y, weight, piece.name)
        named = [name for name in (self.target, self.weight) if name is not None]
        X, taken = _split_columns(X, named, piece.name)
        y = y if self.target is None else taken[0]
        weight = weight if self.weight is None else taken[-1]
        return Part(X, y, weight, piece.name)


@dataclass(frozen=True)
class _Make:
    """Reads a piece and prepares it; a piece that fails twice is named."""

    read: Callable[[Piece], Part]
    function: Callable[[Part], Any]

    def __call__(self, piece: Piece) -> Any:
        return _twice(lambda: self.function(self.read(piece)), piece.name)


def _twice(work: Callable[[], Result], name: str) -> Result:
    """Do the work; if it fails, once more: a network folder may be away for a moment."""
    try:
        return work()
    except Exception:
        try:
            return work()
        except PieceError:
            raise
        except Exception as error:
            kind = ValueError if isinstance(error, ValueError | TypeError) else PieceError
            raise kind(f"Part {name!r} cannot be used: {error}") from error


class PreparedParts:
    """Parts that are made again at each `map`, in a loop or on threads, and then forgotten."""

    def __init__(
        self, make: Callable[[Piece], Any], pieces: Iterable[Piece], n_jobs: int | None
    ) -> None:
        self._make, self._pieces, self._n_jobs = make, pieces, n_jobs

    def map(self, function: Callable[[Any], Result]) -> Iterator[Result]:
        """Yield the answers of a function about each part, in the order of the parts."""

        def work(piece: Piece) -> Result:
            return function(self._make(piece))

        pieces = iter(self._pieces)
        # as many parts in memory as there are threads
        while batch := list(islice(pieces, count_threads(self._n_jobs))):
            yield from map_blocks(work, batch, self._n_jobs)


class ClusterParts(PreparedParts):
    """Parts that stay in the memory of a Dask cluster.

    A part is a task that reads a piece, so a worker that dies costs time only: the cluster runs the
    task again. Nothing is sent to the workers but tasks.
    """

    def __init__(self, make: Callable[[Piece], Any], pieces: list[Piece], client: Any) -> None:
        super().__init__(make, pieces, None)
        self._client = client
        self._made = [client.submit(make, piece, pure=False) for piece in pieces]

    def map(self, function: Callable[[Any], Result]) -> Iterator[Result]:
        """See `PreparedParts`."""
        # one call for all: the function, which holds the parameters, is sent once
        tasks = self._client.map(partial(_run_there, function), self._made, pure=False, retries=1)
        try:
            for first in range(0, len(tasks), GATHERED):
                yield from self._client.gather(tasks[first : first + GATHERED])
        finally:
            # also after an error or Ctrl-C
            self._client.cancel([task for task in tasks if not task.done()])


def _run_there(function: Callable[[Any], Result], made: Any) -> Result:
    """Run a function on a worker as it would run here."""
    with one_library_thread():
        return function(made)


def _take_columns(part: Part) -> Any:
    return part.X


def _split_columns(X: Any, names: Sequence[str | int], part: str) -> tuple[Any, list[Any]]:
    """Take some columns out of a table; return the rest of it and these columns."""
    if not nw.dependencies.is_into_dataframe(X):
        X = np.asarray(X)
        known: list[Any] = default_names(X.shape[1])
        places = [_place(name, known, part) for name in names]
        return np.delete(X, places, axis=1), [X[:, place] for place in places]
    frame = nw.from_native(X, eager_only=True)
    places = [_place(name, frame.columns, part) for name in names]
    taken = [frame.columns[place] for place in places]
    return frame.drop(taken).to_native(), [frame[name].to_native() for name in taken]


def _place(name: str | int, known: Sequence[str], part: str) -> int:
    if isinstance(name, int) and -len(known) <= name < len(known):
        return name % len(known)
    if name not in known:
        some = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
        raise ValueError(f"{part} has no column {name!r}. Columns: {some}.")
    return list(known).index(str(name))


def _shown(target: Any) -> str:
    return repr(target) if isinstance(target, str | int | None) else "..."
