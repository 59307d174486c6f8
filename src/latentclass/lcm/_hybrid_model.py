"""What a fitted model of mixed columns has learned, as attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentclass._types import BoolArray, FloatArray
from latentclass.engine._logspace import log_normalise
from latentclass.lcm._classifier import LCMClassifier
from latentclass.lcm._hybrid_em import HybridParams
from latentclass.lcm._power_transform import PowerTransform
from latentclass.lcm._stick_breaking import StickBreaking


class HybridAttributes(LCMClassifier):
    """Learned attributes; all are of the best start.

    Without discrete columns (`_hybrid` is None) they are those of `LCMClassifier`.
    """

    _sticks: StickBreaking
    _power = PowerTransform()
    _hybrid: HybridParams | None

    @property
    def component_prior_(self) -> FloatArray:
        """P(m | y) of the best start."""
        check_is_fitted(self)
        if self._hybrid is None:
            return super().component_prior_
        return np.exp(log_normalise(self._hybrid.log_weight[0]))

    @property
    def weights_(self) -> FloatArray:
        """Change of each yes-or-no question's log-odds with each latent variable."""
        return self._questions_part()[..., 1:]

    @property
    def intercepts_(self) -> FloatArray:
        """Log-odds of each yes-or-no question where all latent variables are 0."""
        return self._questions_part()[..., 0]

    def _questions_part(self) -> FloatArray:
        check_is_fitted(self)
        if self._hybrid is None:
            m, _, q = self._params.loadings.shape[1:]
            return np.empty((m, 0, q + 1))
        return np.array(self._hybrid.coefficient[0, :, self._hybrid.noise.shape[2] :])

    @property
    def questions_(self) -> list[tuple[str, Any]]:
        """Column and category that each yes-or-no question asks for."""
        check_is_fitted(self)
        columns = [self.schema_.columns[j] for j in self.schema_.discrete]
        return [
            (column.name, column.categories[code])
            for column, order in zip(columns, self._sticks.orders, strict=True)
            for code in order[:-1]
        ]

    @property
    def loadings_(self) -> FloatArray:
        """Change of each continuous column with each latent variable."""
        check_is_fitted(self)
        if self._hybrid is None:
            return super().loadings_
        weights = self._continuous_part()[..., 1:]
        return self._spread_columns(weights * self._units[:, None], 0.0)

    @property
    def offsets_(self) -> FloatArray:
        """Continuous columns where all latent variables are 0."""
        check_is_fitted(self)
        if self._hybrid is None:
            return super().offsets_
        scaling = self._scaling
        offsets = scaling.centre[scaling.varies] + self._units * self._continuous_part()[..., 0]
        return self._spread_columns(offsets, scaling.centre[~scaling.varies])

    def _continuous_part(self) -> FloatArray:
        assert self._hybrid is not None
        return np.array(self._hybrid.coefficient[0, :, : self._hybrid.noise.shape[2]])

    @property
    def noise_variances_(self) -> FloatArray:
        """Variance of the continuous columns that the latent variables do not explain."""
        check_is_fitted(self)
        if self._hybrid is None:
            return super().noise_variances_
        noise = self._units**2 * self._hybrid.noise[0]
        noise = np.broadcast_to(noise, (self._hybrid.coefficient.shape[1], noise.shape[1]))
        return self._spread_columns(noise, self._scaling.unit[~self._scaling.varies] ** 2)

    @property
    def edges_(self) -> BoolArray:
        """Which latent variables each continuous column depends on: all."""
        check_is_fitted(self)
        if self._hybrid is None:
            return super().edges_
        shape = (len(self._scaling.varies), self._hybrid.latent_mean.shape[2])
        edges = np.zeros(shape, dtype=bool)
        edges[self._scaling.varies] = True
        return edges

    @property
    def latent_means_(self) -> FloatArray:
        """Mean of each latent variable in each class."""
        check_is_fitted(self)
        if self._hybrid is None:
            return super().latent_means_
        return np.array(self._hybrid.latent_mean[0])

    @property
    def latent_variances_(self) -> FloatArray:
        """Variance of each latent variable in each class."""
        check_is_fitted(self)
        if self._hybrid is None:
            return super().latent_variances_
        return np.array(self._hybrid.latent_variance[0])
