"""Pickles of estimators record the versions that made them."""

from __future__ import annotations

from typing import Any

import sklearn

from latentclass._version import __version__
from latentclass._warn import warn_user
from latentclass.exceptions import InconsistentVersionWarning

VERSIONS = {"latentclass": __version__, "scikit-learn": sklearn.__version__}
KEY = "_pickled_by"


class VersionedPickle:
    """Mixin: a pickle that other versions have made is loaded with a warning."""

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {**state, KEY: dict(VERSIONS)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        learned = dict(state)
        made_by = learned.pop(KEY, {"latentclass": "an earlier version"})
        others = [f"{name} {made_by.get(name)}" for name in VERSIONS if _differs(made_by, name)]
        if others:
            now = f"latentclass {__version__} and scikit-learn {sklearn.__version__}"
            warn_user(
                f"This {type(self).__name__} was pickled with {' and '.join(others)}, and is "
                f"loaded with {now}. It may fail or predict differently. Fit it again; "
                "latentclass.save writes files that later versions load.",
                InconsistentVersionWarning,
            )
        vars(self).update(learned)


def _differs(made_by: dict[str, str], name: str) -> bool:
    return name in made_by and made_by[name] != VERSIONS[name]
