"""Draws without a screen."""

import matplotlib
import numpy as np
import pandas as pd
import pytest

from latentclass import LCMClassifier
from latentclass.datasets import load_dataset

matplotlib.use("Agg")


@pytest.fixture(scope="session")
def wine():
    return load_dataset("wine", container="pandas")


@pytest.fixture(scope="session")
def wine_model(wine):
    """Two latent variables, two components, all thirteen columns."""
    model = LCMClassifier(n_latent=2, n_components=2, n_init=3, random_state=0)
    return model.fit(wine.X, wine.y)


@pytest.fixture(scope="session")
def mixed():
    """Sixty rows in three classes: two numbers, a word, a yes/no column; some holes."""
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    table = pd.DataFrame(
        {
            "length": rng.normal(2.0 * codes, 1.0),
            "weight": rng.normal(-codes, 1.0),
            "shade": np.where(rng.random(60) < 0.3 + 0.2 * codes, "pale", "deep"),
            "rich": rng.random(60) < 0.5,
        }
    )
    table.loc[3, "length"] = np.nan
    table.loc[4, "weight"] = np.nan
    table.loc[5, "shade"] = None
    return table, np.array(["a", "b", "c"])[codes]
