"""A hierarchical naive Bayes model as an ordinary Bayesian network."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentclass.data._match import free_name
from latentclass.estimator._bif import BifVariable
from latentclass.hnb._hierarchy import FilledHierarchy


def enlarged_network(
    model: FilledHierarchy,
    root: BifVariable,
    names: list[str],
    levels: list[list[Any]],
    taken: list[str],
) -> list[BifVariable]:
    """Section 6.3 of the paper: below each latent variable the pair that its children make.

    Parameters
    ----------
    model : FilledHierarchy
    root : BifVariable
        The class.
    names : list of str
        Names of the attributes and latent variables.
    levels : list of list
        Names of each attribute's levels.
    taken : list of str
        Further names that a pair must not have.

    Returns
    -------
    list of BifVariable
        Parents before children.
    """
    hierarchy, n = model.hierarchy, len(model.hierarchy.n_levels)
    states = [*levels, *([f"state{s}" for s in range(r)] for r in hierarchy.sizes[n:])]
    variables = [root]
    for v, theta in zip(hierarchy.tops, model.thetas, strict=True):
        variables.append(BifVariable(names[v], states[v], (root.name,), theta.T))
    for t in reversed(range(len(hierarchy.latents))):
        latent = hierarchy.latents[t]
        first, second = latent.children
        size = latent.states.size
        pair = free_name(f"{names[n + t]}_pair", [*taken, *names, root.name])
        table = np.zeros((latent.n_states, size))
        within = np.exp(model.tables.log_within[t]).reshape(-1)
        table[latent.states.reshape(-1), np.arange(size)] = within
        pairs = [f"{a}_{b}" for a in states[first] for b in states[second]]
        variables.append(BifVariable(pair, pairs, (names[n + t],), table))
        for child, axis in ((first, 0), (second, 1)):
            level = np.indices(latent.states.shape)[axis].reshape(-1)
            table = np.eye(hierarchy.sizes[child])[level]
            variables.append(BifVariable(names[child], states[child], (pair,), table))
    return variables
