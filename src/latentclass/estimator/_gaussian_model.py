"""Base of the models that are Gaussian given the class and a component.

Continuous columns that vary are standardised and go to the model; discrete columns are independent
of all others given the class, as in naive Bayes; a column with one value only is the same in all
classes. What a subclass learns are `ClassComponents`: all verbs follow from them here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.data._labels import UNLABELLED
from latentclass.data._schema import Block, Table
from latentclass.engine import _gaussian as gaussian
from latentclass.engine import _product as product
from latentclass.engine._class_components import (
    VALUE_LIMIT,
    ClassComponents,
    ComponentData,
    add_known,
    discrete_log_density,
    flatten_factors,
    flatten_gaussians,
    gather_rows,
    log_joint_rows,
)
from latentclass.engine._logspace import log_normalise, log_sum_exp, split_log
from latentclass.engine._parallel import map_blocks
from latentclass.estimator._legacy_base import GenerativeClassifier
from latentclass.estimator._legacy_reading import Training

LOG_2PI = float(np.log(2.0 * np.pi))

LEVEL_SWEEPS = 5
"""Most rounds over the discrete columns in search of the most probable completion."""


class Scaling(NamedTuple):
    """How continuous columns become the model's: (x - centre) / unit of those that vary.

    `varies` and `constant` (p,) tell the columns that vary and those of one value; a column
    without any value is neither, and ignored. `centre`, `unit` (p,) are mean and standard
    deviation, or value and size of a constant.
    """

    varies: BoolArray
    constant: BoolArray
    centre: FloatArray
    unit: FloatArray

    def values(self, numeric: FloatArray) -> FloatArray:
        """Standardised columns that vary."""
        return np.asarray((numeric[:, self.varies] - self.centre[self.varies]) / self._varying)

    def log_density_outside(self, numeric: FloatArray) -> FloatArray:
        """What must be added to the model's log-density to give that of the columns."""
        shown = ~np.isnan(numeric)
        out: FloatArray = -(shown[:, self.varies] @ np.log(self._varying))
        for j in np.flatnonzero(self.constant):
            rows = shown[:, j]
            distance = (numeric[rows, j] - self.centre[j]) / self.unit[j]
            distance = np.clip(distance, -VALUE_LIMIT, VALUE_LIMIT)
            out[rows] -= 0.5 * (distance**2 + LOG_2PI) + np.log(self.unit[j])
        return out

    def outside_log_likelihood(self, seen: FloatArray) -> float:
        """Sum of `log_density_outside` over training rows, by the weight seen in each column."""
        return -float(seen @ (0.5 * LOG_2PI * self.constant + np.log(self.unit)))

    def restore(self, values: FloatArray) -> FloatArray:
        """Columns in their own units from standardised ones."""
        numeric = np.full((len(values), len(self.unit)), np.nan)
        numeric[:, self.varies] = self.centre[self.varies] + self._varying * values
        numeric[:, self.constant] = self.centre[self.constant]
        return numeric

    @property
    def _varying(self) -> FloatArray:
        return self.unit[self.varies]


class CellClassifier(GenerativeClassifier):
    """Base of the models made of cells; a subclass sets `_cells` (see `ClassComponents`)."""

    _scaling: Scaling
    _offsets: IndexArray
    _cells: ClassComponents
    _outside_log_likelihood: float
    """What to add to the model's log-likelihood of the training rows to give the columns' own."""

    # -------------------------------------------------------------------- fit

    def _measure(self, training: Training) -> None:
        """Learn how the columns are scaled; weight two is the row twice."""
        table, weight = training.table, training.weight
        observed = [self.schema_.columns[j].observed for j in self.schema_.continuous]
        # the first rows' range will do as a unit for the sums, unless a column is empty in them
        low, high = _column_range(table, table.spans()[:1])
        if np.any(np.isnan(low) & np.array(observed, dtype=bool)):
            low, high = _column_range(table, table.spans())
        centre, unit = product.measure_range(low, high)

        def visit(span: slice) -> FloatArray:
            rows = (table.block(span).numeric - centre) / unit
            shown = ~np.isnan(rows)
            if not shown.all():
                rows = np.nan_to_num(rows)
            return np.stack([weight[span] @ shown, weight[span] @ rows, weight[span] @ rows**2])

        parts = map_blocks(visit, table.spans(), self.n_jobs)
        seen, total, square = sum(parts, np.zeros((3, len(centre))))
        mean = np.divide(total, seen, out=np.zeros_like(total), where=seen > 0)
        variance = np.divide(square, seen, out=np.zeros_like(total), where=seen > 0) - mean**2
        varies = square > 0  # a constant is its own centre
        # a spread that is lost next to the unit is that of a single row among very many
        spread = np.sqrt(np.maximum(variance, product.SCALE_FLOOR**2))
        self._scaling = Scaling(
            varies,
            np.array(observed, dtype=bool) & ~varies,
            np.where(varies, centre + unit * mean, centre),
            np.where(varies, unit * spread, unit),
        )
        self._outside_log_likelihood = self._scaling.outside_log_likelihood(seen)
        self._offsets = np.concatenate([[0], np.cumsum(self.schema_.n_levels)]).astype(np.intp)

    def _gather(self, training: Training, *, one_component: bool, width: int) -> ComponentData:
        """Rows as the E-step wants them."""
        table, y, weight = training
        n_classes, scaling, offsets = len(self.classes_), self._scaling, self._offsets

        def read(span: slice) -> tuple[FloatArray, CodeArray]:
            numeric, codes = table.block(span)
            return scaling.values(numeric), codes

        def sums(span: slice) -> tuple[ComponentData, BoolArray, Any]:
            """Sums over the rows that hide nothing, and the other rows."""
            values, codes = read(span)
            known = (y[span] != UNLABELLED) & ~np.isnan(values).any(axis=1)
            part = gather_rows(
                values[known],
                codes[known],
                y[span][known],
                weight[None, span][:, known],
                n_classes=n_classes,
                one_component=True,
                offsets=offsets,
            )
            return part, ~known, (values[~known], codes[~known])

        if one_component:
            parts = list(map_blocks(sums, table.spans(least=n_classes), self.n_jobs))
            hidden = np.concatenate([mask for _, mask, _ in parts])
            values = np.concatenate([rows[0] for _, _, rows in parts])
            codes = np.concatenate([rows[1] for _, _, rows in parts])
            y, weight = y[hidden], weight[hidden]
        else:
            values, codes = read(slice(0, table.n_rows))
        data = gather_rows(
            values,
            codes,
            y,
            weight[None],
            n_classes=n_classes,
            one_component=one_component,
            offsets=offsets,
            width=width,
            n_jobs=self.n_jobs,
        )
        if one_component:
            for part, _, _ in parts:
                data = add_known(data, part)
        return data

    # ------------------------------------------------------------------ hooks

    def _log_likelihood(self, block: Block) -> FloatArray:
        values = self._scaling.values(block.numeric)
        # given the class, so that a class without any weight has a density too
        given = self._cells._replace(log_weight=log_normalise(self._cells.log_weight))
        by_cell = log_joint_rows(given, values, block.codes, self._offsets)
        evidence = log_sum_exp(np.moveaxis(by_cell, 2, -1)).transpose(0, 2, 1)  # (S, rows, Y)
        outside = self._scaling.log_density_outside(block.numeric)[:, None]
        log_prior = log_sum_exp(self._cells.log_weight)
        return mix_models(evidence, log_prior, self.class_prior_) + outside

    def _by_block(self, function: Callable[[Block], FloatArray], table: Table) -> FloatArray:
        # of each row all cells of all models are held at once
        spans = table.spans(extra_columns=self._cells.log_weight.size // 8)
        parts = map_blocks(lambda rows: function(table.block(rows)), spans, self.n_jobs)
        return np.concatenate(list(parts))

    def _sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        cells = flatten_starts(self._cells)
        log_weight = cells.log_weight[0]
        n_classes, n_components = log_weight.shape
        values = np.empty((len(y), int(self._scaling.varies.sum())))
        codes = np.full((len(y), len(self.schema_.discrete)), -1, dtype=np.int32)
        share = np.exp(log_normalise(log_weight))
        for k in range(n_classes):
            rows = np.flatnonzero(y == k)
            component = rng.choice(n_components, size=len(rows), p=share[k])
            for m in np.unique(component):
                mine = rows[component == m]
                covariance = cells.gaussians.covariance[0, k, m]
                spread, axes = np.linalg.eigh(covariance)
                root = axes * np.sqrt(np.maximum(spread, 0.0))
                noise = rng.standard_normal((len(mine), values.shape[1]))
                values[mine] = cells.gaussians.mean[0, k, m] + noise @ root.T
            for place, log_prob in enumerate(self._level_log_probs()):
                if log_prob.shape[1]:
                    edges = np.cumsum(np.exp(log_prob[k]))[:-1]
                    chance = rng.random(len(rows))
                    codes[rows, place] = np.searchsorted(edges, chance, side="right")
        return Table(self._scaling.restore(values), codes)

    def _expected_cells(self, table: Table, posterior: FloatArray) -> Table:
        del posterior  # of the classes: the cells' own is what completion needs
        return self._complete_cells(table, best=False)

    def _most_probable_cells(self, table: Table) -> Table:
        filled = self._complete_cells(table, best=True)
        if len(self._cells.weighting) > 1:
            self._improve_levels(table, filled)
        return filled

    def _improve_levels(self, table: Table, filled: Table) -> None:
        """Where models are averaged, a class's own most probable levels may not be the best."""
        numeric, codes = table.block(slice(0, table.n_rows))
        numeric = np.where(np.isnan(numeric), filled.numeric, numeric)
        levels = np.where(codes < 0, filled.codes, codes)

        def best_joint(trial: CodeArray, rows: IndexArray) -> FloatArray:
            evidence = self._evidence(Table(numeric[rows], trial[rows]))
            return np.asarray((evidence + np.log(self.class_prior_)).max(axis=1))

        for _ in range(LEVEL_SWEEPS):
            before = levels.copy()
            for place, log_prob in enumerate(self._level_log_probs()):
                rows = np.flatnonzero(codes[:, place] < 0)
                if not rows.size or log_prob.shape[1] < 2:
                    continue
                trial = levels.copy()
                score = []
                for level in range(log_prob.shape[1]):
                    trial[:, place] = level
                    score.append(best_joint(trial, rows))
                levels[rows, place] = np.argmax(score, axis=0)
            if np.array_equal(before, levels):
                break
        filled.codes[:] = levels

    def _complete_cells(self, table: Table, *, best: bool) -> Table:
        """Fill holes by the mean over all cells, or by the mode of the most probable cell."""
        cells = flatten_starts(self._cells)
        n_classes, n_components, n = cells.gaussians.mean.shape[1:]
        n_cells = n_classes * n_components
        log_probs = self._level_log_probs()
        centre = cells.gaussians.mean.reshape(n_cells, n)

        def visit(span: slice) -> Table:
            numeric, codes = table.block(span)
            values = self._scaling.values(numeric)
            filled = values.copy()  # rows without a hole stay as they are
            by_class = np.empty((len(values), n_classes))
            for rows, joint, shift, peak in visit_rows(cells, values, codes, self._offsets):
                if best:
                    for place, log_prob in enumerate(log_probs):
                        if log_prob.shape[1]:
                            hidden = codes[rows, place] < 0
                            top = np.repeat(log_prob.max(axis=1), n_components)
                            joint[hidden] += top
                    joint += peak
                    share = np.zeros_like(joint)
                    share[np.arange(len(joint)), joint.argmax(axis=1)] = 1.0
                else:
                    share = np.exp(log_normalise(joint))
                by_class[rows] = share.reshape(-1, n_classes, n_components).sum(axis=2)
                if shift is not None:
                    filled[rows] = share @ centre + weigh(share, shift)
            levels = np.full(codes.shape, -1, dtype=np.int32)
            for place, log_prob in enumerate(log_probs):
                if log_prob.shape[1]:
                    levels[:, place] = (by_class @ np.exp(log_prob)).argmax(axis=1)
            return Table(self._scaling.restore(filled), levels)

        spans = table.spans(extra_columns=n_cells // 8)
        parts = list(map_blocks(visit, spans, self.n_jobs))
        return Table(
            np.concatenate([part.numeric for part in parts]),
            np.concatenate([part.codes for part in parts]),
        )

    def _level_log_probs(self) -> list[FloatArray]:
        """log P(category | class) of each discrete column, averaged over the models kept."""
        log_prob = _log_mean(self._cells.log_prob)
        return np.split(log_prob, self._offsets[1:-1], axis=1)[: len(self.schema_.discrete)]


def _column_range(table: Table, spans: list[slice]) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each column in some rows, NaN where there is none."""
    blocks = [table.block(span).numeric for span in spans]
    low = np.fmin.reduce([np.fmin.reduce(block, axis=0) for block in blocks])
    high = np.fmax.reduce([np.fmax.reduce(block, axis=0) for block in blocks])
    return low, high


def mix_models(evidence: FloatArray, log_prior: FloatArray, class_prior: FloatArray) -> FloatArray:
    """log p(row | class) of several models: densities mixed, class probabilities averaged.

    `evidence` (S, R, Y), `log_prior` (S, Y) the models' own class priors, `class_prior` (Y,) their
    mean.
    """
    if len(evidence) == 1:
        return np.asarray(evidence[0])
    posterior, density = split_log(evidence + log_prior[:, None])
    combined = _log_mean(posterior) + _log_mean(density)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        combined = combined - np.log(class_prior)
    return np.where(class_prior > 0, combined, _log_mean(evidence))


def _log_mean(log_values: FloatArray) -> FloatArray:
    """log of the mean of exp over the first axis."""
    return log_sum_exp(np.moveaxis(log_values, 0, -1)) - float(np.log(len(log_values)))


def flatten_starts(cells: ClassComponents) -> ClassComponents:
    """Several models as the components of one."""
    n_starts, n_classes, n_components = cells.log_weight.shape
    if n_starts == 1:
        return cells

    def flatten(array: FloatArray) -> FloatArray:
        moved = np.moveaxis(array, 0, 1)
        return moved.reshape(1, n_classes, n_starts * n_components, *array.shape[3:])

    return ClassComponents(
        cells.weighting[:1],
        flatten(cells.log_weight) - np.log(n_starts),
        gaussian.Gaussians(*(flatten(array) for array in cells.gaussians)),
        _log_mean(cells.log_prob)[None],
        None if cells.factors is None else gaussian.Factors(*map(flatten, cells.factors)),
    )


def weigh(share: FloatArray, shift: FloatArray) -> FloatArray:
    """Sum over cells of share (n_rows, K) times shift (n_rows, K, n)."""
    return np.asarray((share[:, None] @ shift)[:, 0])


class Visit(NamedTuple):
    """Some rows of a block: their places, and log p(row, cell), shape (n_rows, K).

    Of rows with holes also `shift` (n_rows, K, n), the expected distance from each cell's mean,
    and `peak` (n_rows, K), the log-density of the holes at their mode.
    """

    rows: IndexArray
    joint: FloatArray
    shift: FloatArray | None
    peak: FloatArray | float


def visit_rows(
    cells: ClassComponents,
    values: FloatArray,
    codes: CodeArray,
    offsets: IndexArray,
) -> Iterator[Visit]:
    """All rows, those with holes by their patterns, in parts that memory holds."""
    values = np.clip(values, -VALUE_LIMIT, VALUE_LIMIT)
    incomplete = np.isnan(values).any(axis=1)
    rows = np.flatnonzero(~incomplete)
    if rows.size:
        joint = log_joint_rows(cells, values[rows], codes[rows], offsets)
        yield Visit(rows, joint.reshape(-1, len(rows)).T.copy(), None, 0.0)
    rows = np.flatnonzero(incomplete)
    if not rows.size:
        return
    flat = flatten_gaussians(cells.gaussians)
    factors = flatten_factors(cells.factors)
    n_components = cells.log_weight.shape[2]
    patterns, order = gaussian.group_patterns(values[rows])
    rows = rows[order]
    first = 0
    for part in gaussian.split_patterns(patterns, len(flat.mean)):
        mine = rows[first : first + len(part.rows)]
        first += len(part.rows)
        conditioned = gaussian.condition(flat, part, factors)
        joint = conditioned.log_density + cells.log_weight.reshape(-1)
        if codes.shape[1]:
            discrete = discrete_log_density(cells.log_prob, codes[mine], offsets)
            joint += np.repeat(discrete.reshape(-1, len(mine)), n_components, axis=0).T
        n_hidden = np.sum(~part.observed, axis=1)[:, None]
        peak = -0.5 * (n_hidden * LOG_2PI + flat.log_det - conditioned.log_det)
        yield Visit(mine, joint, conditioned.shift, peak[part.pattern])
