"""The contest of sizes."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass import BinaryLCMClassifier, HybridLCMClassifier, LCMClassifierCV
from latentclass.estimator._tuning import mean_and_error
from latentclass.lcm import _steps
from latentclass.lcm._auto_size import Contest, HeldRows, Sizes, choose_size, compare

SIZES = Sizes((5, 1), (((2, 1), ()), ((10, 1), ()), ((5, 3), ()), ((10, 3), ((10, 1), (5, 3)))))


def moons(n_rows, seed=0):
    """Two classes on half circles that reach into each other: not the shape of a Gaussian."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    angle = rng.uniform(0, np.pi, n_rows)
    plane = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    plane = np.where(y[:, None] == 0, plane, [1.0, 0.4] - plane) @ [[1.0, 2.0], [-1.0, 0.5]]
    return plane + 0.2 * rng.normal(size=(n_rows, 2)), y


def parity(n_rows, seed=0):
    """The class is whether an odd number of three hidden switches is on."""
    rng = np.random.default_rng(seed)
    switch = rng.random((n_rows, 3)) < 0.5
    X = np.repeat(switch, 3, axis=1) ^ (rng.random((n_rows, 9)) < 0.05)
    return X, switch.sum(axis=1) % 2


@pytest.mark.parametrize(
    ("n_latent", "n_components", "most", "pairs"),
    [
        ("auto", "auto", 99, [(5, 1), (2, 1), (10, 1), (5, 3), (10, 3)]),
        ("auto", "auto", 6, [(5, 1), (2, 1), (6, 1), (5, 3), (6, 3)]),
        ("auto", "auto", 3, [(3, 1), (2, 1), (3, 3)]),
        ("auto", 2, 99, [(5, 2), (2, 2), (10, 2)]),
        (7, "auto", 3, [(7, 1), (7, 3)]),
        (7, 4, 99, [(7, 4)]),
    ],
)
def test_numbers_that_are_given_are_kept(n_latent, n_components, most, pairs):
    assert SIZES.within(n_latent, n_components, most).pairs == pairs


def test_the_error_of_a_mean_counts_weight_as_rows():
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=50), rng.integers(1, 4, 50)
    rows = np.repeat(values, weight)
    expected = rows.mean(), rows.std(ddof=1) / np.sqrt(len(rows))
    assert_allclose(mean_and_error(values, weight.astype(float)), expected, rtol=1e-12)


@pytest.mark.parametrize("draw", [moons, parity])
def test_components_are_taken_where_they_help(draw, few_steps):
    X, y = draw(200)
    test, labels = draw(300, seed=1)
    auto = HybridLCMClassifier("auto", "auto", n_init=2, random_state=0).fit(X, y)
    usual = HybridLCMClassifier(5, 1, n_init=2, random_state=0).fit(X, y)
    assert auto.n_components_ == 3
    assert (usual.n_latent_, usual.n_components_) == (5, 1)
    losses = [
        -model.predict_log_proba(test)[np.arange(300), labels].mean() for model in (auto, usual)
    ]
    assert losses[0] < losses[1] - 0.05
    # the same rows in another order
    order = np.random.default_rng(0).permutation(200)
    again = HybridLCMClassifier("auto", "auto", n_init=2, random_state=0).fit(X[order], y[order])
    assert (again.n_latent_, again.n_components_) == (auto.n_latent_, auto.n_components_)


def test_few_rows_keep_the_usual_size(few_steps):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)), np.arange(60) % 2
    model = HybridLCMClassifier("auto", "auto", n_init=2, random_state=0).fit(X + y[:, None], y)
    assert (model.n_latent_, model.n_components_) in [(5, 1), (2, 1)]
    # too few rows to hold any out
    model.fit(X[:6] + y[:6, None], y[:6])
    assert (model.n_latent_, model.n_components_) == (5, 1)


def test_a_grid_keeps_sizes_small():
    X, y = parity(200)
    model = BinaryLCMClassifier(
        "auto", 1, n_init=1, predict_method="quadrature", discriminative=False, random_state=0
    )
    assert model.fit(X, y).n_latent_ <= 3


@pytest.mark.parametrize("name", ["n_latent", "n_components"])
def test_other_words_than_auto_are_refused(name):
    with pytest.raises(ValueError, match=rf'^{name}=.many. must be "auto" or a whole number\.$'):
        HybridLCMClassifier(**{name: "many"}).fit([[1.0], [2.0]], [0, 1])


class TestContest:
    """`Contest.losses` with fits whose losses are given."""

    def held(self, losses):
        return [HeldRows(np.reshape(one, (1, -1)), np.ones(len(one))) for one in losses]

    def test_losses_have_the_best_settings_of_all_folds_together(self):
        weight = np.array([1.0, 3.0])
        old = [HeldRows(np.array([[4.0, 4.0], [2.0, 2.0]]), weight)] * 2
        # the first setting is better on the first fold, the second one on both together
        new = [
            HeldRows(np.array([[1.0, 1.0], [1.5, 1.5]]), weight),
            HeldRows(np.array([[3.0, 3.0], [1.0, 1.0]]), weight),
        ]
        gain, error = compare(old, new)
        gains = np.repeat([0.5, 1.0], [4, 4])
        assert_allclose(gain, gains.mean(), rtol=1e-9)
        assert_allclose(error, gains.std(ddof=1) / np.sqrt(8), rtol=1e-9)

    @pytest.mark.parametrize(("worse", "n_folds"), [(0.5, 2), (0.1, 5), (-0.5, 5)])
    def test_a_fit_that_is_clearly_worse_has_no_further_folds(self, worse, n_folds, monkeypatch):
        usual = self.held(np.tile([1.0, 2.0], (5, 1)))
        # the standard error of the difference after two folds is 0.29
        rest = iter(self.held(np.tile([1.0 + worse - 0.5, 2.0 + worse + 0.5], (5, 1))))
        fit = SimpleNamespace(shortened=lambda *_: None)
        monkeypatch.setattr(Contest, "_hold_out", lambda *_: next(rest))
        contest = Contest(dealer=None, shares=np.zeros((5, 2)), n_steps=0)
        assert len(contest.losses(fit, usual)) == n_folds


@dataclass
class Settings:
    size: tuple = (5, 1)

    def sized(self, pair):
        return Settings(pair)


@dataclass
class Fit:
    settings: Settings = field(default_factory=Settings)


@pytest.mark.parametrize(
    ("gain", "surely", "tried", "best"),
    [
        # the standard error of every difference is about 0.1
        (0.05, False, [(5, 1), (10, 1), (20, 1)], (20, 1)),
        (0.05, True, [(5, 1), (10, 1)], (5, 1)),
        (0.2, True, [(5, 1), (10, 1), (20, 1)], (20, 1)),
        (-0.05, False, [(5, 1), (10, 1)], (5, 1)),
    ],
)
def test_a_large_size_is_tried_after_a_smaller_one_that_helped(gain, surely, tried, best):
    noise = np.tile([-0.5, 0.5], 13)
    losses = {(5, 1): 1.0 + 0 * noise, (10, 1): 1.0 - gain + noise, (20, 1): 0.5 + noise}
    seen = []

    def measure(fit, against=None):
        seen.append(fit.settings.size)
        return [HeldRows(losses[fit.settings.size][None], np.ones(26))]

    sizes = Sizes((5, 1), (((10, 1), ()), ((20, 1), ((10, 1),))), surely)
    fit, _ = choose_size(Fit(), sizes, SimpleNamespace(losses=measure))
    assert seen == tried
    assert fit.settings.size == best


@pytest.mark.parametrize(
    ("estimator", "draw"), [(HybridLCMClassifier, parity), (LCMClassifierCV, moons)]
)
def test_a_fit_to_many_of_the_rows_keeps_size_and_steps(estimator, draw, few_steps, monkeypatch):
    X, y = draw(240)
    model = estimator(n_init=2, max_iter=20, random_state=0)
    training = model._read_training(X, y, None)
    learned = model._fit_model(training, None)
    few = training.take(np.arange(240) < 150)
    chosen = []
    choose = _steps.learn_steps
    monkeypatch.setattr(
        _steps, "learn_steps", lambda *given: chosen.append(given) or choose(*given)
    )
    again = model._fit_again(learned, training)
    assert not chosen
    names = ("n_latent_", "n_components_", "power_transform_", "n_steps_", "label_noise_")
    for name in names:
        assert again.attributes[name] == learned.attributes[name]
    assert again.temperature == learned.temperature
    evidence, expected = (one.model.evidence(training.table, None) for one in (again, learned))
    assert_allclose(evidence, expected, rtol=1e-6, atol=1e-6)
    part = model._fit_again(learned, few)
    assert len(chosen) == 1
    assert part.attributes["n_latent_"] == learned.attributes["n_latent_"]
