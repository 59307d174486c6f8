"""Rows in one table or in parts: sums over all rows, and the classifiers that learn from them."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from latentclass import Parts
from latentclass.discrete._training_rows import TrainingRows, count_pairs, tally_levels
from latentclass.estimator._parted import read_parts
from plain import (
    AODE,
    BAN,
    K2,
    TAN,
    HiddenNaiveBayes,
    HNBClassifier,
    LatentTreeClassifier,
    LatentVariableClassifier,
    MixtureNaiveBayes,
    ProjectedNaiveBayes,
)

COLUMNS = ["a", "b", "c", "d"]

MODELS = [
    TAN(smoothing="marginal", alpha=5.0, n_init=2, random_state=0),
    BAN(max_parents=1, random_state=0),
    K2(n_init=3, random_state=0),
    AODE(random_state=0),
    HiddenNaiveBayes(random_state=0),
    HNBClassifier(random_state=0),
    HNBClassifier(n_models=2, discriminative=True, random_state=0),
    LatentTreeClassifier(search="fast", n_cuts=2, n_init=4, search_rows=50, random_state=0),
]
for model in MODELS:
    model.set_params(unlabelled_weight=1.0)  # so that these rows are learned from in any case


def make_frame(n=1200, seed=0, holes=0.1, unlabelled=0.3):
    """Two numbers, which are cut, and two columns of text; holes, weights, missing labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    c = (y + (rng.random(n) < 0.3)) % 2
    d = (c + y + (rng.random(n) < 0.3)) % 3
    frame = pd.DataFrame(
        {
            "a": rng.normal(4.0 * y),
            "b": ((d == 0) ^ (rng.random(n) < 0.1)).astype(float),
            "c": np.array(["x", "y"], dtype=object)[c],
            "d": np.array(["p", "q", "r"], dtype=object)[d],
        }
    ).mask(rng.random((n, 4)) < holes)
    frame["kind"] = pd.Series("kind " + y.astype(str).astype(object))
    frame["kind"] = frame["kind"].mask(rng.random(n) < unlabelled)
    frame["w"] = rng.choice([0.0, 1.0, 0.3], n)
    return frame


@pytest.fixture(scope="module")
def frame():
    return make_frame()


def cut(frame, n_parts):
    return [frame.iloc[i::n_parts] for i in range(n_parts)]


def read(parts):
    return read_parts(
        parts,
        categorical_features="from_dtype",
        most_levels=None,
        labelled=True,
        spare=False,
        seed=0,
        n_jobs=None,
        owner="a model",
    )


def test_sums_over_parts_are_those_of_the_table(frame):
    whole = TrainingRows.of(read(Parts([frame], "kind", "w")).sample)
    rows = TrainingRows.of(read(Parts(cut(frame, 4), "kind", "w", sample_rows=100)))
    assert rows.parted
    assert not whole.parted
    assert len(rows.sample.y) < len(whole.sample.y)
    # the numbers may be cut elsewhere: compare under one coding
    rows = TrainingRows(rows.source, whole.coding, rows.sample)
    labelled = frame["kind"].notna()
    expected = frame["w"][labelled].groupby(frame["kind"][labelled]).sum()
    for found in (rows, whole):
        assert_allclose(found.class_weight, expected, rtol=1e-12)
        assert_allclose(found.hidden_weight, frame["w"][~labelled].sum(), rtol=1e-12)
        seen = frame["w"].groupby(frame["d"]).sum()
        assert_allclose(found.level_shares()[3], seen / seen.sum(), rtol=1e-12)
    n_all = sum(whole.n_levels)
    for count in (tally_levels, partial(count_pairs, 0, n_all), partial(count_pairs, 2, 5)):
        sums, once = rows.sum(count), count(whole.sample)
        for one, other in zip(sums, once, strict=True):
            assert_allclose(one, other, rtol=1e-12)
    assert_array_equal(rows.order_by_information(), whole.order_by_information())


def test_shares_of_a_column_without_any_value_are_even():
    frame = make_frame(40, holes=0.0)
    training = read(Parts([frame], "kind")).sample
    rows = TrainingRows.of(training)
    rows.sample.codes[:, -1] = -1
    rows.sample.unlabelled[:, -1] = -1
    assert_allclose(rows.level_shares()[-1], 1 / 3)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_few_rows_are_fitted_as_one_table(model, frame):
    X, y, weight = frame[COLUMNS], frame["kind"], frame["w"]
    expected = model.fit(X, y, sample_weight=weight).predict_log_proba(X)
    history, total = model.history_, model.log_likelihood_
    model.fit(Parts([frame[:100], frame[100:]], "kind", "w"))
    assert_array_equal(model.predict_log_proba(X), expected)
    assert model.history_ == history
    assert model.log_likelihood_ == total


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_fit_does_not_depend_on_the_parts(model, frame):
    X = frame[COLUMNS]
    model.fit(Parts(cut(frame, 2), "kind", "w", sample_rows=300))
    expected, density, history = model.predict_proba(X), model.score_samples(X), model.history_
    assert np.all(np.diff(history) >= -1e-12)
    assert len(history) > 2
    model.fit(Parts(cut(frame, 7), "kind", "w", sample_rows=300))
    assert_allclose(model.predict_proba(X), expected, rtol=1e-10, atol=1e-12)
    assert_allclose(model.score_samples(X), density, rtol=1e-10)
    assert_allclose(model.history_, history, rtol=1e-10)
    assert model.n_unlabelled_ == (frame["kind"].isna() & (frame["w"] > 0)).sum()


@pytest.mark.parametrize("unlabelled", [0.3, 0.0])
@pytest.mark.parametrize("model", MODELS[:5], ids=str)
def test_with_the_same_structure_the_tables_are_those_of_all_rows(model, unlabelled):
    """Numbers of two values have the same cut in every sample."""
    frame = make_frame(2000, seed=1, unlabelled=unlabelled).drop(columns="a")
    X, y, weight = frame[["b", "c", "d"]], frame["kind"], frame["w"]
    whole = model.fit(X, y, sample_weight=weight)
    structure = getattr(whole, "parents_", None), whole.cut_points_
    expected, total, history = whole.predict_log_proba(X), whole.log_likelihood_, whole.history_
    model.fit(Parts(cut(frame, 3), "kind", "w", sample_rows=1000))
    assert (getattr(model, "parents_", None), model.cut_points_) == structure
    if model.n_init == 1 or not unlabelled:
        assert_allclose(model.predict_log_proba(X), expected, rtol=1e-9, atol=1e-12)
        assert_allclose(model.history_, history, rtol=1e-9)
    # the log-likelihood of all rows; inside the bins numbers spread as in the sample
    mine = model.predict_joint_log_proba(X)
    known = y.map({label: k for k, label in enumerate(model.classes_)})
    logs = np.logaddexp.reduce(mine, axis=1)
    labelled = known.notna().to_numpy()
    rows = np.flatnonzero(labelled)
    logs[rows] = mine[rows, known[labelled].to_numpy(int)]
    assert_allclose(model.log_likelihood_, weight @ logs, rtol=1e-10)
    assert_allclose(model.log_likelihood_, total, rtol=0.05)


@pytest.mark.parametrize("unlabelled", [0.3, 0.0])
def test_with_the_same_hierarchy_the_tables_are_those_of_all_rows(unlabelled):
    """Whether two columns are equal decides the class, in every sample."""
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, (2000, 2))
    y = codes[:, 0] ^ codes[:, 1] ^ (rng.random(2000) < 0.1)
    X = pd.DataFrame(np.array(["no", "yes"], dtype=object)[codes], columns=["a", "b"])
    X = X.mask(rng.random(X.shape) < 0.1)
    label = pd.Series(y.astype(float)).mask(rng.random(2000) < unlabelled)
    whole = HNBClassifier(random_state=0, unlabelled_weight=1).fit(X, label)
    parts = Parts(cut(X.assign(t=label), 3), "t", sample_rows=1000)
    parted = HNBClassifier(random_state=0, unlabelled_weight=1).fit(parts)
    rules = [model.rules().sort_values("support") for model in (whole, parted)]
    assert len(rules[0]) == 2  # equal, and different
    assert_allclose(rules[0]["support"], rules[1]["support"], rtol=1e-12)
    assert_allclose(parted.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-9, atol=1e-12)
    assert_allclose(parted.log_likelihood_, whole.log_likelihood_, rtol=1e-11)
    assert_allclose(parted.history_, whole.history_, rtol=1e-9)


@pytest.mark.parametrize("alpha_once", [False, True])
@pytest.mark.parametrize("unlabelled", [0.3, 0.0])
def test_with_the_same_trees_the_tables_are_those_of_all_rows(unlabelled, alpha_once):
    """Within a class, one latent variable of two states explains six columns, in every sample."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 3000)
    z = rng.integers(0, 2, 3000)
    codes = (rng.random((3000, 6)) < 0.1) ^ z[:, None] ^ (y[:, None] & (np.arange(6) < 3))
    X = pd.DataFrame(np.array(["no", "yes"], dtype=object)[codes.astype(int)])
    X = X.rename(columns=str).mask(rng.random(X.shape) < 0.1)
    label = pd.Series(y.astype(float)).mask(rng.random(3000) < unlabelled)
    model = LatentTreeClassifier(
        max_latent=1, max_states=2, alpha_once=alpha_once, tol=1e-13, max_iter=2000, random_state=0
    )
    whole = model.fit(X, label)
    expected, total, trees = whole.predict_log_proba(X), whole.log_likelihood_, whole.trees_
    model.fit(Parts(cut(X.assign(t=label), 4), "t", sample_rows=800))
    for k, tree in model.trees_.items():
        assert sorted(tree.columns) == sorted(trees[k].columns)
    assert_allclose(model.predict_log_proba(X), expected, rtol=1e-5, atol=1e-6)
    assert_allclose(model.log_likelihood_, total, rtol=1e-9)


def test_classes_of_rows_in_parts_in_which_no_column_varies():
    frame = pd.DataFrame({"a": ["x"] * 900, "t": ["no", "no", "yes"] * 300})
    model = LatentTreeClassifier(random_state=0).fit(Parts(cut(frame, 4), "t", sample_rows=300))
    assert_allclose(model.predict_proba(frame[["a"]][:1]), [[2 / 3, 1 / 3]], rtol=1e-9)


def test_tan_finds_its_tree_in_all_rows():
    """The sample of a few rows says another tree than all rows."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 4000)
    codes = rng.integers(0, 2, (4000, 4))
    codes[:, 3] = np.where(rng.random(4000) < 0.12, codes[:, 1], codes[:, 3])
    frame = pd.DataFrame(np.array(["no", "yes"], dtype=object)[codes], columns=COLUMNS)
    frame["t"] = y
    whole = TAN(random_state=0).fit(frame[COLUMNS], y)
    assert TAN(random_state=0).fit(frame[COLUMNS][:60], y[:60]).parents_ != whole.parents_
    parted = TAN(random_state=0).fit(Parts(cut(frame, 3), "t", sample_rows=60))
    assert parted.parents_ == whole.parents_
    assert_allclose(
        parted.predict_proba(frame[COLUMNS]), whole.predict_proba(frame[COLUMNS]), rtol=1e-9
    )


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_what_runs_on_a_part_can_be_sent_to_another_process(model, frame, monkeypatch):
    sent = []
    there = TrainingRows.map

    def send(rows, visit):
        sent.append(visit)
        return there(rows, pickle.loads(pickle.dumps(visit)))

    monkeypatch.setattr(TrainingRows, "map", send)
    parts = Parts(cut(frame, 2), "kind", "w", sample_rows=300)
    model.fit(parts)
    assert len(sent) > 3
    pickle.dumps(model._model)  # sent for the log-likelihood


def test_a_part_without_rows_of_positive_weight(frame):
    nothing = frame[:50].assign(w=0.0)
    parts = Parts([nothing, *cut(frame, 2)], "kind", "w", sample_rows=300)
    found = TAN(random_state=0).fit(parts).predict_proba(frame[COLUMNS])
    expected = TAN(random_state=0).fit(Parts(cut(frame, 2), "kind", "w", sample_rows=300))
    assert_allclose(found, expected.predict_proba(frame[COLUMNS]), rtol=1e-12)


def test_folds_of_rows_are_refused_for_parts(frame):
    model = HNBClassifier(cv=[(np.arange(10), np.arange(10, 20))])
    with pytest.raises(ValueError, match="chooses rows of one table, but the rows come in parts"):
        model.fit(Parts(cut(frame, 2), "kind", sample_rows=300))


@pytest.mark.parametrize(
    "model", [MixtureNaiveBayes(), ProjectedNaiveBayes(), LatentVariableClassifier()], ids=str
)
def test_other_families_say_that_they_need_a_table(model, frame):
    name = type(model).__name__
    message = (
        f"^{name} learns from a table, not from parts with 1,200 rows. Pass a table with some of "
        "the rows, or use another classifier.$"
    )
    with pytest.raises(TypeError, match=message):
        model.fit(Parts(cut(frame[["a", "b", "kind"]], 2), "kind", sample_rows=100))
