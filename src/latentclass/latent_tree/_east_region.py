"""Regions of a tree for local EM, laid out as arrays for the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray
from latentclass.latent_tree._east_local_em import Region
from latentclass.latent_tree._east_messages import Base
from latentclass.latent_tree._row_patterns import PlaceArray

GROUP_SHARE = 0.1
"""Leaves form one group as long as they have fewer patterns than this share of the rows."""


_NOTHING: FloatArray = np.empty(0)


class _Input(NamedTuple):
    """A node that hangs in the region; the fields are explained at `Region`."""

    k: int
    leaf: bool
    size: int
    ids: PlaceArray
    evidence: FloatArray


class _Group(NamedTuple):
    """Inputs and their joint patterns: how many, that of each row, and the inputs by pattern."""

    size: int
    ids: PlaceArray
    inputs: list[_Input]


def make_region(
    base: Base,
    branches: list[tuple[int, int]],
    k: int,
    factor: FloatArray | None,
    k_new: int = 0,
) -> Region:
    """Lay out a region.

    Parameters
    ----------
    base : Base
    branches : list of (int, int)
        Each node that hangs in the region, and its current neighbour in the direction of the
        region.
    k : int
        Number of states of the root.
    factor : array of shape (k, R) or None
        The fixed factor of each row, from the rest of the tree. None if the prior of the root and
        the tables of all its neighbours are learned.
    k_new : int
        Number of states of a new node between the root and the branches; 0 if there is none.
    """
    inputs = [_input(base, branch, source) for branch, source in branches]
    n_rows = len(base.data.weight)
    groups = [_joined(inputs)] if k_new else _grouped(inputs, GROUP_SHARE * n_rows)
    weight, bounds = base.data.weight, np.empty(0, dtype=np.uint64)
    if factor is not None and len(groups) == 1 and groups[0].size < n_rows:
        order = np.argsort(groups[0].ids, kind="stable")
        factor, weight = factor[:, order], weight[order]
        count = np.bincount(groups[0].ids, minlength=groups[0].size)
        bounds = np.append(0, np.cumsum(count)).astype(np.uint64)
    every, rows, evidence = [], [], []
    places = [] if len(bounds) else [group.ids for group in groups]
    n_places, n_patterns, n_given = n_rows * len(places), 0, 0
    for g, group in enumerate(groups):
        for i, one in enumerate(group.inputs):
            rows.append((g, i == 0, one.k, one.leaf, one.size, n_places, n_given, n_patterns))
            places.append(one.ids)
            n_places += len(one.ids)
            n_patterns += one.size
            if not one.leaf:
                evidence.append(one.evidence)
                n_given += len(one.evidence)
    n_patterns = 0
    for g, group in enumerate(groups):
        every.append((group.size, n_patterns, g * n_rows))
        n_patterns += group.size
    return Region(
        k,
        k_new,
        factor is None,
        np.array(rows, dtype=np.uint64),
        np.array(every, dtype=np.uint64),
        bounds,
        np.concatenate(places),
        _NOTHING if factor is None else np.ascontiguousarray(factor).reshape(-1),
        weight,
        np.concatenate(evidence) if evidence else _NOTHING,
    )


def _input(base: Base, node: int, source: int) -> _Input:
    """A branch as input, seen from its neighbour `source`; `ids` has the pattern of each row."""
    k = base.tree.cardinalities[node]
    if base.tree.columns[node] >= 0:
        return _Input(k, True, k + 1, base.places(node), _NOTHING)
    n_rows = len(base.data.weight)
    ids = np.arange(n_rows, dtype=np.uint32)
    return _Input(k, False, n_rows, ids, base.evidence(node, source).ravel())


def _grouped(inputs: list[_Input], limit: float) -> list[_Group]:
    """Consecutive leaves in one group as long as their patterns are few; other inputs alone."""
    groups: list[list[_Input]] = []
    size = 0
    for one in inputs:
        if groups and one.leaf and groups[-1][-1].leaf and size * one.size <= limit:
            groups[-1].append(one)
            size *= one.size
        else:
            groups.append([one])
            size = one.size
    return [_joined(group) for group in groups]


def _joined(inputs: list[_Input]) -> _Group:
    """One group of inputs. Its patterns are all combinations, or the rows if these are fewer."""
    n_rows = len(inputs[0].ids)
    if len(inputs) == 1:
        (one,) = inputs
        every = np.arange(one.size, dtype=np.uint32)
        return _Group(one.size, one.ids, [one._replace(ids=every)])
    size = 1
    for one in inputs:
        size *= one.size
    if size >= n_rows:
        return _Group(n_rows, np.arange(n_rows, dtype=np.uint32), inputs)
    ids = np.zeros(n_rows, dtype=np.uint32)
    rest = np.arange(size, dtype=np.uint32)
    left, placed = size, []
    for one in inputs:
        ids = ids * np.uint32(one.size) + one.ids
        left //= one.size
        placed.append(one._replace(ids=rest // np.uint32(left)))
        rest = rest % np.uint32(left)
    return _Group(size, ids, placed)
