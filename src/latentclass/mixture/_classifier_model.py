"""The fitted latent variable classifier: a mixture, and a classifier in each component."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.data._schema import Block, Table
from latentclass.engine._logspace import log_normalise, log_sum_exp, split_log
from latentclass.estimator._average import Average, log_mean
from latentclass.estimator._fitted import (
    FittedModel,
    Posterior,
    check_distribution,
    check_no_nan,
    check_shape,
)
from latentclass.estimator._latent_names import Names, check_latent_names
from latentclass.mixture._classifier_em import log_class_posterior
from latentclass.naive_bayes._components import ProductComponents

ROUNDS, BATCH = 60, 4096
"""`sample_table` draws `BATCH` rows per round, and looks for rare classes after `ROUNDS` rounds."""

RARE, RESAMPLED = 16, 256
"""A class is rare if it gets fewer than `RARE` rows per round. Then each further round draws up to
`RESAMPLED` rows of it by importance."""

SWEEPS, STEPS = 20, (1.0, 0.3, 0.1, 0.03, 0.01)
"""Most rounds of the search for the most probable cells, and its steps in standard deviations."""


class Classifiers(Protocol):
    """Fitted classifiers of all components of all models."""

    @property
    def shares(self) -> FloatArray:
        """P(y | c), shape (n_models, n_components, n_classes)."""

    def log_conditional(self, block: Block) -> FloatArray:
        """log P(y | c, x), shape (n_rows, n_models, n_components, n_classes)."""


@dataclass(frozen=True, eq=False)
class NaiveBayesClassifiers:
    """Naive Bayes in each component.

    Attributes
    ----------
    log_class : array of shape (n_models, n_components, n_classes)
        log P(y | c).
    components : ProductComponents
        P(x_j | c, y), one for each model, component and class.
    """

    log_class: FloatArray
    components: ProductComponents

    def __post_init__(self) -> None:
        check_shape("log_class", self.log_class, (None, None, None))
        check_no_nan("log_class", self.log_class)
        check_shape("class means", self.components.params.mean, (self.log_class.size, None))

    @property
    def shares(self) -> FloatArray:
        """P(y | c), shape (n_models, n_components, n_classes)."""
        return np.exp(self.log_class)

    def log_conditional(self, block: Block) -> FloatArray:
        """log P(y | c, x), shape (n_rows, n_models, n_components, n_classes)."""
        return log_class_posterior(self.components.log_density(block), self.log_class)


@dataclass(frozen=True, eq=False)
class LatentVariableModel(FittedModel):
    """One or several latent variable classifiers, the best first, averaged by their posteriors.

        P(y | x) = sum_c P(c | x) P(y | c, x)

    (Davidson 2004, equation 3, with weights P(c | x).)

    Attributes
    ----------
    components : ProductComponents
        P(x | c), one for each model and component.
    log_weight : array of shape (n_models, n_components)
        log P(c).
    classifiers : Classifiers
        P(y | c, x).
    names : tuple of tuple of str
        Names of the components of the best model, by size, in one group; empty if none were given.
    average : Average
        How the models are averaged.
    class_prior : array of shape (n_classes,)
    """

    components: ProductComponents
    log_weight: FloatArray
    classifiers: Classifiers
    names: Names = ()
    average: Average = field(init=False)
    class_prior: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        check_shape("log_weight", self.log_weight, (None, None))
        check_no_nan("log_weight", self.log_weight)
        check_distribution("weights of the components", np.exp(self.log_weight))
        check_shape("mean", self.components.params.mean, (self.log_weight.size, None))
        check_latent_names(self.names, self.n_components)
        shares = self.classifiers.shares
        check_shape("class shares", shares, (*self.log_weight.shape, None))
        check_distribution("class shares", shares)
        priors = (np.exp(self.log_weight)[:, :, None] * shares).sum(axis=1)
        priors /= priors.sum() / len(priors)
        object.__setattr__(self, "average", Average(priors, "posteriors"))
        object.__setattr__(self, "class_prior", self.average.class_prior)

    @property
    def n_components(self) -> int:
        """Number of components of each model."""
        return int(self.log_weight.shape[1])

    @property
    def order(self) -> IndexArray:
        """Components of the best model, the largest first."""
        return np.argsort(-self.log_weight[0], kind="stable")

    # ---------------------------------------------------------------- answers

    def log_likelihood(self, block: Block) -> FloatArray:
        """log p(observed cells | class)."""
        log_share, density = split_log(self._log_joint(block))
        mixed = log_share[..., None] + self.classifiers.log_conditional(block)
        posterior = log_sum_exp(np.moveaxis(mixed, 2, -1))  # (rows, models, classes)
        ratio = self.average.log_ratio(np.moveaxis(posterior, 1, 0))
        return ratio + log_mean(density.T)[:, None]

    def _log_joint(self, block: Block) -> FloatArray:
        """log P(c) P(x | c), shape (n_rows, n_models, n_components)."""
        log_density = self.components.log_density(block)
        return log_density.reshape(len(log_density), *self.log_weight.shape) + self.log_weight

    def log_density(self, table: Table, n_jobs: int | None) -> FloatArray:
        """log p(observed cells): by the components alone, so any classifier will do."""

        def visit(block: Block) -> FloatArray:
            joint = self._log_joint(block).reshape(-1, self.log_weight.size)
            return np.asarray(log_sum_exp(joint) - np.log(self.average.n_models))

        return self.by_block(visit, table, n_jobs)

    def latent(self, table: Table, posterior: Posterior, n_jobs: int | None) -> FloatArray:
        """P(c | x) of the best model, its components by size."""
        del posterior  # of the classes

        return np.asarray(self.by_block(self._component_shares, table, n_jobs))

    def _component_shares(self, block: Block) -> FloatArray:
        share = np.exp(log_normalise(self._log_joint(block)[:, 0]))
        return np.asarray(share[:, self.order])

    def hidden_states(self, table: Table) -> list[tuple[FloatArray, FloatArray]]:
        """See `FittedModel`: the components."""
        return [(np.ones(table.n_rows), self._component_shares(table.block(slice(None))))]

    def latent_names(self, labels: list[str], columns: list[str]) -> list[str]:
        """Names of the components."""
        del labels
        return list(self.named(columns)[0])

    def named(self, _columns: list[str]) -> Names:
        """Names of the components: those that were given, or numbers."""
        return self.names or (tuple(map(str, range(self.n_components))),)

    def sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        """Draw (c, x) from the mixture, and keep a row with probability P(y | c, x)."""
        layout, n_all = self.components.layout, self.log_weight.size
        numeric = np.full((len(y), len(layout.centre)), np.nan)
        codes = np.full((len(y), len(layout.offsets) - 1), -1, dtype=np.int32)
        weight = np.exp(self.log_weight).reshape(-1) / self.average.n_models
        lacking = {int(k): np.flatnonzero(y == k) for k in np.unique(y)}
        kept, turn = dict.fromkeys(lacking, 0), 0
        while lacking:
            turn += 1
            component = rng.choice(n_all, size=BATCH, p=weight / weight.sum())
            drawn = self.components.sample_table(component, rng)
            given = self.classifiers.log_conditional(drawn.block(slice(None)))
            given = given.reshape(BATCH, n_all, -1)[np.arange(BATCH), component]
            chance = rng.random(BATCH)
            edges = np.cumsum(np.exp(given), axis=1)[:, :-1]
            found = (chance[:, None] >= edges).sum(axis=1)
            for k, places in list(lacking.items()):
                own = np.flatnonzero(found == k)[: len(places)]
                kept[k] += len(own)
                if turn > ROUNDS and kept[k] < RARE * turn:  # rows by how probable k is for them
                    share = np.exp(log_normalise(given[:, k]))
                    size = min(len(places), RESAMPLED)
                    own = rng.choice(BATCH, size=size, p=share / share.sum())
                numeric[places[: len(own)]] = drawn.numeric[own]
                codes[places[: len(own)]] = drawn.codes[own]
                lacking[k] = places[len(own) :]
                if not lacking[k].size:
                    del lacking[k]
        return Table(numeric, codes)

    def expected_cells(self, table: Table, posterior: Posterior, n_jobs: int | None) -> Table:
        """Mean or most probable code of every cell: by the components, which know all columns."""
        del posterior  # of the classes

        def visit(block: Block) -> FloatArray:
            return np.exp(log_normalise(self._log_joint(block).reshape(-1, self.log_weight.size)))

        return self.components.expected_cells(self.by_block(visit, table, n_jobs))

    def most_probable_cells(self, table: Table, n_jobs: int | None) -> Table:
        """The most probable completion that is found.

        The best completion has no closed form. It is searched for from the modes of each component,
        one cell at a time, and a round of the search never makes a completion worse.
        """
        del n_jobs  # all rows with missing cells are moved together
        numeric, codes = table.block(slice(None))
        hidden = np.flatnonzero(np.isnan(numeric).any(axis=1) | (codes < 0).any(axis=1))
        filled = Block(numeric.copy(), codes.copy())
        if not hidden.size:
            return Table(*filled)
        rows = Block(numeric[hidden], codes[hidden])
        best = np.full(len(hidden), -np.inf)
        for c in range(self.n_components):
            found, height = self._climb(rows, c)
            better = height > best
            best[better] = height[better]
            filled.numeric[hidden[better]] = found.numeric[better]
            filled.codes[hidden[better]] = found.codes[better]
        return Table(*filled)

    def _height(self, block: Block) -> FloatArray:
        """log p(x, y) of the best class of each row."""
        return np.asarray((self.log_likelihood(block) + self.log_prior).max(axis=1))

    def _climb(self, rows: Block, component: int) -> tuple[Block, FloatArray]:
        """Cells of the highest density that is found from one component, and its log."""
        widths, levels = self.components.widths, self.components.level_log_probs
        no_number, no_code = np.isnan(rows.numeric) & self.components.observed, rows.codes < 0
        numeric, codes = self.components.fill_with_modes(rows, component)
        height = self._height(Block(numeric, codes))

        def attempt(mask: Any, j: int, value: Any, *, number: bool) -> bool:
            trial = Block(numeric.copy(), codes.copy())
            (trial.numeric if number else trial.codes)[mask, j] = value
            new = self._height(trial)
            rounding = np.where(np.isneginf(height), 0.0, 1e-12 * np.abs(height))
            better = mask & (new > height + rounding)
            numeric[better], codes[better] = trial.numeric[better], trial.codes[better]
            height[better] = new[better]
            return bool(better.any())

        for _ in range(SWEEPS):
            moved = False
            for place, log_prob in enumerate(levels):
                mask = no_code[:, place]
                if mask.any():
                    for level in range(log_prob.shape[1]):
                        moved |= attempt(mask, place, level, number=False)
            for j in range(numeric.shape[1]):
                mask = no_number[:, j]
                if mask.any():
                    for step in STEPS:
                        for side in (-1.0, 1.0):
                            value = numeric[mask, j] + side * step * widths[:, j].mean()
                            moved |= attempt(mask, j, value, number=True)
            if not moved:
                break
        return Block(numeric, codes), height
