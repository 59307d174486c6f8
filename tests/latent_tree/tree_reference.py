"""Slow, obvious twins of tree inference: sums over all states of all nodes, row by row."""

import re
from itertools import permutations, product

import numpy as np

from latentclass.latent_tree._tree import Tree, permute_states


def random_tables(tree, rng, zeros=0.0):
    """The same tree with random tables, some entries 0."""
    tables = []
    for table in tree.tables:
        draws = rng.gamma(0.7, size=table.shape)
        draws[rng.random(table.shape) < zeros] = 0.0
        draws[draws.sum(axis=1) == 0, 0] = 1.0
        tables.append(draws / draws.sum(axis=1, keepdims=True))
    return Tree(tree.parents, tree.cardinalities, tree.columns, tuple(tables))


def random_tree(seed, n_latent=3, n_leaves=4, zeros=0.0, inner_observed=False):
    """A small random tree; leaves come after latent nodes, columns in mixed order."""
    rng = np.random.default_rng(seed)
    latent = [-1, *(int(rng.integers(0, node)) for node in range(1, n_latent))]
    bare = sorted(set(range(n_latent)) - set(latent))
    bare = [0, *(node for node in bare if node)]  # the root is to have two neighbours
    n_leaves = max(n_leaves, len(bare) + (n_latent == 1))
    hosts = [*bare, *rng.integers(0, n_latent, n_leaves - len(bare)).tolist()]
    parents = (*latent, *hosts)
    cardinalities = tuple(rng.integers(1, 4, len(parents)).tolist())
    columns = np.full(len(parents), -1)
    columns[n_latent:] = rng.permutation(n_leaves)
    if inner_observed:
        columns[rng.integers(0, n_latent)] = n_leaves
    shape = Tree.even(parents, cardinalities, tuple(columns.tolist()))
    return random_tables(shape, rng, zeros)


def joint(tree):
    """p(all nodes) as an array with an axis for each node, entry by entry."""
    out = np.zeros(tree.cardinalities)
    for states in product(*map(range, tree.cardinalities)):
        p = 1.0
        for node, parent in enumerate(tree.parents):
            p *= tree.tables[node][0 if parent < 0 else states[parent], states[node]]
        out[states] = p
    return out


def same_up_to_states(one, other, atol):
    """Whether two trees of one shape are equal but for the order of their latent states."""
    orders = [list(permutations(range(k))) for k in one.latent_cardinalities]
    for choice in product(*orders):
        turned = other
        for node, order in zip(other.latent, choice, strict=True):
            turned = permute_states(turned, node, order)
        if np.allclose(turned.theta, one.theta, rtol=0, atol=atol):
            return True
    return False


def made(make, message):
    """What `make` returns, or None if it raises a ValueError with this message."""
    try:
        return make()
    except ValueError as error:
        if re.search(message, str(error)) is None:
            raise
    return None


def random_rows(tree, n_rows, rng, holes=0.25, n_columns=None):
    """Codes of any value, possible or not, with holes; columns beyond the tree's are -1."""
    width = max(tree.columns) + 1 if n_columns is None else n_columns
    codes = np.full((n_rows, width), -1, dtype=np.int32)
    for node, column in enumerate(tree.columns):
        if column >= 0:
            codes[:, column] = rng.integers(0, tree.cardinalities[node], n_rows)
    codes[rng.random(codes.shape) < holes] = -1
    return codes


def seen(tree, row):
    """The part of the joint distribution that agrees with a row, and 0 elsewhere."""
    full = joint(tree)
    for node, column in enumerate(tree.columns):
        if column >= 0 and row[column] >= 0:
            keep = np.zeros(tree.cardinalities[node])
            keep[row[column]] = 1.0
            shape = [1] * full.ndim
            shape[node] = -1
            full = full * keep.reshape(shape)
    return full


def margin(full, *nodes):
    return full.sum(axis=tuple(i for i in range(full.ndim) if i not in nodes))


def slow_counts(tree, codes, weight):
    """Expected weight of each entry of each table, from the sums over all states."""
    counts = [np.zeros(table.shape) for table in tree.tables]
    for row, w in zip(codes, weight, strict=True):
        full = seen(tree, row)
        if full.sum() == 0:
            continue
        full = w * full / full.sum()
        for node, parent in enumerate(tree.parents):
            counts[node] += margin(full, node)[None] if parent < 0 else margin(full, parent, node)
    return np.concatenate([c.ravel() for c in counts])


def slow_log(tree, row):
    """log p(row) by sums over states in logarithms, from the leaves up."""
    said = [np.zeros(k) for k in tree.cardinalities]
    with np.errstate(divide="ignore"):
        for node in range(len(tree.parents) - 1, -1, -1):
            column = tree.columns[node]
            if column >= 0 and row[column] >= 0:
                others = np.arange(tree.cardinalities[node]) != row[column]
                said[node][others] = -np.inf
            message = np.logaddexp.reduce(np.log(tree.tables[node]) + said[node], axis=1)
            if node > 0:
                said[tree.parents[node]] += message
    return message[0]
