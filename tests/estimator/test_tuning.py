"""What held-out rows decide in `fit`: the folds, the sample, the temperature of "auto"."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from latentclass import HNBClassifier, LatentTreeClassifier, LCMClassifier
from latentclass.baselines import AODE, TAN, HiddenNaiveBayes, NaiveBayes
from latentclass.engine._logspace import log_normalise
from latentclass.estimator._calibration import TOO_SURE, HeldOutRows
from latentclass.estimator._inner_folds import deal_folds
from latentclass.estimator._tuning import MOST_ROWS, HeldOutFits, choose_unlabelled_weight
from latentclass.estimator._unlabelled import usual_factor


def deal(n_rows, *, rare=0.3, hidden=0.0):
    rng = np.random.default_rng(0)
    y = (rng.random(n_rows) < rare).astype(float)
    X = rng.normal(y[:, None], 1.0, (n_rows, 2))
    y[rng.random(n_rows) < hidden] = np.nan
    model = NaiveBayes(random_state=0)
    training = model._read_training(X, y, None)
    learned = model._fit_model(training.take(training.labelled), None)
    return training, HeldOutFits.deal(model, training, learned, 0, few=True)


@pytest.mark.parametrize(("n_rows", "n_folds"), [(60, 5), (200, 5), (400, 3), (1000, 1), (4000, 1)])
def test_there_are_as_many_folds_as_are_enough(n_rows, n_folds):
    training, fits = deal(n_rows)
    assert fits.folds.n_folds == n_folds
    assert fits.possible
    assert len(fits.folds.row) >= min(n_rows, 190)
    part = fits.folds.training_part(fits.training, 0)
    assert_allclose(part.weight.sum(), 0.8 * n_rows, atol=1)
    assert np.unique(fits.groups).size == max(n_folds, 2)
    assert len(training.y) == n_rows


def test_of_many_rows_a_sample_is_looked_at_and_rare_classes_count_by_their_share():
    training, fits = deal(6 * MOST_ROWS, rare=0.01, hidden=0.5)
    assert len(fits.training.y) < 1.5 * MOST_ROWS
    y = fits.training.y[fits.folds.row]
    weight = np.bincount(y, fits.held_out(1.0).weight)
    share = np.mean(training.y[training.labelled] == 1)
    assert_allclose(weight[1] / weight.sum(), share, rtol=0.1)
    ratio = fits.training.weight[~fits.training.labelled].sum()
    ratio /= fits.training.weight[fits.training.labelled].sum()
    assert_allclose(ratio, np.mean(~training.labelled) / np.mean(training.labelled), rtol=0.05)


@pytest.mark.parametrize("sureness", [0.2, 1.0, 8.0])
@pytest.mark.parametrize("n_rows", [4, 40, 400])
def test_the_temperature_of_auto_is_the_best_of_a_grid(sureness, n_rows):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, n_rows)
    evidence = rng.normal(size=(n_rows, 3))
    evidence[np.arange(n_rows), y] += 1.0
    evidence *= sureness
    prior = np.tile(np.log([0.5, 0.3, 0.2]), (n_rows, 1))
    rows = HeldOutRows(evidence, y, np.ones(n_rows), prior)
    temperature, facts = rows.learn_temperature(np.arange(n_rows) % 2, TOO_SURE)

    def penalised(log_t):
        log_proba = log_normalise(evidence / np.exp(log_t) + prior)
        distance = (log_t - 1.0) / (2.0 if log_t > 1.0 else 0.5)
        return 0.5 * distance**2 - log_proba[np.arange(n_rows), y].sum()

    grid = np.linspace(-3, 10, 2601)
    best = grid[np.argmin([penalised(log_t) for log_t in grid])]
    assert_allclose(np.log(temperature), best, atol=0.01)
    assert temperature == facts["temperature"]


class Calibrated(NaiveBayes):
    """A model whose fit finds a temperature of its own."""

    found = 3.0

    def _fit_model(self, training, progress):
        learned = super()._fit_model(training, progress)
        return replace(learned, temperature=self.found, calibrated=True)


class NotSure(Calibrated):
    """A model whose fit finds that no temperature is better."""

    found = 1.0


def test_a_temperature_of_the_fit_itself_is_not_learned_again():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 60)
    X = rng.normal(y[:, None], 1.0, (60, 3))
    fitted = Calibrated(calibrate="auto").fit(X, y)
    assert fitted.temperature_ == 3.0
    assert fitted.calibration_ == {}
    labels = np.where(np.arange(60) % 2, np.nan, y)
    assert Calibrated(calibrate="auto").fit(X, labels).temperature_ == 3.0
    again = Calibrated(calibrate=True).fit(X, y)
    assert again.calibration_["temperature"] != 3.0
    fitted = NotSure(calibrate="auto").fit(X, y)
    assert fitted.temperature_ == 1.0
    assert fitted.calibration_ == {}


@pytest.mark.parametrize(
    "estimator",
    [
        TAN(),
        AODE(),
        HiddenNaiveBayes(),
        HNBClassifier(random_state=0),
        HNBClassifier(n_models=3, random_state=0),
        LatentTreeClassifier(search="fast", n_cuts=3, random_state=0, tol=1e-9),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_cheap_fit_to_the_same_rows_is_the_fit(estimator):
    X, y = load_iris(return_X_y=True)
    training = estimator._read_training(X, y, None)
    learned = estimator._fit_model(training, None)
    again = estimator._fit_again(learned, training)
    evidence, expected = (one.model.evidence(training.table, None) for one in (again, learned))
    assert_allclose(evidence, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n_hidden", [0, 40])
def test_cheap_fits_of_the_latent_model_are_fits_to_the_folds(n_hidden):
    X, y = load_iris(return_X_y=True)
    labels = np.where(np.arange(150) * 7 % 150 < n_hidden, np.nan, y)
    estimator = LCMClassifier(1, prior=None, n_init=1, tol=1e-10, max_iter=1000, random_state=0)
    training, folds = deal_folds(estimator._read_training(X, labels, None), 3, 0)
    learned = estimator._fit_model(training, None)
    cheap = list(estimator._fit_folds(learned, training, folds))
    assert len(cheap) == 3
    for number, (model, temperature) in enumerate(cheap):
        assert temperature == 1.0
        own = estimator._fit_model(folds.training_part(training, number), None).model
        evidence, expected = (one.evidence(training.table, None) for one in (model, own))
        assert_allclose(evidence, expected, rtol=1e-2, atol=1e-2)
        assert_allclose(model.class_prior, own.class_prior, atol=1e-3)


def test_auto_softens_what_counts_the_same_evidence_eight_times():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 3000)
    copies = np.repeat(rng.normal(y, 1.5)[:, None], 8, axis=1)
    fitted = NaiveBayes(calibrate="auto").fit(copies, y)
    assert 6 < fitted.temperature_ < 10
    facts = fitted.calibration_
    assert facts["log_loss_after"] < facts["log_loss_before"]


def test_without_a_seed_the_folds_are_always_the_same():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 50)
    X = rng.normal(y[:, None], 1.0, (50, 3))
    first, second = (NaiveBayes(calibrate="auto").fit(X, y).temperature_ for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("better", "worse", "errors", "counts"),
    [
        (1.0, 1.0, 1.0, True),
        (0.1, -0.1, 1.0, True),
        (0.1, -0.17, 1.0, False),
        (0.1, -0.17, 0.1, True),
        (-1.0, -1.0, 0.1, False),
        (0.0, 0.0, 0.1, False),
    ],
)
def test_rows_without_label_count_if_they_help_by_more_than_some_errors(
    monkeypatch, better, worse, errors, counts
):
    """With rows without a label, evidence is better on two thirds of the rows, worse on others."""
    monkeypatch.setattr(NaiveBayes, "_unlabelled_errors", errors)
    training, fits = deal(60, hidden=0.2)
    plain = fits.held_out(0.0)
    gain = np.where(np.arange(len(plain.y)) % 3 > 0, better, worse)

    def held_out(self, chosen, log_prior=None):
        own = np.eye(2)[plain.y] * (2.0 + (gain[:, None] if chosen else 0.0))
        return plain._replace(evidence=own)

    monkeypatch.setattr(HeldOutFits, "held_out", held_out)
    tuned = choose_unlabelled_weight(fits.estimator, training, fits.learned, 0, False)
    factor = usual_factor(training)
    if worse == -0.17:  # a gain, but smaller than its error
        assert tuned.log_losses[factor] < tuned.log_losses[0.0]
    assert tuned.unlabelled_weight == (factor if counts else 0.0)


@pytest.mark.parametrize(
    ("labels", "weight", "factor"),
    [
        ([0, 1, np.nan, np.nan], [1, 1, 1, 1], 0.3),
        ([0, 1, np.nan, np.nan], [2, 2, 1, 1], 0.6),
        ([0, 1, *[np.nan] * 20], [1] * 22, 0.03),
        ([0, 1, 0, 1, np.nan], [1] * 5, 1.0),
        ([0, 1, 0, 1], [1] * 4, 1.0),
    ],
)
def test_all_rows_without_label_weigh_a_share_of_the_labelled_ones(labels, weight, factor):
    X = np.arange(len(labels), dtype=float)[:, None]
    training = NaiveBayes()._read_training(X, labels, weight)
    assert usual_factor(training) == pytest.approx(factor)


@pytest.mark.parametrize("model", [NaiveBayes(), TAN(), AODE()], ids=lambda one: type(one).__name__)
def test_rows_without_label_that_do_not_count_change_nothing(model):
    """Not even the temperature, which is found in another way where they do count."""
    rng = np.random.default_rng(1)
    y = np.where(np.arange(200) < 40, np.arange(200) % 2, np.nan)
    X = rng.normal(np.nan_to_num(y)[:, None], 1.0, (200, 3))
    X[40:] = rng.exponential(5.0, (160, 3))
    both = model.fit(X, y)
    assert both.unlabelled_weight_ == 0.0
    assert both.calibration_
    answers = both.predict_proba(X), both.temperature_
    alone = model.fit(X[:40], y[:40])
    assert_allclose(alone.predict_proba(X), answers[0], rtol=1e-9)
    assert alone.temperature_ == pytest.approx(answers[1], rel=1e-9)
