"""Learning from chunks of rows: the same as from all rows at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine

from latentclass.data._schema import Table
from latentclass.estimator._gaussian_model import gather, measure
from latentclass.lcm._chunks import add_chunk, begin_chunks, chunk_data
from plain import LCMClassifier, LCMClassifierCV


def two_planes(n_rows):
    """Rows of two classes in three columns that depend on each other."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    z = rng.normal(size=(n_rows, 2)) * np.where(y == 0, [[2.0], [0.3]], [[0.3], [2.0]]).T
    return z @ np.array([[1, 1, 0.5], [1, -1, 0.5]]) + 0.2 * rng.normal(size=(n_rows, 3)), y


def test_sums_of_chunks_are_those_of_all_rows():
    X, y = two_planes(90)
    X[:, 1] = np.where(np.arange(90) < 30, 1.0, X[:, 1])  # constant in the first chunk
    X = np.insert(X * [1e-3, 1.0, 1e5], 1, 7.0, axis=1)
    weight = np.arange(90) % 3 + 1.0
    whole = LCMClassifier()._read_training(X, y, weight)
    first = LCMClassifier()._read_training(X[:30], y[:30], weight[:30])
    chunks = begin_chunks(first, None)
    for part in (slice(0, 30), slice(30, 90)):
        table = Table(X[part], np.empty((len(X[part]), 0), dtype=np.int32))
        chunks = add_chunk(chunks, table, y[part], weight[part], None)
    data, measured = chunk_data(chunks)
    expected = measure(whole, None)
    for found, right in zip(measured.scaling, expected.scaling, strict=True):
        assert_allclose(found, right, rtol=1e-10)
    assert_allclose(measured.outside, expected.outside, rtol=1e-10)
    known = gather(whole, expected, one_component=True, width=1, n_jobs=None)
    for ours, theirs in zip(data.known, known.known, strict=True):
        assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)
    assert_allclose(data.total_weight, weight.sum())


def test_fit_forgets_the_chunks():
    X, y = two_planes(60)
    options = {"prior": 1.0, "n_init": 1, "tol": 1e-1, "random_state": 0}
    model = LCMClassifier(1, **options).partial_fit(X[:, :2] + 9.0, y)
    model.fit(X, y).partial_fit(X, y)
    assert_allclose(model.predict_proba(X), model.fit(X, y).predict_proba(X), atol=1e-9)


def test_every_row_of_a_chunk_needs_its_label():
    X, y = two_planes(20)
    model = LCMClassifier(1, n_init=1, tol=1e-1, random_state=0).partial_fit(X, y)
    with pytest.raises(ValueError, match="X has 20 rows, y has 1 labels"):
        model.partial_fit(X, y[:1])


def test_chunks_give_what_all_rows_give():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order] * 10.0 ** np.arange(-6, 7), y[order]
    X[:, 3] = 5.0
    X[100:, 4] = X[0, 4]
    X[:50, 5] = 1.0  # constant at first
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    options = {"n_latent": 3, "n_init": 3, "random_state": 0}
    whole = LCMClassifier(**options).fit(X, y, sample_weight=weight)
    parts = [(X[i : i + 50], y[i : i + 50], weight[i : i + 50]) for i in range(0, len(y), 50)]
    model = LCMClassifier(**options)
    for rows, labels, share in parts:
        model.partial_fit(rows, labels, classes=[0, 1, 2], sample_weight=share)
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-5, atol=1e-9)
    assert_allclose(model.log_likelihood_, whole.log_likelihood_, rtol=1e-8)
    assert_allclose(model.complete(X[:1]), X[:1])


@pytest.mark.parametrize(
    ("options", "chunk", "message"),
    [
        ({"select": "accuracy"}, None, "select='accuracy' needs to read the rows again"),
        ({"calibrate": True}, None, "calibrate=True needs to read the rows again"),
        ({}, ([[1.0], [np.nan]], [0, 1]), "Row 1 of the chunk has no value in column 'x0'"),
        ({}, ([[1.0, "a"], [2.0, "b"]], [0, 1]), "Column 'x1' is discrete"),
        ({}, ([[1.0], [2.0]], [0, None]), "y holds None"),
    ],
)
def test_what_chunks_cannot_do_is_refused(options, chunk, message):
    chunk = chunk or ([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match=message):
        LCMClassifier(**options).partial_fit(*chunk)


def test_a_class_that_comes_later_is_refused():
    model = LCMClassifier(1, n_init=1).partial_fit([[1.0], [2.0], [4.0]], [0, 1, 1])
    with pytest.raises(ValueError, match="y holds 2, which is not a class"):
        model.partial_fit([[1.0]], [2])


def test_only_the_linear_model_reads_rows_once():
    assert not hasattr(LCMClassifierCV(), "partial_fit")
    with pytest.raises(ValueError, match="n_components=2: with several components every iteration"):
        LCMClassifier(n_components=2).partial_fit([[1.0], [2.0]], [0, 1])


def test_chunks_that_fail_leave_the_model_as_it_was():
    X, y = two_planes(60)
    model = LCMClassifier(1, n_init=1, tol=1e-1, random_state=0).partial_fit(X, y)
    before, state = model.predict_proba(X), dict(vars(model))
    with pytest.raises(ValueError, match="y holds 7, which is not a class"):
        model.partial_fit(X, np.full(60, 7))
    with pytest.raises(ValueError, match="Column 'x0' holds numbers beyond"):
        model.partial_fit(X * 1e300, y)
    assert vars(model) == state
    assert model.predict_proba(X).tolist() == before.tolist()
    twice = model.partial_fit(X, y).predict_proba(X)
    weighted = LCMClassifier(1, prior=1.0, n_init=1, tol=1e-1, random_state=0)
    weighted.fit(X, y, sample_weight=np.full(60, 2.0))
    assert_allclose(twice, weighted.predict_proba(X), rtol=1e-8)
