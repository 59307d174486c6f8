"""Verbs that classifiers and mixtures share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray
from latentclass._validation import check_number
from latentclass.data._schema import Schema, Table
from latentclass.engine._parallel import computation
from latentclass.estimator._summary import ModelSummary, columns_by_kind
from latentclass.estimator._unusual import unusual_rows

MOST_DRAWS = 10**6
"""Most rows that `unusual` draws."""


class FittedVerbs:
    """Mixin of estimators with a fitted model: what it is, and which rows are unlike it."""

    _about: ClassVar[str] = ""
    """What the model assumes, in one sentence."""

    _model: Any
    schema_: Schema
    random_state: Any
    n_jobs: int | None

    def _read(self, X: Any) -> Table:
        raise NotImplementedError  # `TableReader` has it

    def summary(self) -> ModelSummary:
        """What the fitted model is, in a few lines.

        Returns
        -------
        ModelSummary
            `print` it, or call its `to_dict`.
        """
        check_is_fitted(self)
        return ModelSummary(
            type(self).__name__,
            self._about,
            vars(self).get("_n_rows"),
            int(getattr(self, "n_unlabelled_", 0)),
            columns_by_kind(self.schema_),
            self._shares(),
            {**self._structure(), **self._own_names()},
            self._fit_facts(),
            str(getattr(self, "why_", "")),
        )

    def _shares(self) -> dict[Any, float]:
        """Share of each class."""
        raise NotImplementedError

    def _structure(self) -> dict[str, Any]:
        """Size of the latent structure, by names that a reader knows."""
        return {}

    def _own_names(self) -> dict[str, str]:
        """Names of latent variables that the user gave; `NamedLatents` has them."""
        return {}

    def _final_facts(self, learned: Any, rows: Any) -> dict[str, Any]:  # noqa: ARG002
        """Attributes that are measured once, when a fit is done; not in folds and searches."""
        return {}

    def _fit_facts(self) -> dict[str, Any]:
        """How the fit went."""
        learned: Any = self
        facts = {
            "log-likelihood": float(learned.log_likelihood_),
            "iterations": int(learned.n_iter_),
            "converged": bool(learned.converged_),
        }
        if hasattr(learned, "temperature_"):
            facts["temperature"] = float(learned.temperature_)
        if getattr(learned, "n_unlabelled_", 0):
            facts["weight of unlabelled rows"] = float(learned.unlabelled_weight_)
        return facts

    @computation
    def unusual(self, X: Any, *, n_draws: int = 1000, random_state: Any = None) -> FloatArray:
        """How unusual each row is for the model: a p-value, small for rows unlike those of `fit`.

        It is the share of rows drawn from the model that are at most as probable as the row. The
        drawn rows have the same missing cells, so rows with different ones can be compared. New
        rows that come from the model itself have p-values spread evenly from 0 to 1; if
        many rows have the same density, as with few categories, they are larger.

        Parameters
        ----------
        X : table with the columns of `fit`
        n_draws : int, default=1000
            Number of drawn rows. The smallest p-value is 1 / (n_draws + 1). Each set of missing
            cells is scored on its own: with more than 50,000 / n_draws sets there are fewer draws
            for each, but never fewer than 99.
        random_state : int, RandomState or None
            None takes the estimator's own, and seed 0 if that is None too.

        Returns
        -------
        array of shape (n_samples,)

        Notes
        -----
        The model is only as good as its fit. If it describes the columns badly (a Gaussian for a
        column with a long tail), rows of the training table are unusual too. So compare with the
        share of unusual rows among rows that you trust.
        """
        check_number("n_draws", n_draws, low=1, high=MOST_DRAWS, whole=True)
        table = self._read(X)
        return unusual_rows(
            self._model, table, int(n_draws), self._draw_generator(random_state), self.n_jobs
        )

    def _draw_generator(self, random_state: Any) -> np.random.Generator:
        """Generator of draws that repeat, even without any seed."""
        seed = self.random_state if random_state is None else random_state
        rng = check_random_state(0 if seed is None else seed)
        return np.random.default_rng(rng.randint(2**31, size=4))
