"""Soft-max: discrete columns as questions that have no order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.engine._content_holdout import order_levels
from latentclass.estimator._reading import Training
from latentclass.lcm._halving import NOTHING_ASKED
from latentclass.lcm._soft_max_bound import log_soft_max
from latentclass.lcm._stick_breaking import (
    Question,
    StickBreaking,
    learn_stick_breaking,
    level_shares,
)


class SoftMax(NamedTuple):
    """How discrete columns become questions with one logit each.

    A column with three or more categories has one question per category, "is it this one?", and
    its probabilities are the soft-max of their logits. A column with two categories has one
    question, as in stick breaking, and one with a single category none. The questions of columns
    with two categories come first.

    `orders` has the codes of each column in an order that does not depend on their names. Only
    folds of rows depend on it; for columns with two categories it is that of `StickBreaking`.
    """

    orders: tuple[IndexArray, ...]

    @property
    def n_levels(self) -> IndexArray:
        """Number of categories of each column."""
        return np.array([len(order) for order in self.orders], dtype=np.intp)

    @property
    def soft(self) -> tuple[int, ...]:
        """Number of categories of each soft-max column."""
        return tuple(int(n) for n in self.n_levels if n > 2)

    @property
    def spans(self) -> list[slice]:
        """Questions of each column."""
        n_levels = self.n_levels
        pairs = n_levels == 2
        first = np.cumsum(pairs) - pairs
        sizes = np.where(n_levels > 2, n_levels, 0)
        later = pairs.sum() + np.cumsum(sizes) - sizes
        begin = np.where(pairs, first, later)
        end = begin + np.where(pairs, 1, sizes)
        return [slice(*edges) for edges in zip(begin.tolist(), end.tolist(), strict=True)]

    @property
    def n_questions(self) -> int:
        """Number of all questions."""
        n_levels = self.n_levels
        return int(n_levels[n_levels > 2].sum() + (n_levels == 2).sum())

    @property
    def n_cells(self) -> int:
        """See `StickBreaking`: every row answers all questions."""
        return self.n_questions

    @property
    def questions(self) -> list[Question]:
        """Column (by its place) and code that each question asks for."""
        n_levels = self.n_levels
        pairs: list[Question] = [(int(place), 1) for place in np.flatnonzero(n_levels == 2)]
        rest = np.flatnonzero(n_levels > 2)
        return pairs + [(int(place), code) for place in rest for code in range(n_levels[place])]

    @property
    def pseudo(self) -> FloatArray:
        """Pseudo-counts of yes and no, (2, questions), of the columns with two categories."""
        return np.ones((2, int((self.n_levels == 2).sum())))

    def cells(self, codes: CodeArray) -> tuple[npt.NDArray[np.int8], IndexArray]:
        """See `StickBreaking`."""
        return self.signs(codes), NOTHING_ASKED

    def signs(self, codes: CodeArray) -> npt.NDArray[np.int8]:
        """Return 1 for yes, -1 for no, 0 for missing, shape (questions, rows)."""
        out = np.zeros((self.n_questions, len(codes)), dtype=np.int8)
        for place, span in enumerate(self.spans):
            mine = codes[:, place]
            asked = np.arange(span.stop - span.start)[:, None]
            if len(asked) == 1:
                asked = asked + 1
            out[span] = np.where(mine == asked, 1, -1) * (mine >= 0)
        return out

    def fold_codes(self, codes: Any) -> Any:
        """Number the categories of nominal columns by their order; -1 remains missing."""
        if not self.soft:
            return codes
        out = codes.copy()
        for place in np.flatnonzero(self.n_levels > 2):
            rank = np.append(np.argsort(self.orders[place]), -1)  # code -1 picks the last
            out[:, place] = rank[codes[:, place]]
        return out

    def log_probabilities(self, place: int, logits: FloatArray) -> FloatArray:
        """log P(category) of a column from its logits on the last axis, by code."""
        if logits.shape[-1] == 1:
            return StickBreaking(self.orders).log_probabilities(place, logits)
        return log_soft_max((logits.shape[-1],), logits)


def learn_soft_max(training: Training) -> SoftMax:
    """Order the categories by what the rows hold."""
    schema, table, weight = training.schema, training.table, training.weight
    sticks = learn_stick_breaking(schema, table, weight)
    if not (schema.n_levels > 2).any():
        return SoftMax(sticks.orders)
    numeric, codes = table.block(slice(None))
    shares = level_shares(schema, table, weight)
    found = order_levels(numeric, codes, training.y, weight, shares)
    pairs = zip(sticks.orders, found, strict=True)
    return SoftMax(tuple(one if len(one) == 2 else other for one, other in pairs))
