"""The fitted latent classification model, and what such models show of themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.data._schema import Table
from latentclass.engine import _factored as factored
from latentclass.engine._class_components import (
    VALUE_LIMIT,
    ClassComponents,
    add_full,
    flatten_components,
)
from latentclass.engine._em import take_starts
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.engine._parallel import map_blocks
from latentclass.estimator._fitted import FittedModel, Posterior, check_no_nan, check_shape
from latentclass.estimator._gaussian_model import GaussianModel, Scaling, joint_parts
from latentclass.estimator._latent_names import Names, check_latent_names
from latentclass.lcm._em import LCMParams, to_components
from latentclass.lcm._rival import Solution
from latentclass.lcm._stick_breaking import Question


def add_label_noise(evidence: FloatArray, log_prior: FloatArray, noise: float) -> FloatArray:
    """log p(x | class) if a share of the labels is drawn at random, whatever the row holds.

    The density of such rows is p(x) in every class. So the posterior is (1 - noise) P(y | x) +
    noise P(y), and p(x) stays as it is. Shapes (n_rows, Y) and (Y,).
    """
    if noise == 0:
        return evidence
    whole = log_sum_exp(evidence + log_prior)[:, None]
    return np.asarray(np.logaddexp(np.log1p(-noise) + evidence, np.log(noise) + whole))


class BestStart(NamedTuple):
    """Parameters of the best start: M components, q latent variables, Y classes.

    log_weight (Y, M) = log P(y, m); latent_mean, latent_variance (Y, q). Of the n continuous
    columns that vary, standardised: edges (n, q), loadings (M, n, q), offsets (M, n), noise
    (M or 1, n). Of the b yes-or-no questions about discrete columns: weights (M, b, q) and
    intercepts (M, b) of the log-odds.
    """

    log_weight: FloatArray
    latent_mean: FloatArray
    latent_variance: FloatArray
    edges: BoolArray
    loadings: FloatArray
    offsets: FloatArray
    noise: FloatArray
    weights: FloatArray
    intercepts: FloatArray


class LatentModel(FittedModel, ABC):
    """What the best start shows, in the columns' own units; the same for all kinds of columns."""

    scaling: Scaling
    names: Names

    @property
    @abstractmethod
    def best(self) -> BestStart:
        """Parameters of the best start."""

    @property
    def questions(self) -> list[Question]:
        """Discrete column (by its place) and the code, or codes, that each question asks for."""
        return []

    @property
    @abstractmethod
    def solutions(self) -> list[Solution]:
        """What is read of each start that is kept, the best first."""

    def answered_by(self, predict_method: str) -> Self:  # noqa: ARG002
        """The same model with another way to compute p(x | class); here it is always exact."""
        return self

    def latent_names(self, labels: list[str], columns: list[str]) -> list[str]:
        """Names of the latent variables."""
        del labels
        return list(self.named(columns)[0])

    def named(self, _columns: list[str]) -> Names:
        """Names of the latent variables: those that were given, or z0, z1 and so on."""
        return self.names or (tuple(f"z{k}" for k in range(self.best.latent_mean.shape[1])),)

    @property
    def component_prior(self) -> FloatArray:
        """P(m | y)."""
        return np.exp(log_normalise(self.best.log_weight))

    @property
    def loadings(self) -> FloatArray:
        """Change of each continuous column with each latent variable."""
        varying = self.best.loadings * self.scaling.varying_unit[:, None]
        return self.scaling.spread_columns(varying, 0.0)

    @property
    def offsets(self) -> FloatArray:
        """Continuous columns where all latent variables are 0."""
        scaling = self.scaling
        varying = scaling.centre[scaling.varies] + scaling.varying_unit * self.best.offsets
        return scaling.spread_columns(varying, scaling.centre[~scaling.varies])

    @property
    def noise_variances(self) -> FloatArray:
        """Variance that the latent variables do not explain; inf if too large for a double."""
        scaling = self.scaling
        with np.errstate(over="ignore", under="ignore"):
            noise = scaling.varying_unit**2 * self.best.noise
            constant = scaling.unit[~scaling.varies] ** 2
        noise = np.broadcast_to(noise, (len(self.best.loadings), noise.shape[1]))
        return scaling.spread_columns(noise, constant)

    @property
    def edges(self) -> BoolArray:
        """Which latent variables each continuous column depends on."""
        varies = self.scaling.varies
        edges = np.zeros((len(varies), self.best.edges.shape[1]), dtype=bool)
        edges[varies] = self.best.edges
        return edges


@dataclass(frozen=True, eq=False)
class LCMModel(LatentModel, GaussianModel):
    """The model of Gaussian columns; discrete ones are independent of the rest given the class.

    Attributes
    ----------
    params : LCMParams
        In their standard form (`canonical`), the best start first. They give the `components`.
    label_noise : float
        Share of labels that are drawn at random (see `add_label_noise`).
    names : tuple of tuple of str
        Names of the latent variables in one group; empty if none were given.
    """

    components: ClassComponents = field(init=False)
    params: LCMParams
    label_noise: float = 0.0
    names: Names = ()

    def __post_init__(self) -> None:
        n_starts, n_classes, n_components = self.params.log_weight.shape
        n, q = self.params.loadings.shape[2:]
        check_shape("loadings", self.params.loadings, (n_starts, n_components, n, q))
        check_shape("latent_mean", self.params.latent_mean, (n_starts, n_classes, q))
        check_shape("latent_variance", self.params.latent_variance, (n_starts, n_classes, q))
        check_latent_names(self.names, q)
        for name in ("loadings", "offsets", "noise", "latent_mean", "latent_variance"):
            check_no_nan(name, getattr(self.params, name))
        object.__setattr__(self, "components", add_full(to_components(self.params)[0]))
        super().__post_init__()

    @property
    def best(self) -> BestStart:
        """See `LatentModel`; no question is asked about a discrete column."""
        first = take_starts(self.params, 0)
        m, _, q = first.loadings.shape
        return BestStart(
            first.log_weight,
            first.latent_mean,
            first.latent_variance,
            first.edges,
            first.loadings,
            first.offsets,
            first.noise,
            np.empty((m, 0, q)),
            np.empty((m, 0)),
        )

    @property
    def solutions(self) -> list[Solution]:
        """See `LatentModel`."""
        share = np.exp(log_sum_exp(np.swapaxes(self.params.log_weight, 1, 2)))
        parts = zip(share, self.params.offsets, self.params.loadings, strict=True)
        return [Solution(*part) for part in parts]

    def _mix_components(self, joint: FloatArray) -> FloatArray:
        return add_label_noise(super()._mix_components(joint), self.log_prior, self.label_noise)

    def sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        """See `FittedModel`."""
        if self.label_noise > 0:
            others = rng.choice(self.n_classes, size=len(y), p=self.class_prior)
            y = np.where(rng.random(len(y)) < self.label_noise, others, y)
        return super().sample_table(y, rng)

    def hidden_states(self, table: Table) -> list[tuple[FloatArray, FloatArray]]:
        """See `FittedModel`: the components of the best start."""
        components, _ = to_components(take_starts(self.params, [0]))
        _, n_classes, n_components = components.log_weight.shape
        out = np.ones((table.n_rows, n_components))
        if n_components > 1:
            numeric, codes = table.block(slice(None))
            values = self.scaling.values(numeric)
            for part, joint in joint_parts(components, values, codes, self.level_offsets):
                share = np.exp(log_normalise(joint))
                out[part.rows] = share.reshape(-1, n_classes, n_components).sum(axis=1)
        return [(np.ones(len(out)), out)]

    def latent(self, table: Table, posterior: Posterior, n_jobs: int | None) -> FloatArray:  # noqa: ARG002
        """E[z | observed cells] under the best start."""
        components, latent = to_components(take_starts(self.params, [0]))
        assert components.factors is not None
        factors = flatten_components(components.factors)
        white = factored.whiten(factors)
        n_all, _, rank = factors.loadings.shape
        # E[z] of each class component is linear in u: at u = 0, and what each of u adds
        unit = np.zeros((rank + 1, *components.log_weight.shape, rank))
        unit[np.arange(rank), ..., np.arange(rank)] = 1.0
        steps = np.stack([latent.expected(one).reshape(n_all, -1) for one in unit])
        centre = steps[rank]
        steps = (steps[:rank] - centre).reshape(rank * n_all, centre.shape[1])

        def visit(span: slice) -> FloatArray:
            numeric, codes = table.block(span)
            values = self.scaling.values(numeric)
            out = np.empty((len(values), centre.shape[1]))
            for part, joint in joint_parts(components, values, codes, self.level_offsets):
                share = np.exp(log_normalise(joint))
                if isinstance(part.conditioned, factored.Posterior):
                    u = part.conditioned.latent
                else:
                    near = np.clip(values[part.rows], -VALUE_LIMIT, VALUE_LIMIT)
                    u = factored.latent_rows(factors, white, near)
                out[part.rows] = share @ centre + (u * share[:, None]).reshape(len(u), -1) @ steps
            return out

        spans = table.spans(extra_columns=n_all * rank // 8)
        return np.concatenate(list(map_blocks(visit, spans, n_jobs)))
