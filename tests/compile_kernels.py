"""Compile the kernels once, before pytest starts its workers.

Otherwise each worker compiles them for itself, and takes twice as long under coverage. numba keeps
the machine code beside the modules. Run by `make tests`.
"""

import os
from concurrent.futures import ProcessPoolExecutor

from latentclass import (
    BinaryLCMClassifier,
    HNBClassifier,
    HybridLCMClassifier,
    LatentMixture,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifier,
    warmup,
)

# The slowest to compile comes first, so that the other processes share the rest meanwhile.
MODELS = [
    LatentTreeClassifier(random_state=0),
    LatentVariableClassifier(None, 2, random_state=0),
    *(LatentMixture(2, search, random_state=0) for search in ("era", "anneal", "kmeans")),
    BinaryLCMClassifier(2, discriminative=False, random_state=0),
    HybridLCMClassifier(2, 1, random_state=0),
    *(LCMClassifier(2, m, random_state=0) for m in (1, 2)),
    HNBClassifier(random_state=0),
    HNBClassifier(pair_measure="expected_kl", random_state=0),
]


if __name__ == "__main__":
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(warmup, MODELS))
