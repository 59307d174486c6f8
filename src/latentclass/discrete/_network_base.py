"""What classifiers that are one Bayesian network share: fitting, and reading the network."""

from __future__ import annotations

from abc import abstractmethod
from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.discrete._base import DiscreteClassifier, learn_coded
from latentclass.discrete._coding import CodedRows, Coding
from latentclass.discrete._em import CountLayout
from latentclass.discrete._network import Structure
from latentclass.discrete._network_model import NetworkModel
from latentclass.engine._em import EMResult
from latentclass.estimator._bif import BifVariable, free_name, write_bif
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import Learned
from latentclass.estimator._reading import Training


class NetworkClassifier(DiscreteClassifier):
    """Base of classifiers that are one Bayesian network over class and columns.

    A subclass answers `_search`: the structure. Every conditional table is smoothed by `_mass`
    pseudo-counts.
    """

    _model: NetworkModel

    @abstractmethod
    def _search(self, rows: CodedRows, coding: Coding, names: list[str]) -> Structure:
        """The arcs among the active columns, from the labelled rows.

        `names` are those of all columns of the table.
        """

    def _mass(self, rows: CodedRows) -> list[FloatArray]:
        """Pseudo-counts of each active column's levels, in every distribution of it."""
        return [np.full(n_levels, float(self.alpha)) for n_levels in rows.n_levels]

    def _fit_model(self, training: Training, progress: FitProgress | None) -> Learned:
        def learn(rows: CodedRows, coding: Coding) -> tuple[NetworkModel, EMResult[Any]]:
            structure = self._search(rows, coding, training.schema.names)
            layout = CountLayout(
                structure.group_starts,
                structure.spread(self._mass(rows)),
                structure.spread(rows.level_shares()),
                np.ones(structure.n_entries),
                structure.shared,
            )

            def count(codes: CodeArray, y: IndexArray, weight: FloatArray) -> FloatArray:
                return structure.counts(codes, y, weight, rows.n_classes)

            params, _, result = self._run_em(rows, layout, structure.entries, count, progress)
            model = NetworkModel(np.exp(params.log_pi), coding, structure, params.log_theta)
            return model, result

        return learn_coded(training, learn)

    # ------------------------------------------------------------------ reading

    @property
    def parents_(self) -> dict[str, tuple[str, ...]]:
        """Parents of each column in the network, the class left out, by name."""
        names = self._active_names()
        return {
            names[j]: tuple(names[p] for p in parents)
            for j, parents in enumerate(self._model.structure.parents)
        }

    @property
    def depends_on_class_(self) -> dict[str, bool]:
        """Whether the class is a parent of each column, by name."""
        return dict(zip(self._active_names(), self._model.structure.class_parent, strict=True))

    def to_bif(self, path: str | PathLike[str] | None = None) -> str:
        """The network in BIF, the text format that most Bayesian-network programs read.

        Parameters
        ----------
        path : str or path, optional
            File to write.

        Returns
        -------
        str
            The text. The class is the variable `class` (with underscores added if a column has
            that name); a discretised column has the states `bin0`, `bin1`, and so on, cut at
            `cut_points_`. Columns of one level are left out. See `write_bif` for how names are
            spelled.
        """
        check_is_fitted(self)
        names = self._active_names()
        class_name = free_name("class", self.schema_.names)
        variables = [BifVariable(class_name, self.classes_.tolist(), (), self.class_prior_)]
        for j, table in enumerate(self._model.tables):
            column = self.schema_.columns[self._model.coding.positions[j]]
            states = column.categories or [f"bin{b}" for b in range(table.shape[-1])]
            parents = tuple(names[p] for p in self._model.structure.parents[j])
            if self._model.structure.class_parent[j]:
                parents = (class_name, *parents)
            else:
                table = table[0]
            variables.append(BifVariable(names[j], states, parents, np.exp(table)))
        return write_bif(variables, path, title=type(self).__name__)
