"""The EM problem of naive Bayes: labelled rows have a known class, the others a hidden one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.data._schema import Schema, Table
from latentclass.engine import _product as product
from latentclass.engine._counts import level_offsets
from latentclass.engine._parallel import map_blocks
from latentclass.engine._product_mixture import MixtureParams, MixtureProblem, seed_components
from latentclass.engine._shrinkage import number_strengths, table_mass
from latentclass.estimator._calibration import HeldOutRows
from latentclass.estimator._fitted import FittedModel
from latentclass.estimator._reading import Training

WeightedRows = list[tuple[product.ProductRows, FloatArray]]


def labelled_problem(
    training: Training,
    *,
    alpha: float | str,
    prior: float | str | None,
    width: int,
    n_jobs: int | None,
) -> tuple[MixtureProblem, Training]:
    """EM with the class of each labelled row known, and the labelled rows themselves.

    Blocks of unlabelled rows leave room for `width` responsibilities of each class per row.
    """
    table, labelled, n_classes = training.table, training.labelled, training.n_classes
    layout = measure_columns(table, training.schema.n_levels)
    blocks: WeightedRows = []
    known = training
    if not labelled.all():
        known = training.take(labelled)
        hidden = training.take(~labelled)
        blocks = weighted_rows(hidden.table, hidden.weight, layout, width * n_classes)
    known_rows = np.zeros(n_classes) + np.bincount(known.y, known.weight, n_classes)
    stats = class_stats(known, layout, n_jobs)
    overall = product.merge_stats(product.pool_stats(stats), block_stats(blocks, layout))
    smoothing, pull = overall_prior(stats, overall, layout, alpha=alpha, prior=prior)
    problem = MixtureProblem(blocks, known_rows, stats, smoothing, layout, n_jobs, pull=pull)
    return problem, known


def measure_columns(table: Table, n_levels: IndexArray) -> product.Layout:
    """Ranges of the continuous columns and places of the discrete levels."""
    return product.Layout(*product.measure_range(*table.ranges), level_offsets(n_levels))


def observed_columns(schema: Schema) -> BoolArray:
    """Which continuous columns have a value in some row."""
    return np.array([schema.columns[j].observed for j in schema.continuous], dtype=bool)


def weighted_rows(
    table: Table, weight: FloatArray, layout: product.Layout, width: int
) -> WeightedRows:
    """Rows in the units of the engine, in blocks with room for `width` more numbers per row."""
    return [
        (product.to_rows(*table.block(span), layout), weight[span])
        for span in table.spans(extra_columns=width)
    ]


def class_stats(labelled: Training, layout: product.Layout, n_jobs: int | None) -> product.Stats:
    """Statistics of the rows of each class."""
    table, n_classes = labelled.table, labelled.n_classes

    def visit(span: slice) -> product.Stats:
        rows = product.to_rows(*table.block(span), layout)
        return product.hard_stats(rows, labelled.y[span], labelled.weight[span], n_classes, layout)

    total = product.empty_stats(n_classes, layout)
    # blocks with at least as many rows as there are classes: otherwise merging dominates the cost
    for part in map_blocks(visit, table.spans(least=n_classes), n_jobs):
        total = product.merge_stats(total, part)
    return total


def block_stats(blocks: WeightedRows, layout: product.Layout) -> product.Stats:
    """Statistics of all rows of some blocks as one component."""
    total = product.empty_stats(1, layout)
    for rows, weight in blocks:
        total = product.merge_stats(total, product.soft_stats(rows, weight[:, None], layout))
    return total


def overall_prior(
    known: product.Stats,
    overall: product.Stats,
    layout: product.Layout,
    *,
    alpha: float | str,
    prior: float | str | None,
) -> tuple[product.Prior, product.Pull]:
    """The prior, from the statistics of the labelled rows by class and of all rows as one.

    "auto" of `alpha` and `prior` is a strength by evidence (`engine._shrinkage`).
    """
    mean = overall.mean[0]
    variance = overall.scatter[0] / np.where(overall.weight[0] > 0, overall.weight[0], 1.0)
    pull = product.NO_PULL
    if isinstance(alpha, str):
        pull = pull._replace(mass=table_mass(known.counts, overall.counts[0], layout.offsets))
        alpha = 0.0
    if isinstance(prior, str):
        found = number_strengths(known.weight, known.mean, known.scatter, mean, variance)
        # one more pseudo-row that spreads as the whole column: classes may be narrower than tails
        prior = found.variance + 1.0
        usual = (found.variance * found.level + variance) / prior
        pull = pull._replace(mean=found.mean, variance=usual)
    strength = 0.0 if prior is None else float(prior)
    smoothing = product.Prior(float(alpha), strength, mean, variance)
    if isinstance(pull.mass, np.ndarray) or pull.variance is not None:
        pull = product.settle(smoothing, pull, layout)
    return smoothing, pull


def left_out_rows(problem: MixtureProblem, training: Training, model: FittedModel) -> HeldOutRows:
    """Evidence about each row, that for its own class without the row itself.

    Of a heavy row one unit is left out, as `engine._content_folds.assign_folds` has them.
    """
    table, y, weight = training.table, training.y, training.weight
    heaviest = np.zeros(training.n_classes)
    np.maximum.at(heaviest, y, weight)
    removed = np.minimum(weight, np.minimum(heaviest, 1.0)[y])
    evidence = model.evidence(table, problem.n_jobs)
    for span in table.spans():
        rows = product.to_rows(*table.block(span), problem.layout)
        evidence[np.arange(len(y))[span], y[span]] = product.left_out_log_density(
            problem.known,
            rows,
            y[span],
            removed[span],
            problem.prior,
            problem.layout,
            problem.pull,
        )
    return HeldOutRows(evidence, y, weight, np.tile(model.log_prior, (len(y), 1)))


def labelled_starts(
    problem: MixtureProblem, labelled: Training, rngs: list[np.random.Generator]
) -> MixtureParams:
    """The estimate from all labelled rows first, then starts near single labelled rows."""
    y, weight = labelled.y, labelled.weight
    estimates = [product.estimate(problem.known, problem.prior, problem.layout, problem.pull)]
    # a class may have no row here, for example in a fold of `calibrate`
    everything = np.arange(len(y))
    by_class = [
        rows if (rows := np.flatnonzero(y == k)).size else everything
        for k in range(len(problem.known_rows))
    ]
    for rng in rngs[1:]:
        picked = [rng.choice(rows, p=weight[rows] / weight[rows].sum()) for rows in by_class]
        chosen = labelled.table.take(np.array(picked))
        seeds = product.to_rows(*chosen.block(slice(None)), problem.layout)
        estimates.append(seed_components(seeds, problem.prior, problem.layout, rng))
    with np.errstate(divide="ignore"):
        shares = np.log(problem.known_rows / problem.known_rows.sum())
    stacked = (np.stack(arrays) for arrays in zip(*estimates, strict=True))
    return MixtureParams(np.tile(shares, (len(rngs), 1)), *stacked)


def restrict_rows(
    single: MixtureProblem, labelled: Training, n_components: int, n_starts: int
) -> MixtureProblem:
    """The problem in which a labelled row may be in any component of its class."""
    restricted = []
    for k in range(labelled.n_classes):
        own = labelled.take(np.flatnonzero(labelled.y == k))
        members = slice(k * n_components, (k + 1) * n_components)
        blocks = weighted_rows(own.table, own.weight, single.layout, n_components * n_starts)
        restricted += [(block, weight, members) for block, weight in blocks]
    return replace(
        without_rows(single, labelled.n_classes * n_components),
        blocks=single.blocks,
        restricted=restricted,
    )


def without_rows(problem: MixtureProblem, n_components: int) -> MixtureProblem:
    """The problem of as many components, without any row."""
    nothing = product.empty_stats(n_components, problem.layout)
    return replace(problem, blocks=[], known_rows=np.zeros(n_components), known=nothing)
