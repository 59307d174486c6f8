"""The settings of the papers, through one method of all estimators that come from a paper."""

from __future__ import annotations

from typing import Any, ClassVar, Self


class AsPublished:
    """Mixin of estimators whose settings a paper states."""

    _PUBLISHED: ClassVar[dict[str, Any]]
    """The parameters that the paper sets and that differ from the defaults."""

    @classmethod
    def as_published(cls, **overrides: Any) -> Self:
        """An estimator with the settings of the paper instead of the defaults.

        The defaults usually classify better. The page "The papers to the letter" lists what each
        paper sets, with the place in its text.

        Parameters
        ----------
        **overrides
            Parameters of the constructor, which override those of the paper.

        Returns
        -------
        An ordinary estimator, not yet fitted.
        """
        return cls(**{**cls._PUBLISHED, **overrides})
