"""Pictures of latent classification models for mixed columns."""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentclass import HybridLCMClassifier
from latentclass.plots import LatentSpaceDisplay, LoadingsDisplay, ModelGraphDisplay


@cache
def _fitted() -> tuple[HybridLCMClassifier, pd.DataFrame, np.ndarray]:
    """Return a model of a mixed table, the table and its labels."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 300)
    z = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 2.5]])[kind] + rng.normal(size=(300, 2))
    X = pd.DataFrame(
        {
            "length": z[:, 0] + 0.5 * rng.normal(size=300),
            "weight": z.sum(axis=1) + 0.5 * rng.normal(size=300),
            "red": rng.random(300) < 1 / (1 + np.exp(-2 * z[:, 1])),
            "shape": np.select([z[:, 0] < -1, z[:, 0] > 1], ["long", "round"], "flat"),
        }
    ).mask(rng.random((300, 4)) < 0.15)
    y = np.array(["a", "b", "c"])[kind]
    return HybridLCMClassifier(2, 1, random_state=0).fit(X, y), X, y


def latent() -> Figure:
    """Show the rows of a mixed table over two latent variables."""
    model, X, y = _fitted()
    return LatentSpaceDisplay.from_estimator(model, X, y, latent=(0, 1)).figure_


def graph() -> Figure:
    """Show the graph of the model, and its loadings."""
    model = _fitted()[0]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 3.2), width_ratios=[1.4, 1], layout="constrained"
    )
    ModelGraphDisplay.from_estimator(model, ax=left)
    LoadingsDisplay.from_estimator(model, ax=right)
    return figure
