"""The one file that uses scikit-learn's private names."""

import runpy
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import latentclass._compat as compat
from latentclass import LCMClassifier
from latentclass.discrete._discretizer import MDLDiscretizer

ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@pytest.mark.parametrize(
    "container",
    [np.asarray, lambda X: pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame, sp.csr_array],
)
def test_rows_are_taken_in_the_same_container(container):
    table = container(ROWS)
    taken = compat.take_rows(table, np.array([2, 0]))
    assert type(taken) is type(table)
    values = taken.toarray() if sp.issparse(taken) else np.asarray(taken)
    assert values.tolist() == [[5.0, 6.0], [1.0, 2.0]]


def test_the_container_that_set_output_asks_for():
    assert compat.output_container(MDLDiscretizer()) == "default"
    assert compat.output_container(MDLDiscretizer().set_output(transform="polars")) == "polars"


def test_parameter_names_are_those_of_get_params():
    assert set(compat.parameter_names(LCMClassifier)) == set(LCMClassifier().get_params())


def test_without_callbacks_in_scikit_learn_nothing_is_wrapped(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)  # as before scikit-learn 1.9
    old = runpy.run_path(compat.__file__)

    def fit():
        """Not wrapped."""

    assert old["with_callbacks"](fit) is fit
    assert old["callback_context"](old["CallbackSupportMixin"](), 3) is None
