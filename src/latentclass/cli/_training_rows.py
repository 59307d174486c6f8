"""Marks of the training rows, kept in the model file, so that `evaluate` recognises them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from latentclass.cli._input import label_text

N_MARKS = 256
"""Marks that are kept: the smallest. Rows of another table with marks in their range are a fair
sample of it."""

LEAST_DISTINCT = 0.9
"""Where fewer of the rows differ, the same rows come again by chance, and no marks are kept."""

LEAST_SEEN = 0.5
"""Share of known rows from which a file counts as one of training rows."""


def mark_rows(model: Any, X: Any, labels: Sequence[Any]) -> list[str]:
    """A mark of each row, the same for all files that hold it: of what the model reads in it."""
    table = model.schema_.encode(X, owner=type(model).__name__)
    block = table.block(slice(None))
    numeric = np.where(np.isnan(block.numeric), np.nan, block.numeric) + 0.0
    codes = np.ascontiguousarray(block.codes, dtype=np.int32)
    return [
        hashlib.blake2b(
            numbers.tobytes() + levels.tobytes() + label_text(label).encode(), digest_size=8
        ).hexdigest()
        for numbers, levels, label in zip(numeric, codes, labels, strict=True)
    ]


def note_rows(marks: Sequence[str]) -> dict[str, Any]:
    """What a model file keeps of its training rows."""
    distinct = sorted(set(marks))
    kept = distinct[:N_MARKS] if len(distinct) >= LEAST_DISTINCT * len(marks) else []
    return {"checksum": _checksum(marks), "marks": kept}


def share_of_known(note: dict[str, Any], marks: Sequence[str]) -> float | None:
    """Share of rows that were training rows, as far as the marks tell; None if they do not."""
    if note["checksum"] == _checksum(marks):
        return 1.0
    kept = note["marks"]
    if not kept:
        return None
    limit = kept[-1] if len(kept) == N_MARKS else "g"  # beyond all hexadecimal digits
    comparable = [mark for mark in set(marks) if mark <= limit]
    return len(set(comparable) & set(kept)) / len(comparable) if comparable else None


def _checksum(marks: Sequence[str]) -> str:
    return hashlib.sha256("".join(sorted(marks)).encode()).hexdigest()
