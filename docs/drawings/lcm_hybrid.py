"""Pictures of latent classification models for mixed columns."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentclass import HybridLCMClassifier
from latentclass.plots import LatentSpaceDisplay


def latent() -> Figure:
    """Show the rows of a mixed table over two latent variables."""
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
    model = HybridLCMClassifier(2, 1, random_state=0).fit(X, y)
    display = LatentSpaceDisplay.from_estimator(model, X, y, latent=(0, 1))
    return display.figure_
