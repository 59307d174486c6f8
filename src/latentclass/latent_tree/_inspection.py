"""What one reads in a latent tree classifier: names, groups, edges, networks."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray
from latentclass._validation import check_number
from latentclass.discrete._cut_sets import CutSet
from latentclass.discrete._legacy_base import DiscreteClassifier
from latentclass.estimator._bif import BifVariable, free_name, write_bif
from latentclass.latent_tree._tree import Tree, edge_information, marginals


class TreeReading(DiscreteClassifier):
    """Mixin: all of it is of the first set of cut points."""

    _sets: list[CutSet]
    _models: list[list[Tree]]
    _names: list[list[str]]

    @property
    def _trees(self) -> list[Tree]:
        """Trees for the first set of cut points, by class; none if no column varies."""
        return self._models[0] if self._models else []

    def _name_latents(self) -> None:
        """Y1, Y2, ... through all classes, but for names that columns have."""
        taken, number = list(self.schema_.names), 0
        self._names = [[] for _ in self.classes_]
        for names, tree in zip(self._names, self._trees, strict=False):
            for _ in tree.latent:
                number += 1
                names.append(free_name(f"Y{number}", taken))

    @property
    def cut_points_(self) -> dict[str, FloatArray]:
        """Cut points of each continuous column by name, of the first set of them."""
        return dict(zip(super().cut_points_, self._sets[0].cuts, strict=True))

    def _active_names(self) -> list[str]:
        return [self.schema_.columns[j].name for j in self._coding.positions]

    @property
    def trees_(self) -> dict[Any, Tree]:
        """The tree of each class; its columns are those that vary, in the table's order."""
        check_is_fitted(self)
        return dict(zip(self.classes_.tolist(), self._trees, strict=False))

    @property
    def latent_names_(self) -> dict[Any, tuple[str, ...]]:
        """Names of the latent variables of each class, in the order of `trees_`' latent nodes."""
        check_is_fitted(self)
        return {k: tuple(n) for k, n in zip(self.classes_.tolist(), self._names, strict=True)}

    def rename_latents(self, names: Mapping[str, str]) -> Self:
        """Give latent variables other names, which all outputs then use.

        Parameters
        ----------
        names : mapping of str to str
            New name by the present one.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if not isinstance(names, Mapping) or not all(str(new).strip() for new in names.values()):
            raise ValueError(
                f"names={names!r} must map present names of latent variables to new ones, none "
                "of them empty."
            )
        every = [name for own in self._names for name in own]
        unknown = [name for name in names if name not in every]
        if unknown:
            raise ValueError(f"No latent variable has the name {unknown[0]!r}. There are: {every}.")
        new = [[str(names.get(name, name)) for name in own] for own in self._names]
        seen = list(self.schema_.names)
        for name in (name for own in new for name in own):
            if name in seen:
                raise ValueError(
                    f"The name {name!r} is taken by a column or another latent variable. Choose "
                    "another."
                )
            seen.append(name)
        self._names = new
        return self

    def _class_code(self, y: Any) -> int:
        check_is_fitted(self)
        return int(self._label_codes(y, 1)[0])

    def _variable_names(self, k: int) -> list[str]:
        """Names of the nodes of a class's tree."""
        tree, columns, latent = self._trees[k], self._active_names(), iter(self._names[k])
        return [columns[c] if c >= 0 else next(latent) for c in tree.columns]

    def _levels(self, j: int) -> list[Any]:
        """States of an active column."""
        column = self.schema_.columns[self._coding.positions[j]]
        return list(column.categories) or [f"bin{b}" for b in range(self._sets[0].n_levels[j])]

    def latent_groups(self, y: Any, *, n_columns: int | None = None) -> Any:
        """The groups into which each latent variable of a class splits its rows.

        Parameters
        ----------
        y : label
            The class.
        n_columns : int, optional
            How many columns to show for each latent variable; by default all.

        Returns
        -------
        pandas.DataFrame
            For every latent variable (`latent`) and column, the one that sets the groups apart
            most first (`information`, their mutual information in nats): the `level`s of the
            column with their `probability` in each `group`, whose `size` is its share of the
            class. Levels of a cut column are its bins (`cut_points_`).
        """
        import pandas as pd

        from latentclass.latent_tree._arrange import separations

        k = self._class_code(y)
        if n_columns is not None:
            check_number("n_columns", n_columns, low=1, whole=True)
        columns, rows = self._active_names(), []
        for tree in self._trees[k : k + 1]:
            for name, node in zip(self._names[k], tree.latent, strict=True):
                size = marginals(tree)[node].tolist()
                for part in separations(tree, node)[:n_columns]:
                    for group, shares in enumerate(part.shares):
                        rows += [
                            (name, group, size[group], columns[part.column], part.information, *lev)
                            for lev in zip(self._levels(part.column), shares, strict=True)
                        ]
        heads = ["latent", "group", "size", "column", "information", "level", "probability"]
        return pd.DataFrame(rows, columns=heads)

    def tree_edges(self, y: Any) -> list[tuple[str, str, float]]:
        """The edges of a class's tree.

        Parameters
        ----------
        y : label
            The class.

        Returns
        -------
        list of (str, str, float)
            Parent and child by name, parents before children, and their mutual information in
            nats.
        """
        k = self._class_code(y)
        edges = []
        for tree in self._trees[k : k + 1]:
            names, information = self._variable_names(k), edge_information(tree)
            edges += [
                (names[parent], names[node], float(information[node]))
                for node, parent in enumerate(tree.parents)
                if parent >= 0
            ]
        return edges

    def to_network(self, y: Any) -> list[BifVariable]:
        """The tree of a class as an ordinary Bayesian network.

        Parameters
        ----------
        y : label
            The class.

        Returns
        -------
        list of BifVariable
            Named tuples `(name, states, parents, table)`, parents before children; it is the
            distribution of the columns within the class. Latent variables have the states
            `group0`, `group1`, and so on, cut columns `bin0`, `bin1`, at `cut_points_`. Columns of
            one level are left out.
        """
        k = self._class_code(y)
        variables = []
        for tree in self._trees[k : k + 1]:
            names = self._variable_names(k)
            for node, (parent, column) in enumerate(zip(tree.parents, tree.columns, strict=True)):
                states = self._levels(column) if column >= 0 else _groups(tree.cardinalities[node])
                table = tree.tables[node]
                given = () if parent < 0 else (names[parent],)
                variables.append(
                    BifVariable(names[node], states, given, table if given else table[0])
                )
        return variables

    def to_bif(self, y: Any, path: str | PathLike[str] | None = None) -> str:
        """The network of `to_network` in BIF, which most Bayesian-network programs read.

        Parameters
        ----------
        y : label
            The class.
        path : str or path, optional
            File to write.

        Returns
        -------
        str
            The text; see `write_bif` for how names are spelled.
        """
        return write_bif(self.to_network(y), path, title=f"{type(self).__name__}_{y}")


def _groups(k: int) -> list[str]:
    return [f"group{state}" for state in range(k)]
