"""log p(row | class) for many rows and one latent tree per class: the upward pass, row by row.

The passes of `_inference` first find which rows share a pattern. That pays off when a tree passes
over the same rows many times. Prediction passes only once, so here a block of rows goes up every
tree without any preparation. After every few inputs of a node, the numbers of a row are divided by
the largest of them, so that nothing underflows however many columns there are.

Few rows go up in NumPy, many in a compiled kernel (`_predict_kernels`): a model that is loaded to
predict a few rows need not wait for numba.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latentclass._types import CodeArray, FloatArray
from latentclass.engine._small import is_small
from latentclass.latent_tree._predict_program import LOW, RESCALE, PredictProgram, make_program
from latentclass.latent_tree._row_patterns import PlaceArray
from latentclass.latent_tree._tree import Tree

FEW = 2**20
"""Numbers of all messages below which NumPy takes a few milliseconds; loading numba takes half a
second, and compiling the kernel another one."""


def class_log_likelihood(trees: Sequence[Tree], codes: CodeArray) -> FloatArray:
    """log p(observed cells | class), shape (n_rows, n_classes); -inf for an impossible row.

    This is log P(X | M_c), the sum over the latent variables in equation (1) of Wang, Zhang, Chen
    and Poon (2011), in the time of their Proposition 1.

    Parameters
    ----------
    trees : sequence of Tree
        One per class, with the same columns; every node that shows a column must be a leaf.
    codes : array of shape (n_rows, n_columns)
        -1 is a missing cell.

    Examples
    --------
    >>> tree = Tree.even((-1, 0, 0), (2, 2, 4), (-1, 0, 1))
    >>> codes = np.array([[0, 3], [1, -1]], dtype=np.int32)
    >>> np.exp(class_log_likelihood([tree], codes)).round(6).tolist()
    [[0.125], [0.5]]
    """
    out = np.empty((len(codes), len(trees)))
    levels = np.full(codes.shape[1], 1, dtype=np.int32)
    for node, column in enumerate(trees[0].columns):
        if column >= 0:
            levels[column] = trees[0].cardinalities[node]
    places = np.ascontiguousarray(np.where(codes < 0, levels, codes).T, dtype=np.uint32)
    n_messages = sum(len(table) for tree in trees for table in tree.tables)
    upward = _upward
    if not is_small(n_messages * len(codes), FEW):
        from latentclass.latent_tree._predict_kernels import upward
    for number, tree in enumerate(trees):
        upward(make_program(tree), places, out[:, number])
    return out


def _upward(program: PredictProgram, places: PlaceArray, out: FloatArray) -> None:
    """`_predict_kernels.upward` in NumPy."""
    n_rows, ends = places.shape[1], program.lam[1:]
    lam = np.ones((program.lam[-1], n_rows))
    scale, n_inputs = np.zeros(n_rows), np.zeros(len(ends), dtype=np.intp)
    for node in range(len(ends) - 1, 0, -1):
        above, k, table = program.parents[node], program.k[node], program.table[node]
        own, column = lam[program.lam[above] : ends[above]], program.columns[node]
        width = k + 1 if column >= 0 else k
        entries = program.theta[table : table + len(own) * width].reshape(-1, width)
        if column >= 0:
            own *= entries[:, places[column]]
        else:
            own *= entries @ lam[program.lam[node] : ends[node]]
        n_inputs[above] += 1
        if n_inputs[above] % RESCALE == 0:
            top = own.max(axis=0)
            top[(top == 0.0) | (top >= LOW)] = 1.0
            own /= top
            scale += np.log(top)
    with np.errstate(divide="ignore"):
        out[:] = np.log(program.theta[: program.k[0]] @ lam[: program.k[0]]) + scale
