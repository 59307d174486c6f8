"""The fitted value of `AutoLatentClassifier`: several models with weights, which answer as one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.data._schema import Block, Table
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.estimator._average import Average
from latentclass.estimator._completion import improve_levels
from latentclass.estimator._fitted import FittedModel, Posterior, to_log_posterior


@dataclass(frozen=True, eq=False)
class Member:
    """One model of a weighted average, the temperature of its evidence, and its name."""

    name: str
    model: FittedModel
    temperature: float = 1.0


@dataclass(frozen=True, eq=False)
class WeightedModels(FittedModel):
    """P(class | x) and p(x) are weighted means of those of several models.

    All models know the same columns, categories and classes.

    Attributes
    ----------
    members : tuple of Member
    weights : array of shape (n_members,)
        They sum to 1.
    n_levels : array of shape (n_discrete,)
        Number of categories of each discrete column.
    """

    members: tuple[Member, ...]
    weights: FloatArray
    n_levels: IndexArray
    average: Average = field(init=False)
    class_prior: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        priors = np.stack([member.model.class_prior for member in self.members])
        object.__setattr__(self, "average", Average(priors, "posteriors", self.weights))
        object.__setattr__(self, "class_prior", self.average.class_prior)

    def spans(self, table: Table) -> list[slice]:
        """The smallest blocks that a member wants."""
        return max((member.model.spans(table) for member in self.members), key=len)

    # ---------------------------------------------------------------- answers

    def log_likelihood(self, block: Block) -> FloatArray:
        """See `FittedModel`."""
        posteriors, densities = [], []
        for member in self.members:
            evidence, log_prior = member.model.log_likelihood(block), member.model.log_prior
            posteriors.append(to_log_posterior(evidence, log_prior, member.temperature))
            densities.append(log_sum_exp(evidence + log_prior))
        ratio = self.average.log_ratio(np.stack(posteriors))
        return ratio + self.average.log_mean(np.stack(densities))[:, None]

    def sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        """Draw a model for each class code, and the row from it."""
        bounds = np.cumsum(self.average.shares, axis=0)[:, y]
        number = np.minimum((rng.random(len(y)) > bounds).sum(axis=0), len(self.members) - 1)
        numeric = codes = None
        for m, member in enumerate(self.members):
            rows = np.flatnonzero(number == m)
            drawn = member.model.sample_table(y[rows], rng)
            if numeric is None or codes is None:
                numeric = np.empty((len(y), drawn.numeric.shape[1]))
                codes = np.empty((len(y), drawn.codes.shape[1]), dtype=np.int32)
            numeric[rows], codes[rows] = drawn.numeric, drawn.codes
        assert numeric is not None
        assert codes is not None
        return Table(numeric, codes)

    def expected_cells(self, table: Table, posterior: Posterior, n_jobs: int | None) -> Table:  # noqa: ARG002
        """Means and most probable codes; a model counts by how probable it finds the row."""
        shares = self.member_shares(table, n_jobs)
        numeric = np.zeros(table.numeric.shape)
        for member, share in zip(self.members, shares.T, strict=True):
            # without the temperature, as in p(x): cells are completed by the density
            plain = replace(member, temperature=1.0)
            answer = member.model.expected_cells(table, _posterior_of(plain, n_jobs), n_jobs)
            numeric += share[:, None] * np.asarray(answer.numeric)
        codes = np.full(table.codes.shape, -1, dtype=np.int32)
        for place, chance in enumerate(self.level_chances(table, self.n_levels, n_jobs)):
            if chance.shape[1]:
                codes[:, place] = chance.argmax(axis=1)
        return Table(numeric, codes)

    def most_probable_cells(self, table: Table, n_jobs: int | None) -> Table:
        """The most probable for this average of the completions that its models find."""
        block = table.block(slice(None))
        best = np.full(table.n_rows, -np.inf)
        numeric, codes = block.numeric.copy(), block.codes.copy()
        for member in self.members:
            found = member.model.most_probable_cells(table, n_jobs)
            filled = Table(
                np.where(np.isnan(block.numeric), np.asarray(found.numeric), block.numeric),
                np.where(block.codes < 0, np.asarray(found.codes), block.codes),
            )
            height = (self.evidence(filled, n_jobs) + self.log_prior).max(axis=1)
            better = (height > best) | (member is self.members[0])
            numeric[better], codes[better] = filled.numeric[better], filled.codes[better]
            best[better] = height[better]
        filled = Table(numeric, codes)
        improve_levels(self, table, filled, self.n_levels, n_jobs)
        return filled

    def level_chances(
        self, table: Table, n_levels: IndexArray, n_jobs: int | None
    ) -> list[FloatArray]:
        """See `FittedModel`; each model counts by how probable it finds the row."""
        shares = self.member_shares(table, n_jobs)
        out = [np.zeros((table.n_rows, n)) for n in n_levels]
        for member, share in zip(self.members, shares.T, strict=True):
            chances = member.model.level_chances(table, n_levels, n_jobs)
            for total, chance in zip(out, chances, strict=True):
                total += share[:, None] * chance
        return out

    def latent(self, table: Table, posterior: Posterior, n_jobs: int | None) -> FloatArray:  # noqa: ARG002
        """The latent variables of all models side by side, each by its own posterior."""
        return np.hstack(
            [
                member.model.latent(table, _posterior_of(member, n_jobs), n_jobs)
                for member in self.members
            ]
        )

    def latent_names(self, labels: list[str], columns: list[str]) -> list[str]:
        """The names of each model, with the name of the model in front."""
        return [
            f"{member.name}_{name}"
            for member in self.members
            for name in member.model.latent_names(labels, columns)
        ]

    def member_shares(self, table: Table, n_jobs: int | None) -> FloatArray:
        """P(model | observed cells), shape (n_rows, n_members)."""
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        density = [member.model.log_density(table, n_jobs) for member in self.members]
        return np.exp(log_normalise(np.stack(density, axis=1) + log_weights))


def _posterior_of(member: Member, n_jobs: int | None) -> Posterior:
    model = member.model

    def posterior(table: Table) -> FloatArray:
        log_posterior = model.log_posterior(table, model.log_prior, member.temperature, n_jobs)
        return np.asarray(np.exp(log_posterior))

    return posterior
