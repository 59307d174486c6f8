"""The fitted latent tree classifier as a value, against sums over all states."""

import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tree_reference import joint, margin, random_rows, random_tables, seen

from latentclass.data._schema import Table
from latentclass.discrete._coding import Coding
from latentclass.discrete._cut_sets import CutSet
from latentclass.estimator._average import Average
from latentclass.latent_tree._model import LatentTreeModel
from latentclass.latent_tree._tree import Tree

SHAPES = [
    ((-1, 0, 0, 0), (2, 2, 3, 4), (-1, 0, 1, 2)),
    ((-1, 0, 0, 1, 1), (2, 3, 2, 3, 4), (-1, -1, 0, 1, 2)),
]
"""Two classes: one latent variable, and two."""

FINE = CutSet((), tuple(np.arange(k, dtype=np.int32) for k in (2, 3, 4)), (np.zeros(4),) * 3)
COARSE = CutSet(
    (),
    (*FINE.level[:2], np.array([0, 0, 1, 1], dtype=np.int32)),
    (np.zeros(2), np.zeros(3), np.log([0.3, 0.7, 0.6, 0.4])),
)


def make_model(n_sets=1):
    """A model of three columns with 2, 3 and 4 levels; the second set joins levels of the last."""
    rng = np.random.default_rng(0)
    sets, trees = (FINE, COARSE)[:n_sets], []
    for cuts in sets:
        own = []
        for parents, cardinalities, columns in SHAPES:
            levels = [
                cuts.n_levels[c] if c >= 0 else k
                for k, c in zip(cardinalities, columns, strict=True)
            ]
            own.append(random_tables(Tree.even(parents, levels, columns), rng))
        trees.append(tuple(own))
    average = Average(np.array([[0.4, 0.6], [0.3, 0.7]])[:n_sets], "posteriors")
    coding = Coding((), (2, 3, 4), ((False, 0), (False, 1), (False, 2)), (0, 1, 2))
    names = (("Y1",), ("Y2", "Y3"))
    return LatentTreeModel(average.class_prior, coding, average, sets, tuple(trees), names)


def random_codes(n_rows=25):
    return random_rows(Tree.even(*SHAPES[0]), n_rows, np.random.default_rng(1))


def as_table(codes):
    return Table(np.empty((len(codes), 0)), codes)


def slow_joints(model, row):
    """P(row, class) of each set of cut points, (n_sets, n_classes)."""
    out = []
    for cuts, trees, prior in zip(model.cut_sets, model.trees, model.average.priors, strict=True):
        own = [cuts.level[j][c] if c >= 0 else -1 for j, c in enumerate(row)]
        inside = np.prod([np.exp(cuts.log_share[j][c]) for j, c in enumerate(row) if c >= 0])
        out.append(
            [p * seen(tree, own).sum() * inside for p, tree in zip(prior, trees, strict=True)]
        )
    return np.array(out)


@pytest.mark.parametrize("n_sets", [1, 2])
def test_the_likelihood_is_that_of_the_averaged_sums(n_sets):
    model, codes = make_model(n_sets), random_codes()
    found = np.exp(model.code_log_likelihood(codes))
    for row, got in zip(codes, found, strict=True):
        joints = slow_joints(model, row)
        density = joints.sum(axis=1)
        posterior = (joints / density[:, None]).mean(axis=0)
        assert_allclose(got, posterior * density.mean() / model.class_prior, rtol=1e-10)


@pytest.mark.parametrize("n_sets", [1, 2])
def test_the_own_class_is_a_column_of_all_classes(n_sets):
    model, codes = make_model(n_sets), random_codes()
    y = np.arange(len(codes)) % 2
    every = model.code_log_likelihood(codes)
    assert_allclose(model.own_code_log_likelihood(codes, y), every[np.arange(len(y)), y])


@pytest.mark.parametrize("n_sets", [1, 2])
def test_samples_follow_the_distribution_of_their_class(n_sets):
    model, n = make_model(n_sets), 4000
    for k in range(2):
        codes = model.sample_codes(np.full(n, k), np.random.default_rng(k))
        expected = np.zeros((2, 3, 4))
        for row in np.ndindex(expected.shape):
            expected[row] = (slow_joints(model, row)[:, k] / model.average.priors[:, k]).mean()
        found = np.zeros((2, 3, 4))
        np.add.at(found, tuple(codes.T), 1 / n)
        spread = np.sqrt(expected * (1 - expected) / n)
        assert np.all(np.abs(found - expected) <= 5 * spread)


def test_latent_states_have_class_and_state_together():
    model, codes = make_model(2), random_codes(6)
    found = model.latent(
        as_table(codes), lambda table: np.tile([0.25, 0.75], (table.n_rows, 1)), None
    )
    names = model.latent_names(["no", "yes"], ["a", "b", "c"])
    assert names == [
        "no:Y1=0", "no:Y1=1", "yes:Y2=0", "yes:Y2=1", "yes:Y3=0", "yes:Y3=1", "yes:Y3=2",
    ]  # fmt: skip
    first, second = model.first_trees
    for row, got in zip(codes, found, strict=True):
        parts = [(0.25, first, 0), (0.75, second, 0), (0.75, second, 1)]
        expected = [p * margin(seen(tree, row), v) / seen(tree, row).sum() for p, tree, v in parts]
        assert_allclose(got, np.concatenate(expected), rtol=1e-10)


def test_missing_cells_are_filled_by_the_most_probable_level():
    model = make_model()
    codes = np.array([[-1, 1, 2], [0, -1, -1]], dtype=np.int32)
    one, two = (joint(tree) for tree in model.first_trees)
    # axes: the columns come last
    full = 0.4 * one.sum(axis=0) + 0.6 * two.sum(axis=(0, 1))
    each = model.expected_cells(as_table(codes), lambda t: posterior_of(model, t.codes), None)
    assert each.codes.tolist() == [
        [int(full[:, 1, 2].argmax()), -1, -1],
        [-1, int(full[0].sum(axis=1).argmax()), int(full[0].sum(axis=0).argmax())],
    ]
    together = model.most_probable_cells(as_table(codes[1:]), None).codes[0]
    # the class is completed too
    best = np.maximum(0.4 * one.sum(axis=0)[0], 0.6 * two.sum(axis=(0, 1))[0])
    assert together[1:].tolist() == list(np.unravel_index(best.argmax(), best.shape))


def posterior_of(model, codes):
    log_joint = model.code_log_likelihood(codes) + model.log_prior
    share = np.exp(log_joint)
    return share / share.sum(axis=1, keepdims=True)


def test_without_columns_only_the_class_is_left():
    average = Average(np.array([[0.4, 0.6]]), "posteriors")
    nothing = CutSet((), (), ())
    model = LatentTreeModel(
        average.class_prior, Coding((), (), (), ()), average, (nothing,), (), ((), ())
    )
    codes = np.empty((3, 0), dtype=np.int32)
    assert model.first_trees == ()
    assert model.code_log_likelihood(codes).tolist() == [[0.0, 0.0]] * 3
    assert model.own_code_log_likelihood(codes, np.array([0, 1, 1])).tolist() == [0.0] * 3
    assert model.sample_codes(np.array([0, 1]), np.random.default_rng(0)).shape == (2, 0)
    assert model.latent_names(["no", "yes"], []) == ["no", "yes"]


def test_a_model_cannot_be_changed():
    model = make_model()
    with pytest.raises(FrozenInstanceError):
        model.trees = ()
    with pytest.raises(ValueError, match="read-only"):
        model.first_trees[0].tables[0][0, 0] = 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"class_prior": np.array([0.4, 0.7])},
            "class_prior must be probabilities that sum to 1",
        ),
        (
            {"average": Average(np.array([[0.4, 0.6]]), "posteriors")},
            "average.priors has shape (1, 2), but the model needs (2, 2).",
        ),
        ({"cut_sets": (FINE,)}, "trees has 2 entries but must have one for each of the 1 sets of"),
        (
            {"trees": (make_model().first_trees[:1], make_model(2).trees[1])},
            "trees[0] has 1 trees but must have one for each of the 2 classes.",
        ),
        (
            {"trees": make_model(2).trees[::-1]},
            "trees[0][0] shows columns with these numbers of states: {0: 2, 1: 3, 2: 2}, but the "
            "table has {0: 2, 1: 3, 2: 4}.",
        ),
        (
            {"names": (("Y1",), ("Y2",))},
            "names has [1, 1] names by class, but the trees have [1, 2] latent variables.",
        ),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        replace(make_model(2), **change)
