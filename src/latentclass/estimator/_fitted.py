"""A fitted model is a value: frozen arrays that are checked once, and five answers about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.data._schema import Block, Table, block_spans
from latentclass.engine._em import EMResult
from latentclass.engine._logspace import log_normalise, log_sum_exp, split_log
from latentclass.engine._parallel import map_blocks
from latentclass.estimator._calibration import HeldOutRows

Posterior = Callable[[Table], FloatArray]
"""P(class | observed cells) of each row of a table, with the estimator's temperature."""

SUM_TOLERANCE = 1e-6
"""How far the sum of a distribution may be from 1."""


class FittedModel(ABC):
    """What a model knows after `fit`.

    A subclass is a frozen dataclass. It holds arrays and knows nothing of column names, containers
    or labels: the estimator turns tables into arrays and class codes into labels. It checks its
    arrays when it is made, so a model that exists can answer.

    The five answers are `log_likelihood`, `sample_table`, `expected_cells`, `most_probable_cells`
    and `latent`. Everything else follows from them.
    """

    class_prior: FloatArray
    """Probability of each class, shape (n_classes,)."""

    @abstractmethod
    def log_likelihood(self, block: Block) -> FloatArray:
        """log p(observed cells | class), shape (n_rows, n_classes)."""

    @abstractmethod
    def sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        """Draw one row for each class code."""

    @abstractmethod
    def expected_cells(self, table: Table, posterior: Posterior, n_jobs: int | None) -> Table:
        """Mean of every continuous cell, most probable code of every discrete one."""

    @abstractmethod
    def most_probable_cells(self, table: Table, n_jobs: int | None) -> Table:
        """The cells of the most probable completion."""

    def latent(self, table: Table, posterior: Posterior, n_jobs: int | None) -> FloatArray:  # noqa: ARG002
        """Posterior of the latent variables: the class itself where there is no other."""
        return posterior(table)

    def latent_names(self, labels: list[str], columns: list[str]) -> list[str]:  # noqa: ARG002
        """Names of the columns of `latent`, from the names of the classes and the columns."""
        return labels

    def hidden_states(self, table: Table) -> list[tuple[FloatArray, FloatArray]]:  # noqa: ARG002
        """Of each discrete latent variable its share in each row, and the posterior of its states.

        Shapes (n_rows,) and (n_rows, n_states). The share is 1 but for a variable that only rows of
        one class have: for it, the posterior of the class.
        """
        return []

    def fold_codes(self, codes: Any) -> Any:
        """Codes of discrete columns by which rows are dealt to folds.

        A model for which the order of categories must not matter numbers them by what rows hold.
        """
        return codes

    # ----------------------------------------------------- what follows from the answers

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_prior)

    @property
    def log_prior(self) -> FloatArray:
        """log P(class); -inf for a class that no row was seen of."""
        with np.errstate(divide="ignore"):
            return np.log(self.class_prior)

    def spans(self, table: Table) -> list[slice]:
        """Row ranges of the blocks that `log_likelihood` is asked about."""
        return table.spans(extra_columns=self.n_classes)

    def by_block(
        self, function: Callable[[Block], FloatArray], table: Table, n_jobs: int | None
    ) -> FloatArray:
        """Answers of a function about each block of a table, one below the other."""
        parts = map_blocks(lambda rows: function(table.block(rows)), self.spans(table), n_jobs)
        return np.concatenate(list(parts))

    def evidence(self, table: Table, n_jobs: int | None) -> FloatArray:
        """log p(observed cells | class) of all rows."""
        return self.by_block(self.log_likelihood, table, n_jobs)

    def log_density(self, table: Table, n_jobs: int | None) -> FloatArray:
        """log p(observed cells) of all rows."""
        return log_sum_exp(self.evidence(table, n_jobs) + self.log_prior)

    def log_posterior(
        self, table: Table, log_prior: FloatArray, temperature: float, n_jobs: int | None
    ) -> FloatArray:
        """log P(class | observed cells) of all rows, with a temperature and class probabilities.

        `log_prior` has one entry per class, for all rows or for each.
        """

        def visit(rows: slice) -> FloatArray:
            mine = log_prior if log_prior.ndim == 1 else log_prior[rows]
            return to_log_posterior(self.log_likelihood(table.block(rows)), mine, temperature)

        return np.concatenate(list(map_blocks(visit, self.spans(table), n_jobs)))

    def completion(self, table: Table, how: str, posterior: Posterior, n_jobs: int | None) -> Table:
        """Cells to fill the holes of all rows with: "expected" or "most_probable".

        A row that the model finds impossible tells nothing about its missing cells. They are filled
        as if all its cells were missing.
        """
        impossible = np.isneginf(self.log_density(table, n_jobs))
        if impossible.any():
            block = table.block(slice(None))
            hidden = np.broadcast_to(impossible[:, None], block.shown.shape)
            table = Table(*block.copies_without(np.arange(len(hidden)), hidden))
        if how == "expected":
            return self.expected_cells(table, posterior, n_jobs)
        return self.most_probable_cells(table, n_jobs)

    def level_chances(
        self, table: Table, n_levels: IndexArray, n_jobs: int | None
    ) -> list[FloatArray]:
        """Probability of each level of each discrete column, given the row's observed cells.

        One array (n_rows, levels) for each column; the level of an observed cell has probability 1.
        A missing cell's probabilities are the densities of the row with each of its levels,
        normalised. A model may know a faster way.
        """
        out = []
        for place, n in enumerate(n_levels):
            mine = np.asarray(table.codes)[:, place]
            chance = mark_levels(mine, n)
            rows = np.flatnonzero(mine < 0)
            if rows.size and n:
                log_density = self._density_by_level(table.take(rows), place, n, n_jobs)
                impossible = np.isneginf(log_density).all(axis=1)
                if impossible.any():
                    numeric, codes = table.numeric[:1], table.codes[:1]
                    nothing = Table(np.full_like(numeric, np.nan), np.full_like(codes, -1))
                    log_density[impossible] = self._density_by_level(nothing, place, n, n_jobs)
                chance[rows] = np.exp(log_normalise(log_density))
            out.append(chance)
        return out

    def _density_by_level(
        self, table: Table, place: int, n_levels: int, n_jobs: int | None
    ) -> FloatArray:
        """log-density of each row with each level of one discrete column."""
        out = np.empty((table.n_rows, n_levels))
        for level in range(n_levels):
            codes = np.array(table.codes)
            codes[:, place] = level
            out[:, level] = self.log_density(Table(table.numeric, codes), n_jobs)
        return out

    def without_each(self, block: Block, wanted: BoolArray) -> FloatArray:
        """log p(observed cells but that of one column | class), (n_rows, n_columns, n_classes).

        `wanted` (n_rows, n_columns), the continuous columns first, marks what is asked for; the
        rest of the answer means nothing. A model may know a faster way than this one.
        """
        return self.without_sets(block, np.eye(wanted.shape[1], dtype=bool), wanted)

    def without_sets(self, block: Block, sets: BoolArray, wanted: BoolArray) -> FloatArray:
        """The same without sets of columns, (n_sets, n_columns): many copies of a row at once."""
        out = np.zeros((*wanted.shape, self.n_classes))
        row, which = np.nonzero(wanted)
        for span in block_spans(len(row), sets.shape[1] + self.n_classes):
            copies = block.copies_without(row[span], sets[which[span]])
            out[row[span], which[span]] = self.evidence(Table(*copies), None)
        return out


def mark_levels(codes: CodeArray, n_levels: int) -> FloatArray:
    """1 for the level of each cell of a column, (n_rows, n_levels); 0 everywhere if missing."""
    return np.asarray(codes[:, None] == np.arange(n_levels), dtype=np.float64)


def to_log_posterior(evidence: FloatArray, log_prior: FloatArray, temperature: float) -> FloatArray:
    """log P(class | x) from log p(x | class), the classes on the last axis."""
    log_joint = (evidence if temperature == 1.0 else evidence / temperature) + log_prior
    log_posterior, log_total = split_log(log_joint)
    # a row that no class can have made tells nothing about the class
    lost = np.isneginf(log_total)
    if lost.any():
        log_posterior[lost] = np.broadcast_to(log_normalise(log_prior), log_joint.shape)[lost]
    return log_posterior


@dataclass(frozen=True, eq=False)
class FitRecord:
    """How a fit went; each field is the estimator's attribute of the same name."""

    history: list[float]
    n_iter: int
    converged: bool
    restarts: dict[str, npt.NDArray[Any]]
    log_likelihood: float

    @classmethod
    def of(cls, result: EMResult[Any], log_likelihood: float) -> Self:
        """The record of one run of EM."""
        return cls(result.history, result.n_iter, result.converged, result.restarts, log_likelihood)


@dataclass(frozen=True, eq=False)
class Learned:
    """What one fit gives: the model, how the fit went, and further attributes by their names.

    `temperature` is what the fit itself found on held-out rows, if it is `calibrated`: True of
    `calibrate` replaces it, "auto" keeps it. `left_out` is what models of folds have said about the
    labelled rows that they were not trained on, if the fit needed such models.
    """

    model: FittedModel
    record: FitRecord
    attributes: Mapping[str, Any] = field(default_factory=dict)
    temperature: float = 1.0
    calibrated: bool = False
    left_out: HeldOutRows | None = None

    def with_attributes(self, **attributes: Any) -> Learned:
        """The same with further attributes."""
        return replace(self, attributes={**self.attributes, **attributes})


# ------------------------------------------------------------------ checks of arrays


def check_shape(name: str, array: npt.NDArray[Any], shape: tuple[int | None, ...]) -> None:
    """Refuse an array of another shape; None stands for any size."""
    fits = array.ndim == len(shape) and all(
        wanted is None or size == wanted for size, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{name} has shape {array.shape}, but the model needs {shape}.")


def check_no_nan(name: str, array: npt.NDArray[Any]) -> None:
    """Refuse an array with NaN in it."""
    if np.isnan(array).any():
        raise ValueError(f"{name} has NaN in it: the model was not fitted well.")


def check_distribution(name: str, probabilities: FloatArray) -> None:
    """Refuse probabilities that are negative or whose last axis does not sum to 1."""
    total = probabilities.sum(axis=-1)
    if not np.all(probabilities >= 0) or not np.all(np.abs(total - 1.0) <= SUM_TOLERANCE):
        raise ValueError(
            f"{name} must be probabilities that sum to 1, but they sum to {np.unique(total)}."
        )
