"""A fitted model of discrete columns as a value: from log P(codes | class) to all five answers.

A subclass of `DiscreteModel` is a frozen dataclass that adds its own arrays after `class_prior` and
`coding`, and provides

- `code_log_likelihood(codes)`: log P(observed codes | class), missing codes (-1) summed out;
- `sample_codes(y, rng)`: the active columns' codes of one row for each class code;
- `__post_init__`, which calls that of the base and then checks the arrays that the subclass adds.

It may also provide, where it knows a better way than the base,

- `own_code_log_likelihood(codes, y)`: the same for each row's own class, without the others;
- `code_without_each(codes)`: the same without each column in turn;
- `most_probable_codes(codes)`: rows with all missing codes filled; it may write into `codes`.
  `fill_in_turn` does it exactly where the largest density over the missing codes is known;
- `latent(table, posterior, n_jobs)` and `latent_names(labels, columns)`, if the model has latent
  variables; `coded(table)` gives the codes of all rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.data._schema import Block, Table, block_spans
from latentclass.discrete._coding import CodedRows, Coding
from latentclass.engine._logspace import log_sum_exp
from latentclass.engine._numeric import sums_without_each
from latentclass.estimator._fitted import (
    FittedModel,
    Posterior,
    check_distribution,
    check_no_nan,
    check_shape,
)

MAX_COMPLETIONS = 4096
"""Up to this many completions of a row are all tried to find the most probable one."""

MAX_SWEEPS = 50
"""If there are more, missing cells are improved one at a time, in this many rounds at most."""


@dataclass(frozen=True, eq=False)
class DiscreteModel(FittedModel):
    """What a classifier of discrete columns knows after `fit`.

    Attributes
    ----------
    class_prior : array of shape (n_classes,)
        Probability of each class; 0 for a class that no row was seen of.
    coding : Coding
        How rows of a table become codes, and back.
    """

    class_prior: FloatArray
    coding: Coding

    def __post_init__(self) -> None:
        check_shape("class_prior", self.class_prior, (None,))
        check_no_nan("class_prior", self.class_prior)
        check_distribution("class_prior", self.class_prior)

    # ------------------------------------------------- what a subclass must answer

    @abstractmethod
    def code_log_likelihood(self, codes: CodeArray) -> FloatArray:
        """log P(observed codes | class), shape (n_rows, n_classes)."""

    @abstractmethod
    def sample_codes(self, y: IndexArray, rng: np.random.Generator) -> CodeArray:
        """Draw the active columns' codes of one row for each class code."""

    # ------------------------------------------------------------- likelihood

    def log_likelihood(self, block: Block) -> FloatArray:
        """log p(observed cells | class), shape (n_rows, n_classes)."""
        codes = self.coding.encode(block)
        return self.code_log_likelihood(codes) + self.coding.log_inside(block)[:, None]

    def without_each(self, block: Block, wanted: BoolArray) -> FloatArray:
        """log p(observed cells but that of one column | class); 0 where it is not wanted."""
        codes = self.coding.encode(block)
        inside = self.coding.log_inside_each(block)
        n_continuous, n_columns = inside.shape[1], wanted.shape[1]
        out = np.repeat(self.code_log_likelihood(codes)[:, None], n_columns, axis=1)
        active = [
            place if continuous else n_continuous + place
            for continuous, place in self.coding.active
        ]
        out[:, active] = self.code_without_each(codes)
        out[:, :n_continuous] += sums_without_each(inside)[..., None]
        out[:, n_continuous:] += inside.sum(axis=1)[:, None, None]
        return np.where(wanted[..., None], out, 0.0)

    def code_without_each(self, codes: CodeArray) -> FloatArray:
        """log P(observed codes but one | class), (n_rows, n, n_classes); 0 for a missing one."""
        out = np.zeros((*codes.shape, self.n_classes))
        row, column = np.nonzero(codes >= 0)
        for span in block_spans(len(row), codes.shape[1] + self.n_classes):
            copies = codes[row[span]]
            copies[np.arange(len(copies)), column[span]] = -1
            out[row[span], column[span]] = self.code_log_likelihood(copies)
        return out

    def own_code_log_likelihood(self, codes: CodeArray, y: IndexArray) -> FloatArray:
        """log P(observed codes | own class): a model may save the work on the other classes."""
        spans = block_spans(len(codes), max(1, codes.shape[1]) * self.n_classes)
        parts = [self.code_log_likelihood(codes[s])[np.arange(len(y[s])), y[s]] for s in spans]
        return np.concatenate([np.empty(0), *parts])

    def code_log_joint(self, codes: CodeArray) -> FloatArray:
        """log P(observed codes, class), shape (n_rows, n_classes)."""
        spans = block_spans(len(codes), max(1, codes.shape[1]))
        parts = [self.code_log_likelihood(codes[span]) for span in spans]
        return np.concatenate(parts) + self.log_prior

    def total_log_likelihood(self, rows: CodedRows, table: Table, weight: FloatArray) -> float:
        """log p of all rows and their labels, weighted; rows without a label by log p(x).

        `rows` are the coded rows of `table`, and `weight` the weights of the table's rows.
        """
        known = self.own_code_log_likelihood(rows.codes, rows.y) + self.log_prior[rows.y]
        inside = [self.coding.log_inside(block) for block in table.blocks()]
        total = rows.weight @ known + weight @ np.concatenate([np.empty(0), *inside])
        if len(rows.unlabelled):
            total += rows.unlabelled_weight @ log_sum_exp(self.code_log_joint(rows.unlabelled))
        return float(total)

    def coded(self, table: Table) -> CodeArray:
        """Codes of the active columns of all rows."""
        return self.coding.encode_table(table)

    # ----------------------------------------------------- samples, completion

    def sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        """Draw one row for each class code."""
        codes = self.sample_codes(y, rng)
        numeric, nominal = self.coding.empty(len(y))
        for place, bins in enumerate(self.coding.bins):
            if not len(bins.cuts) and np.isfinite(bins.edge[0]):
                numeric[:, place] = bins.draw(np.zeros(len(y), dtype=np.int32), rng)
        for j, (continuous, place) in enumerate(self.coding.active):
            if continuous:
                numeric[:, place] = self.coding.bins[place].draw(codes[:, j], rng)
            else:
                nominal[:, place] = codes[:, j]
        return Table(numeric, nominal)

    def expected_cells(self, table: Table, posterior: Posterior, n_jobs: int | None) -> Table:  # noqa: ARG002
        """Mean of every missing number, most probable level of every other missing cell."""
        codes = self.coding.encode(table.block(slice(None)))
        numeric, nominal = self.coding.empty(len(codes))
        if not (codes < 0).any():
            return Table(numeric, nominal)
        class_shares = posterior(table)
        for j, (continuous, place) in enumerate(self.coding.active):
            rows = np.flatnonzero(codes[:, j] < 0)
            if not rows.size:
                continue
            share = self._level_posterior(codes[rows], j, class_shares[rows])
            if continuous:
                numeric[rows, place] = share @ self.coding.bins[place].mean
            else:
                nominal[rows, place] = share.argmax(axis=1)
        return Table(numeric, nominal)

    def _level_posterior(self, codes: CodeArray, j: int, posterior: FloatArray) -> FloatArray:
        """P(level of column j | observed cells), the classes mixed by `posterior`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            base = np.log(posterior) - self.code_log_joint(codes)
        levels = []
        for level in range(self.coding.n_levels[j]):
            codes[:, j] = level
            with np.errstate(invalid="ignore"):
                term = base + self.code_log_joint(codes)
            levels.append(log_sum_exp(np.where(np.isnan(term), -np.inf, term)))
        share = np.exp(np.stack(levels, axis=1))
        return np.asarray(share / share.sum(axis=1, keepdims=True))

    def most_probable_cells(self, table: Table, n_jobs: int | None) -> Table:  # noqa: ARG002
        """The cells of the most probable completion, numbers at the mode of their bin."""
        codes = self.coding.encode(table.block(slice(None)))
        holes = np.flatnonzero((codes < 0).any(axis=1))
        if holes.size:
            codes[holes] = self.most_probable_codes(codes[holes])
        numeric, nominal = self.coding.empty(len(codes))
        for j, (continuous, place) in enumerate(self.coding.active):
            if continuous:
                numeric[:, place] = self.coding.bins[place].mode[codes[:, j]]
            else:
                nominal[:, place] = codes[:, j]
        return Table(numeric, nominal)

    def most_probable_codes(self, codes: CodeArray) -> CodeArray:
        """Fill missing codes: try all completions, or improve one code at a time if too many."""
        missing = codes < 0
        patterns, which = np.unique(missing, axis=0, return_inverse=True)
        filled = codes.copy()
        for number, pattern in enumerate(patterns):
            rows = np.flatnonzero(which.reshape(-1) == number)
            columns = np.flatnonzero(pattern)
            levels = [self.coding.n_levels[j] for j in columns]
            if np.prod([float(r) for r in levels]) <= MAX_COMPLETIONS:
                filled[rows] = self._try_all(codes[rows], columns, levels)
            else:
                filled[rows] = self._improve(codes[rows], columns)
        return filled

    def fill_in_turn(
        self, codes: CodeArray, best_log_likelihood: Callable[[CodeArray], FloatArray]
    ) -> CodeArray:
        """Fill the columns one after the other, each with the level from which the best is reached.

        `best_log_likelihood` gives, for each row and class, the log of the largest density over
        all values of the missing cells. So the result is the most probable completion.
        """
        for j, n_levels in enumerate(self.coding.n_levels):
            rows = np.flatnonzero(codes[:, j] < 0)
            if not rows.size:
                continue
            values = []
            for level in range(n_levels):
                codes[rows, j] = level
                values.append((best_log_likelihood(codes[rows]) + self.log_prior).max(axis=1))
            codes[rows, j] = np.stack(values, axis=1).argmax(axis=1)
        return codes

    def _value(self, codes: CodeArray, columns: IndexArray) -> FloatArray:
        """log of the largest joint density over the classes, numbers at the mode of their bin."""
        peaks = self.coding.peaks()
        value: FloatArray = self.code_log_joint(codes).max(axis=1)
        for j in columns:
            value = value + peaks[j][codes[:, j]]
        return value

    def _try_all(self, codes: CodeArray, columns: IndexArray, levels: list[int]) -> CodeArray:
        every = np.indices(levels, dtype=np.int32).reshape(len(levels), -1).T
        best, value = codes.copy(), np.full(len(codes), -np.inf)
        best[:, columns] = every[0]
        for completion in every:
            tried = codes.copy()
            tried[:, columns] = completion
            new = self._value(tried, columns)
            better = new > value
            best[better], value[better] = tried[better], new[better]
        return best

    def _improve(self, codes: CodeArray, columns: IndexArray) -> CodeArray:
        for j in columns:  # first each cell given the observed ones and those filled before it
            joint = self.code_log_joint(codes)
            share = self._level_posterior(
                codes.copy(), j, np.exp(joint - log_sum_exp(joint)[:, None])
            )
            codes[:, j] = share.argmax(axis=1)
        for _ in range(MAX_SWEEPS):
            before = codes.copy()
            for j in columns:
                values = []
                for level in range(self.coding.n_levels[j]):
                    tried = codes.copy()
                    tried[:, j] = level
                    values.append(self._value(tried, columns))
                codes[:, j] = np.stack(values, axis=1).argmax(axis=1)
            if np.array_equal(before, codes):
                break
        return codes
