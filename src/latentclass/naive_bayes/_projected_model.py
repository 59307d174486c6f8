"""The fitted naive Bayes along axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latentclass._types import FloatArray
from latentclass.estimator._fitted import check_no_nan, check_shape
from latentclass.estimator._gaussian_model import GaussianModel
from latentclass.naive_bayes._projection import Projection


@dataclass(frozen=True, eq=False)
class ProjectedModel(GaussianModel):
    """Classes that are Gaussian along axes, and the axes.

    Attributes
    ----------
    projection : Projection
    """

    projection: Projection

    def __post_init__(self) -> None:
        super().__post_init__()
        n = self.scaling.n_varying
        check_shape("mean of the axes", self.projection.mean, (None, n))
        check_shape("matrix of the axes", self.projection.matrix, (None, n, n))
        check_no_nan("matrix of the axes", self.projection.matrix)

    @property
    def axes(self) -> FloatArray:
        """Coefficients of the coordinates in the columns' own units."""
        projection, scaling = self.projection, self.scaling
        out = np.zeros((len(projection.mean), projection.n_axes, len(scaling.unit)))
        out[:, :, scaling.varies] = projection.matrix[:, : projection.n_axes] / scaling.varying_unit
        return out

    @property
    def centres(self) -> FloatArray:
        """Where all coordinates are 0, in the columns' own units."""
        return self.scaling.restore(self.projection.mean)
