"""Kernels that are compiled ahead of time."""

import os
import re
import subprocess
import sys

import pytest

from latentclass import (
    BinaryLCMClassifier,
    HNBClassifier,
    LatentMixture,
    LatentTreeClassifier,
    warmup,
)
from latentclass.latent_tree import _predict_kernels
from latentclass.lcm import _logistic_kernels

COUNT = """
import numpy as np
from numba.core import event
from latentclass import HNBClassifier

class Count(event.Listener):
    n = 0
    def on_start(self, event): Count.n += 1
    def on_end(self, event): pass

event.register("numba:compile", Count())
X = np.random.default_rng(0).normal(size=(200, 4))
y = np.array(["no", "yes"])[(X[:, 0] * X[:, 1] > 0).astype(int)]
HNBClassifier(random_state=0).fit(X, y).predict(X)
print(Count.n)
"""


def test_afterwards_other_sessions_compile_nothing(tmp_path):
    home = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def run(code):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=home, check=True
        )
        return done.stdout.strip()

    assert run("from latentclass import HNBClassifier, warmup; warmup(HNBClassifier())") == ""
    assert run(COUNT) == "0"
    for path in tmp_path.rglob("*.nbi"):
        path.unlink()
    assert int(run(COUNT)) > 0


def test_loops_that_only_many_rows_need_in_prediction_are_compiled_too(monkeypatch):
    called = []
    kernel = _logistic_kernels.extrapolate_cells

    def extrapolate_cells(*args):
        called.append(len(args))
        kernel(*args)

    monkeypatch.setattr(_logistic_kernels, "extrapolate_cells", extrapolate_cells)
    model = BinaryLCMClassifier(2, n_init=1, discriminative=False, random_state=0)
    X, y = [["a", "b"], ["b", "b"], ["a", "a"], ["b", "a"]] * 5, [0, 1, 1, 0] * 5
    model.fit(X, y).predict(X)
    assert not called
    warmup(model)
    assert called


def test_the_pass_over_many_rows_of_latent_trees_is_compiled_too(monkeypatch):
    called = []
    kernel = _predict_kernels.upward
    monkeypatch.setattr(
        _predict_kernels, "upward", lambda *args: called.append(len(args)) or kernel(*args)
    )
    model = LatentTreeClassifier(search="fast", n_cuts=1, random_state=0)
    model.fit([["a", "b"], ["b", "b"], ["a", "a"], ["b", "a"]] * 5, [0, 1, 1, 0] * 5)
    model.predict([["a", "b"]])
    assert not called
    warmup(model)
    assert called


def test_the_models_are_left_alone():
    models = HNBClassifier(), LatentMixture(2, max_iter=50)
    before = [model.get_params() for model in models]
    warmup(*models, n_rows=40)
    assert [model.get_params() for model in models] == before
    assert not any(hasattr(model, "n_features_in_") for model in models)


def test_a_table_must_have_rows():
    words = "n_rows=3 must be a whole number of at least 20."
    with pytest.raises(ValueError, match=re.escape(words)):
        warmup(HNBClassifier(), n_rows=3)
