"""Stick breaking: discrete columns as yes-or-no questions, most frequent category first."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.data._schema import Column, Schema, Table
from latentclass.lcm._halving import NOTHING_ASKED, Halving, halve_levels

TINY = float(np.finfo(float).tiny)


MOST_STICKS = 8
"""A column with more categories than this has questions that split them into groups."""

LARGEST = 2.0**53
"""Floating-point numbers beyond this are all whole."""


Question = tuple[int, int | tuple[int, ...]]
"""A discrete column, by its place, and the code or codes that a question asks for."""


class StickBreaking(NamedTuple):
    """How discrete columns become yes-or-no questions, called sticks.

    `orders` has one array per discrete column: its codes in the order of the sticks. Stick s asks
    "is it orders[s]?" if the answer to all sticks before it was no. The last category needs no
    stick, so a column with one category has none.

    `long` has the columns with more than `MOST_STICKS` categories, by their places. Their questions
    split the categories into groups (see `_halving`) and come last.
    """

    orders: tuple[IndexArray, ...]
    long: tuple[tuple[int, Halving], ...] = ()

    @property
    def n_levels(self) -> IndexArray:
        """Number of categories of each column."""
        return np.array([len(order) for order in self.orders], dtype=np.intp)

    @property
    def soft(self) -> tuple[int, ...]:
        """See `SoftMax`: there are no soft-max columns here."""
        return ()

    @property
    def spans(self) -> list[slice]:
        """Questions of each column."""
        counts = np.maximum(self.n_levels - 1, 0)
        later = np.array([place in dict(self.long) for place in range(len(counts))], dtype=bool)
        order = np.argsort(later, kind="stable")
        last = np.empty_like(counts)
        last[order] = np.cumsum(counts[order])
        return [
            slice(*edges) for edges in zip((last - counts).tolist(), last.tolist(), strict=True)
        ]

    @property
    def n_questions(self) -> int:
        """Number of all questions."""
        return int(np.maximum(self.n_levels - 1, 0).sum())

    @property
    def n_sticks(self) -> int:
        """Number of questions of the columns that are not long."""
        return self.n_questions - sum(len(halving.asked) - 1 for _, halving in self.long)

    @property
    def n_cells(self) -> int:
        """The most questions that a row answers."""
        return self.n_sticks + sum(halving.depth for _, halving in self.long)

    @property
    def questions(self) -> list[Question]:
        """Column (by its place) and code, or codes, that each question asks for."""
        halvings = dict(self.long)
        sticks: list[Question] = [
            (place, int(code))
            for place, order in enumerate(self.orders)
            for code in order[:-1]
            if place not in halvings
        ]
        for place, halving in self.long:
            sticks += [(place, codes) for codes in halving.groups()]
        return sticks

    @property
    def pseudo(self) -> FloatArray:
        """Pseudo-counts of yes and no, (2, questions), that amount to 1 for each category."""
        halvings = dict(self.long)
        no = [
            np.arange(len(order) - 1, 0, -1)
            for place, order in enumerate(self.orders)
            if len(order) > 1 and place not in halvings
        ]
        below = np.concatenate([np.zeros(0), *no])
        sticks = np.stack([np.ones_like(below), below])
        return np.concatenate([sticks, *(halving.counts() for _, halving in self.long)], axis=1)

    def cells(self, codes: CodeArray) -> tuple[npt.NDArray[np.int8], IndexArray]:
        """Return the answers of rows, (cells, R), and the questions of the last cells, (D, R).

        An answer is 1 for yes, -1 for no, 0 for not asked or missing. First come the sticks, then
        those questions of the long columns that are asked (see `_logistic_bound.HybridRows`).
        """
        signs = np.zeros((self.n_cells, len(codes)), dtype=np.int8)
        self._answer_sticks(codes, signs)
        if not self.long:
            return signs, NOTHING_ASKED
        first, spans = self.n_sticks, self.spans
        asked = np.zeros((len(signs) - first, len(codes)), dtype=np.intp)
        end = 0
        for place, halving in self.long:
            begin, end = end, end + halving.depth
            mine = codes[:, place]
            answer = np.where(mine >= 0, halving.answer[mine].T, 0)
            signs[first + begin : first + end] = answer
            question = spans[place].start + halving.asked[mine].T
            asked[begin:end] = np.where(answer != 0, question, 0)
        return signs, asked

    def _answer_sticks(self, codes: CodeArray, out: npt.NDArray[np.int8]) -> None:
        """Write the answers to the sticks into the first rows of `out`."""
        halvings = dict(self.long)
        for place, (order, span) in enumerate(zip(self.orders, self.spans, strict=True)):
            if len(order) < 2 or place in halvings:
                continue
            rank = np.append(np.argsort(order), -1)  # code -1 picks the last
            mine = rank[codes[:, place]]
            stick = np.arange(len(order) - 1)[:, None]
            part = out[span]
            part[(mine > stick)] = -1
            part[mine == stick] = 1

    def fold_codes(self, codes: Any) -> Any:
        """See `SoftMax`: here folds go by the codes as they are."""
        return codes

    def log_probabilities(self, place: int, logits: FloatArray) -> FloatArray:
        """log P(category) of a column from its questions' logits on the last axis, by code."""
        for long, halving in self.long:
            if long == place:
                return halving.log_probabilities(logits)
        order = self.orders[place]
        yes = -np.logaddexp(0.0, -logits)
        no = -np.logaddexp(0.0, logits)
        left = np.cumsum(no, axis=-1)
        first = np.zeros((*logits.shape[:-1], 1))
        ranked = np.concatenate([first, left], axis=-1)
        ranked[..., :-1] += yes
        out = np.empty_like(ranked)
        out[..., order] = ranked
        return out


def learn_stick_breaking(schema: Schema, table: Table, weight: FloatArray) -> StickBreaking:
    """Order the categories of each column by frequency; of two, the second one is 'yes'."""
    shares = level_shares(schema, table, weight)
    orders = [
        np.array([1, 0]) if len(share) == 2 else np.argsort(-share, kind="stable")
        for share in shares
    ]
    long = [
        (place, halve_levels(share))
        for place, share in enumerate(shares)
        if len(share) > MOST_STICKS
    ]
    return StickBreaking(tuple(orders), tuple(long))


def level_shares(schema: Schema, table: Table, weight: FloatArray) -> list[FloatArray]:
    """Share of each level of the columns with three or more, to nine digits; of others 0.

    Further digits depend on the order of sums.
    """
    counts = [np.zeros(n) for n in schema.n_levels]
    if sp.issparse(table.codes):
        return counts
    for span in table.spans():
        codes = table.block(span).codes
        for place, count in enumerate(counts):
            if len(count) > 2:
                seen = codes[:, place] >= 0
                count += np.bincount(codes[seen, place], weight[span][seen], len(count))
    return [np.round(count / max(float(count.sum()), TINY), 9) for count in counts]


class Promotion(NamedTuple):
    """Which numeric columns are read as binary.

    `before` and `after` are the schemas. Column `chosen` (columns,) of the numeric ones holds the
    two numbers `levels` (2, columns).
    """

    before: Schema
    after: Schema
    chosen: BoolArray
    levels: FloatArray

    def apply(self, table: Table) -> Table:
        """A table of the schema before, with these columns as binary ones."""
        if not self.chosen.any():
            return table
        if sp.issparse(table.numeric):
            return Table(np.empty((table.n_rows, 0)), table.numeric)
        numeric: Any = np.asarray(table.numeric)
        codes = np.empty((table.n_rows, len(self.after.discrete)), dtype=np.int32)
        for k, j in enumerate(self.after.discrete):
            if j in self.before.discrete:
                codes[:, k] = np.asarray(table.codes)[:, self.before.discrete.index(j)]
            else:
                mine = self.before.continuous.index(j)
                values = numeric[:, mine]
                codes[:, k] = np.where(np.isnan(values), -1, values == self.levels[1, mine])
        return Table(numeric[:, ~self.chosen], codes)


def promote_binary(schema: Schema, table: Table) -> tuple[Schema, Table]:
    """Read numeric columns that hold only two whole numbers as binary; see `plan_promotion`."""
    if not schema.continuous:
        return schema, table
    levels, inside = _two_levels(table.numeric)
    found = plan_promotion(schema, levels, inside, sparse=sp.issparse(table.numeric))
    return found.after, found.apply(table)


def plan_promotion(
    schema: Schema, levels: FloatArray, inside: BoolArray, *, sparse: bool = False
) -> Promotion:
    """Choose the numeric columns to read as binary: those that hold only two whole numbers.

    Such a column is far from Gaussian: if one of the numbers is rare, it lies many standard
    deviations from the mean and would outweigh all other columns. In a table of such columns only,
    a column may also hold just 0 or just 1. A sparse table is read in this way only as a whole, if
    all its columns hold just 0 and 1. `levels` (2, columns) are the smallest and largest numbers;
    `inside` marks the columns that hold no others, and whose levels are whole.
    """
    observed = np.array([schema.columns[j].observed for j in schema.continuous])
    bits = inside & np.isin(levels, (0, 1)).all(axis=0) & observed
    chosen = inside & (levels[0] < levels[1]) & observed
    numbers_only = all(column.kind == "continuous" for column in schema.given)
    if numbers_only and np.all(bits | ~observed):
        chosen, levels = bits, np.stack([np.zeros(len(bits)), np.ones(len(bits))])
    if sparse and not (chosen & bits).all():
        chosen = np.zeros_like(chosen)
    columns = list(schema.columns)
    for place in np.flatnonzero(chosen):
        j = schema.continuous[place]
        low, high = (int(level) for level in levels[:, place])
        columns[j] = Column(columns[j].name, "binary", (low, high))
    after = Schema(tuple(columns), schema.container, schema.header)
    return Promotion(schema, after, chosen, levels)


def _two_levels(numeric: Any) -> tuple[FloatArray, BoolArray]:
    """Return the smallest and largest number of each column, and whether it holds only these.

    Both must be whole. The numbers have shape (2, columns).
    """
    if sp.issparse(numeric):
        matrix = sp.csr_array(numeric)
        other = (matrix.data != 0) & (matrix.data != 1)
        inside = np.ones(matrix.shape[1], dtype=bool)
        inside[np.unique(matrix.indices[other])] = False
        ones = np.bincount(matrix.indices[matrix.data == 1], minlength=matrix.shape[1])
        return np.stack([ones >= matrix.shape[0], ones > 0]).astype(np.float64), inside
    hidden = np.isnan(numeric)
    low = np.where(hidden, np.inf, numeric).min(axis=0)
    high = np.where(hidden, -np.inf, numeric).max(axis=0)
    levels = np.stack([low, high])
    return levels, only_levels(numeric, levels) & whole_levels(levels)


def whole_levels(levels: FloatArray) -> BoolArray:
    """Which columns have a smallest and a largest number (2, columns) that are whole."""
    whole = (np.floor(levels) == levels) & (np.abs(levels) < LARGEST)
    return np.asarray(whole.all(axis=0))


def only_levels(numeric: FloatArray, levels: FloatArray) -> BoolArray:
    """Which columns hold only the numbers `levels` (2, columns), or nothing."""
    low, high = levels
    return np.asarray(((numeric == low) | (numeric == high) | np.isnan(numeric)).all(axis=0))
