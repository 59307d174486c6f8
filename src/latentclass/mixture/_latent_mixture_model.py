"""Verbs of a fitted mixture: groups, density, information criteria, samples, completion."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray, IndexArray
from latentclass._validation import check_number, check_option
from latentclass.data._schema import Table
from latentclass.data._write import build_table, fill_missing
from latentclass.estimator._legacy_reading import TableReader
from latentclass.estimator._reading import check_weight
from latentclass.naive_bayes._finite_mixture import FiniteMixtureNaiveBayes
from latentclass.naive_bayes._legacy_naive_bayes import NaiveBayes


class MixtureVerbs(TableReader):
    """What a fitted mixture answers; fitting is left to the subclass.

    The mixture is kept as finite mixture naive Bayes of one class (`_model`), whose answers these
    are; `_each` is the number of free parameters of a component beside its weight.
    """

    n_components_: int
    random_state: Any
    _model: FiniteMixtureNaiveBayes
    _each: int

    def _read(self, X: Any) -> Table:
        refuse_sparse(X)
        return super()._read(X)

    @property
    def weights_(self) -> FloatArray:
        """Share of each component."""
        check_is_fitted(self)
        return np.asarray(self._model.component_weights_[0])

    @property
    def means_(self) -> FloatArray:
        """Mean of each continuous column in each component."""
        check_is_fitted(self)
        return np.asarray(self._model.means_[0])

    @property
    def scales_(self) -> FloatArray:
        """Standard deviation of each continuous column in each component."""
        check_is_fitted(self)
        return np.asarray(self._model.scales_[0])

    @property
    def probabilities_(self) -> dict[str, FloatArray]:
        """Probability of each category in each component, by column name."""
        check_is_fitted(self)
        return {name: table[0] for name, table in self._model.probabilities_.items()}

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each component given the observed cells, shape (n_samples, K)."""
        table = self._read(X)
        return self._model._latent(table)

    def predict(self, X: Any) -> IndexArray:
        """Most probable component of each row."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def score_samples(self, X: Any) -> FloatArray:
        """log p(x) of the observed cells: low for rows unlike those seen in `fit`."""
        table = self._read(X)
        return self._model._evidence(table)[:, 0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean of `score_samples`."""
        del y  # scikit-learn's signature
        values = self.score_samples(X)
        return float(np.average(values, weights=check_weight(sample_weight, len(values))))

    def bic(self, X: Any) -> float:
        """Bayes's information criterion on a table: lower is better."""
        values = self.score_samples(X)
        return float(-2.0 * values.sum() + np.log(len(values)) * self.n_parameters_)

    def aic(self, X: Any) -> float:
        """Akaike's information criterion on a table: lower is better."""
        return float(-2.0 * self.score_samples(X).sum() + 2.0 * self.n_parameters_)

    @property
    def n_parameters_(self) -> int:
        """Free parameters; a column that never varies has none."""
        check_is_fitted(self)
        return self._n_parameters(self.n_components_)

    def _n_parameters(self, n_components: int) -> int:
        return n_components - 1 + n_components * self._each

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, IndexArray]:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int
        random_state : int, RandomState or None
            None takes the estimator's own.

        Returns
        -------
        X : table in the container that `fit` was given
        component : array of shape (n_samples,)
            The component that made each row.
        """
        check_is_fitted(self)
        check_number("n_samples", n_samples, low=1, whole=True)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        generator = np.random.default_rng(rng.randint(2**31, size=4))
        component = generator.choice(self.n_components_, size=n_samples, p=self.weights_)
        table = NaiveBayes._sample_table(self._model, component, generator)
        return build_table(self.schema_, table), component

    def complete(self, X: Any, how: str = "expected") -> Any:
        """Fill the missing cells of a table from what the model knows.

        Parameters
        ----------
        X : table with the columns of `fit`
        how : {"expected", "most_probable"}
            "expected": continuous cells get their mean, discrete ones their most probable
            category, given the row's observed cells. "most_probable": the values of the highest
            density that is found from the components' own.

        Returns
        -------
        A copy of X in its own container. Columns without any value in `fit` stay missing.
        """
        check_option("how", how, ("expected", "most_probable"))
        table = self._read(X)
        if how == "expected":
            filled = self._model._expected_cells(table, np.ones((table.n_rows, 1)))
        else:
            filled = self._model._most_probable_cells(table)
        return fill_missing(X, self.schema_, filled, owner=type(self).__name__)


def refuse_sparse(X: Any) -> None:
    """Refuse a sparse table."""
    if sp.issparse(X):
        raise TypeError("X is a sparse table, but LatentMixture takes dense ones: X.toarray().")
