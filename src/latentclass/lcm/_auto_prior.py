"""How strong the prior of a latent classification model is, as held-out rows decide.

With few rows for its parameters the model follows chance. A strong prior makes loadings small and
noise variances large, so that the classes differ in little but their means. Which is better depends
on the table more than on the number of its rows, so two strengths far apart are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from latentclass._types import FloatArray
from latentclass.estimator._calibration import TOO_SURE, HeldOutRows
from latentclass.estimator._reading import Training
from latentclass.estimator._tuning import HeldOutFits, mean_and_error

USUAL, STRONG = 1.0, 100.0
"""The strengths, in pseudo-rows.

Chosen on ten of the papers' sets, with 5, 15 and 50 labels a class and with two thirds of the rows.
More strengths between them were no better: held-out rows cannot tell them apart.
"""

FOLD_STARTS = 3
"""Starts of a fit to a fold: the folds together then cost about as much as the fit itself."""

ERRORS = 0.5
"""Standard errors by which the strong prior must be better for held-out rows."""


def choose_strength(
    with_strength: Callable[[float], Any], training: Training, seed: int
) -> tuple[float, HeldOutRows | None]:
    """The strength, and what models with it have said about held-out rows.

    `with_strength` gives an unfitted estimator. Of very many rows a sample is looked at. Where none
    can be held out, nothing is compared.
    """
    fits = HeldOutFits.deal(with_strength(USUAL), training, None, seed, few=True)
    if not fits.possible:
        return USUAL, None
    usual = fits.held_out(1.0)
    strong = replace(fits, estimator=with_strength(STRONG)).held_out(1.0)
    gain, error = mean_and_error(_losses(usual) - _losses(strong), usual.weight)
    return (STRONG, strong) if gain > ERRORS * error else (USUAL, usual)


def _losses(rows: HeldOutRows) -> FloatArray:
    """Log-loss of each row at the temperature that is best for all."""
    return rows.clipped_losses(rows.learn_temperature(None, TOO_SURE)[0])
