"""What all estimators of latent classification models share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import BoolArray, FloatArray
from latentclass._validation import MOST_STARTS, MOST_STATES, check_number, check_option
from latentclass._warn import warn_user
from latentclass.data._schema import Schema
from latentclass.estimator._base import GenerativeClassifier
from latentclass.estimator._clarity import ComponentClarity
from latentclass.estimator._fitted import Learned
from latentclass.estimator._latent_names import NamedLatents
from latentclass.estimator._reading import Training
from latentclass.estimator._tuning import ENOUGH_TESTED
from latentclass.exceptions import TableWarning
from latentclass.lcm._auto_prior import USUAL
from latentclass.lcm._fit import LCMSettings, make_prior
from latentclass.lcm._model import LatentModel
from latentclass.lcm._rival import find_rival
from latentclass.lcm._steps import choice_of


class LatentClassifier(ComponentClarity, NamedLatents, GenerativeClassifier):
    """Base of latent classification models: common parameters and learned attributes.

    The attributes describe the best start.
    """

    _about = (
        "Latent classification model: the columns depend on each other only through "
        "continuous latent variables, whose means the class shifts."
    )

    n_latent: Any
    n_components: Any
    noise: str
    structure: str
    offset: bool
    prior: float | str | None
    alpha: float
    n_init: int
    select: str
    drop_starts: bool
    power_transform: bool | str
    discriminative: bool
    accelerate: bool

    _noises: ClassVar[tuple[str, ...]] = ("tied", "untied")

    _model: LatentModel
    restart_histories_: list[list[float]]
    rival_: dict[str, Any]

    def _check_parameters(self) -> None:
        self._check_size()
        check_option("noise", self.noise, self._noises)
        check_option("structure", self.structure, ("full", "learned"))
        check_option("offset", self.offset, (True, False))
        self._check_prior()
        check_number("alpha", self.alpha, low=0)
        check_number("n_init", self.n_init, low=1, high=MOST_STARTS, whole=True)
        check_option("select", self.select, ("average", "accuracy", "likelihood"))
        check_option("drop_starts", self.drop_starts, (True, False))
        check_option("power_transform", self.power_transform, ("auto", True, False))
        check_option("discriminative", self.discriminative, (True, False))
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_number("tol", self.tol, low=0)
        check_option("relative_tol", self.relative_tol, (True, False))
        check_option("accelerate", self.accelerate, (True, False))

    def _warn_of_kinds(self, schema: Schema) -> None:
        if not schema.continuous:
            warn_user(
                f"{type(self).__name__} describes numbers by latent variables, but the table has "
                "no column of numbers. Use HybridLCMClassifier or BinaryLCMClassifier.",
                TableWarning,
            )

    def _check_size(self) -> None:
        for name in ("n_latent", "n_components"):
            if getattr(self, name) == "auto":
                raise ValueError(
                    f"{name}='auto' is not for LCMClassifier, which has a fixed size. Use "
                    "LCMClassifierCV, which searches for the size, or pass a whole number of at "
                    "least 1."
                )
        check_number("n_latent", self.n_latent, low=1, high=MOST_STATES, whole=True)
        check_number("n_components", self.n_components, low=1, high=MOST_STATES, whole=True)

    def _check_prior(self) -> None:
        check_number("prior", self.prior, low=0, none=True)

    @property
    def _strength(self) -> float | None:
        """Strength of the prior where nothing is compared."""
        return USUAL if isinstance(self.prior, str) else self.prior

    def _settings(self, n_latent: int, n_components: int) -> LCMSettings:
        """Return the settings of a fit with a given size."""
        return LCMSettings(
            n_latent,
            n_components,
            self.noise == "tied",
            self.structure,
            self.offset,
            make_prior(self._strength, self.alpha),
            self.select,
            self.drop_starts,
            self.n_init,
            self.max_iter,
            self.tol,
            self.relative_tol,
            self.accelerate,
        )

    def _fit_again(self, learned: Learned, part: Training) -> Learned:
        # the same size; of many rows the same number of gradient steps, too
        choice = choice_of(learned)
        if choice is None or float(part.weight[part.labelled].sum()) < ENOUGH_TESTED:
            return super()._fit_again(learned, part)
        again: Learned = self._unfitted_copy(learned)._fit_steps(part, choice)
        return again

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    # ------------------------------------------------------ learned attributes

    def _final_facts(self, learned: Learned, rows: Training) -> dict[str, Any]:
        assert isinstance(learned.model, LatentModel)
        solutions, restarts = learned.model.solutions, learned.record.restarts
        kept = np.flatnonzero(restarts["kept"])
        starts = kept[np.argsort(-restarts["objective"][kept], kind="stable")].tolist()
        rival: dict[str, Any] = {}
        if len(solutions) == len(starts) > 1 and rows.table.n_rows:  # `partial_fit` has no rows
            # of rows in parts there is a sample
            n_rows = int(learned.attributes.get("_n_rows", rows.table.n_rows))
            total = float(rows.weight.sum()) * n_rows / rows.table.n_rows
            rival = find_rival(solutions, starts, restarts["objective"], total)
        return {**super()._final_facts(learned, rows), "rival_": rival}

    def _fit_facts(self) -> dict[str, Any]:
        facts = super()._fit_facts()
        rival = vars(self).get("rival_")
        if rival:
            facts["a different solution is nearly as good"] = f"start {rival['start']} (rival_)"
        return facts

    def _structure(self) -> dict[str, Any]:
        return {
            "latent variables": int(self.latent_means_.shape[1]),
            "components": int(self.component_prior_.shape[1]),
        }

    @property
    def component_prior_(self) -> FloatArray:
        """P(m | y)."""
        check_is_fitted(self)
        return self._model.component_prior

    @property
    def loadings_(self) -> FloatArray:
        """Change of each continuous column with each latent variable."""
        check_is_fitted(self)
        return self._model.loadings

    @property
    def offsets_(self) -> FloatArray:
        """Continuous columns where all latent variables are 0."""
        check_is_fitted(self)
        return self._model.offsets

    @property
    def noise_variances_(self) -> FloatArray:
        """Variance that the latent variables do not explain; inf if too large for a double."""
        check_is_fitted(self)
        return self._model.noise_variances

    @property
    def edges_(self) -> BoolArray:
        """Which latent variables each continuous column depends on."""
        check_is_fitted(self)
        return self._model.edges

    @property
    def latent_means_(self) -> FloatArray:
        """Mean of each latent variable in each class."""
        check_is_fitted(self)
        return np.array(self._model.best.latent_mean)

    @property
    def latent_variances_(self) -> FloatArray:
        """Variance of each latent variable in each class."""
        check_is_fitted(self)
        return np.array(self._model.best.latent_variance)
