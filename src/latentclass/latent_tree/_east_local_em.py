"""Local EM in a small region of a tree, for one candidate move and many starts.

Local EM keeps the unchanged part of the tree fixed and learns only the tables that a move changes
(section 3.2 of Wang, Zhang, Chen and Poon 2011). The root of a region is a node Y of the tree with
k states. Its inputs are the nodes Z whose tables are learned. Each input has evidence e_Z(z) about
its states from its side of the tree: the code of a leaf, or a vector per row for a latent node. If
the move adds a latent node W, it hangs from Y and the inputs hang from W, and P(W | Y) is learned
too. The rest of the tree gives a fixed factor base(y) for each row, so that

    p(row) = sum_y base(y) P(y) prod_Z [sum_z P(z | y) e_Z(z)]                  without W   (a)
    p(row) = sum_y base(y) sum_w P(w | y) prod_Z [sum_z P(z | w) e_Z(z)]        with W      (b)

If P(y) is not learned, it is part of base(y). The E-step adds up the posterior of each learned
table, for example

    P(y, z | row) = base(y) P(y) P(z | y) e_Z(z) prod of the other inputs / p(row).             (c)

Inputs that have few patterns together form a group, whose product is computed once per pattern
instead of once per row. In a region with one group, the rows are sorted by pattern, so that the
inner loops run over rows that share a message.

After 1, 2, 4, ... steps the worse half of the starts is dropped, as in `engine/_em.run_restarts`.
This is compiled too (`_region_kernels.run_region`), because a candidate takes only about a
millisecond.

This module loads numba; import it only where a tree is searched for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray
from latentclass.latent_tree._region_kernels import K_IN, SIZE_IN, run_region
from latentclass.latent_tree._row_patterns import PlaceArray
from latentclass.latent_tree._schedule import OffsetArray


class Region(NamedTuple):
    """A region as flat arrays, for the kernels; R is the number of rows.

    Attributes
    ----------
    k : int
        Number of states of the root.
    k_new : int
        Number of states of W; 0 if there is no W.
    free_prior : bool
        Whether the distribution of the root is learned.
    inputs : array of shape (n_inputs, 8)
        For each input its group, whether it is the first there (the inputs of a group are
        consecutive), its number of states, whether it is a leaf (whose patterns are the codes, and
        the number of states for a missing cell), its number of patterns, where its `places` and its
        `evidence` start, and the number of patterns of all inputs before it.
    groups : array of shape (n_groups, 3)
        For each group its number of patterns, that of all groups before it, and where its pattern
        in each row starts in `places`. With W there is one group.
    bounds : array
        With one group and a `base`: where the rows of each pattern start, followed by R. Otherwise
        empty.
    places : array
        Pattern of each group in each row, and of each input in each pattern of its group.
    base : array of size k R
        The fixed factor; empty if there is none.
    weight : array of shape (R,)
    evidence : array
        e_Z of each input, (states, patterns); a leaf has none.
    """

    k: int
    k_new: int
    free_prior: bool
    inputs: OffsetArray
    groups: OffsetArray
    bounds: OffsetArray
    places: PlaceArray
    base: FloatArray
    weight: FloatArray
    evidence: FloatArray


def n_entries(region: Region) -> int:
    """Number of entries of all learned tables: P(Y), P(W | Y), then the table of each input."""
    return sum(rows * columns for rows, columns in _shapes(region))


def split_tables(region: Region, theta: FloatArray) -> list[FloatArray]:
    """A flat array of entries as tables: P(Y) and P(W | Y) if learned, then those of the inputs."""
    tables, start = [], 0
    for rows, columns in _shapes(region):
        tables.append(theta[start : start + rows * columns].reshape(rows, columns))
        start += rows * columns
    return tables


def _shapes(region: Region) -> list[tuple[int, int]]:
    shapes = [(1, region.k)] if region.free_prior else []
    if region.k_new:
        shapes.append((region.k, region.k_new))
    return shapes + [(region.k_new or region.k, k) for k in region.inputs[:, K_IN].tolist()]


def _make_room(region: Region) -> tuple[OffsetArray, FloatArray]:
    """The head of a region for the kernels, and memory.

    The memory is for messages and summed posteriors of the inputs, of the groups and of W; then
    P(y, row), its sum p(row), and the logarithm of the number by which each row was divided. The
    head has k, k_new and `free_prior`, the number of rows, and where the parts start but the first.
    """
    n_rows, above = len(region.weight), region.k_new or region.k
    n_inputs = above * int(region.inputs[:, SIZE_IN].sum())
    n_groups = above * int(region.groups[:, 0].sum())
    n_new = region.k * int(region.groups[0, 0]) if region.k_new else 0
    n_joint = 0 if len(region.bounds) else region.k * n_rows
    head, start = [region.k, region.k_new, int(region.free_prior), n_rows], 0
    for size in (n_inputs, n_inputs, n_groups, n_groups, n_new, n_new, n_joint, n_rows):
        start += size
        head.append(start)
    return np.array(head, dtype=np.uint64), np.empty(start + n_rows)


def region_log_likelihood(region: Region, theta: FloatArray) -> float:
    """Weighted sum of log p(row) of equation (a) or (b), with the given tables."""
    return local_em(region, theta[None], 0, 0.0)[1]


def local_em(
    region: Region, starts: FloatArray, max_iter: int, tol: float
) -> tuple[FloatArray, float]:
    """Run EM from several starts of shape (S, n_entries); the best tables and log-likelihood.

    The start that remains after halving stops when a step gains less than `tol`, or after
    `max_iter` steps in total.
    """
    head, room = _make_room(region)
    theta, value = starts.ravel().copy(), np.empty(len(starts))
    best = run_region(
        head, region.inputs, region.groups, region.bounds,
        np.array(_shapes(region), dtype=np.uint64), region.places, region.base, region.weight,
        region.evidence, room, theta, np.empty(theta.size), value,
        np.arange(len(starts), dtype=np.uint64), max_iter, tol,
    )  # fmt: skip
    return theta.reshape(starts.shape)[best], float(value[best])
