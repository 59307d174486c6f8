"""Makes `evaluation_helpers` importable by name, in worker processes too."""

import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
matplotlib.use("Agg")


@pytest.fixture
def blobs():
    """Two triples (name, X, y): 60 rows in 3 classes, 40 rows in 2."""
    rng = np.random.default_rng(0)
    triples = []
    for name, n_rows, n_classes in (("three", 60, 3), ("two", 40, 2)):
        y = np.arange(n_rows) % n_classes
        X = rng.normal(size=(n_rows, 3)) + 1.5 * y[:, None] * np.array([1.0, -1.0, 0.0])
        triples.append((name, X, np.array([f"c{k}" for k in y])))
    return triples
