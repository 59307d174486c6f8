"""How clearly hidden states separate the training rows, against sums by hand."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

import latentclass
from latentclass import (
    HNBClassifier,
    HybridLCMClassifier,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifier,
)
from latentclass.datasets import load_dataset


@pytest.fixture(scope="module")
def wine():
    return load_dataset("wine", container="pandas")


@pytest.fixture(scope="module")
def corral():
    return load_dataset("corral", container="pandas")


def clarity_by_hand(posterior, weight):
    """Relative entropy, and the mean posterior of each state over its own rows; row by row."""
    total, own = 0.0, [[] for _ in posterior[0]]
    for row, w in zip(posterior, weight, strict=True):
        total += w * sum(-p * np.log(p) for p in row if p > 0)
        own[int(np.argmax(row))].append((w, row.max()))
    means = [sum(w * p for w, p in rows) / sum(w for w, _ in rows) if rows else 0.0 for rows in own]
    return 1 - total / (sum(weight) * np.log(len(own))), means


def component_posterior(model, X):
    """P(m | x) of an LCM by the densities of its class components."""
    joint = np.empty((len(X), *model.component_prior_.shape))
    for (y, m), share in np.ndenumerate(model.component_prior_):
        loadings = model.loadings_[m]
        mean = loadings @ model.latent_means_[y] + model.offsets_[m]
        spread = loadings * model.latent_variances_[y] @ loadings.T
        spread += np.diag(model.noise_variances_[m])
        density = multivariate_normal(mean, spread).pdf(X)
        joint[:, y, m] = model.class_prior_[y] * share * density
    by_component = joint.sum(axis=1)
    return by_component / by_component.sum(axis=1, keepdims=True)


def test_components_of_an_lcm_by_hand(wine):
    weight = np.arange(len(wine.y)) % 3
    options = {"select": "likelihood", "power_transform": False, "random_state": 0}
    model = LCMClassifier(2, 3, **options).fit(wine.X, wine.y, sample_weight=weight)
    rows = weight > 0
    posterior = component_posterior(model, wine.X[rows].to_numpy())
    entropy, means = clarity_by_hand(posterior, weight[rows])
    assert 0.5 < entropy < 1
    assert_allclose(model.entropy_, entropy, rtol=1e-6)
    assert_allclose(model.average_posterior_, means, rtol=1e-6)
    assert f"relative entropy: {entropy:.2f}" in str(model.summary())


def test_one_component_is_certain(wine):
    model = LCMClassifier(2, random_state=0).fit(wine.X, wine.y)
    assert model.entropy_ == 1.0
    assert_array_equal(model.average_posterior_, [1.0])
    assert "relative entropy" not in str(model.summary())


def test_hybrid_of_numbers_is_the_same_as_the_lcm(wine):
    """Of numbers alone the bound is exact, so the densities of its components are as above."""
    X = wine.X[["Alcohol", "Hue", "Proline"]]
    model = HybridLCMClassifier(
        1, 2, n_init=1, discriminative=False, power_transform=False, random_state=0
    ).fit(X, wine.y)
    posterior = component_posterior(model, X.to_numpy())
    entropy, means = clarity_by_hand(posterior, np.ones(len(X)))
    assert_allclose(model.entropy_, entropy, rtol=1e-6)
    assert_allclose(model.average_posterior_, means, rtol=1e-6)


def test_states_of_a_tree_by_hand(corral):
    model = LatentTreeClassifier(random_state=0).fit(corral.X, corral.y)
    states = model.transform(corral.X)  # P(class, state | x), calibrated
    shares = model._model.log_posterior(model._read(corral.X), model._model.log_prior, 1.0, None)
    columns = {}
    for place, name in enumerate(model.get_feature_names_out()):
        label, variable = name.removeprefix("latenttreeclassifier_").split("=")[0].split(":")
        columns.setdefault((label, variable), []).append(place)
    assert set(model.entropy_) == {variable for _, variable in columns}
    for (label, variable), places in columns.items():
        part = np.asarray(states)[:, places]
        within = part / part.sum(axis=1, keepdims=True)
        weight = np.exp(shares[:, list(model.classes_).index(label)])
        entropy, means = clarity_by_hand(within, weight)
        assert_allclose(model.entropy_[variable], entropy, rtol=1e-7)
        assert_allclose(model.average_posterior_[variable], means, rtol=1e-7)
    lowest = min(model.entropy_, key=model.entropy_.get)
    shown = f"relative entropy of states: {model.entropy_[lowest]:.2f} ({lowest})"
    assert shown in str(model.summary())


def test_rules_are_certain_but_for_missing_cells(corral):
    whole = HNBClassifier(random_state=0).fit(corral.X, corral.y)
    assert set(whole.entropy_) == set(whole.latent_names_)
    assert_allclose(list(whole.entropy_.values()), 1.0, atol=1e-12)
    assert "relative entropy" not in str(whole.summary())
    holes = corral.X.mask(np.random.default_rng(0).random(corral.X.shape) < 0.3)
    partly = HNBClassifier(calibrate=False, random_state=0).fit(holes, corral.y)
    states = np.asarray(partly.transform(holes))
    for variable, n_states in partly.n_states_.items():
        mine = states[:, :n_states]
        states = states[:, n_states:]
        entropy, means = clarity_by_hand(mine, np.ones(len(holes)))
        assert_allclose(partly.entropy_[variable], entropy, rtol=1e-9)
        assert_allclose(partly.average_posterior_[variable], means, rtol=1e-9)
    assert min(partly.entropy_.values()) < 0.99


def test_several_hierarchies_have_their_own(corral):
    model = HNBClassifier(n_models=2, random_state=0).fit(corral.X, corral.y)
    with pytest.raises(AttributeError, match=r"ask one of them, models_\[0\].entropy_\."):
        _ = model.entropy_
    assert all(set(one.entropy_) == set(one.latent_names_) for one in model.models_)


def test_new_names_and_files_keep_it(corral, tmp_path):
    model = LatentTreeClassifier(random_state=0).fit(corral.X, corral.y)
    values = list(model.entropy_.values())
    model.rename_latents({model.latent_names_["1"][0]: "which pair"})
    latentclass.save(model, tmp_path / "tree.lc")
    again = latentclass.load(tmp_path / "tree.lc")
    assert "which pair" in again.entropy_
    assert list(again.entropy_.values()) == values
    assert again.summary().fit == model.summary().fit
    del vars(again)["_latent_clarity"]
    with pytest.raises(AttributeError, match="comes from an older version"):
        _ = again.entropy_
    assert "entropy" not in str(again.summary())


def test_components_of_a_classifier_are_in_its_summary(wine):
    model = LatentVariableClassifier(None, 2, random_state=0).fit(wine.X, wine.y)
    assert f"relative entropy: {model.entropy_:.2f}" in str(model.summary())


def test_a_tree_without_columns_has_none():
    table = pd.DataFrame({"a": ["x"] * 6})
    model = LatentTreeClassifier(random_state=0).fit(table, [0, 1] * 3)
    assert model.entropy_ == {}
    assert "entropy" not in str(model.summary())
