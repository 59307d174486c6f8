"""What an entry has to work with: the profile, the store, the folder, and how to compute."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from latentclass._files import replacing
from latentclass.evaluation import Comparison, Store, compare
from latentclass.evaluation._identity import describe, versions
from latentclass.evaluation._store import canonical_json, checksum

STORE = "results.jsonl"


class NotFinished(Exception):
    """A result is not in the store, and nothing may be computed."""


@dataclass(frozen=True)
class Work:
    """What an entry has to work with.

    Attributes
    ----------
    profile : {"quick", "paper"}
    out : Path
        The folder that results go to.
    name : str
        Stem of the entry's files.
    n_jobs : int or None
        Number of fits at the same time.
    only_stored : bool
        Whether to compute nothing.
    say : callable of str
        Tells how far the work is.
    """

    profile: str
    out: Path
    name: str
    n_jobs: int | None = None
    only_stored: bool = False
    say: Callable[[str], None] = lambda _: None

    @property
    def quick(self) -> bool:
        """Whether the profile is "quick"."""
        return self.profile == "quick"

    @property
    def store(self) -> Path:
        """The file that keeps each finished fold."""
        return self.out / STORE

    def compare(
        self, classifiers: Mapping[str, Any], datasets: Sequence[Any], **settings: Any
    ) -> Comparison:
        """`evaluation.compare` with the store. A classifier that is None is not installed."""
        found = {name: one for name, one in classifiers.items() if one is not None}
        names = ", ".join(
            str(one[0] if isinstance(one, tuple) else getattr(one, "name", one)) for one in datasets
        )
        result = compare(
            found,
            list(datasets),
            store=self.store,
            n_jobs=self.n_jobs,
            only_stored=self.only_stored,
            **settings,
        )
        self.say(f"{self.name}, {names}: {result.n_computed} fits")
        return result

    def remember(self, what: str, subject: Any, compute: Callable[[], Any]) -> Any:
        """Return what `compute` returns, as JSON has it, from the store if it is there.

        Parameters
        ----------
        what : str
            Name of the result.
        subject : estimator, dict, list, ...
            Everything that determines the result: estimators with their parameters, names of data
            sets, numbers. The source of `compute` counts too, that of what it calls does not.
        compute : callable without arguments
            Returns numbers, texts, lists and dicts of them.

        Raises
        ------
        NotFinished
            If it is not in the store and nothing may be computed.
        """
        described = describe(subject)
        content = {
            "what": what,
            "subject": described,
            "source": checksum(inspect.getsource(compute)),
            "versions": versions(described),
        }
        key = checksum(canonical_json(content))
        store = Store(self.store)
        if key in store.records:
            return store.records[key]["result"]
        if self.only_stored:
            raise NotFinished(f"{what} is not in {self.store}.")
        result = json.loads(json.dumps(compute(), allow_nan=True))
        store.add({"key": key, "error": None, "content": content, "result": result})
        self.say(f"{self.name}, {what}")
        return result

    def save_picture(self, figure: Any, part: str = "") -> None:
        """Write a matplotlib figure, whole or not at all; `part` tells several of them apart."""
        stem = f"{self.name}-{part}" if part else self.name
        with replacing(os.path.join(self.out, f"{stem}-{self.profile}.png")) as file:
            figure.savefig(
                file, format="png", dpi=120, bbox_inches="tight", metadata={"Software": None}
            )
