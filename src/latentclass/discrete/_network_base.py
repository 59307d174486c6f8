"""What classifiers that are one Bayesian network share: fitting, and reading the network."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray
from latentclass.data._match import free_name
from latentclass.discrete._base import CountClassifier
from latentclass.discrete._em import CountLayout, CountParams
from latentclass.discrete._network import Structure
from latentclass.discrete._network_model import NetworkModel
from latentclass.discrete._training_rows import TrainingRows
from latentclass.engine._em import EMResult
from latentclass.estimator._bif import BifVariable, write_bif
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import FitRecord, Learned


class NetworkClassifier(CountClassifier):
    """Base of classifiers that are one Bayesian network over class and columns.

    A subclass answers `_search`: the structure. Every conditional table is smoothed by `_mass`
    pseudo-counts.
    """

    _model: NetworkModel

    @abstractmethod
    def _search(self, rows: TrainingRows) -> Structure:
        """The arcs among the active columns, from the labelled rows."""

    def _mass(self, rows: TrainingRows) -> list[FloatArray]:
        """Pseudo-counts of each active column's levels, in every distribution of it."""
        return [np.full(n_levels, float(self.alpha)) for n_levels in rows.n_levels]

    def _learn(self, rows: TrainingRows, progress: FitProgress | None) -> Learned:
        model, result = self._learn_tables(rows, self._search(rows), progress)
        return Learned(model, FitRecord.of(result, rows.log_likelihood(model)))

    def _learn_again(self, rows: TrainingRows, learned: Learned) -> Learned:
        assert isinstance(learned.model, NetworkModel)
        model, _ = self._learn_tables(rows, learned.model.structure, None)
        return replace(learned, model=model)

    def _learn_tables(
        self, rows: TrainingRows, structure: Structure, progress: FitProgress | None
    ) -> tuple[NetworkModel, EMResult[CountParams]]:
        layout = CountLayout(
            structure.group_starts,
            structure.spread(self._mass(rows)),
            structure.spread(rows.level_shares()),
            np.ones((1, len(structure.group_starts))),
            structure.shared,
        )
        count = partial(structure.counts, n_classes=rows.n_classes)
        params, result, _ = self._run_em(rows, layout, structure.entries, count, progress)
        prior = np.exp(params.log_pi)
        return NetworkModel(prior, rows.coding, structure, params.log_theta), result

    # ------------------------------------------------------------------ reading

    def _structure(self) -> dict[str, Any]:
        return {"arcs between columns": sum(map(len, self.parents_.values()))}

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
