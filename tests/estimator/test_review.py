"""Warnings about tables that look wrong: each in its own words, once a fit."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from latentclass import BinaryLCMClassifier, LatentMixture, LCMClassifier, Parts
from latentclass.baselines import NaiveBayes
from latentclass.exceptions import TableWarning

RNG = np.random.default_rng(0)
Y = RNG.choice(["no", "yes"], 400)
X = pd.DataFrame({"size": RNG.normal(Y == "yes"), "coat": RNG.choice(["a", "b", "c"], 400)})


def warned(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    assert all(issubclass(one.category, TableWarning) for one in caught)
    assert all(one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


def fit(table=X, y=Y, model=None):
    return warned(lambda: (model or NaiveBayes()).fit(table, y))


REPEATED = (
    "Columns ['left'] repeat the labels: each class has one value of its own in them. Drop them, "
    "unless they are known before the class is."
)
ALONE = (
    "Columns ['fee'] alone tell the class of nearly every row: on held-out rows, each avoids 99 % "
    "of the mistakes of a blind guess. Drop them, unless they are known before the class is."
)
RISING = (
    "Columns ['id'] hold whole numbers that rise from each row to the next, as row numbers do. "
    "Drop them, unless they are quantities."
)
CODES = (
    "Columns ['zone'] hold whole numbers whose order tells little about the class, as codes do. If "
    "they are codes, list them in categorical_features."
)


def test_an_honest_table_is_quiet():
    assert fit() == []


@pytest.mark.parametrize("left", [Y, Y == "yes", np.where(Y == "yes", 7, 3)], ids=str)
def test_the_target_among_the_columns(left):
    assert fit(X.assign(left=left)) == [REPEATED]


def test_a_column_that_predicts_the_class_alone():
    y = np.repeat(Y, 2)
    table = pd.concat([X, X]).assign(fee=RNG.normal(np.where(y == "yes", 5, -5)))
    assert fit(table, y) == [ALONE]
    assert fit(table[:400], y[:400]) == []  # too few rows to tell


def test_row_numbers():
    assert fit(X.assign(id=range(1, 401))) == [RISING]
    assert fit(X.assign(id=range(1, 401)).sample(frac=1, random_state=0), Y[:400]) == []
    assert fit(pd.DataFrame({"time": range(400)})) == []  # the only column is meant to be read
    assert warned(lambda: LatentMixture().fit(X.assign(id=range(1, 401)))) == [RISING]


def test_codes():
    zone = RNG.integers(0, 12, 400)
    rate = np.array([0.1, 0.9] * 6)
    y = np.where(RNG.random(400) < rate[zone], "yes", "no")
    assert fit(X.assign(zone=zone), y) == [CODES]
    listed = NaiveBayes(categorical_features=["coat", "zone"])
    assert fit(X.assign(zone=zone), y, listed) == []


def test_labels_that_stand_for_missing():
    assert fit(y=np.where(np.arange(400) < 25, "NaN", Y)) == [
        "y is the text 'NaN' in 25 rows, which is read as a class. Write None there if these rows "
        "have no label."
    ]


def test_a_quantity_as_target():
    assert fit(y=np.arange(400) // 7) == [
        "y has 58 different numbers, so it looks like a quantity, but each of them is read as a "
        "class. Cut it into a few ranges first."
    ]


def test_a_single_class():
    assert fit(y=["yes"] * 400) == [
        "y has a single class, 'yes': every row will be predicted to be of it."
    ]


def test_a_table_for_another_model():
    lcm = LCMClassifier(n_init=1, calibrate=False)
    assert fit(X[["coat"]], Y, lcm) == [
        "LCMClassifier describes numbers by latent variables, but the table has no column of "
        "numbers. Use HybridLCMClassifier or BinaryLCMClassifier."
    ]
    binary = BinaryLCMClassifier(
        1, n_init=1, max_iter=2, tol=1e9, discriminative=False, calibrate=False
    )
    assert fit(X[["size"]], Y, binary) == [
        "BinaryLCMClassifier is meant for yes/no and nominal columns, but the table has only "
        "numbers. Use LCMClassifier or HybridLCMClassifier, or list the columns that are codes in "
        "categorical_features."
    ]
    assert fit(X, Y, binary) == []


def test_all_containers_are_looked_at():
    assert fit(pl.from_pandas(X.assign(left=Y))) == [REPEATED]
    marked = X.assign(left=Y, id=range(400))
    parts = Parts([(marked[:200], Y[:200]), (marked[200:], Y[200:])])
    assert fit(parts, None) == [REPEATED]  # the order of rows in parts is not looked at


def test_a_sparse_table_is_not_searched():
    assert fit(sp.csr_array(np.column_stack([Y == "yes", np.arange(400)]).astype(float))) == []


def test_folds_and_second_readings_do_not_repeat_it():
    y = np.where(RNG.random(400) < 0.2, None, Y)
    model = NaiveBayes(calibrate=True, unlabelled_weight="auto", random_state=0)
    found = fit(X.assign(left=Y), y, model)
    assert found == [REPEATED]
