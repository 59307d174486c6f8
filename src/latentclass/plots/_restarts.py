"""The objective of every start of EM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from latentclass._axes import make_axes
from latentclass._display import Display
from latentclass.plots._model import fitted
from latentclass.plots._style import BLUE, GREY, clear_spines


class RestartsDisplay(Display):
    """The objective of every start, step by step.

    The starts that the model keeps are blue, and the best one is bold. Starts that were dropped
    are grey. If starts are selected by accuracy (`select="accuracy"`), the best one need not have
    the highest objective.

    Parameters
    ----------
    histories : sequence of sequences of float
        Objective per row of each start, first at its beginning and then after each step.
    kept : array of bool of shape (n_starts,)
        Which starts the model keeps.
    best : int
        The start whose parameters the model shows.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    frame : pandas DataFrame
        One line per start and step: start, step, objective, kept, best.
    lines_ : list of matplotlib lines
        One per start, in the order of `histories`.

    Examples
    --------
    >>> from latentclass import LCMClassifier
    >>> from latentclass.datasets import load_dataset
    >>> wine = load_dataset("wine", container="numpy")
    >>> model = LCMClassifier(n_init=5, random_state=0).fit(wine.X, wine.y)
    >>> display = RestartsDisplay.from_estimator(model)
    >>> len(display.histories), bool(display.kept.all())
    (5, True)
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]

    def __init__(
        self, histories: Sequence[Sequence[float]], kept: npt.ArrayLike, best: int
    ) -> None:
        self.histories = [list(history) for history in histories]
        self.kept = np.asarray(kept, dtype=bool)
        self.best = best

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **plot_options: Any) -> Self:
        """Draw the starts of a fitted model, or only the best if it has not kept the others.

        For a mixture that keeps its `traces_`, the objective of a start may also fall.

        Parameters
        ----------
        model : fitted classifier of latentclass, or search with a `best_estimator_`
        ax : matplotlib axes, optional
        **plot_options
            As in `plot`.
        """
        model = fitted(model, "history_", "restarts_")
        histories = getattr(model, "restart_histories_", getattr(model, "traces_", None))
        if histories is None:
            return cls([model.history_], [True], 0).plot(ax, **plot_options)
        kept = np.asarray(model.restarts_["kept"])
        if hasattr(model, "traces_"):  # there `history_` is the best objective so far
            return cls(histories, kept, int(np.argmax(kept))).plot(ax, **plot_options)
        # the first of equal starts, as the engine ranks them
        best = next(s for s in np.flatnonzero(kept) if histories[s] == model.history_)
        return cls(histories, kept, int(best)).plot(ax, **plot_options)

    def _columns(self) -> list[tuple[str, Any]]:
        steps = [
            (start, step, value, bool(self.kept[start]), start == self.best)
            for start, history in enumerate(self.histories)
            for step, value in enumerate(history)
        ]
        names = ("start", "step", "objective", "kept", "best")
        return list(zip(names, zip(*steps, strict=True), strict=True))

    def plot(self, ax: Any = None, *, gap: bool = False) -> Self:
        """Draw into `ax`, or into a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
        gap : bool, default=False
            Whether to draw the distance of each start to the highest objective, on a logarithmic
            scale. This separates starts that look the same otherwise.
        """
        self.ax_, self.figure_ = make_axes(ax, figsize=(6.4, 3.8))
        top = max(max(history) for history in self.histories)
        # the highest objective would be at minus infinity, so it is drawn just below the others
        below = [top - value for history in self.histories for value in history if value < top]
        foot = 0.5 * min(below, default=1.0)
        self.lines_ = []
        for start, history in enumerate(self.histories):
            values = np.array(history)
            if gap:
                values = np.maximum(top - values, foot)
            is_best, is_kept = start == self.best, bool(self.kept[start])
            (line,) = self.ax_.plot(
                np.arange(len(values)),
                values,
                color=BLUE if is_kept else GREY,
                linewidth=2.8 if is_best else 1.2,
                alpha=1.0 if is_best else 0.6,
                marker="o" if is_best or is_kept else "x",
                markevery=[-1],
                markersize=6 if is_best else 4,
                zorder=4 if is_best else 3 if is_kept else 2,
            )
            self.lines_.append(line)
        self._name_lines()
        self.ax_.set_xlabel("step of EM")
        if gap:
            self.ax_.set_yscale("log")
            self.ax_.set_ylabel("objective per row below the highest")
        else:
            self.ax_.set_ylabel("objective per row")
            self._leave_out_beginnings()
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        clear_spines(self.ax_)
        return self

    def _name_lines(self) -> None:
        others = np.arange(len(self.kept)) != self.best
        groups = {
            "best": np.flatnonzero(~others),
            "kept": np.flatnonzero(others & self.kept),
            "left behind": np.flatnonzero(others & ~self.kept),
        }
        named = {name: starts for name, starts in groups.items() if starts.size}
        if len(self.lines_) > 1:
            self.ax_.legend(
                [self.lines_[starts[0]] for starts in named.values()],
                [
                    f"{name} ({starts.size})" if starts.size > 1 else name
                    for name, starts in named.items()
                ],
                frameon=False,
                fontsize=9,
            )

    def _leave_out_beginnings(self) -> None:
        """Begin the y-axis at the median objective after two steps.

        The first steps gain so much that everything after them would look like a flat line.
        """
        early = [history[min(2, len(history) - 1)] for history in self.histories]
        every = np.concatenate(self.histories)
        low, high = float(np.median(early)), float(every.max())
        if np.isfinite(low) and every.min() < low < high:
            self.ax_.set_ylim(low, high + 0.05 * (high - low))
