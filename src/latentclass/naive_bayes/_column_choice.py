"""Mixtures for the continuous columns of naive Bayes: how many components, and the EM problem."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from latentclass._types import IndexArray
from latentclass.data._schema import Table
from latentclass.engine import _product as product
from latentclass.engine._parallel import map_blocks
from latentclass.engine._product_mixture import MixtureProblem
from latentclass.estimator._reading import Training
from latentclass.naive_bayes import _column_mixture as mixture


@dataclass(frozen=True)
class ColumnSearch:
    """How mixtures are searched for; the fields are parameters of the estimator."""

    max_components: int
    n_starts: int
    seed: int
    tol: float
    max_iter: int
    accelerate: bool


def choose_columns(
    labelled: Training, problem: MixtureProblem, search: ColumnSearch
) -> tuple[IndexArray, mixture.ColumnComponents]:
    """Numbers of components (K, p), and the mixtures of the columns that need more than one."""
    prior, layout = problem.prior, problem.layout
    shape = (labelled.n_classes, len(prior.mean))
    numbers = np.ones(shape, dtype=np.intp)

    def visit(columns: slice) -> tuple[IndexArray, mixture.Choice]:
        cells, pairs = column_values(labelled, layout, columns)
        variance = prior.variance[columns][pairs % (columns.stop - columns.start)]
        choice = mixture.choose_mixtures(
            cells,
            mixture.Spread(prior.strength, variance[:, None]),
            max_components=search.max_components,
            n_starts=search.n_starts,
            seed=search.seed,
            tol=search.tol,
            max_iter=search.max_iter,
            accelerate=search.accelerate,
        )
        return pairs, choice

    # a class without any value in a column gets the Gaussian of the whole column
    parts = mixture.ColumnComponents(
        np.full((*shape, search.max_components), -np.inf),
        np.zeros((*shape, search.max_components)),
        np.ones((*shape, search.max_components)),
    )
    parts.log_weight[..., 0] = 0.0
    parts.mean[..., 0] = prior.mean
    parts.scale[..., 0] = product.to_scale(prior.variance, prior)
    spans = _column_spans(labelled, search) if search.max_components > 1 else []
    results = map_blocks(visit, spans, problem.n_jobs)
    for columns, (pairs, choice) in zip(spans, results, strict=True):
        k, j = np.divmod(pairs, columns.stop - columns.start)
        j += columns.start
        numbers[k, j] = choice.n_components
        for array, values in zip(parts, choice.parts, strict=True):
            array[k, j] = values
    mixed, most = mixture.mixed_columns(numbers), int(numbers.max(initial=1))
    return numbers, mixture.ColumnComponents(*(array[:, mixed, :most] for array in parts))


def _column_spans(labelled: Training, search: ColumnSearch) -> list[slice]:
    """Ranges of continuous columns whose values fit into memory with all starts."""
    n_columns = labelled.table.numeric.shape[1]
    each = labelled.table.n_rows * search.n_starts * search.max_components
    size = max(mixture.CHUNK_CELLS // each, 1)
    return [slice(j, min(j + size, n_columns)) for j in range(0, n_columns, size)]


def column_values(
    labelled: Training, layout: product.Layout, columns: slice
) -> tuple[mixture.ColumnValues, IndexArray]:
    """Distinct values of some columns in each class, and their pairs (see `distinct_cells`)."""
    table = labelled.table
    numeric = Table(table.numeric[:, columns], table.codes[:, :0]).block(slice(None)).numeric
    scaled = (numeric - layout.centre[columns]) / layout.unit[columns]
    return mixture.distinct_cells(scaled, labelled.y, labelled.weight, labelled.n_classes)


def column_mixture_problem(
    labelled: Training, problem: MixtureProblem, numbers: IndexArray
) -> mixture.ColumnMixtureProblem:
    """EM over all rows, once the number of components of each column is known."""
    mixed = mixture.mixed_columns(numbers)
    cells = []
    for place, j in enumerate(mixed):
        values, pairs = column_values(labelled, problem.layout, slice(j, j + 1))
        cells.append((values, pairs * len(mixed) + place))
    return mixture.ColumnMixtureProblem(
        _without_columns(problem, mixed),
        [rows.numeric[:, mixed] for rows, _ in problem.blocks],
        cells,
        mixture.used_parts(numbers),
        mixture.Spread(problem.prior.strength, problem.prior.variance[mixed, None]),
        problem.layout.unit[mixed],
    )


def _without_columns(problem: MixtureProblem, mixed: IndexArray) -> MixtureProblem:
    """The problem of the other columns."""
    prior, known, layout = problem.prior, problem.known, problem.layout
    keep = np.setdiff1d(np.arange(len(prior.mean)), mixed)
    blocks = [
        (product.ProductRows(np.ascontiguousarray(rows.numeric[:, keep]), rows.codes), weight)
        for rows, weight in problem.blocks
    ]
    return replace(
        problem,
        blocks=blocks,
        known=known._replace(
            weight=known.weight[:, keep],
            mean=known.mean[:, keep],
            scatter=known.scatter[:, keep],
        ),
        prior=prior._replace(mean=prior.mean[keep], variance=prior.variance[keep]),
        layout=layout._replace(centre=layout.centre[keep], unit=layout.unit[keep]),
    )


def matched_params(
    plain: product.Params, parts: mixture.ColumnComponents, mixed: IndexArray
) -> product.Params:
    """Single Gaussians with the mean and variance of each column's mixture.

    `plain` are the parameters of the columns that are not mixed.
    """
    share = np.exp(parts.log_weight)
    centre = (share * parts.mean).sum(axis=2)
    about = parts.mean - centre[:, :, None]
    variance = (share * (parts.scale**2 + about**2)).sum(axis=2)
    n_columns = plain.mean.shape[1] + len(mixed)
    rest = np.setdiff1d(np.arange(n_columns), mixed)
    mean, scale = (np.empty((len(plain.mean), n_columns)) for _ in range(2))
    mean[:, rest], mean[:, mixed] = plain.mean, centre
    scale[:, rest], scale[:, mixed] = plain.scale, np.sqrt(variance)
    return product.Params(mean, scale, plain.log_prob)
