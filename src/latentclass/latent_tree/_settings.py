"""Settings of the search for trees and of EM."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TreeSettings:
    """The parameters of `LatentTreeClassifier` that its engine needs."""

    criterion: str
    search: str
    lazy: bool
    alpha: float
    alpha_once: bool
    max_states: int
    max_latent: int
    search_rows: int | None
    time_budget: float | None
    work_budget: float | None
    n_init: int
    n_full_init: int
    max_iter: int
    tol: float
    accelerate: bool
    seed: int
    n_jobs: int | None
