"""The fitted model of families that are Gaussian given the class and a component.

Continuous columns that vary are standardised. Discrete columns are independent of all others given
the class, as in naive Bayes. A column with a single value is the same in all classes. A family
learns `ClassComponents`, and all answers follow from them here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass._validation import check_memory
from latentclass.data._labels import UNLABELLED
from latentclass.data._schema import Block, Schema, Table, join_tables
from latentclass.engine import _factored as factored
from latentclass.engine import _gaussian as gaussian
from latentclass.engine import _product as product
from latentclass.engine._class_components import (
    SUMMED_ROWS,
    VALUE_LIMIT,
    ClassComponents,
    ComponentData,
    DensityPart,
    add_known,
    density_parts,
    discrete_log_density,
    flatten_components,
    gather_rows,
    leave_out_rows,
    log_joint_rows,
)
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.engine._numeric import LOG_2PI, divide
from latentclass.engine._parallel import map_blocks
from latentclass.engine._power_transform import PowerTransform, learn_power_transform
from latentclass.estimator._average import Average, log_mean
from latentclass.estimator._completion import improve_levels
from latentclass.estimator._fitted import FittedModel, Posterior, check_no_nan, check_shape
from latentclass.estimator._parted import PartedTraining
from latentclass.estimator._reading import Training

MOST_CELLS = 2**21
"""Largest block of rows that is summed at once, in cells (16 MB)."""


class Scaling(NamedTuple):
    """How continuous columns are standardised: (x - centre) / unit of those that vary.

    `varies` and `constant` (p,) mark the columns that vary and those of one value; a column
    without any value is neither, and ignored. `centre`, `unit` (p,) are mean and standard
    deviation, or value and size of a constant. `power` changes the standardised columns that vary.
    """

    varies: BoolArray
    constant: BoolArray
    centre: FloatArray
    unit: FloatArray
    power: PowerTransform = PowerTransform()

    @property
    def n_varying(self) -> int:
        """Number of columns that vary."""
        return int(self.varies.sum())

    @property
    def is_bent(self) -> bool:
        """Whether columns have a power transform."""
        return len(self.power.rounds) > 0

    @property
    def varying_unit(self) -> FloatArray:
        """Units of the columns that vary."""
        return self.unit[self.varies]

    def values(self, numeric: FloatArray) -> FloatArray:
        """Columns that vary, standardised and transformed."""
        standardised = self.standardised(numeric)
        if not self.is_bent:
            return standardised
        return self.power.apply(np.clip(standardised.T, -VALUE_LIMIT, VALUE_LIMIT)).T

    def standardised(self, numeric: FloatArray) -> FloatArray:
        """Standardised columns that vary."""
        centred = numeric[:, self.varies] - self.centre[self.varies]
        return np.asarray(centred / self.varying_unit)

    def power_slopes(self, numeric: FloatArray) -> FloatArray:
        """Logarithms of the slopes of the power transform, 0 in missing cells."""
        near = np.clip(self.standardised(numeric).T, -VALUE_LIMIT, VALUE_LIMIT)
        return np.nan_to_num(self.power.log_slope(near)).T

    def log_density_outside(self, numeric: FloatArray) -> FloatArray:
        """What must be added to the model's log-density to give that of the columns."""
        shown = ~np.isnan(numeric)
        out: FloatArray = -(shown[:, self.varies] @ np.log(self.varying_unit))
        if self.is_bent:
            out += self.power_slopes(numeric).sum(axis=1)
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
        """Columns in their own units, from `values`."""
        return self.restore_standardised(self.power.undo(values.T).T)

    def restore_standardised(self, standardised: FloatArray) -> FloatArray:
        """Columns in their own units, from standardised ones."""
        numeric = np.full((len(standardised), len(self.unit)), np.nan)
        numeric[:, self.varies] = self.centre[self.varies] + self.varying_unit * standardised
        numeric[:, self.constant] = self.centre[self.constant]
        return numeric

    def spread_columns(self, varying: FloatArray, others: Any) -> FloatArray:
        """Put the columns that vary (on axis 1) back among the others."""
        out = np.empty((varying.shape[0], len(self.varies), *varying.shape[2:]))
        out[:, self.varies] = varying
        out[:, ~self.varies] = others
        return out


class ColumnSums(NamedTuple):
    """Weight, sum and sum of squares of (x - centre) / unit over the rows of each column, (p,)."""

    centre: FloatArray
    unit: FloatArray
    weight: FloatArray
    total: FloatArray
    square: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Mean of each column, in its unit."""
        return divide(self.total, self.weight)

    @property
    def spread(self) -> FloatArray:
        """Standard deviation of each column, in its unit."""
        variance = divide(self.square, self.weight) - self.mean**2
        # a spread this small relative to the unit comes from a single row among very many
        return np.sqrt(np.maximum(variance, product.SCALE_FLOOR**2))

    def scaling(self, observed: BoolArray) -> Scaling:
        """How the columns are standardised; `observed` marks the columns with some value."""
        varies = self.square > 0  # a constant is its own centre
        return Scaling(
            varies,
            observed & ~varies,
            np.where(varies, self.centre + self.unit * self.mean, self.centre),
            np.where(varies, self.unit * self.spread, self.unit),
        )


class Measured(NamedTuple):
    """What is learned about columns before the model itself.

    Attributes
    ----------
    scaling : Scaling
    level_offsets : array of shape (n_discrete + 1,)
        Where the levels of each discrete column begin.
    outside : float
        Added to the model's log-likelihood of the training rows, it gives that of the columns.
    """

    scaling: Scaling
    level_offsets: IndexArray
    outside: float

    def bent(self, training: Training) -> Measured:
        """The same with a power transform of the columns, which is learned from the rows."""
        if not self.scaling.n_varying:
            return self
        scaling = learn_power(self.scaling, training)
        return self._replace(
            scaling=scaling, outside=self.outside + outside_power(scaling, training)
        )


def learn_power(scaling: Scaling, training: Training) -> Scaling:
    """Learn the power transform of the columns that vary."""
    numeric = training.table.block(slice(0, training.table.n_rows)).numeric
    near = np.clip(scaling.standardised(numeric).T, -VALUE_LIMIT, VALUE_LIMIT)
    return scaling._replace(power=learn_power_transform(near, training.weight))


def outside_power(scaling: Scaling, training: Training) -> float:
    """What the power transform adds to the log-likelihood of the rows."""
    numeric = training.table.block(slice(0, training.table.n_rows)).numeric
    return float((training.weight @ scaling.power_slopes(numeric)).sum())


def measure(training: Training, n_jobs: int | None) -> Measured:
    """Learn how the columns are scaled; weight two counts as two rows."""
    table = training.table
    # the range of the first rows is a good enough unit for sums, unless a column is empty in them
    low, high = _column_range(table, table.spans()[:1])
    if np.any(np.isnan(low) & _observed(training.schema)):
        low, high = _column_range(table, table.spans())
    centre, unit = product.measure_range(low, high)
    return _measured(_sum_columns(centre, unit, n_jobs, training), centre, unit, training.schema)


def measure_parts(parted: PartedTraining) -> Measured:
    """The same for rows in parts."""
    centre, unit = product.measure_range(parted.low, parted.high)
    sums = sum(parted.map(partial(_sum_columns, centre, unit, None)))
    return _measured(np.asarray(sums), centre, unit, parted.sample.schema)


def _sum_columns(
    centre: FloatArray, unit: FloatArray, n_jobs: int | None, training: Training
) -> FloatArray:
    """Weight, sum and sum of squares of (x - centre) / unit in each column, shape (3, p)."""
    table, weight = training.table, training.weight

    def visit(span: slice) -> FloatArray:
        rows = (table.block(span).numeric - centre) / unit
        shown = ~np.isnan(rows)
        if not shown.all():
            rows = np.nan_to_num(rows)
        return np.stack([weight[span] @ shown, weight[span] @ rows, weight[span] @ rows**2])

    return sum(map_blocks(visit, table.spans(), n_jobs), np.zeros((3, len(centre))))


def _measured(sums: FloatArray, centre: FloatArray, unit: FloatArray, schema: Schema) -> Measured:
    seen, total, square = sums
    scaling = ColumnSums(centre, unit, seen, total, square).scaling(_observed(schema))
    offsets = np.concatenate([[0], np.cumsum(schema.n_levels)]).astype(np.intp)
    return Measured(scaling, offsets, scaling.outside_log_likelihood(seen))


def _observed(schema: Schema) -> BoolArray:
    """Which continuous columns have a value in some row."""
    return np.array([schema.columns[j].observed for j in schema.continuous], dtype=bool)


def _column_range(table: Table, spans: list[slice]) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each column in some rows, NaN where there is none."""
    blocks = [table.block(span).numeric for span in spans]
    low = np.fmin.reduce([np.fmin.reduce(block, axis=0) for block in blocks])
    high = np.fmax.reduce([np.fmax.reduce(block, axis=0) for block in blocks])
    return low, high


def gather(
    training: Training,
    measured: Measured,
    *,
    one_component: bool,
    width: int,
    rank: int | None = None,
    n_jobs: int | None,
) -> ComponentData:
    """Prepare rows for the E-step (see `gather_rows` for `one_component`, `width` and `rank`)."""
    known: ComponentData | None = None
    if one_component and len(training.y):
        known, hidden = _sum_known(training, measured, n_jobs)
        training = training.take(hidden)
    numeric, codes = training.table.block(slice(0, training.table.n_rows))
    data = gather_rows(
        measured.scaling.values(numeric),
        codes,
        training.y,
        training.weight[None],
        n_classes=training.n_classes,
        one_component=one_component,
        offsets=measured.level_offsets,
        width=width,
        rank=rank,
        n_jobs=n_jobs,
    )
    return data if known is None else add_known(data, known)


def _sum_known(
    training: Training, measured: Measured, n_jobs: int | None
) -> tuple[ComponentData, BoolArray]:
    """Sum complete labelled rows, block by block, and mark the other rows."""
    table, y, weight = training.table, training.y, training.weight
    n, n_classes = measured.scaling.n_varying, training.n_classes
    check_memory(
        f"The products of {n:,} continuous columns in {n_classes} classes",
        3 * 8.0 * n_classes * n**2,  # the sums, those of a block, and both added
        "Select the columns that say most about the class.",
    )

    def visit(span: slice) -> tuple[ComponentData, BoolArray]:
        numeric, codes = table.block(span)
        values = measured.scaling.values(numeric)
        known = (y[span] != UNLABELLED) & ~np.isnan(values).any(axis=1)
        part = gather_rows(
            values[known],
            codes[known],
            y[span][known],
            weight[None, span][:, known],
            n_classes=n_classes,
            one_component=True,
            offsets=measured.level_offsets,
        )
        return part, ~known

    # blocks in which every class has some rows, if they are not too large for that
    least = max(n_classes, min(SUMMED_ROWS * n_classes, MOST_CELLS // max(1, n)))
    parts = map_blocks(visit, table.spans(least=least), n_jobs)
    # the sums of a block are added as they come: those of all blocks would fill the memory
    total, mask = next(parts)
    masks = [mask]
    for part, mask in parts:
        total = add_known(total, part)
        masks.append(mask)
    return total, np.concatenate(masks)


@dataclass(frozen=True, eq=False)
class GaussianModel(FittedModel):
    """Several models, the starts kept, that are Gaussian given the class and a component.

    The starts are averaged by the rule "posteriors" of `Average`.

    Attributes
    ----------
    scaling : Scaling
    level_offsets : array of shape (n_discrete + 1,)
        Where the levels of each discrete column begin.
    components : ClassComponents
    class_prior : array of shape (n_classes,)
        Follows from the components.
    """

    scaling: Scaling
    level_offsets: IndexArray
    components: ClassComponents
    class_prior: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        components = self.components
        shape = components.log_weight.shape
        n = self.scaling.n_varying
        check_shape("log_weight", components.log_weight, (None, None, None))
        for form in self._forms:
            check_shape("mean", form.mean, (*shape, n))
        if components.gaussians is not None:
            check_shape("covariance", components.gaussians.covariance, (*shape, n, n))
        check_shape("log_prob", components.log_prob, (*shape[:2], int(self.level_offsets[-1])))
        for name in ("log_weight", "log_prob"):
            check_no_nan(name, getattr(components, name))
        for form in self._forms:
            for name in form._fields:
                check_no_nan(name, getattr(form, name))
        object.__setattr__(self, "class_prior", self.average.class_prior)

    @property
    def _forms(self) -> list[gaussian.Gaussians | factored.Factors]:
        """The forms in which there are Gaussians."""
        both = (self.components.gaussians, self.components.factors)
        return [form for form in both if form is not None]

    @property
    def average(self) -> Average:
        """How the starts answer as one."""
        return Average(np.exp(log_sum_exp(self.components.log_weight)), "posteriors")

    @property
    def n_discrete(self) -> int:
        """Number of discrete columns."""
        return len(self.level_offsets) - 1

    @property
    def level_log_probs(self) -> list[FloatArray]:
        """log P(category | class) of each discrete column, averaged over the starts."""
        log_prob = log_mean(self.components.log_prob)
        return np.split(log_prob, self.level_offsets[1:-1], axis=1)[: self.n_discrete]

    def spans(self, table: Table) -> list[slice]:
        """Row ranges of blocks; every row needs all class components of all starts at once."""
        return table.spans(extra_columns=self.components.log_weight.size // 8)

    # ---------------------------------------------------------------- answers

    def log_likelihood(self, block: Block) -> FloatArray:
        """See `FittedModel`."""
        values = self.scaling.values(block.numeric)
        joint = log_joint_rows(self._given_class, values, block.codes, self.level_offsets)
        outside = self.scaling.log_density_outside(block.numeric)[:, None]
        return self._mix_components(joint) + outside

    @property
    def _given_class(self) -> ClassComponents:
        """The components given the class, so that a class without any weight has a density too."""
        return self.components._replace(log_weight=log_normalise(self.components.log_weight))

    def _mix_components(self, joint: FloatArray) -> FloatArray:
        """log p(row | class), (rows, Y), from log p(row, component | class), (S, Y, M, rows)."""
        evidence = log_sum_exp(np.moveaxis(joint, 2, -1)).transpose(0, 2, 1)  # (S, rows, Y)
        return self.average.mix(evidence)

    def without_each(self, block: Block, wanted: BoolArray) -> FloatArray:
        """See `FittedModel`; columns that vary in closed form, where rounding allows it."""
        components, varies = self._given_class, np.flatnonzero(self.scaling.varies)
        if not varies.size:
            return super().without_each(block, wanted)
        joint, exact = leave_out_rows(components, self.scaling.values(block.numeric))
        quick = np.zeros_like(wanted)
        quick[:, varies] = exact.all(axis=0)
        out = super().without_each(block, wanted & ~quick)
        joint = joint.reshape(*components.log_weight.shape, *exact.shape[1:])
        joint += components.log_weight[..., None, None]
        if block.codes.shape[1]:
            discrete = discrete_log_density(components.log_prob, block.codes, self.level_offsets)
            joint += discrete[:, :, None, :, None]
        evidence = self._mix_components(joint.reshape(*components.log_weight.shape, -1))
        outside = self.scaling.log_density_outside(block.numeric)[:, None]
        # less that of the column itself
        outside = outside + np.log(self.scaling.varying_unit)
        outside -= self.scaling.power_slopes(block.numeric)
        evidence = evidence.reshape(*outside.shape, -1) + outside[..., None]
        out[:, varies] = np.where(quick[:, varies, None], evidence, out[:, varies])
        return out

    def sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        """See `FittedModel`."""
        components = flatten_starts(self.components)
        share = np.exp(log_normalise(components.log_weight[0]))
        values = np.empty((len(y), self.scaling.n_varying))
        codes = np.full((len(y), self.n_discrete), -1, dtype=np.int32)
        for k in range(self.n_classes):
            rows = np.flatnonzero(y == k)
            component = rng.choice(share.shape[1], size=len(rows), p=share[k])
            for m in np.unique(component):
                mine = rows[component == m]
                values[mine] = _draw(components, k, m, len(mine), rng)
            for place, log_prob in enumerate(self.level_log_probs):
                if log_prob.shape[1]:
                    edges = np.cumsum(np.exp(log_prob[k]))[:-1]
                    chance = rng.random(len(rows))
                    codes[rows, place] = np.searchsorted(edges, chance, side="right")
        return Table(self.scaling.restore(values), codes)

    def expected_cells(self, table: Table, posterior: Posterior, n_jobs: int | None) -> Table:  # noqa: ARG002
        """See `FittedModel`; completion needs the posterior of the components, not of the class."""
        return self._complete(table, n_jobs, best=False)

    def most_probable_cells(self, table: Table, n_jobs: int | None) -> Table:
        """See `FittedModel`."""
        filled = self._complete(table, n_jobs, best=True)
        if self.average.n_models > 1:
            # the levels most probable in one class may not be best for the average
            codes = table.block(slice(None)).codes
            filled = Table(filled.numeric, np.where(codes < 0, filled.codes, codes))
            n_levels = np.array([part.shape[1] for part in self.level_log_probs], dtype=np.intp)
            improve_levels(self, table, filled, n_levels, n_jobs)
        return filled

    # ------------------------------------------------------------- completion

    def _complete(self, table: Table, n_jobs: int | None, *, best: bool) -> Table:
        """Fill missing cells by the mean over components, or by the mode of the best one."""
        components = flatten_starts(self.components)
        n_components = components.log_weight.shape[2]
        n_all = self.n_classes * n_components
        log_probs = self.level_log_probs

        def visit(span: slice) -> Table:
            numeric, codes = table.block(span)
            values = self.scaling.values(numeric)
            filled = self.scaling.standardised(numeric)  # complete rows stay as they are
            by_class = np.empty((len(values), self.n_classes))
            for part, joint in joint_parts(components, values, codes, self.level_offsets):
                rows, hidden_cells = part.rows, part.conditioned is not None
                if best:
                    for place, log_prob in enumerate(log_probs):
                        if log_prob.shape[1]:
                            hidden = codes[rows, place] < 0
                            top = np.repeat(log_prob.max(axis=1), n_components)
                            joint[hidden] += top
                    if hidden_cells:
                        joint += _log_peak(components, part)
                    share = np.zeros_like(joint)
                    share[np.arange(len(joint)), joint.argmax(axis=1)] = 1.0
                else:
                    share = np.exp(log_normalise(joint))
                by_class[rows] = share.reshape(-1, self.n_classes, n_components).sum(axis=2)
                if hidden_cells:
                    filled[rows] = self._fill(components, part, share, best=best)
            levels = np.full(codes.shape, -1, dtype=np.int32)
            for place, log_prob in enumerate(log_probs):
                if log_prob.shape[1]:
                    levels[:, place] = (by_class @ np.exp(log_prob)).argmax(axis=1)
            return Table(self.scaling.restore_standardised(filled), levels)

        spans = table.spans(extra_columns=n_all // 8)
        return join_tables(list(map_blocks(visit, spans, n_jobs)))

    def _fill(
        self, components: ClassComponents, part: DensityPart, share: FloatArray, *, best: bool
    ) -> FloatArray:
        """Standardised rows of a part, missing cells filled; `share` (n_rows, K) of components."""
        power = self.scaling.power
        if best or not power.rounds:
            return power.undo(_expected_rows(components, part, share).T).T
        return _expected_undone(components, part, share, power)


def _draw(
    components: ClassComponents, k: int, m: int, n_rows: int, rng: np.random.Generator
) -> FloatArray:
    """Draw rows from a class component of the only start."""
    if components.factors is not None:
        mean, loadings, noise = (array[0, k, m] for array in components.factors)
        latent = rng.standard_normal((n_rows, loadings.shape[1]))
        own = rng.standard_normal((n_rows, len(mean)))
        return np.asarray(mean + latent @ loadings.T + own * np.sqrt(noise))
    spread, axes = np.linalg.eigh(components.full.covariance[0, k, m])
    root = axes * np.sqrt(np.maximum(spread, 0.0))
    own = rng.standard_normal((n_rows, len(spread)))
    return np.asarray(components.full.mean[0, k, m] + own @ root.T)


def flatten_starts(components: ClassComponents) -> ClassComponents:
    """Turn several models into components of one."""
    n_starts, n_classes, n_components = components.log_weight.shape
    if n_starts == 1:
        return components

    def flatten(array: FloatArray) -> FloatArray:
        moved = np.moveaxis(array, 0, 1)
        return moved.reshape(1, n_classes, n_starts * n_components, *array.shape[3:])

    gaussians, factors = components.gaussians, components.factors
    return ClassComponents(
        components.weighting[:1],
        flatten(components.log_weight) - np.log(n_starts),
        None if gaussians is None else gaussian.Gaussians(*map(flatten, gaussians)),
        log_mean(components.log_prob)[None],
        None if factors is None else factored.Factors(*map(flatten, factors)),
    )


def joint_parts(
    components: ClassComponents, values: FloatArray, codes: CodeArray, offsets: IndexArray
) -> Iterator[tuple[DensityPart, FloatArray]]:
    """Yield all rows in parts that fit into memory, and their log p(row, class component).

    The latter have shape (n_rows, K).
    """
    n_components = components.log_weight.shape[2]
    for part in density_parts(components, values):
        joint = part.log_density.T + components.log_weight.reshape(-1)
        if codes.shape[1]:
            discrete = discrete_log_density(components.log_prob, codes[part.rows], offsets)
            joint += np.repeat(discrete.reshape(-1, len(part.rows)), n_components, axis=0).T
        yield part, joint


def _expected_rows(components: ClassComponents, part: DensityPart, share: FloatArray) -> FloatArray:
    """Incomplete rows with their expected cells, given the shares (n_rows, K) of the components."""
    conditioned = part.conditioned
    if isinstance(conditioned, gaussian.Conditioned):
        mean = flatten_components(components.full).mean
        return np.asarray(share @ mean + (share[:, None] @ conditioned.shift)[:, 0])
    assert isinstance(conditioned, factored.Posterior)
    assert components.factors is not None
    assert part.patterns is not None
    mean, loadings, _ = flatten_components(components.factors)
    latent = (conditioned.latent * share[:, None]).reshape(len(share), -1)
    expected = share @ mean + latent @ loadings.transpose(2, 0, 1).reshape(-1, mean.shape[1])
    return np.where(np.isnan(part.patterns.rows), expected, part.patterns.rows)


def _expected_undone(
    components: ClassComponents, part: DensityPart, share: FloatArray, power: PowerTransform
) -> FloatArray:
    """Incomplete rows without their power transform, with expected cells."""
    assert part.patterns is not None
    rows, pattern = part.patterns.rows, part.patterns.pattern
    hidden = np.isnan(rows)
    columns = np.flatnonzero(hidden.any(axis=0))
    undo = power.take(columns)
    filled = np.zeros((len(rows), len(columns)))
    for k, (mean, variance) in enumerate(_conditional_cells(components, part, columns)):
        filled += share[:, [k]] * undo.expected(mean.T, variance[pattern].T).T
    out = power.undo(rows.T).T
    out[:, columns] = np.where(hidden[:, columns], filled, out[:, columns])
    return out


def _conditional_cells(
    components: ClassComponents, part: DensityPart, columns: IndexArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Mean (n_rows, c) and variance (P, c) of columns given the observed cells, by component.

    The variances are those of missing cells.
    """
    conditioned = part.conditioned
    if isinstance(conditioned, gaussian.Conditioned):
        centre, covariance = flatten_components(components.full)[:2]
        for k, whole in enumerate(covariance):
            own = whole[columns]
            known = np.einsum("ci,pij,cj->pc", own, conditioned.inverse[:, k], own)
            variance = np.maximum(own[np.arange(len(columns)), columns] - known, 0.0)
            yield centre[k, columns] + conditioned.shift[:, k, columns], variance
        return
    assert isinstance(conditioned, factored.Posterior)
    assert components.factors is not None
    centre, loadings, noise = flatten_components(components.factors)
    i, j = np.tril_indices(loadings.shape[2])
    twice = np.where(i == j, 1.0, 2.0)
    for k, own in enumerate(loadings[:, columns]):
        latent = conditioned.latent[..., k]
        spread = conditioned.spread[:, :, k] @ (twice * own[:, i] * own[:, j]).T
        yield centre[k, columns] + latent @ own.T, noise[k, columns] + spread


def _log_peak(components: ClassComponents, part: DensityPart) -> FloatArray:
    """Log-density of the missing cells at their mode, shape (n_rows, K)."""
    assert part.patterns is not None
    assert part.conditioned is not None
    if components.factors is None:
        log_det = components.full.log_det
    else:
        log_det = factored.whiten(components.factors).log_det
    n_hidden = np.sum(~part.patterns.observed, axis=1)[:, None]
    peak = -0.5 * (n_hidden * LOG_2PI + log_det.reshape(-1) - part.conditioned.log_det)
    return np.asarray(peak[part.patterns.pattern])
