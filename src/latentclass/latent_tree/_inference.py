"""Exact inference in trees of discrete variables: likelihood and posteriors of each row.

Rows that agree in all columns below a node send the same message from there. So a message is
computed once for each distinct part of a row (a pattern), not once for each row. On the way back,
the posteriors of rows that share a pattern are added up before they go down. The results are those
of Pearl's propagation (1988, section 4.2) for each single row, but the cost depends on the number
of patterns instead of rows, and near the leaves there are few patterns.

Rows and their patterns are in `_row_patterns`, the units of work in `_schedule`, the compiled
passes in `_pass_kernels` and the expected counts in `_expected_counts`.

This module loads numba; import it only where a tree is fitted or used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latentclass._types import CodeArray, FloatArray
from latentclass.engine._parallel import map_blocks
from latentclass.latent_tree._expected_counts import Plan, expected_counts, messages, plan_rows
from latentclass.latent_tree._pass_kernels import BITS, LOG_BIG
from latentclass.latent_tree._row_patterns import (
    PatternBlock,
    RowPatterns,
    check_columns,
    group_rows,
)
from latentclass.latent_tree._schedule import (
    K_PARENT,
    LAM,
    MESSAGE,
    SIZE,
    K,
    Numbers,
    Program,
    Site,
    make_program,
    make_sites,
)
from latentclass.latent_tree._tree import Tree

__all__ = [
    "Plan",
    "RowPatterns",
    "expected_counts",
    "group_rows",
    "node_posteriors",
    "plan_rows",
    "row_log_likelihood",
]


def _map_rows(
    function: Callable[[PatternBlock], Any],
    tree: Tree,
    codes: npt.ArrayLike | RowPatterns,
    n_jobs: int | None,
) -> tuple[RowPatterns, list[Any]]:
    rows = codes if isinstance(codes, RowPatterns) else group_rows(codes)
    check_columns(tree, rows)
    return rows, list(map_blocks(function, rows.blocks, n_jobs if len(rows.blocks) > 4 else 1))


def row_log_likelihood(
    tree: Tree, codes: npt.ArrayLike | RowPatterns, n_jobs: int | None = None
) -> FloatArray:
    """log p(observed cells) of each row; -inf for an impossible row.

    Examples
    --------
    >>> tree = Tree.even((-1, 0, 0), (2, 2, 4), (-1, 0, 1))
    >>> np.exp(row_log_likelihood(tree, [[0, 3], [1, -1], [-1, -1]])).round(6).tolist()
    [0.125, 0.5, 1.0]
    """

    def visit(block: PatternBlock) -> FloatArray:
        sites = make_sites(tree, block)
        program = make_program(tree, sites)
        numbers = messages(program, tree.theta)
        (x,), (e,) = _message(program, len(sites) - 1, numbers)
        with np.errstate(divide="ignore"):
            return np.asarray((np.log(x) + e * LOG_BIG)[sites[-1].ids])

    rows, parts = _map_rows(visit, tree, codes, n_jobs)
    return np.asarray(np.concatenate(parts)[rows.index])


def node_posteriors(
    tree: Tree,
    codes: npt.ArrayLike | RowPatterns,
    nodes: Sequence[int] | None = None,
    n_jobs: int | None = None,
) -> list[FloatArray]:
    """P(state | observed cells) of each row, one array of shape (n_rows, states) per node.

    Parameters
    ----------
    tree : Tree
    codes : array of shape (n_rows, n_columns), or RowPatterns
    nodes : sequence of int, optional
        By default the latent nodes. The posterior of an observed node tells something where its
        cell is missing.
    n_jobs : int or None

    Notes
    -----
    An impossible row (likelihood 0) gets uniform posteriors.
    """
    wanted = list(tree.latent if nodes is None else nodes)
    for node in wanted:
        if not 0 <= node < len(tree.parents):
            raise ValueError(
                f"nodes has {node}, but the tree has only the nodes 0 to {len(tree.parents) - 1}."
            )
    needed = set(wanted)
    for node in range(len(tree.parents) - 1, 0, -1):
        if node in needed:
            needed.add(tree.parents[node])

    def visit(block: PatternBlock) -> list[FloatArray]:
        sites = make_sites(tree, block)
        program = make_program(tree, sites)
        numbers = messages(program, tree.theta)
        top = {site.node: i for i, site in enumerate(sites) if site.node >= 0}
        possible = _message(program, len(sites) - 1, numbers)[0][0, sites[-1].ids] > 0.0
        found = {-1: possible.astype(np.float64)[:, None]}
        for node in sorted(needed):
            found[node] = _edge_posterior(
                found[tree.parents[node]], sites[top[node]], tree.tables[node], program,
                top[node], numbers,
            )  # fmt: skip
        for node in wanted:
            found[node][~possible] = 1.0 / tree.cardinalities[node]
        return [found[node] for node in wanted]

    rows, parts = _map_rows(visit, tree, codes, n_jobs)
    return [np.concatenate([part[i] for part in parts])[rows.index] for i in range(len(wanted))]


def _message(program: Program, site: int, numbers: Numbers) -> tuple[FloatArray, CodeArray]:
    """The message of a site and its exponents, of shape (states of the parent, patterns)."""
    return _matrix(numbers, *program.sites[site, [MESSAGE, K_PARENT, SIZE]].tolist())


def _matrix(numbers: Numbers, start: int, k: int, size: int) -> tuple[FloatArray, CodeArray]:
    own = slice(start, start + k * size)
    return numbers.value[own].reshape(k, size), numbers.exponent[own].reshape(k, size)


def _edge_posterior(
    given: FloatArray, site: Site, table: FloatArray, program: Program, number: int,
    numbers: Numbers,
) -> FloatArray:  # fmt: skip
    """P(s | row) = sum_p P(p | row) P(s | p) lam(s) / m(p), from the parent's P(p | row)."""
    if not site.inputs:  # evidence: the observed state, or P(s | p) where none is
        missing = site.ids == site.k
        out: FloatArray = np.zeros((len(given), site.k))
        out[~missing, site.ids[~missing]] = given[~missing].sum(axis=1)
        out[missing] = given[missing] @ table
        return out
    lam, lam_e = _matrix(numbers, *program.sites[number, [LAM, K, SIZE]].tolist())
    message, message_e = _message(program, number, numbers)
    share = given / np.where(message > 0.0, message, 1.0).T[site.ids]
    if not numbers.scaled[number]:
        return np.asarray((share @ table) * lam.T[site.ids])
    e = lam_e.T[site.ids][:, None] - message_e.T[site.ids][:, :, None]
    joint = share[:, :, None] * table * lam.T[site.ids][:, None]
    return np.asarray(np.ldexp(joint, BITS * e).sum(axis=1))
