"""A tree as arrays for prediction; see `_predict`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.latent_tree._tree import Tree

RESCALE = 8
"""Number of inputs of a node after which a row's numbers are divided by the largest of them."""

LOW = 1e-30
"""Rows whose largest number is above this are not divided yet."""


class PredictProgram(NamedTuple):
    """A tree as arrays; the table of a leaf has a further column of ones for missing cells."""

    parents: IndexArray
    k: IndexArray
    columns: IndexArray
    table: IndexArray
    lam: IndexArray
    theta: FloatArray


def make_program(tree: Tree) -> PredictProgram:
    entries, table, lam = [], [], []
    n_entries = n_lam = 0
    for column, own in zip(tree.columns, tree.tables, strict=True):
        padded = own if column < 0 else np.concatenate([own, np.ones((len(own), 1))], axis=1)
        entries.append(padded.ravel())
        table.append(n_entries)
        lam.append(n_lam)
        n_entries += padded.size
        n_lam += own.shape[1] if column < 0 else 0
    return PredictProgram(
        np.array(tree.parents, dtype=np.intp),
        np.array(tree.cardinalities, dtype=np.intp),
        np.array(tree.columns, dtype=np.intp),
        np.array(table, dtype=np.intp),
        np.array([*lam, n_lam], dtype=np.intp),
        np.concatenate(entries),
    )
