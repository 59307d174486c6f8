"""Verbs of a fitted latent variable classifier: prediction, density, samples, completion."""

from __future__ import annotations

from os import PathLike
from typing import Any, NoReturn

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray, IndexArray
from latentclass.data._schema import Block, Table
from latentclass.data._write import fill_missing
from latentclass.engine import _product as product
from latentclass.engine._logspace import log_normalise, log_sum_exp, split_log
from latentclass.engine._product_mixture import flat_params
from latentclass.mixture._classifier_em import log_component, log_conditional
from latentclass.mixture._component_classifiers import naming_holes, to_matrix
from latentclass.naive_bayes._legacy_naive_bayes import NaiveBayes

ROUNDS, BATCH = 60, 4096
"""`sample` draws so many rows at a time, and after so many rounds looks which classes are rare."""

RARE, RESAMPLED = 16, 256
"""A class with fewer rows a round is rare; of each further round it gets so many, by importance."""

SWEEPS, STEPS = 20, (1.0, 0.3, 0.1, 0.03, 0.01)
"""Most rounds of the search for the most probable cells, and steps in standard deviations."""


class LatentVariableVerbs(NaiveBayes):
    """What a fitted latent variable classifier answers; fitting is left to the subclass.

    `_models` has the parameters of the models that predictions are the mean of, the best one first,
    as starts of `ClassifierSearch` or `EstimatorSearch`; `_estimator` is None for naive Bayes.
    """

    _models: Any
    _estimator: Any

    def _set_models(self, models: Any) -> None:
        """Keep the fitted models, the best one first, and its components by size."""
        order = np.argsort(-models.log_weight[0], kind="stable")
        self.n_models_, self.n_components_ = models.log_weight.shape
        self._models, self._order = models, order
        self._params = flat_params(models.mixture)
        shares = np.exp(models.log_weight)[:, :, None] * self._model_shares()
        self.class_prior_ = shares.sum(axis=1).mean(axis=0)
        self.class_prior_ /= self.class_prior_.sum()

    def _model_shares(self) -> FloatArray:
        """P(y | c) of all models, shape (n_models, n_components, n_classes)."""
        if self._estimator is None:
            return np.asarray(np.exp(self._models.log_class))
        shares = [[one.shares for one in row] for row in self._models.classifiers]
        return np.asarray(shares)

    # ------------------------------------------------------------- attributes

    @property
    def component_weights_(self) -> FloatArray:
        """P(c)."""
        check_is_fitted(self)
        return np.asarray(np.exp(self._models.log_weight[0, self._order]))

    @property
    def class_shares_(self) -> FloatArray:
        """P(y | c)."""
        check_is_fitted(self)
        return np.asarray(self._model_shares()[0, self._order])

    @property
    def means_(self) -> FloatArray:
        """Mean of each continuous column in each component."""
        return np.asarray(super().means_[self._order])

    @property
    def scales_(self) -> FloatArray:
        """Standard deviation of each continuous column in each component."""
        return np.asarray(super().scales_[self._order])

    @property
    def probabilities_(self) -> dict[str, FloatArray]:
        """Probability of each category in each component, by column name."""
        return {name: table[self._order] for name, table in super().probabilities_.items()}

    def to_bif(self, path: str | PathLike[str] | None = None) -> NoReturn:
        """Refuse: P(y | c, x) has no tables that the BIF format could hold."""
        del path
        raise NotImplementedError(
            "A latent variable classifier is no Bayesian network of tables. "
            "FiniteMixtureNaiveBayes is one, with a hidden variable too."
        )

    # ------------------------------------------------------------------ hooks

    def _component_joint(self, block: Block) -> FloatArray:
        """log P(c) P(x | c), shape (n_rows, n_models, n_components)."""
        rows = product.to_rows(*block, self._layout)
        return log_component(self._models.mixture, rows, self._layout)

    def _given(self, block: Block) -> FloatArray:
        """log P(y | c, x), shape (n_rows, n_models, n_components, n_classes)."""
        if self._estimator is None:
            rows = product.to_rows(*block, self._layout)
            return log_conditional(self._models, rows, self._layout)
        matrix = to_matrix(block, self.schema_, self._estimator)
        out = np.empty((len(matrix), *self._models.log_weight.shape, len(self.classes_)))
        with naming_holes(block, self.schema_, self._estimator):
            for place, classifier in np.ndenumerate(self._models.classifiers):
                out[(slice(None), *place)] = classifier.log_proba(matrix)
        return out

    def _log_likelihood(self, block: Block) -> FloatArray:
        log_share, density = split_log(self._component_joint(block))
        mixed = log_share[..., None] + self._given(block)
        posterior = log_sum_exp(np.moveaxis(mixed, 2, -1))  # (rows, models, classes)
        log_mean = log_sum_exp(np.moveaxis(posterior, 1, -1)) - np.log(self.n_models_)
        size = log_sum_exp(density) - np.log(self.n_models_)
        with np.errstate(divide="ignore", invalid="ignore"):
            evidence = log_mean - np.log(self.class_prior_)
        # of a class without rows nothing is known
        evidence[:, self.class_prior_ == 0] = 0.0
        return np.asarray(evidence + size[:, None])

    def score_samples(self, X: Any) -> FloatArray:
        """log p(x) of the observed cells: low for rows unlike those seen in `fit`."""

        def visit(block: Block) -> FloatArray:
            joint = self._component_joint(block)
            return np.asarray(log_sum_exp(joint.reshape(len(joint), -1)) - np.log(self.n_models_))

        return self._by_block(visit, self._read(X))

    def complete(self, X: Any, how: str = "expected") -> Any:
        """Fill the missing cells of a table from what the model knows; see `NaiveBayes`.

        "expected" is by the components alone, which know all columns: so it works with any
        `estimator`.
        """
        if how != "expected":
            return super().complete(X, how)
        filled = self._expected_cells(self._read(X), np.empty((0, 0)))
        return fill_missing(X, self.schema_, filled, owner=type(self).__name__)

    def _component_posterior(self, table: Table) -> FloatArray:
        """P(model, c | x), shape (n_rows, n_models * n_components)."""

        def visit(block: Block) -> FloatArray:
            joint = self._component_joint(block)
            return np.exp(log_normalise(joint.reshape(len(joint), -1)))

        return self._by_block(visit, table)

    def _latent(self, table: Table) -> FloatArray:
        def visit(block: Block) -> FloatArray:
            return np.exp(log_normalise(self._component_joint(block)[:, 0]))

        return np.asarray(self._by_block(visit, table)[:, self._order])

    def _latent_names(self) -> list[str]:
        return [str(c) for c in range(self.n_components_)]

    def _sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        """Draw (c, x) from the mixture, and keep a row with probability P(y | c, x)."""
        numeric = np.full((len(y), len(self.schema_.continuous)), np.nan)
        codes = np.full((len(y), len(self.schema_.discrete)), -1, dtype=np.int32)
        weight = np.exp(self._models.log_weight).reshape(-1) / self.n_models_
        lacking = {int(k): np.flatnonzero(y == k) for k in np.unique(y)}
        kept, turn = dict.fromkeys(lacking, 0), 0
        while lacking:
            turn += 1
            component = rng.choice(len(weight), size=BATCH, p=weight / weight.sum())
            drawn = super()._sample_table(component, rng)
            given = self._given(drawn.block(slice(None)))
            given = given.reshape(BATCH, len(weight), -1)[np.arange(BATCH), component]
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

    def _expected_cells(self, table: Table, posterior: FloatArray) -> Table:
        del posterior  # of the classes: the components' own is what completion needs
        return super()._expected_cells(table, self._component_posterior(table))

    def _most_probable_cells(self, table: Table) -> Table:
        # The best completion has no closed form: it is looked for from the modes of each
        # component, one cell at a time, and a round never makes a completion worse.
        numeric, codes = table.block(slice(None))
        hidden = np.flatnonzero(np.isnan(numeric).any(axis=1) | (codes < 0).any(axis=1))
        filled = Block(numeric.copy(), codes.copy())
        if not hidden.size:
            return Table(*filled)
        rows = Block(numeric[hidden], codes[hidden])
        best = np.full(len(hidden), -np.inf)
        for c in range(self.n_components_):
            found, height = self._climb(rows, c)
            better = height > best
            best[better] = height[better]
            filled.numeric[hidden[better]] = found.numeric[better]
            filled.codes[hidden[better]] = found.codes[better]
        return Table(*filled)

    def _height(self, block: Block) -> FloatArray:
        """log p(x, y) of each row's best class."""
        with np.errstate(divide="ignore"):
            return np.asarray((self._log_likelihood(block) + np.log(self.class_prior_)).max(axis=1))

    def _climb(self, rows: Block, component: int) -> tuple[Block, FloatArray]:
        """Cells of the highest density that is found from one component, and its log."""
        centres, widths = self._centres(), self._widths()
        levels = self._level_log_probs()
        no_number, no_code = np.isnan(rows.numeric), rows.codes < 0
        observed = np.array([self.schema_.columns[j].observed for j in self.schema_.continuous])
        no_number &= observed.astype(bool)
        numeric = np.where(no_number, centres[component], rows.numeric)
        codes = rows.codes.copy()
        for place, log_prob in enumerate(levels):
            if log_prob.shape[1]:
                codes[no_code[:, place], place] = log_prob[component].argmax()
        height = self._height(Block(numeric, codes))

        def attempt(mask: Any, j: int, value: Any, *, number: bool) -> bool:
            trial = Block(numeric.copy(), codes.copy())
            (trial.numeric if number else trial.codes)[mask, j] = value
            new = self._height(trial)
            better = mask & (new > height + 1e-12 * np.abs(height))
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
