"""The scores of a search for the size of a model."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from latentclass._axes import make_axes
from latentclass._display import Display
from latentclass._types import FloatArray, IndexArray
from latentclass.plots._model import fitted
from latentclass.plots._style import class_colour, class_marker, clear_spines, legend_beside


class SearchPathDisplay(Display):
    """Cross-validated score against the number of latent variables.

    There is one line per number of components. A ring marks the chosen model. Its bar extends one
    standard deviation over the folds to either side. For a log-loss, lower is better.

    Parameters
    ----------
    n_latent, n_components : arrays of int of shape (n_candidates,)
        Size of each candidate.
    mean_score, std_score : arrays of shape (n_candidates,)
        Mean and standard deviation of the score over the folds. NaN is not drawn.
    best : int
        The chosen candidate.
    score_name : str, default="accuracy"
        Name of the score.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    frame : pandas DataFrame
        One line per candidate: n_latent, n_components, mean and standard deviation of the score,
        chosen.
    lines_ : list of matplotlib lines
        One per number of components, smallest first.
    chosen_ : matplotlib path collection
        The ring.

    Examples
    --------
    >>> display = SearchPathDisplay(
    ...     [1, 2, 3], [1, 1, 1], [0.80, 0.92, 0.91], [0.02, 0.01, 0.02], best=1
    ... ).plot()
    >>> len(display.lines_)
    1
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]
    chosen_: Any

    def __init__(
        self,
        n_latent: npt.ArrayLike,
        n_components: npt.ArrayLike,
        mean_score: npt.ArrayLike,
        std_score: npt.ArrayLike,
        best: int,
        score_name: str = "accuracy",
    ) -> None:
        self.n_latent: IndexArray = np.asarray(n_latent, dtype=np.intp)
        self.n_components: IndexArray = np.asarray(n_components, dtype=np.intp)
        self.mean_score: FloatArray = np.asarray(mean_score, dtype=np.float64)
        self.std_score: FloatArray = np.asarray(std_score, dtype=np.float64)
        self.best = best
        self.score_name = score_name

    @classmethod
    def from_estimator(cls, search: Any, *, ax: Any = None, **plot_options: Any) -> Self:
        """Draw the scores of a fitted search.

        Parameters
        ----------
        search : fitted LCMClassifierCV or BinaryLCMClassifierCV
            If a candidate was tried several times, its score with the noise and the power transform
            that were chosen counts, and of several of these the last.
        ax : matplotlib axes, optional
        **plot_options
            As in `plot`.
        """
        fitted(search)
        results: dict[str, Any] = getattr(search, "cv_results_", {})
        keys = ("n_latent", "n_components", "mean_test_score", "std_test_score")
        lacking = [key for key in keys if key not in results]
        if lacking:
            raise ValueError(
                f"{type(search).__name__} has no cv_results_ with {lacking}. Pass a fitted "
                "LCMClassifierCV that tried more than one pair of n_latent and n_components."
            )
        pairs = list(zip(*(np.asarray(results[key]).tolist() for key in keys[:2]), strict=True))
        ways = [
            np.asarray(results[name]) == getattr(search, f"{name}_")
            for name in ("noise", "power_transform")
            if name in results
        ]
        agreeing = np.sum(ways, axis=0) if ways else np.zeros(len(pairs))
        order = np.argsort(agreeing, kind="stable").tolist()
        last = np.array(sorted({pairs[row]: row for row in order}.values()))
        latent, components, mean, deviation = (np.asarray(results[key])[last] for key in keys)
        loss = search.scoring == "log_loss"
        display = cls(
            latent,
            components,
            -mean if loss else mean,  # the search negates a loss, so that higher is better
            deviation,
            [pairs[row] for row in last].index((search.n_latent_, search.n_components_)),
            "log-loss" if loss else search.scoring,
        )
        return display.plot(ax, **plot_options)

    def _columns(self) -> list[tuple[str, Any]]:
        return [
            ("n_latent", self.n_latent),
            ("n_components", self.n_components),
            (f"mean {self.score_name}", self.mean_score),
            (f"std {self.score_name}", self.std_score),
            ("chosen", np.arange(len(self.n_latent)) == self.best),
        ]

    def plot(self, ax: Any = None, *, spread: bool = False) -> Self:
        """Draw into `ax`, or into a new figure; `spread` shades one standard deviation."""
        self.ax_, self.figure_ = make_axes(ax, figsize=(6.0, 3.8))
        self.lines_ = []
        sizes = np.unique(self.n_components)
        for place, size in enumerate(sizes):
            mine = np.flatnonzero((self.n_components == size) & ~np.isnan(self.mean_score))
            mine = mine[np.argsort(self.n_latent[mine], kind="stable")]
            x, mean, deviation = self.n_latent[mine], self.mean_score[mine], self.std_score[mine]
            colour = class_colour(place)
            (line,) = self.ax_.plot(
                x, mean, color=colour, marker=class_marker(place), markersize=5, label=str(size)
            )
            self.lines_.append(line)
            if spread:
                self.ax_.fill_between(
                    x, mean - deviation, mean + deviation, color=colour, alpha=0.12, linewidth=0
                )
        at = self.n_latent[self.best], self.mean_score[self.best]
        colour = class_colour(int(np.searchsorted(sizes, self.n_components[self.best])))
        self.ax_.errorbar(
            *at, yerr=self.std_score[self.best], color=colour, linewidth=1.0, capsize=3, zorder=1.9
        )
        self.chosen_ = self.ax_.scatter(
            *at, s=170, facecolor="none", edgecolor="black", linewidth=1.4, zorder=4, label="chosen"
        )
        self.ax_.set_xlabel("latent variables")
        self.ax_.set_ylabel(f"cross-validated {self.score_name}")
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        clear_spines(self.ax_)
        legend_beside(self.ax_, "components")
        return self
