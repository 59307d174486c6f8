"""Compile the kernels once, before pytest starts its workers.

Otherwise each worker compiles them for itself, and takes twice as long under coverage. numba keeps
the machine code beside the modules. Run by `make tests`.
"""

import os
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from latentclass import (
    BinaryLCMClassifier,
    HNBClassifier,
    HybridLCMClassifier,
    LatentMixture,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifier,
)

# The slowest to compile comes first, so that the other processes share the rest meanwhile.
MODELS = [
    LatentTreeClassifier(random_state=0),
    *(
        LatentMixture(2, search, max_iter=3, random_state=0)
        for search in ("era", "anneal", "kmeans")
    ),
    BinaryLCMClassifier(2, n_init=2, max_iter=3, random_state=0),
    HybridLCMClassifier(2, n_init=2, max_iter=3, random_state=0),
    LatentVariableClassifier(max_iter=3, random_state=0),
    *(LCMClassifier(2, m, n_init=2, max_iter=3, random_state=0) for m in (1, 2)),
    HNBClassifier(random_state=0),
    HNBClassifier(pair_measure="expected_kl", random_state=0),
]


def use(model):
    """Fit a small mixed table with holes and ask for all kinds of answers."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    words = np.array(["a", "b", "c"])
    X = np.empty((60, 5), dtype=object)
    X[:, :2] = rng.normal(y[:, None], 1.0, (60, 2))
    X[:, 2:4] = words[(rng.random((60, 2)) < 0.3 + 0.4 * y[:, None]).astype(int)]
    X[:, 4] = words[rng.integers(0, 2, 60) + y]
    X[rng.random(X.shape) < 0.1] = None
    warnings.simplefilter("ignore")  # three iterations are too few, and that is no matter here
    fitted = model.fit(X, y)
    for verb in ("predict", "score_samples", "transform", "complete"):
        if hasattr(fitted, verb):  # a mixture does not transform
            getattr(fitted, verb)(X)


if __name__ == "__main__":
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(use, MODELS))
