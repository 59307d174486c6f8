"""How a latent mixture is fitted: the search for components, and the choice of their number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from latentclass._types import FloatArray
from latentclass.data._schema import Schema, block_spans
from latentclass.engine import _product as product
from latentclass.engine._content_folds import DistinctRows, assign_folds
from latentclass.engine._em import EMResult, Problem, run_restarts
from latentclass.engine._mixture_rows import MixtureRows
from latentclass.engine._product_mixture import MixtureParams, MixtureStats
from latentclass.mixture._compiled_em import suit_size
from latentclass.mixture._hard_assignment import MixtureSearch
from latentclass.mixture._searches import Rule, Step, collapsed, run_search
from latentclass.mixture._sizes import fewest_of_the_best
from latentclass.naive_bayes._components import ProductComponents
from latentclass.naive_bayes._finite_mixture_model import FiniteMixtureModel
from latentclass.naive_bayes._labelled_problem import observed_columns


@dataclass(frozen=True, eq=False)
class MixtureFit:
    """What all searches of a fit share. Fields without an explanation are as in `LatentMixture`.

    Attributes
    ----------
    rule : Rule
        How components are searched for.
    criterion : {"bic", "aic", "cv"}
    n_folds : int
    polish : bool
    n_init : int
    drop_starts : bool
    max_iter : int
    tol : float
    accelerate : bool
    n_jobs : int or None
    new_seed : callable
        Gives the seed of each search.
    """

    rule: Rule
    criterion: str
    n_folds: int
    polish: bool
    n_init: int
    drop_starts: bool
    max_iter: int
    tol: float
    accelerate: bool
    n_jobs: int | None
    new_seed: Callable[[], int]

    def choose(
        self, data: MixtureRows, rows: DistinctRows, numbers: list[int], on_iteration: Step | None
    ) -> tuple[EMResult[MixtureParams], dict[int, float]]:
        """The best mixture, and the value of the criterion for each number of components."""
        tried = {k: self.search(data, k, on_iteration) for k in numbers}
        if len(numbers) == 1:
            return tried[numbers[0]], {}
        criteria = {k: self._criterion(tried[k], data, rows, k) for k in numbers}
        return tried[fewest_of_the_best(criteria)], criteria

    def search(
        self, data: MixtureRows, n_components: int, on_iteration: Step | None
    ) -> EMResult[MixtureParams]:
        """The best mixture with this number of components that was found."""
        n_starts = self.n_init if n_components > 1 else 1
        seeds = np.random.SeedSequence(self.new_seed()).spawn(n_starts)
        rngs = [np.random.default_rng(seed) for seed in seeds]
        width = sum(array.shape[1] for array in data.rows) + n_starts * n_components
        spans = block_spans(len(data.weight), width)
        problem = data.problem(n_components, spans, self.n_jobs)
        starts = data.starts(problem, rngs)
        if self.rule.search == "em" or n_components == 1:
            return self.climb(suit_size(problem, starts), data.prior, starts, rngs, on_iteration)
        found = run_search(
            MixtureSearch(problem),
            starts,
            self.rule,
            tol=self.tol,
            max_iter=self.max_iter,
            rngs=rngs,
            on_iteration=on_iteration,
        ).best
        if not self.polish:
            return found
        best = found.params
        polished = self.climb(suit_size(problem, best), data.prior, best, rngs[:1], on_iteration)
        if np.any(collapsed(polished.params, problem.prior)):
            return found
        return replace(
            found,
            params=polished.params,
            history=found.history + polished.history[1:],
            n_iter=found.n_iter + polished.n_iter - 1,
            converged=polished.converged,
        )

    def climb(
        self,
        problem: Problem[MixtureParams, MixtureStats],
        prior: product.Prior,
        starts: MixtureParams,
        rngs: list[np.random.Generator],
        on_iteration: Step | None,
    ) -> EMResult[MixtureParams]:
        """EM from the starts."""

        def spread_out(params: MixtureParams) -> FloatArray:
            return np.asarray(-1.0 * collapsed(params, prior).any(axis=1))

        return run_restarts(
            problem,
            starts,
            tol=self.tol,
            max_iter=self.max_iter,
            rngs=rngs,
            halving=self.drop_starts,
            accelerate=self.accelerate and starts.log_weight.shape[1] > 1,
            score=spread_out if prior.strength == 0 else None,
            on_iteration=on_iteration,
        )

    def _criterion(
        self, found: EMResult[MixtureParams], data: MixtureRows, rows: DistinctRows, k: int
    ) -> float:
        """The value of `criterion`; lower is better."""
        if self.criterion != "cv":
            log_likelihood = data.weight @ data.log_density(found.params)
            price = 2.0 if self.criterion == "aic" else np.log(data.weight.sum())
            return float(-2.0 * log_likelihood + price * count_parameters(data, k))
        parts = assign_folds(rows, self.n_folds, salt=1)
        total = 0.0
        for part in range(parts.n_parts):
            test = parts.held(part, len(rows.weight))
            train = np.maximum(rows.weight - test, 0.0)
            keep = train > 1e-9 * rows.weight
            if keep.any() and test.any():
                fold = data.take(keep, train[keep])
                params = self.search(fold, k, None).params
                total += float(test @ data.log_density(params))
        return -2.0 * total


def fitted_mixture(
    found: EMResult[MixtureParams], data: MixtureRows, schema: Schema
) -> FiniteMixtureModel:
    """The mixture, its components sorted by their weight."""
    order = np.argsort(-found.params.log_weight[0], kind="stable")
    log_weight, *arrays = (array[0, order] for array in found.params)
    components = ProductComponents(product.Params(*arrays), data.layout, observed_columns(schema))
    return FiniteMixtureModel(np.ones(1), components, log_weight[None])


def count_parameters(data: MixtureRows, n_components: int) -> int:
    """Free parameters of a mixture; a column that never varies has none."""
    return n_components - 1 + n_components * data.n_parameters_each
