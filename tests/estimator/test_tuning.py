"""What held-out rows decide in `fit`: the folds, the sample, the temperature of "auto"."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.baselines import NaiveBayes
from latentclass.engine._logspace import log_normalise
from latentclass.estimator._calibration import TOO_SURE, HeldOutRows
from latentclass.estimator._tuning import MOST_ROWS, HeldOutFits


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

    def _fit_model(self, training, progress):
        return replace(super()._fit_model(training, progress), temperature=3.0)


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
