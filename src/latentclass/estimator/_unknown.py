"""What becomes of categories that were not seen in `fit`."""

from __future__ import annotations

from typing import Any

from latentclass._validation import check_option


def check_unknown(estimator: Any) -> None:
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
