"""The values of one hierarchy and of an average: checks, and answers against enumeration."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.data._schema import Table
from latentclass.discrete._coding import Coding
from latentclass.hnb._hierarchy import FilledHierarchy, Hierarchy, Tables, latent_posterior
from latentclass.hnb._model import AveragedHierarchies, HierarchyModel

CODING = Coding((), (2, 3, 1, 2), ((False, 0), (False, 1), (False, 3)), (0, 1, 3))
COLUMNS = ["a", "b", "same", "L1"]
WHOLE = np.array(list(product(range(2), range(3), range(2))), dtype=np.int32)
EQUAL = np.array([[0, 1, 1], [1, 0, 1]], dtype=np.int32)


def one_hierarchy(seed, prior, joined=((0, 1, EQUAL),)):
    rng = np.random.default_rng(seed)
    hierarchy = Hierarchy((2, 3, 2))
    for first, second, states in joined:
        hierarchy = hierarchy.join(first, second, states)
    theta = [rng.dirichlet(np.ones(hierarchy.sizes[v]), size=2) for v in hierarchy.tops]
    within = []
    for latent in hierarchy.latents:
        table = rng.random(latent.states.shape)
        for state in range(latent.n_states):
            table[latent.states == state] /= table[latent.states == state].sum()
        within.append(np.log(table))
    filled = FilledHierarchy(hierarchy, Tables(np.log(np.hstack(theta)), tuple(within)))
    support = tuple(np.ones((latent.n_states, 2)) for latent in hierarchy.latents)
    return HierarchyModel(np.array(prior), CODING, filled, support)


@pytest.fixture
def model():
    return one_hierarchy(0, [0.4, 0.6])


@pytest.fixture
def average():
    other = np.array([[0, 1], [1, 1], [0, 2]], dtype=np.int32)
    members = (
        one_hierarchy(0, [0.4, 0.6]),
        one_hierarchy(1, [0.9, 0.1], ((1, 2, other),)),
        one_hierarchy(2, [0.5, 0.5], ()),
    )
    return AveragedHierarchies.of(members)


def joint_of(model, codes):
    return np.exp(model.code_log_likelihood(codes)) * model.class_prior


def make_table(codes):
    words = np.zeros((len(codes), 4), dtype=np.int32)
    words[:, [0, 1, 3]] = codes
    return Table(np.empty((len(codes), 0)), words)


def test_wrong_arrays_are_refused(model):
    filled = model.filled
    wrong = Tables(filled.tables.log_theta + 0.1, filled.tables.log_within)
    with pytest.raises(ValueError, match="log_theta must be probabilities that sum to 1"):
        replace(model, filled=FilledHierarchy(filled.hierarchy, wrong))
    with pytest.raises(ValueError, match=r"support has shape \(3, 2\), but .* \(2, 2\)"):
        replace(model, support=(np.ones((3, 2)),))


def test_an_average_is_the_mean_of_the_joints(average):
    mean = np.mean([joint_of(one, WHOLE) for one in average.members], axis=0)
    assert_allclose(joint_of(average, WHOLE), mean, rtol=1e-12)
    assert_allclose(joint_of(average, WHOLE).sum(), 1.0)
    assert_allclose(average.class_prior, [0.6, 0.4])
    holes = np.where(np.arange(36).reshape(12, 3) % 4 == 0, -1, WHOLE).astype(np.int32)
    mean = np.mean([joint_of(one, holes) for one in average.members], axis=0)
    assert_allclose(joint_of(average, holes), mean, rtol=1e-12)


@pytest.mark.parametrize("kind", ["model", "average"])
def test_samples_and_completions_follow_the_joint(kind, request):
    model = request.getfixturevalue(kind)
    y = np.repeat([0, 1], 20_000)
    drawn = model.sample_codes(y, np.random.default_rng(0))
    place = drawn @ [6, 2, 1]
    expected = np.exp(model.code_log_likelihood(WHOLE))
    for k in range(2):
        shares = np.bincount(place[y == k], minlength=12) / 20_000
        assert_allclose(shares, expected[:, k], atol=0.02)
    best = joint_of(model, WHOLE).max(axis=1).argmax()
    holes = np.full((1, 3), -1, dtype=np.int32)
    assert model.most_probable_codes(holes).tolist() == [WHOLE[best].tolist()]


def test_latent_variables_have_the_posterior_of_their_own_model(model, average):
    table = make_table(WHOLE)
    joint = joint_of(model, WHOLE)
    posterior = joint / joint.sum(axis=1, keepdims=True)
    expected = latent_posterior(model.filled, WHOLE, posterior)[0]
    assert_allclose(model.latent(table, lambda _: posterior, None), expected)

    def never(_):
        raise AssertionError

    several = average.latent(table, never, None)
    assert several.shape == (12, 2 + 3 + 2)
    assert_allclose(several[:, :2], expected)
    last = joint_of(average.members[2], WHOLE)
    assert_allclose(several[:, 5:], last / last.sum(axis=1, keepdims=True))


def test_latent_variables_do_not_take_the_name_of_a_column(model, average):
    assert model.variable_names(COLUMNS) == ["a", "b", "L1", "L1_"]
    assert model.latent_names(["no", "yes"], COLUMNS) == ["L1_=0", "L1_=1"]
    names = average.latent_names(["no", "yes"], COLUMNS)
    assert names[:3] == ["model0_L1_=0", "model0_L1_=1", "model1_L1_=0"]
    assert names[-2:] == ["model2_no", "model2_yes"]
