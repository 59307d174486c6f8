"""Compile a model's kernels ahead of time, for images and servers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from latentclass._types import IndexArray
from latentclass._validation import check_number
from latentclass.engine._small import compiled_always

VERBS = ("predict", "score_samples", "transform", "complete")


def warmup(*models: Any, n_rows: int = 60) -> None:
    """Compile what models need, and keep the machine code for later sessions.

    The first fit and the first prediction on a machine compile kernels, which takes seconds. The
    machine code is kept beside the package, or in the folder that the environment variable
    `NUMBA_CACHE_DIR` names. So one call while an image is built saves every container that time.

    Copies of the models are fitted to a small drawn table, with and without missing cells, with few
    starts and iterations. The models themselves are left alone.

    Parameters
    ----------
    *models : estimator
        Models of this package with the parameters that will be used.
    n_rows : int, default=60
        Rows of the drawn table. `LatentMixture` has kernels for tables of more than 13108 rows:
        compile them with ``n_rows=14000``.

    Examples
    --------
    >>> from latentclass import HNBClassifier, warmup
    >>> warmup(HNBClassifier())
    """
    check_number("n_rows", n_rows, low=20, whole=True)
    X, y = _draw_table(n_rows)
    holed = X.copy()
    holed[np.random.default_rng(1).random(X.shape) < 0.1] = None
    with warnings.catch_warnings(), compiled_always():
        warnings.simplefilter("ignore")  # few iterations do not converge, and need not
        for model in models:
            few = {"n_init": 2, "max_iter": 3}
            known = model.get_params(deep=False)
            quick = clone(model).set_params(**{k: v for k, v in few.items() if k in known})
            for table in (X, holed):
                quick.fit(table, y)
                for verb in VERBS:
                    if hasattr(quick, verb):  # a mixture does not transform
                        getattr(quick, verb)(table)


def _draw_table(n_rows: int) -> tuple[npt.NDArray[np.object_], IndexArray]:
    """Two classes; two columns of numbers, two of two words and one of three."""
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 2
    words = np.array(["a", "b", "c"])
    X = np.empty((n_rows, 5), dtype=object)
    X[:, :2] = rng.normal(y[:, None], 1.0, (n_rows, 2))
    X[:, 2:4] = words[(rng.random((n_rows, 2)) < 0.3 + 0.4 * y[:, None]).astype(int)]
    X[:, 4] = words[rng.integers(0, 2, n_rows) + y]
    return X, y
