"""Checks of the parameters that all estimators have."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentclass._validation import check_number, check_option


def check_common_parameters(estimator: Any) -> None:
    """Refuse parameters that all estimators have and that make no sense."""
    _check_unknown(estimator)
    check_option("columns", estimator.columns, ("by_name", "strict"))
    check_option("missing_indicator", estimator.missing_indicator, (False, True))
    check_number("verbose", estimator.verbose, low=0)
    if estimator.n_jobs is not None:
        check_number("n_jobs", estimator.n_jobs, low=-np.inf, whole=True)
        if estimator.n_jobs == 0:
            raise ValueError("n_jobs=0 has no meaning: use None, 1 or more, or -1 for all cores.")


def _check_unknown(estimator: Any) -> None:
    """Refuse `handle_unknown` of an unknown name, and "smooth" where it would only pretend.

    "smooth" gives each discrete column one more category, of which there is no training row. So it
    needs tables of counts with pseudo-counts.
    """
    check_option("handle_unknown", estimator.handle_unknown, ("missing", "error", "smooth"))
    if estimator.handle_unknown != "smooth":
        return
    name = type(estimator).__name__
    if not estimator._counts_categories:
        raise ValueError(
            f'handle_unknown="smooth" is not for this {name}: it does not count categories, so an '
            'unseen one has no probability. Use handle_unknown="missing".'
        )
    if not estimator.alpha:
        raise ValueError(
            f'handle_unknown="smooth" needs pseudo-counts, but {name} has alpha=0. Set alpha=1, or '
            'use handle_unknown="missing".'
        )
