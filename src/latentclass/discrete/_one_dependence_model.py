"""The fitted values of AODE and of hidden naive Bayes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.discrete._model import DiscreteModel
from latentclass.discrete._one_dependence import (
    AODETables,
    HiddenTables,
    aode_log_likelihood,
    aode_without_each,
    draw_aode,
    draw_hidden,
    hidden_log_likelihood,
)
from latentclass.engine._counts import level_offsets
from latentclass.estimator._fitted import check_no_nan, check_shape


@dataclass(frozen=True, eq=False)
class AODEModel(DiscreteModel):
    """The average of networks in which each column in turn is a parent of all others.

    Attributes
    ----------
    tables : AODETables
    """

    tables: AODETables

    def __post_init__(self) -> None:
        super().__post_init__()
        n_all = int(level_offsets(self.coding.n_levels)[-1])
        tables, k = self.tables, self.n_classes
        for name, array, shape in (
            ("log_child", tables.log_child, (n_all, n_all, k)),
            ("log_super", tables.log_super, (n_all, k)),
            ("log_single", tables.log_single, (n_all, k)),
            ("log_class", tables.log_class, (k,)),
            ("log_total", tables.log_total, (k,)),
        ):
            check_shape(name, array, shape)
            check_no_nan(name, array)

    def code_log_likelihood(self, codes: CodeArray) -> FloatArray:
        """log P(observed codes | class), shape (n_rows, n_classes)."""
        return aode_log_likelihood(self.tables, codes)

    def code_without_each(self, codes: CodeArray) -> FloatArray:
        """log P(observed codes but one | class), from the super-parents' terms of the whole row."""
        return aode_without_each(self.tables, codes)

    def own_code_log_likelihood(self, codes: CodeArray, y: IndexArray) -> FloatArray:
        """log P(observed codes | own class), class by class."""
        return _class_by_class(
            codes, y, lambda k, own: aode_log_likelihood(self.tables.of_class(k), own)
        )

    def sample_codes(self, y: IndexArray, rng: np.random.Generator) -> CodeArray:
        """Draw the active columns' codes of one row for each class code."""
        return draw_aode(self.tables, y, rng)


@dataclass(frozen=True, eq=False)
class HiddenNaiveBayesModel(DiscreteModel):
    """Each column given a weighted average of all others.

    Attributes
    ----------
    tables : HiddenTables
    order : array of int
        The order in which `sample_codes` draws the active columns.
    """

    tables: HiddenTables
    order: IndexArray

    def __post_init__(self) -> None:
        super().__post_init__()
        n = len(self.coding.n_levels)
        n_all = int(level_offsets(self.coding.n_levels)[-1])
        tables, k = self.tables, self.n_classes
        for name, array, shape in (
            ("weights", tables.weights, (n, n)),
            ("mixed", tables.mixed, (n_all, n_all, k)),
            ("single", tables.single, (n_all, k)),
            ("child", tables.child, (k, n_all, n_all)),
            ("order", self.order, (n,)),
        ):
            check_shape(name, array, shape)
            check_no_nan(name, array)

    def code_log_likelihood(self, codes: CodeArray) -> FloatArray:
        """log of the model's product, shape (n_rows, n_classes); it does not sum to 1."""
        return hidden_log_likelihood(self.tables, codes)

    def own_code_log_likelihood(self, codes: CodeArray, y: IndexArray) -> FloatArray:
        """The same for each row's own class, class by class."""
        return _class_by_class(
            codes, y, lambda k, own: hidden_log_likelihood(self.tables.of_class(k), own)
        )

    def sample_codes(self, y: IndexArray, rng: np.random.Generator) -> CodeArray:
        """Draw the active columns one after the other, each given those before it."""
        return draw_hidden(self.tables, self.order, y, rng)


def _class_by_class(
    codes: CodeArray, y: IndexArray, of_class: Callable[[int, CodeArray], FloatArray]
) -> FloatArray:
    """Answers about each row's own class, from a model of each class alone."""
    total = np.empty(len(y))
    for k in np.unique(y):
        total[y == k] = of_class(k, codes[y == k])[:, 0]
    return total
