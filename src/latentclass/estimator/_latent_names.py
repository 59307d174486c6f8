"""Names of latent variables, which a user may change."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from latentclass.data._schema import Schema

Names = tuple[tuple[str, ...], ...]
"""Names of the latent variables in groups: by class in latent trees, all in one elsewhere."""

NUMBERED = re.compile(r"[zLY]?\d+_*")
"""Names that a model gives by itself; components have plain numbers."""


class NamedLatents:
    """Mixin of estimators whose latent variables have names.

    The fitted model keeps them in its field `names`, and its method `named` returns all of them,
    also where the user gave none.
    """

    _model: Any
    schema_: Schema

    @property
    def latent_names_(self) -> Any:
        """Names of the latent variables; see `rename_latents`."""
        return self._named("latent_names_")[0]

    def rename_latents(self, names: Mapping[str, str]) -> Self:
        """Rename latent variables. All outputs use the new names, until the next `fit`.

        Parameters
        ----------
        names : mapping of str to str
            The new name for each current name. The names of components are numbers at first.

        Returns
        -------
        self
        """
        new = renamed_latents(self._named("rename_latents()"), names, self.schema_.names)
        self._model = replace(self._model, names=new)
        return self

    def _named(self, _asked: str) -> Names:
        """All names; `_asked` is what the user asked for, for a message."""
        check_is_fitted(self)
        names: Names = self._model.named(self.schema_.names)
        return names

    def _own_names(self) -> dict[str, str]:
        """For `summary`: the names that the user gave."""
        every = [name for group in self._model.named(self.schema_.names) for name in group]
        own = [name for name in every if is_own(name)]
        return {"named": ", ".join(own)} if own else {}


def is_own(name: str) -> bool:
    """Whether the user gave a name."""
    return NUMBERED.fullmatch(name) is None


def renamed_latents(names: Names, changes: Mapping[str, str], column_names: Sequence[str]) -> Names:
    """Change some names; refuse names that are unknown, empty or taken."""
    if not isinstance(changes, Mapping) or not all(str(new).strip() for new in changes.values()):
        raise ValueError(
            f"names={changes!r} must map current names of latent variables to new, non-empty names."
        )
    changes = {str(old): str(new) for old, new in changes.items()}  # components have numbers
    every = [name for own in names for name in own]
    unknown = [name for name in changes if name not in every]
    if unknown:
        raise ValueError(
            f"names has {unknown[0]!r}, which is not a latent variable. There are: {every}."
        )
    new = tuple(tuple(changes.get(name, name) for name in own) for own in names)
    seen = list(column_names)
    for name in (name for own in new for name in own):
        if name in seen:
            raise ValueError(
                f"The name {name!r} is taken by a column or another latent variable. Choose "
                "another."
            )
        seen.append(name)
    return new


def check_latent_names(names: Names, n_latent: int) -> None:
    """Refuse names that are not one for each latent variable; none at all is right too."""
    if names and [len(own) for own in names] != [n_latent]:
        raise ValueError(
            f"names has {[len(own) for own in names]} names, but there are {n_latent} latent "
            "variables."
        )
