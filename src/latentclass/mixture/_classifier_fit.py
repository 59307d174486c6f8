"""How a latent variable classifier is fitted: its search, and the choice of its size and kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.data._labels import UNLABELLED
from latentclass.data._schema import Schema, Table, block_spans
from latentclass.engine._content_folds import DistinctRows, assign_folds
from latentclass.engine._em import take_starts
from latentclass.engine._mixture_rows import MixtureRows
from latentclass.engine._product_mixture import flat_params
from latentclass.estimator._calibration import HeldOutRows
from latentclass.mixture._classifier_choice import Found, Recipe, fewest_components
from latentclass.mixture._classifier_em import ClassifierSearch
from latentclass.mixture._classifier_model import (
    Classifiers,
    LatentVariableModel,
    NaiveBayesClassifiers,
)
from latentclass.mixture._classifier_presets import PRESETS, FilledCoder, make_classifier
from latentclass.mixture._component_classifiers import (
    Coder,
    EstimatorSearch,
    FittedClassifiers,
    MatrixCoder,
)
from latentclass.mixture._component_refits import (
    refit_classifiers,
    stand_in_shares,
    weighted_losses,
)
from latentclass.mixture._plain_conversion import to_plain
from latentclass.mixture._searches import Chance, Rule, SearchResult, Step, run_search
from latentclass.naive_bayes._components import ProductComponents
from latentclass.naive_bayes._labelled_problem import observed_columns

N_VISITED = 25
"""Most models that `average` takes from those a search visited, in addition to the best."""

PATIENCE = 50
"""A start of "era" ends when its best objective has gained no more than `tol` in so many
iterations."""

N_FOLDS = 5
"""Number of folds when the number of components is chosen."""


MOST_COMPARED, LEAST_OF_CLASS = 5_000, 50
"""With more distinct rows than this, classifiers and numbers of components are compared on a sample
of so many, with at least so many rows of each class. The one that is chosen learns from all."""


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Distinct rows to learn from: as the engine and as classifiers see them, class codes."""

    data: MixtureRows
    table: Table
    y: IndexArray
    schema: Schema
    n_classes: int

    def take(self, keep: BoolArray, weight: FloatArray) -> LabelledRows:
        """Some of the rows, with other weights."""
        return replace(
            self,
            data=self.data.take(keep, weight),
            table=self.table.take(keep),
            y=self.y[keep],
        )

    def sample(self, most: int) -> LabelledRows:
        """About `most` of the rows, more of rare classes, with weights that add up to the same.

        The rows are in an order by content, so every k-th one of a class is as good as drawn.
        """
        weight = np.zeros(len(self.y))
        for k in np.unique(self.y):
            mine = np.flatnonzero(self.y == k)
            step = max(min(len(self.y) // most, len(mine) // LEAST_OF_CLASS), 1)
            chosen = mine[::step]
            weight[chosen] = self.data.weight[chosen]
            weight[chosen] *= self.data.weight[mine].sum() / weight[chosen].sum()
        keep = weight > 0
        return self.take(keep, weight[keep])


@dataclass(frozen=True, eq=False)
class ClassifierFit:
    """What all searches of a fit share.

    Fields without an explanation are as in `LatentVariableClassifier`.

    Attributes
    ----------
    estimator : str, classifier or None
    n_components : int or "auto"
    max_components : int
    rule : Rule
        How components are searched for.
    average : bool
    n_refits : int or None
        How often the classifiers are refitted after the search; None: in all its iterations.
    held_out : bool
        Whether cross-fitted probabilities of all rows are wanted, where there are any.
    n_init : int
    max_iter : int
    tol : float
    seed : int
    n_jobs : int or None
    """

    estimator: Any
    n_components: int | str
    max_components: int
    rule: Rule
    average: bool
    n_refits: int | None
    held_out: bool
    n_init: int
    max_iter: int
    tol: float
    seed: int
    n_jobs: int | None

    @property
    def _compares(self) -> bool:
        """Whether several fits are compared by their cross-fitted log-losses."""
        return "auto" in (self.n_components, self.estimator)

    def choose(
        self, rows: LabelledRows, distinct: DistinctRows, on_iteration: Step | None
    ) -> tuple[Found, dict[Any, float]]:
        """The fit that is kept, and the held-out log-losses of all that were tried."""
        if self.n_components == "auto" and self.n_refits is None:
            recipe, log_losses = self._choose_size(rows, distinct)
        elif self._compares and len(rows.y) > MOST_COMPARED:
            found, log_losses = self._compare(rows.sample(MOST_COMPARED), None)
            recipe = found.recipe
        else:
            return self._compare(rows, on_iteration)
        return self._search(rows, recipe, on_iteration), log_losses

    def _compare(
        self, rows: LabelledRows, on_iteration: Step | None
    ) -> tuple[Found, dict[Any, float]]:
        """The fit with the lowest cross-fitted log-loss, and the log-losses of all."""
        open_choice = isinstance(self.estimator, str) and self.estimator == "auto"
        most = self.max_components if self.n_components == "auto" else int(self.n_components)
        least = 1 if self.n_components == "auto" else most
        every = self._compares or (self.held_out and len(rows.y) <= MOST_COMPARED)
        tried: list[Found] = []
        losses: list[tuple[Recipe, FloatArray]] = []
        for estimator in PRESETS if open_choice else [self.estimator]:
            for k in range(least, most + 1):
                recipe = Recipe(estimator, k)
                tried.append(self._search(rows, recipe, on_iteration, every=every))
                if not self._compares:
                    return tried[0], {}
                assert tried[-1].held_out is not None
                loss = weighted_losses(tried[-1].held_out, rows.y, rows.data.weight)
                losses.append((recipe, loss))
                if k > least and loss.sum() >= losses[-2][1].sum():
                    break
        total = float(rows.data.weight[rows.y != UNLABELLED].sum())
        log_losses = {
            (recipe if open_choice else recipe.n_components): loss.sum() / total
            for recipe, loss in losses
        }
        return tried[fewest_components(losses)], log_losses

    def _choose_size(
        self, rows: LabelledRows, distinct: DistinctRows
    ) -> tuple[Recipe, dict[Any, float]]:
        """The number of components by the log-loss of held-out folds, and all log-losses."""
        parts = assign_folds(distinct, N_FOLDS, salt=1)
        y, weight = distinct.y, distinct.weight
        losses, log_losses = [], {}
        for n_components in range(1, self.max_components + 1):
            recipe = Recipe(self.estimator, n_components)
            loss, tested = np.zeros(len(weight)), np.zeros(len(weight))
            for part in range(N_FOLDS):
                test = parts.held(part, len(weight))
                test[y == UNLABELLED] = 0.0
                train = np.maximum(weight - test, 0.0)
                keep, asked = train > 1e-9 * weight, np.flatnonzero(test)
                if not asked.size or not np.any(y[keep] != UNLABELLED):
                    continue
                model = self._search(rows.take(keep, train[keep]), recipe, None).model
                held_out = rows.table.take(asked)
                log_proba = model.log_posterior(held_out, model.log_prior, 1.0, self.n_jobs)
                of_class = np.exp(log_proba)[np.arange(len(asked)), y[asked]]
                loss[asked] -= test[asked] * np.log(np.maximum(of_class, 1e-15))
                tested += test
            losses.append((recipe, loss))
            log_losses[n_components] = float(loss.sum() / max(tested.sum(), 1e-300))
        return losses[fewest_components(losses)][0], log_losses

    def _search(
        self,
        rows: LabelledRows,
        recipe: Recipe,
        on_iteration: Step | None,
        *,
        every: bool = False,
    ) -> Found:
        """The best start, and the model: the best found and those that it is averaged with.

        `every` asks for the cross-fitted probabilities of every row.
        """
        n_components = recipe.n_components
        n_starts = self.n_init if n_components > 1 else 1
        seeds = np.random.SeedSequence([self.seed, n_components]).spawn(n_starts)
        rngs = [np.random.default_rng(one) for one in seeds]
        data, y, n_classes = rows.data, rows.y, rows.n_classes
        width = len(rows.schema.columns) + n_starts * n_components * (n_classes + 1)
        mixture = data.problem(n_components, block_spans(len(y), width), self.n_jobs)
        naive = ClassifierSearch(data, y, n_classes, mixture, self.n_jobs)
        if recipe.estimator is None:
            return self._found(recipe, self._run(naive, rngs, on_iteration), rows, None)
        block, coder = rows.table.block(slice(None)), make_coder(recipe.estimator, rows)
        estimator, matrix = make_classifier(recipe.estimator), coder.matrix(block)
        plain = to_plain if isinstance(recipe.estimator, str) else None
        own = EstimatorSearch(data, matrix, y, n_classes, mixture, estimator, self.seed, plain)
        with coder.naming_holes(block):
            if self.n_refits is None:
                return self._found(recipe, self._run(own, rngs, on_iteration), rows, coder)
            found = self._run(naive, rngs, on_iteration).best
            share = stand_in_shares(naive, found.params)
            params, held_out = refit_classifiers(own, share, self.n_refits, every=every)
            objective = float(own.assign(params, Chance(True, 1.0, []))[1][0])
        best = replace(found, params=params)
        return Found(recipe, best, objective, fitted_model(params, rows, coder), held_out)

    def _run(
        self, problem: Any, rngs: list[np.random.Generator], on_iteration: Step | None
    ) -> SearchResult[Any]:
        """Search from all starts."""
        # with one component nothing is drawn, and the second step confirms the first
        alone = len(problem.mixture.known_rows) == 1 and not np.any(problem.y == UNLABELLED)
        max_iter = min(self.max_iter, 2) if alone else self.max_iter
        first, step = max_iter // 2, max((max_iter - max_iter // 2) // N_VISITED, 1)
        return run_search(
            problem,
            problem.starts(rngs),
            self.rule,
            tol=self.tol,
            max_iter=max_iter,
            rngs=rngs,
            # models for an average are visited at fixed iterations, and annealing has to cool
            patience=PATIENCE
            if self.rule.search == "era" and self.tol > 0 and not self.average
            else None,
            visit=(lambda i: i >= first and (i - first) % step == 0) if self.average else None,
            on_iteration=on_iteration,
        )

    def _found(
        self, recipe: Recipe, found: SearchResult[Any], rows: LabelledRows, coder: Coder | None
    ) -> Found:
        """The model of a search, and the models that it is averaged with."""
        winner = int(found.best.order[0])
        visited = [take_starts(one, slice(winner, winner + 1)) for one in found.visited]
        chosen = [found.best.params, *visited[:N_VISITED]]
        params = type(found.best.params)(*(np.concatenate(a) for a in zip(*chosen, strict=True)))
        model, objective = fitted_model(params, rows, coder), found.best.history[-1]
        return Found(recipe, found.best, objective, model)


def left_out_rows(found: Found, y: IndexArray, weight: FloatArray) -> HeldOutRows | None:
    """Cross-fitted evidence about the labelled rows; None if some of them lack it."""
    known = np.flatnonzero(y != UNLABELLED)
    if found.held_out is None or len(found.held_out) < len(y) or found.model.n_classes < 2:
        return None
    held_out = found.held_out[known]
    if np.isnan(held_out).any():
        return None
    log_prior = np.tile(found.model.log_prior, (len(known), 1))
    possible = np.isfinite(log_prior)
    with np.errstate(divide="ignore"):
        log_proba = np.log(held_out)
    evidence = np.subtract(log_proba, log_prior, out=np.zeros_like(log_prior), where=possible)
    return HeldOutRows(evidence, y[known], weight[known], log_prior)


def make_coder(estimator: Any, rows: LabelledRows) -> Coder:
    """What turns the rows into the matrix that a classifier, or one by name, takes."""
    if isinstance(estimator, str):
        return FilledCoder.of(rows.schema, rows.table, rows.data.weight)
    return MatrixCoder.of(rows.schema, estimator)


def fitted_model(params: Any, rows: LabelledRows, coder: Coder | None) -> LatentVariableModel:
    """The value of some models, given as starts of `ClassifierSearch` or `EstimatorSearch`."""
    layout, observed = rows.data.layout, observed_columns(rows.schema)
    classifiers: Classifiers
    if coder is None:
        within = ProductComponents(params.class_components, layout, observed)
        classifiers = NaiveBayesClassifiers(params.log_class, within)
    else:
        classifiers = FittedClassifiers(params.classifiers, coder)
    components = ProductComponents(flat_params(params.mixture), layout, observed)
    return LatentVariableModel(components, params.log_weight, classifiers)
