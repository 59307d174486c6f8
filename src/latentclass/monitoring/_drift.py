"""How far new rows have moved from what a model expects, column by column."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.data._holes import hide_marked
from latentclass.data._schema import Column, Table, table_column
from latentclass.data._unseen import unseen_values
from latentclass.engine._parallel import computation
from latentclass.estimator._unusual import draw_table, unusual_rows
from latentclass.estimator._verbs import FittedVerbs
from latentclass.monitoring._summary import ColumnDrift, DriftSummary, correct_by_holm

N_DRAWN = 10_000
"""Rows that are drawn from the model."""

MOST_JUDGED, N_DRAWS = 2000, 1000
"""Most rows whose class and unusualness are computed, and draws that decide what is unusual."""

UNUSUAL = 0.05
"""A row with a p-value of at most this is unusual."""

LEAST_EXPECTED = 5.0
"""Levels with a smaller expected count are joined for the chi-square test."""

MANY_VALUES = 5
"""Unseen values of a column that are listed."""


class _Rows(NamedTuple):
    """Rows to compare, with their values that were not seen in `fit`.

    `worth` is how many rows of data each row stands for: less than 1 for rows that are drawn from a
    model, which knows no more than its training rows have told it.
    """

    table: Table
    unseen: dict[str, dict[Any, int]]
    worth: float = 1.0


@computation
def drift(model: Any, X: Any, *, reference: Any = None, random_state: Any = None) -> DriftSummary:
    """How far new rows have moved from what a model expects.

    For each column it compares the new cells with those that the model expects, and counts missing
    cells and values not seen in `fit`. For whole rows it compares the shares of the predicted
    classes, and counts unusual rows.

    Parameters
    ----------
    model : fitted classifier or LatentMixture of this library
    X : table with the columns of `fit`
        The new rows. Of more than 2,000, a random sample decides about classes and unusual rows;
        columns are compared over all rows.
    reference : table with the columns of `fit`, optional
        Rows to compare with, such as the training table. By default 10,000 rows are drawn from the
        model. A file of the model is then enough, but where the model describes a column badly
        (a Gaussian for a long tail, or a discriminative fit, which improves the class
        probabilities at the expense of the density), that looks like drift. The tests of the
        columns allow for the number of training rows: a model of few rows is imprecise.
    random_state : int, RandomState or None
        Seeds the draws. None takes the model's own, and seed 0 if that is None too.

    Returns
    -------
    DriftSummary
        `print` it, or call its `moved`, `to_frame` or `to_dict`.

    Examples
    --------
    >>> import latentclass
    >>> from latentclass.baselines import NaiveBayes
    >>> from latentclass.datasets import load_dataset
    >>> iris = load_dataset("iris", container="pandas")
    >>> model = NaiveBayes().fit(iris.X, iris.y)
    >>> latentclass.drift(model, iris.X.assign(sepalwidth=iris.X["sepalwidth"] + 1)).moved()
    ['sepalwidth']
    """
    if not isinstance(model, FittedVerbs):
        model = getattr(model, "best_estimator_", model)
    if not isinstance(model, FittedVerbs):
        raise TypeError(
            "drift needs a fitted classifier or LatentMixture of latentclass, got "
            f"{type(model).__name__}. For a pipeline, pass its last step and the rows it receives."
        )
    rng = model._draw_generator(random_state)
    new = _read(model, X)
    if reference is None:
        worth = worth_of_draws(N_DRAWN, vars(model).get("_n_rows"))
        drawn = hide_marked(model.schema_, draw_table(model._model, N_DRAWN, rng))
        expected = _Rows(drawn, {}, worth)
    else:
        expected = _read(model, reference)
    columns = _compare_columns(model, new, expected, drawn=reference is None)
    some, others = _sample(new.table, rng), _sample(expected.table, rng)
    shares = [_class_shares(model, table) for table in (others, some)]
    # the same draws as those of model.unusual(X)
    unusual = _p_values(model, some, model._draw_generator(random_state)) <= UNUSUAL
    if reference is None:
        usual_share = UNUSUAL
        p_value = _more_than(int(unusual.sum()), len(unusual), UNUSUAL)
    else:
        usual = _p_values(model, others, model._draw_generator(random_state)) <= UNUSUAL
        usual_share = float(usual.mean())
        p_value = _more_than_other(unusual, usual)
    labels = [str(label) for label in model._shares()]
    return DriftSummary(
        columns,
        {label: (float(a), float(b)) for label, a, b in zip(labels, *shares, strict=True)},
        float(0.5 * np.abs(shares[0] - shares[1]).sum()),
        float(unusual.mean()),
        usual_share,
        p_value,
        new.table.n_rows,
        some.n_rows,
        expected.table.n_rows,
        "model" if reference is None else "reference",
    )


def _read(model: Any, X: Any) -> _Rows:
    """Read a table as the model does; unseen values are missing, whatever the model would do."""
    reader = copy(model)
    reader.handle_unknown = "missing"
    _, table = reader._encode(X)  # without a warning: the summary names them
    for place, j in enumerate(model.schema_.discrete):
        column = model.schema_.columns[j]
        if column.spare:
            table.codes[table.codes[:, place] == len(column.seen), place] = -1
    return _Rows(table, unseen_values(model.schema_, X, owner=type(model).__name__))


def _sample(table: Table, rng: np.random.Generator) -> Table:
    if table.n_rows <= MOST_JUDGED:
        return table
    return table.take(np.sort(rng.choice(table.n_rows, MOST_JUDGED, replace=False)))


# -------------------------------------------------------------------------- columns


def _compare_columns(
    model: Any, new: _Rows, expected: _Rows, *, drawn: bool
) -> tuple[ColumnDrift, ...]:
    schema = model.schema_
    found = {}
    for place, j in enumerate(schema.continuous):
        found[j] = _compare_numbers(
            _numbers(new.table, place), _numbers(expected.table, place), expected.worth
        )
    for place, j in enumerate(schema.discrete):
        column = schema.columns[j]
        found[j] = _compare_levels(
            _counts(new, place, column),
            _counts(expected, place, column),
            [*map(str, column.categories), "not seen in fit"],
            expected.worth,
        )
    p_values = correct_by_holm([found[j].p_value for j in range(len(schema.columns))])
    out = []
    for j, column in enumerate(schema.columns):
        unseen = new.unseen.get(column.name, {})
        out.append(
            ColumnDrift(
                column.name,
                column.kind,
                found[j].distance,
                p_values[j],
                _missing_share(new, model, j),
                None if drawn else _missing_share(expected, model, j),
                sum(unseen.values()),
                {str(value): n for value, n in list(unseen.items())[:MANY_VALUES]},
                found[j].change,
            )
        )
    return tuple(out)


class _Found(NamedTuple):
    distance: float
    p_value: float
    change: str


NOTHING = _Found(np.nan, np.nan, "no cells to compare")


def worth_of_draws(n_drawn: int, n_learned: int | None) -> float:
    """How many rows of data a drawn row stands for, if the model has learned from `n_learned`.

    A share of the training rows has variance 1 / n_learned, and one of the drawn rows adds
    1 / n_drawn (both times the same factor). So the drawn rows tell as much about the rows that the
    training rows came from as this many of those do: 1 / (1 / n_learned + 1 / n_drawn).
    """
    return 1.0 if n_learned is None else n_learned / (n_learned + n_drawn)


def _compare_numbers(new: FloatArray, expected: FloatArray, worth: float) -> _Found:
    """Two samples of numbers, by Kolmogorov and Smirnov."""
    if not new.size or not expected.size:
        return NOTHING
    from scipy.stats import ks_2samp, kstwobign

    distance = float(ks_2samp(new, expected, method="asymp").statistic)
    size = 1.0 / (1.0 / len(new) + 1.0 / (worth * len(expected)))
    change = f"mean {expected.mean():.4g} -> {new.mean():.4g}"
    return _Found(distance, float(kstwobign.sf(np.sqrt(size) * distance)), change)


def _compare_levels(
    new: IndexArray, expected: IndexArray, names: list[str], worth: float
) -> _Found:
    """Counts of levels in two samples: total variation, and tests. The last are unseen values."""
    if not new.sum() or not expected.sum():
        return NOTHING
    shares = new / new.sum(), expected / expected.sum()
    difference = shares[0] - shares[1]
    most = int(np.argmax(np.abs(difference)))
    change = f"{names[most]} {100 * shares[1][most]:.1f} % -> {100 * shares[0][most]:.1f} %"
    p_value, known = 1.0, np.asarray(worth * expected, dtype=np.float64)
    if new[:-1].any() and known[:-1].any():
        p_value = chi_square(new[:-1], known[:-1])
    if new[-1]:  # two tests, so that each counts half
        p_value = min(1.0, 2.0 * min(p_value, _more_unseen(new, known)))
    return _Found(float(0.5 * np.abs(difference).sum()), p_value, change)


def _more_unseen(new: IndexArray, expected: FloatArray) -> float:
    """p-value of unseen values that are no more common than in the expected rows."""
    other = [int(np.rint(expected[-1])), int(np.rint(expected[:-1].sum()))]
    return _fisher([[int(new[-1]), int(new[:-1].sum())], other])


def chi_square(new: IndexArray, expected: FloatArray) -> float:
    """p-value of the hypothesis that two rows of counts have the same shares.

    Rare levels are joined, the rarest first, until enough is expected in the smaller row.
    """
    from scipy.stats import chi2_contingency

    counts = np.stack([new, expected]).astype(np.float64)
    smaller = counts.sum(axis=1).min() / counts.sum()
    joined: list[FloatArray] = []
    rest = np.zeros(2)
    for place in np.argsort(counts.sum(axis=0), kind="stable"):
        rest = rest + counts[:, place]
        if rest.sum() * smaller >= LEAST_EXPECTED:
            joined.append(rest)
            rest = np.zeros(2)
    if rest.any() and joined:
        joined[-1] = joined[-1] + rest
    if len(joined) < 2:
        return 1.0
    return float(chi2_contingency(np.stack(joined, axis=1), correction=False).pvalue)


def _numbers(table: Table, place: int) -> FloatArray:
    values = table_column(table.numeric, place)
    return np.asarray(values[~np.isnan(values)])


def _codes(table: Table, place: int) -> CodeArray:
    return np.asarray(table_column(table.codes, place), dtype=np.int32)


def _counts(rows: _Rows, place: int, column: Column) -> IndexArray:
    """How often each level occurs, and at the end all values not seen in `fit`."""
    codes = _codes(rows.table, place)
    known = np.bincount(codes[codes >= 0], minlength=len(column.categories))
    return np.append(known, sum(rows.unseen.get(column.name, {}).values()))


def _missing_share(rows: _Rows, model: Any, j: int) -> float:
    schema = model.schema_
    if j in schema.continuous:
        lacking = rows.table.n_rows - len(_numbers(rows.table, schema.continuous.index(j)))
    else:
        codes = _codes(rows.table, schema.discrete.index(j))
        unseen = rows.unseen.get(schema.columns[j].name, {})
        lacking = int(np.count_nonzero(codes < 0)) - sum(unseen.values())
    return lacking / rows.table.n_rows


# ----------------------------------------------------------------------------- rows


def _class_shares(model: Any, table: Table) -> FloatArray:
    """Mean probability of each class, or of each component of a mixture."""
    if hasattr(model, "classes_"):
        return np.asarray(model._posterior(table).mean(axis=0))
    return np.asarray(model._component_shares(table).mean(axis=0))


def _p_values(model: Any, table: Table, rng: np.random.Generator) -> FloatArray:
    return unusual_rows(model._model, table, N_DRAWS, rng, model.n_jobs)


def _more_than(count: int, n: int, share: float) -> float:
    """p-value of a count that is no larger than a share of n on average."""
    from scipy.stats import binomtest

    return float(binomtest(count, n, share, alternative="greater").pvalue)


def _more_than_other(new: Any, other: Any) -> float:
    """p-value of a share that is no larger than another one."""
    return _fisher([[int(each.sum()), int((~each).sum())] for each in (new, other)])


def _fisher(counts: list[list[int]]) -> float:
    """p-value of Fisher's exact test that the first count is no larger than it should be."""
    from scipy.stats import fisher_exact

    return float(fisher_exact(counts, alternative="greater")[1])
