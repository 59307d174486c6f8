"""Jaakkola and Jordan's bound: a logistic factor becomes a Gaussian one.

For a = b + w' z, a sign s = 1 or -1, and any xi

    log sigma(s a)  >=  kappa a - rho(xi) a^2 / 2 + height(xi),   kappa = s / 2,

with equality where a^2 = xi^2. This is eq. 5 of Langseth and Nielsen (2009); rho is -2 lambda
there. A Gaussian column x ~ N(a, theta) has exactly the same form, with kappa = x / theta and
rho = 1 / theta, and so has each category of a soft-max column (`_soft_max_bound`). So every column
is a factor (kappa, rho) of the same kind, a missing cell is no factor at all, and the posterior of
z given a row is Gaussian (eqs. 6 and 7).

Rows are on the last axis of all arrays. There are S starts, M components, Y classes, R rows, n_c
Gaussian and n_b logistic columns, Gaussian ones first; n is their sum, and f the number of features
of q latent variables (see `_logistic_kernels`). Each category of a soft-max column counts as a
logistic column, and these come last. The free numbers of their bound, psi, are stored as their xi.

A row has one cell for each logistic column, n_b in all, with one exception. Of the questions about
a column with very many categories (see `_halving`) a row answers only a few, and only these are its
cells. They are the last ones of a row; `asked` (D, R) tells the question of each, by its place
among the logistic columns. Soft-max columns do not occur beside them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from latentclass._types import FloatArray, IndexArray
from latentclass.engine._gaussian import LOG_2PI, upper_cells
from latentclass.engine._small import is_small
from latentclass.lcm import _logistic_plain
from latentclass.lcm._halving import NOTHING_ASKED
from latentclass.lcm._soft_max_bound import CURVATURE, Soft, soft_factors

Single = npt.NDArray[np.float32]

FEW, FEW_ROWS = 2**17, 100
"""Up to so many numbers, of so many rows, NumPy takes a few milliseconds at most.

To load the compiled loops takes a second, and ten if they must be compiled first. That is for
prediction. A fit makes thousands of passes, and uses the compiled loops for any number of rows.
"""

LEAST_XI = 1e-3
"""Smallest xi: at 0, rho is 0 / 0. The bound loses less than rounding by it."""


def loops(array: FloatArray) -> Any:
    """Return the module for loops over an array with rows last: compiled, or NumPy for a few."""

    if array.shape[-1] <= FEW_ROWS and is_small(array.size, FEW):
        return _logistic_plain
    from latentclass.lcm import _logistic_kernels  # loads numba

    return _logistic_kernels


def curvature(xi: FloatArray) -> FloatArray:
    """Return rho(xi) = tanh(xi / 2) / (2 xi), -2 lambda in Langseth and Nielsen (2009, eq. 5)."""
    small = np.exp(-xi)
    return np.asarray((1.0 - small) / ((1.0 + small) * (2.0 * xi)))


def vector_features(vectors: FloatArray) -> FloatArray:
    """Products v_i v_j, i <= j, of vectors on the last axis; of (1, z) they are z's features."""
    upper = upper_cells(vectors.shape[-1])
    return np.asarray(vectors[..., upper[0]] * vectors[..., upper[1]])


def unpack_features(table: FloatArray) -> FloatArray:
    """Symmetric matrices from features on the last axis."""
    size = round(float(np.sqrt(2 * table.shape[-1] + 0.25)) - 0.5)
    upper = upper_cells(size)
    out = np.empty((*table.shape[:-1], size, size))
    out[..., upper[0], upper[1]] = table
    out[..., upper[1], upper[0]] = table
    return out


class HybridRows(NamedTuple):
    """Rows of a table: `values` (n_c, R), NaN if missing, and `signs` of the logistic cells.

    A sign is 1 or -1, or 0 if missing. Signs may also be a sparse array of 0 and 1 without missing
    cells, in which 0 stands for -1. `soft` gives the soft-max columns (see `_soft_max_bound`), and
    `asked` (D, R) the questions of the last cells, anything where the sign is 0.
    """

    values: FloatArray
    signs: Any
    soft: Soft = ()
    asked: IndexArray = NOTHING_ASKED

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.values.shape[1])

    def repeat(self, times: int) -> HybridRows:
        """Return all rows, repeated several times."""
        values, signs = np.tile(self.values, (1, times)), dense_signs(self.signs)
        asked = np.tile(self.asked, (1, times))
        return self._replace(values=values, signs=np.tile(signs, (1, times)), asked=asked)

    def take(self, places: IndexArray) -> HybridRows:
        """Return some of the rows."""
        if len(places) == self.n_rows:
            return self._replace(values=np.ascontiguousarray(self.values))
        return self._replace(
            values=np.ascontiguousarray(self.values[:, places]),
            signs=self.signs[:, places],
            asked=np.take(self.asked, places, axis=-1) if len(self.asked) else self.asked,
        )


def dense_signs(signs: Any) -> npt.NDArray[np.int8]:
    """Signs of logistic columns as a dense array."""
    if not sp.issparse(signs):
        return np.asarray(signs)
    out = signs.toarray().astype(np.int8)
    out *= 2
    out -= 1
    return np.asarray(out)


class Design(NamedTuple):
    """Parameters in the form that the E-step needs.

    coefficient (S, M, n, q + 1): offset b and weights w of each column; table (S, M, f, n): their
    features; twice (S, M, n_b, f): of the logistic columns, products of two different numbers
    counted twice; inverse_noise, log_noise (S, M, n_c); precision, push (S, Y, q): 1 / gamma and
    mu / gamma; log_size (S, Y): -mu^2 / (2 gamma) - log(gamma) / 2, summed.
    """

    coefficient: FloatArray
    table: FloatArray
    twice: FloatArray
    inverse_noise: FloatArray
    log_noise: FloatArray
    precision: FloatArray
    push: FloatArray
    log_size: FloatArray


def make_design(
    coefficient: FloatArray, noise: FloatArray, mean: FloatArray, variance: FloatArray
) -> Design:
    """Make the design; `noise` has shape (S, M or 1, n_c), `mean` and `variance` (S, Y, q)."""
    table = np.ascontiguousarray(np.swapaxes(vector_features(coefficient), 2, 3))
    upper = upper_cells(coefficient.shape[-1])
    n_gaussian = noise.shape[-1]
    features = np.ascontiguousarray(np.swapaxes(table[..., n_gaussian:], 2, 3))
    twice = features * np.where(upper[0] == upper[1], 1.0, 2.0)
    noise = np.broadcast_to(noise, (*coefficient.shape[:2], n_gaussian))
    return Design(
        coefficient,
        table,
        twice,
        1.0 / noise,
        np.log(noise),
        np.ascontiguousarray(1.0 / variance),
        np.ascontiguousarray(mean / variance),
        -0.5 * (mean**2 / variance + np.log(variance)).sum(axis=-1),
    )


class Seen(NamedTuple):
    """Rows as numbers: `values` (n_c, R) and half signs `kappa` (cells, R), 0 if missing.

    `gaussian` and `logistic` are 1 for observed cells and 0 for missing ones. `logistic` is None
    if no cell is missing. `soft` and `asked` are those of the rows.
    """

    values: FloatArray
    kappa: FloatArray
    gaussian: FloatArray
    logistic: FloatArray | None
    soft: Soft = ()
    asked: IndexArray = NOTHING_ASKED

    @property
    def n_plain(self) -> int:
        """Number of logistic cells that are no categories of soft-max columns."""
        return len(self.kappa) - sum(self.soft)

    @property
    def n_direct(self) -> int:
        """Number of logistic cells that are columns, but no categories of soft-max columns."""
        return self.n_plain - len(self.asked)

    def answers(self, n_questions: int) -> sp.csr_array:
        """Half signs of the last cells by their questions, (R, n_b), 0 for all others."""
        depth, n_rows = self.asked.shape
        kappa = self.kappa[self.n_direct :].T.reshape(-1)
        edges = depth * np.arange(n_rows + 1)
        return sp.csr_array((kappa, self.asked.T.reshape(-1), edges), (n_rows, n_questions))

    def soft_factors(self, psi: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `_soft_max_bound`; psi has shape (S, M, categories, R)."""
        plain = self.n_plain
        shown = None if self.logistic is None else self.logistic[plain:]
        return soft_factors(self.soft, psi, self.kappa[plain:], shown)


def read_rows(rows: HybridRows) -> Seen:
    """Return rows in the form that the E-step needs."""
    signs = dense_signs(rows.signs)
    kappa = 0.5 * signs.astype(np.float64)
    shown = signs != 0
    hidden = np.isnan(rows.values)
    return Seen(
        np.where(hidden, 0.0, rows.values),
        kappa,
        (~hidden).astype(np.float64),
        None if shown.all() else shown.astype(np.float64),
        rows.soft,
        rows.asked,
    )


def prior_xi(design: Design, mean: FloatArray, variance: FloatArray, soft: Soft) -> FloatArray:
    """Return the xi that is best under the prior, before a row is seen, shape (S, M, n_b, Y)."""
    n_gaussian = design.log_noise.shape[-1]
    weights = design.coefficient[:, :, n_gaussian:]
    at_mean = weights[..., 1:] @ np.swapaxes(mean, 1, 2)[:, None] + weights[..., :1]
    spread = weights[..., 1:] ** 2 @ np.swapaxes(variance, 1, 2)[:, None]
    xi = np.maximum(np.sqrt(at_mean**2 + spread), LEAST_XI)
    plain = xi.shape[2] - sum(soft)
    xi[:, :, plain:] = at_mean[:, :, plain:]
    return xi


def cell_xi(by_class: FloatArray, label: IndexArray, seen: Seen) -> FloatArray:
    """Return xi of the cells of rows, (S, M, cells, R), from those of the columns, (S, M, n_b, Y).

    `label` (R,) is the class of each row. A cell that was not asked has 1.
    """
    if not len(seen.asked):
        return np.asarray(by_class[..., label])
    direct = seen.n_direct
    out = np.empty((*by_class.shape[:2], *seen.kappa.shape))
    out[:, :, :direct] = by_class[:, :, :direct][..., label]
    out[:, :, direct:] = np.where(seen.kappa[direct:] != 0, by_class[:, :, seen.asked, label], 1.0)
    return out


class Sums(NamedTuple):
    """Summed factors of some rows: `table` (S, M, f, R) and `pull` (S, M, q + 1, R).

    See `_logistic_kernels`. `rest` (S, M, R) is the part that does not depend on z. The factors
    themselves are `rho` (S, M, n, R), 0 if missing; `kappa` (S, M, n_s, R), of the soft-max columns
    only; and `height` (S, M, R), the part of the rest that depends on xi.
    """

    table: FloatArray
    pull: FloatArray
    rest: FloatArray
    rho: FloatArray
    kappa: FloatArray
    height: FloatArray


def sum_factors(design: Design, seen: Seen, xi: FloatArray | Single) -> Sums:
    """Sum the factors of each row; `xi` has shape (S, M, cells, R)."""
    xi = xi.astype(np.float64, copy=False)
    n_gaussian, direct = design.log_noise.shape[-1], seen.n_direct
    rho = np.empty((*xi.shape[:2], n_gaussian + xi.shape[2], xi.shape[-1]))
    np.multiply(design.inverse_noise[..., None], seen.gaussian, out=rho[:, :, :n_gaussian])
    kappa, height = _bend(seen, xi, rho, again=False)
    coefficient = np.swapaxes(design.coefficient, 2, 3)
    pull = coefficient[..., n_gaussian : n_gaussian + direct] @ seen.kappa[:direct]
    rest = height
    if seen.soft:
        pull += coefficient[..., n_gaussian + direct :] @ kappa
    if n_gaussian:
        pull += (coefficient[..., :n_gaussian] * design.inverse_noise[:, :, None]) @ seen.values
        squares = design.inverse_noise @ seen.values**2 + design.log_noise @ seen.gaussian
        rest = height - 0.5 * (squares + LOG_2PI * seen.gaussian.sum(axis=0))
    if not len(seen.asked):
        return Sums(design.table @ rho, pull, rest, rho, kappa, height)
    first = n_gaussian + direct
    table = design.table[..., :first] @ rho[:, :, :first]
    loops(rho).sum_asked(seen.asked, rho, design.twice, table)
    by_question = np.ascontiguousarray(coefficient[..., n_gaussian:].transpose(3, 0, 1, 2))
    pulls = seen.answers(len(by_question)) @ by_question.reshape(len(by_question), -1)
    pull += pulls.reshape(-1, *pull.shape[:3]).transpose(1, 2, 3, 0)
    return Sums(table, pull, rest, rho, kappa, height)


def _bend(
    seen: Seen, xi: FloatArray, rho: FloatArray, *, again: bool
) -> tuple[FloatArray, FloatArray]:
    """Write rho of the logistic cells into `rho`; return kappa of soft-max columns, and heights.

    If `again`, the heights of the others have the rho that was there before.
    """
    plain = seen.n_plain
    shown = seen.logistic if seen.logistic is not None else np.empty((0, 0))
    height = np.empty((*xi.shape[:2], xi.shape[-1]))
    loops(xi).bend_cells(xi, plain, shown, again, rho, height)
    if not seen.soft:
        return np.empty((*xi.shape[:2], 0, xi.shape[-1])), height
    soft = rho[:, :, rho.shape[2] - sum(seen.soft) :]
    soft[...] = CURVATURE
    if seen.logistic is not None:
        soft *= seen.logistic[plain:]
    kappa, constant = seen.soft_factors(xi[:, :, plain:])
    return kappa, height + constant


def improve_factors(
    design: Design, seen: Seen, sums: Sums, moments: FloatArray
) -> tuple[FloatArray, Sums, FloatArray]:
    """Return the best xi given the posterior, its factors, and what the bound gains, (S, M, R).

    The old rho is overwritten; the sums of the factors remain those at the old xi. The gain is that
    of the bound's expectation under the posterior, so the bound itself gains no less.
    """
    xi = best_xi(design, moments, seen)
    kappa, height = _bend(seen, xi, sums.rho, again=True)
    gain = height - sums.height
    if seen.soft:
        gain += ((kappa - sums.kappa) * xi[:, :, seen.n_plain :]).sum(axis=2)
    return xi, sums._replace(kappa=kappa), gain


def infer(
    design: Design, seen: Seen, label: IndexArray, xi: FloatArray | Single
) -> tuple[FloatArray, FloatArray]:
    """Return posterior moments of z, (S, M, f, R), and the bound on log p(row | y, m), (S, M, R).

    `xi` has shape (S, M, n_b, R); `label` (R,) is the class of each row.
    """
    return solve(design, sum_factors(design, seen, xi), label)


def solve(design: Design, sums: Sums, label: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Do the same from the sums of factors; their table is overwritten with the moments."""
    return sums.table, _find(design, sums, label, moments=True)


def measure(design: Design, sums: Sums, label: IndexArray) -> FloatArray:
    """Return only the bound, from the sums of factors, which are not changed."""
    return _find(design, sums, label, moments=False)


def solve_classes(design: Design, sums: Sums) -> tuple[FloatArray, FloatArray]:
    """Return the moments of all classes, (Y, S, M, f, R), and their bounds, (S, M, Y, R)."""
    n_classes, n_rows = design.log_size.shape[1], sums.rest.shape[-1]
    moments = np.empty((n_classes, *sums.table.shape))
    bound = np.empty((*sums.rest.shape[:2], n_classes, n_rows))
    for y, mine in enumerate(moments):
        mine[...] = sums.table
        _, bound[:, :, y] = solve(design, sums._replace(table=mine), np.full(n_rows, y))
    return moments, bound


def blend(moments: FloatArray, share: FloatArray) -> FloatArray:
    """Add up the moments of all classes (see `solve_classes`) with shares (S, M, Y, R)."""
    out = np.empty(moments.shape[1:])
    loops(moments).blend_classes(moments, share, out)
    return out


def _find(design: Design, sums: Sums, label: IndexArray, *, moments: bool) -> FloatArray:
    log_size = np.empty(sums.rest.shape)
    prior = design.precision, design.push
    loops(sums.table).find_posteriors(sums.table, sums.pull, label, *prior, moments, log_size)
    log_size += sums.rest
    log_size += np.swapaxes(design.log_size[:, label, None], 1, 2)
    return log_size


def best_squares(design: Design, moments: FloatArray, seen: Seen) -> FloatArray:
    """Return the xi^2 that maximise the bound given the posterior: E (b + w' z)^2.

    This is eq. 9 of Langseth and Nielsen (2009), with the posterior mean in all its terms. The best
    psi of a category of a soft-max column is E (b + w' z).
    """
    plain, direct = seen.n_plain, seen.n_direct
    out = np.empty((*moments.shape[:2], *seen.kappa.shape))
    np.matmul(design.twice[:, :, :direct], moments, out=out[:, :, :direct])
    if len(seen.asked):
        loops(out).square_asked(seen.asked, seen.kappa, design.twice, moments, out)
    square = out[:, :, :plain]
    np.maximum(square, LEAST_XI**2, out=square)
    if seen.soft:
        coefficient = design.coefficient[:, :, design.coefficient.shape[2] - sum(seen.soft) :]
        out[:, :, plain:] = coefficient @ moments[:, :, : coefficient.shape[-1]]
    return out


def best_xi(design: Design, moments: FloatArray, seen: Seen) -> FloatArray:
    """Return the xi, or psi, that maximise the bound given the posterior."""
    out = best_squares(design, moments, seen)
    square = out[:, :, : seen.n_plain]
    np.sqrt(square, out=square)
    return out
