"""Fits of naive Bayes along axes: one function for each way to find the axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine._class_components import ClassComponents, ComponentData, column_ranks
from latentclass.engine._em import EMResult, Problem, run_restarts
from latentclass.lcm._em import LCMParams, LCMProblem, log_prior
from latentclass.lcm._em import Prior as LCMPrior
from latentclass.naive_bayes import _projection as projection

P = TypeVar("P", bound=tuple[Any, ...])


class Found(NamedTuple):
    """Axes, the classes along them, the EM that found the axes, and BIC by what was tried."""

    projection: projection.Projection
    components: ClassComponents
    result: EMResult[Any]
    bic: dict[int, float]


@dataclass(frozen=True, eq=False)
class AxesFit:
    """What all ways to find axes share.

    Attributes
    ----------
    data : ComponentData
    strength : float
        Pseudo-rows of the prior; 0 is maximum likelihood.
    alpha : float
        Pseudo-count of every category.
    max_components : int
    tol : float
    max_iter : int
    drop_starts : bool
    on_iteration : callable or None
    """

    data: ComponentData
    strength: float
    alpha: float
    max_components: int
    tol: float
    max_iter: int
    drop_starts: bool
    on_iteration: Callable[[int, float], bool] | None

    def run(
        self,
        problem: Problem[P, Any],
        starts: P,
        *,
        hidden: bool = True,
        rngs: list[np.random.Generator] | None = None,
        accelerate: bool = False,
    ) -> EMResult[P]:
        """EM, or the one step that confirms the estimate where nothing is hidden."""
        return run_restarts(
            problem,
            starts,
            tol=self.tol,
            max_iter=self.max_iter if hidden else 2,
            rngs=[] if rngs is None else rngs,
            halving=self.drop_starts,
            accelerate=accelerate,
            on_iteration=self.on_iteration if hidden else None,
        )

    def project(self, axes: projection.Projection) -> ClassComponents:
        """Classes that are independent along the axes."""
        return projection.project(self.data, axes, strength=self.strength, alpha=self.alpha)


def fit_overall(fit: AxesFit) -> EMResult[projection.FullParams]:
    """One Gaussian of all rows, by maximum likelihood: the prior draws towards it."""
    pooled = projection.pool_classes(fit.data, one_component=True)
    problem = projection.FullProblem(pooled, 1, 0.0, np.eye(fit.data.n_columns))
    return fit.run(problem, problem.start(), hidden=bool(pooled.groups))


def fit_principal(
    fit: AxesFit, overall: EMResult[projection.FullParams], *, leading: bool
) -> Found:
    """Principal axes of all rows."""
    mean, covariance = _first(overall.params)
    axes = projection.principal_axes(np.zeros(1), mean[None], covariance[None], leading=leading)
    return Found(axes, fit.project(axes), overall, {})


def fit_classes(fit: AxesFit, overall: EMResult[projection.FullParams]) -> Found:
    """Principal axes of each class: a full Gaussian each; the start knows labelled rows only."""
    data = fit.data
    problem = projection.FullProblem(data, 1, fit.strength, _first(overall.params)[1], fit.alpha)
    start = problem.start(projection.labelled_rows(data))
    result = fit.run(problem, start, hidden=bool(data.groups))
    params = result.params
    axes = projection.principal_axes(
        params.log_weight[0, :, 0], params.mean[0, :, 0], params.covariance[0, :, 0]
    )
    return Found(axes, projection.to_components(params), result, {})


def fit_factors(fit: AxesFit, overall: EMResult[projection.FullParams]) -> Found:
    """Factor analysis by maximum likelihood, the number of factors by BIC."""
    mean, covariance = _first(overall.params)
    n = len(mean)
    pooled = projection.pool_classes(fit.data, one_component=True)
    most = min(fit.max_components, projection.most_factors(n))

    def fit_number(n_factors: int) -> tuple[EMResult[LCMParams], float, int]:
        # the latent scale is free, so a prior on it alone takes nothing from the likelihood
        prior = LCMPrior(latent=float(pooled.total_weight[0]))
        problem = LCMProblem(pooled, 1, n_factors, True, prior)
        start = projection.factor_start(mean, covariance, n_factors)
        # plain EM creeps towards small noise
        result = fit.run(problem, start, accelerate=True)
        log_likelihood = result.history[-1] * pooled.total_weight[0]
        log_likelihood -= log_prior(result.params, prior)[0]
        return result, log_likelihood, projection.count_factors(n_factors, n)

    result, bic = _choose(fit_number, range(1, most + 1), pooled)
    axes = projection.factor_axes(result.params)
    return Found(axes, fit.project(axes), result, bic)


def fit_clusters(
    fit: AxesFit, overall: EMResult[projection.FullParams], seed: int, n_init: int
) -> Found:
    """Principal axes of each component of a mixture, the number of components by BIC."""
    mean, covariance = _first(overall.params)
    pooled = projection.pool_classes(fit.data, one_component=False)
    ranks = column_ranks(fit.data)[0]

    def fit_number(n_components: int) -> tuple[EMResult[projection.FullParams], float, int]:
        n_parameters = projection.count_full(n_components, len(mean))
        if n_components == 1:
            return overall, overall.history[-1] * pooled.total_weight[0], n_parameters
        problem = projection.FullProblem(pooled, n_components, fit.strength, covariance)
        sequence = np.random.SeedSequence([seed, n_components])
        rngs = [np.random.default_rng(s) for s in sequence.spawn(n_init)]
        starts = projection.cluster_starts(mean, covariance, ranks, n_components, rngs)
        result = fit.run(problem, starts, rngs=rngs)
        components = projection.to_components(result.params)
        objective = result.history[-1] * pooled.total_weight[0]
        log_likelihood = float(objective - problem.log_prior(components)[0])
        if fit.strength == 0 and projection.is_singular(result.params.covariance):
            log_likelihood = -np.inf
        return result, log_likelihood, n_parameters

    result, bic = _choose(fit_number, range(1, fit.max_components + 1), pooled)
    params = result.params
    axes = projection.principal_axes(
        params.log_weight[0, 0], params.mean[0, 0], params.covariance[0, 0]
    )
    return Found(axes, fit.project(axes), result, bic)


def _first(params: projection.FullParams) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the only Gaussian."""
    return params.mean[0, 0, 0], params.covariance[0, 0, 0]


def _choose(
    fit_number: Callable[[int], tuple[EMResult[P], float, int]],
    numbers: Iterable[int],
    data: ComponentData,
) -> tuple[EMResult[P], dict[int, float]]:
    """The fit of highest BIC, the smallest of equals, and the BIC of all."""
    half_log_rows = 0.5 * np.log(data.total_weight[0])
    results: dict[int, EMResult[P]] = {}
    bic: dict[int, float] = {}
    for number in numbers:
        results[number], log_likelihood, n_parameters = fit_number(number)
        bic[number] = float(log_likelihood - half_log_rows * n_parameters)
    return results[max(bic, key=lambda number: bic[number])], bic
