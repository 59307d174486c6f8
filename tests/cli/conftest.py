"""A small table as a file, and models fitted to it by the command line."""

import numpy as np
import pytest
from command_runs import draw_customers, run, write_csv

import latentclass


@pytest.fixture
def customers(tmp_path):
    """A CSV file of customers."""
    return write_csv(tmp_path / "customers.csv", draw_customers())


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """Model files by name: each fitted once by the command line to the customers."""
    folder = tmp_path_factory.mktemp("models")
    data = write_csv(folder / "customers.csv", draw_customers())
    made = {}

    def find(name="naive-bayes", *more):
        key = (name, *more)
        if key not in made:
            path = folder / f"model{len(made)}.lc"
            fit = ["fit", data, "--target", "churn", "--model", name, "--seed", "0", "--quiet"]
            ended = run(*fit, "--categorical", "zone", "-o", path, *more)
            assert ended.code == 0, ended.err
            made[key] = path
        return made[key]

    return find


@pytest.fixture
def mixture(tmp_path):
    """A model file of a mixture, which has no classes."""
    X = np.array([[0.0], [0.1], [5.0], [5.1]] * 5)
    latentclass.save(latentclass.LatentMixture(2, random_state=0).fit(X), tmp_path / "mixture.lc")
    return tmp_path / "mixture.lc"
