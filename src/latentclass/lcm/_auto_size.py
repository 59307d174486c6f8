"""The size of a model, and the scaling of its columns, by a short contest on held-out rows.

Every candidate is fitted with few starts, few iterations and few gradient steps, without the rows
held out. That is enough to see that a size is much too small or too large. A table with few rows
cannot tell sizes apart, and a large model may look good on it by chance. So the usual size is kept
unless another one is better by more than the standard error of the difference, and a candidate
that is worse by as much after two folds has no further ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np

from latentclass._types import FloatArray
from latentclass._validation import MOST_STATES, check_number
from latentclass.estimator._gaussian_model import Measured
from latentclass.estimator._tuning import ERRORS, mean_and_error
from latentclass.lcm._hybrid_sample import RowDealer
from latentclass.lcm._steps import P, SteppedFit, climb_rows, row_losses

Pair = tuple[int, int]
"""Numbers of latent variables and of components."""

N_STARTS = 2
"""Starts of a candidate."""

N_ITER = 20
"""Iterations of EM of a candidate."""

N_STEPS = 40
"""Gradient steps of a candidate, at most."""

SPACING = 10
"""Steps between two looks at the held-out rows."""

LEAST_FOLDS = 2
"""Folds of a candidate before it can be dropped for being worse."""

N_ROWS, N_ROWS_OF_CLASS = 1000.0, 300.0
"""About the weight of the rows that a candidate learns from, at most, and the same for each class.

The larger one counts. Each class has its own place in the latent space, so many classes need more
rows to show what a large model gains.
"""


class Sizes(NamedTuple):
    """Sizes to choose from: the usual one first, then further ones, and what each of these needs.

    `further` are pairs of a size and those of which one must be better than the usual size for it
    to be tried: a large model is not tried if no smaller step in its direction helps. If `surely`,
    it must be better by more than the standard error: where large models are dear, chance should
    not lead to them.
    """

    usual: Pair
    further: tuple[tuple[Pair, tuple[Pair, ...]], ...] = ()
    surely: bool = False

    @property
    def pairs(self) -> list[Pair]:
        """All sizes."""
        return [self.usual, *(pair for pair, _ in self.further)]

    def within(self, n_latent: Any, n_components: Any, most_latent: int) -> Sizes:
        """Those with the given numbers unless they are "auto", with few enough latent variables."""

        def given(pair: Pair) -> Pair:
            q = min(pair[0], most_latent) if n_latent == "auto" else int(n_latent)
            return q, pair[1] if n_components == "auto" else int(n_components)

        further: dict[Pair, tuple[Pair, ...]] = {}
        for pair, needs in self.further:
            further.setdefault(given(pair), tuple(given(need) for need in needs))
        further.pop(given(self.usual), None)
        return Sizes(given(self.usual), tuple(further.items()), self.surely)


def check_size(name: str, value: Any) -> None:
    """Refuse what is neither "auto" nor a number of latent variables or components."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'{name}={value!r} must be "auto" or a whole number.')
        return
    check_number(name, value, low=1, high=MOST_STATES, whole=True)


class SizedFit(SteppedFit[P], Protocol[P]):
    """A fit whose size and columns can be replaced; it is a dataclass with these attributes."""

    @property
    def settings(self) -> Any:
        """`LCMSettings`."""

    @property
    def measured(self) -> Measured:
        """How the columns are scaled."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


F = TypeVar("F", bound=SizedFit[Any])


def choose_fit(
    fit: F, sizes: Sizes, ways: list[Measured], dealer: RowDealer | None, *, discriminative: bool
) -> F:
    """The fit of the size and scaling that are best for held-out rows.

    The size is chosen first, with the last way to scale the columns. Without held-out rows it is
    the usual size and the last scaling.
    """
    fit = replace(fit, measured=ways[-1], settings=fit.settings.sized(sizes.usual))
    shares = np.zeros((0, 0)) if dealer is None else dealer.held_out()
    if dealer is None or not len(shares) or (not sizes.further and len(ways) == 1):
        return fit
    contest = Contest(dealer, shares, N_STEPS if discriminative else 0)
    fit, losses = choose_size(fit, sizes, contest)
    for way in ways[:-1]:
        other = replace(fit, measured=way)
        found = contest.losses(other, losses)
        if compare(losses, found)[0] > 0:
            fit, losses = other, found
    return fit


def choose_size(fit: F, sizes: Sizes, contest: Contest) -> tuple[F, list[HeldRows]]:
    """The fit of the best size, and its losses."""
    usual = contest.losses(fit)
    best = fit, usual
    helpful: set[Pair] = set()
    most = 0.0
    for pair, needs in sizes.further:
        if needs and not helpful & set(needs):
            continue
        sized = replace(fit, settings=fit.settings.sized(pair))
        losses = contest.losses(sized, usual)
        gain, error = compare(usual, losses)
        # rounded, since last digits depend on the order of sums
        merit = round(gain - ERRORS * error, 9)
        if (merit if sizes.surely else gain) > 0:
            helpful.add(pair)
        if merit > most:
            best, most = (sized, losses), merit
    return best


class HeldRows(NamedTuple):
    """Log-losses of the rows of one fold, by look, temperature and label noise, and their weight.

    `loss` has one line for each of these settings, and one column for each row.
    """

    loss: FloatArray
    weight: FloatArray


def compare(old: list[HeldRows], new: list[HeldRows]) -> tuple[float, float]:
    """Gain of the new losses over the old ones on the folds of both, and its standard error.

    Each has the settings of its lowest mean. The gain is rounded.
    """
    folds = min(len(old), len(new))
    old, new = old[:folds], new[:folds]
    weight = np.concatenate([fold.weight for fold in old])
    gain, error = mean_and_error(_best_losses(old, weight) - _best_losses(new, weight), weight)
    return round(gain, 9), error


def _best_losses(folds: list[HeldRows], weight: FloatArray) -> FloatArray:
    """Log-loss of each row with the settings of the lowest mean."""
    losses = np.concatenate([fold.loss for fold in folds], axis=1)
    means = np.round(losses @ weight / weight.sum(), 9)
    return np.asarray(losses[means.argmin()])


@dataclass(frozen=True, eq=False)
class Contest:
    """Held-out rows on which short fits are compared.

    Attributes
    ----------
    dealer : RowDealer
    shares : array (n_folds, n_rows)
        The rows' shares that each fold holds out.
    n_steps : int
        Gradient steps of a short fit, at most.
    """

    dealer: RowDealer
    shares: FloatArray
    n_steps: int

    def losses(self, fit: SteppedFit[P], against: list[HeldRows] | None = None) -> list[HeldRows]:
        """Log-losses of held-out rows, by short fits to the others, fold by fold.

        A fit that is worse than another one by more than the standard error has no further folds.
        """
        fit = fit.shortened(N_STARTS, N_ITER)
        found: list[HeldRows] = []
        for share in self.shares:
            found.append(self._hold_out(fit, share))
            if against is not None and len(found) >= LEAST_FOLDS:
                gain, error = compare(against, found)
                if gain + ERRORS * error < 0:
                    break
        return found

    def _hold_out(self, fit: SteppedFit[P], share: FloatArray) -> HeldRows:
        held = self.dealer.take(share)
        most = max(N_ROWS, N_ROWS_OF_CLASS * self.dealer.training.n_classes)
        keep = self.dealer.beside(share, most)
        path = climb_rows(fit, self.dealer, keep, fit.learn(self.dealer.take(keep)))
        looks = []
        for params in islice(path, 0, self.n_steps + 1, SPACING):
            model = fit.model(params)
            evidence = model.evidence(held.table, fit.n_jobs)
            looks.append(row_losses(evidence, held.y, model.log_prior, fit.label_noises))
        return HeldRows(np.stack(looks).reshape(-1, len(held.y)), held.weight)
