"""Learning from rows that are seen once, chunk by chunk."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from latentclass.data._labels import label_array
from latentclass.data._number_facts import narrow_number_facts
from latentclass.engine._parallel import computation
from latentclass.estimator._base import GenerativeClassifier
from latentclass.estimator._common_parameters import check_common_parameters
from latentclass.estimator._fitted import Learned
from latentclass.estimator._reading import (
    Training,
    check_weight,
    label_codes,
    refuse_huge,
    store_fitted,
)


class PartialFitMixin(GenerativeClassifier):
    """Mixin of classifiers that need only sums over labelled rows.

    A subclass says whether its parameters allow that, adds up sums, and learns from them.
    """

    @abstractmethod
    def _check_one_pass(self) -> None:
        """Refuse parameters that need to read the rows again."""

    @abstractmethod
    def _add_rows(self, sums: Any, rows: Training) -> Any:
        """Sums of all rows so far; `sums` is None before the first ones."""

    @abstractmethod
    def _learn_sums(self, sums: Any, about: Training) -> Learned:
        """Learn from sums; `about` has the schema and classes, without any row."""

    @computation
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows: the same as `fit` on all rows so far.

        Only sums over the rows are kept, so the number of rows is not limited. The first call fixes
        the columns, their categories and the classes. `fit` keeps no such sums: after it the first
        call begins anew.

        Parameters
        ----------
        X : table
        y : array-like of labels, all known
        classes : array-like, optional
            All labels that will occur; by default those of the first call.
        sample_weight : array-like, optional

        Returns
        -------
        self
        """
        check_common_parameters(self)
        self._check_parameters()
        self._check_one_pass()
        if self.calibrate is True:
            raise ValueError(
                "calibrate=True needs to read the rows again, but partial_fit reads them once. Use "
                "calibrate=False, or fit."
            )
        about, sums = vars(self).get("_sums_", (None, None))
        if about is None:
            rows = self._first_rows(X, y, classes, sample_weight)
            about = rows.take(np.arange(0))
        else:
            rows = self._more_rows(about, X, y, sample_weight)
            about = replace(about, schema=narrow_number_facts(about.schema, rows.table))
        sums = self._add_rows(sums, rows)
        learned = self._learn_sums(sums, about)
        self._warn(learned)
        # `fit` drops names that end with an underscore, and so forgets the sums
        n_rows = rows.table.n_rows + (self._n_rows if "_sums_" in vars(self) else 0)
        kept = {**learned.attributes, "_sums_": (about, sums), "_n_rows": n_rows}
        self._store(about, replace(learned, attributes=kept))
        return self

    def _first_rows(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Training:
        """The rows of the first call."""
        rows = self._read_training(X, y, sample_weight)
        labels = label_array(y)[rows.row_numbers]  # without those of weight 0
        known = rows.classes if classes is None else np.unique(np.asarray(classes))
        return replace(rows, classes=known, y=label_codes(labels, known, len(labels)))

    def _more_rows(self, about: Training, X: Any, y: Any, sample_weight: Any) -> Training:
        """Rows of a later call, with the schema and classes of the first."""
        reader = clone(self).set_params(handle_unknown="error")
        store_fitted(reader, about.attributes())
        table = reader._read(X)
        refuse_huge(about.schema, table)
        labels, weight = label_array(y), check_weight(sample_weight, table.n_rows)
        if len(labels) != table.n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has "
                f"{table.n_rows} rows, y has {len(labels)} labels. Pass one label per row."
            )
        codes = label_codes(labels, about.classes, table.n_rows)
        places = np.arange(table.n_rows)
        rows = replace(about, table=table, y=codes, weight=weight, row_numbers=places)
        return rows.take(np.flatnonzero(weight))
