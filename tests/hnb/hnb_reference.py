"""Algorithms 2 and 3 of Langseth and Nielsen (2006) as they are written, without any shortcut."""

import math
from itertools import combinations

import numpy as np
from scipy.stats import chi2


def gain_by_hand(a, b, n_rows):
    """Equation (7) with one base of logarithm throughout."""
    out = len(a) / 2 * math.log(n_rows)
    for x, y in zip(a, b, strict=True):
        out -= sum(v * math.log(v / (x + y)) for v in (x, y) if v > 0)
    total_a, total_b = sum(a), sum(b)
    out += sum(v * math.log(v / (total_a + total_b)) for v in (total_a, total_b) if v > 0)
    return out


def collapse_by_hand(counts, n_rows):
    """Algorithm 2 as written: all pairs anew at each step."""
    groups = [([i], list(map(float, row))) for i, row in enumerate(counts)]
    while len(groups) > 1:
        gains = {
            (i, j): gain_by_hand(groups[i][1], groups[j][1], n_rows)
            for i, j in combinations(range(len(groups)), 2)
        }
        i, j = max(gains, key=lambda pair: gains[pair])
        if gains[i, j] <= 0:
            break
        cells, other = groups[i], groups.pop(j)
        groups[i] = (cells[0] + other[0], [x + y for x, y in zip(cells[1], other[1], strict=True)])
    return {frozenset(cells) for cells, _ in groups}


def partition(states):
    return {frozenset(np.flatnonzero(states == s).tolist()) for s in np.unique(states)}


def log_tail(x, y, k, weight):
    """log(1 - Q) of equation (4)."""
    information, n_classes = 0.0, k.max() + 1
    for c in range(n_classes):
        table = np.zeros((x.max() + 1, y.max() + 1))
        np.add.at(table, (x, y), weight * (k == c))
        apart = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        seen = table > 0
        information += np.sum(table[seen] * np.log(table[seen] / apart[seen]))
    return chi2.logsf(2 * information, n_classes * x.max() * y.max())


def held_out_accuracy(tops, k, weight, trains):
    """Accuracy of naive Bayes by maximum likelihood on what is not in training."""
    right = 0.0
    for train in trains:
        log_joint = np.zeros((len(k), k.max() + 1))
        for c in range(k.max() + 1):
            own = train * (k == c)
            log_joint[:, c] = np.log(own.sum() / train.sum())
            for code in tops.values():
                log_joint[:, c] += np.log(np.bincount(code, own)[code] / own.sum())
        right += (weight - train) @ (log_joint.argmax(axis=1) == k)
    return right / weight.sum()


def algorithm_3(codes, k, weight, subsets, folds):
    """Every measure and every score is computed from the rows, at each step anew.

    `subsets` and `folds` have the weight of each row in each subset, and in each training set.
    Returns the children and the groups of combinations of each latent variable, and the scores.
    """
    tops = dict(enumerate(codes.T))
    found, scores = [], [held_out_accuracy(tops, k, weight, folds)]
    while len(tops) > 1:
        candidates = []
        for subset in subsets:
            tail = {(u, v): log_tail(tops[u], tops[v], k, subset) for u, v in combinations(tops, 2)}
            pair = min(tail, key=tail.get)
            x, y = (tops[v] for v in pair)
            combination = x * (y.max() + 1) + y
            counts = np.zeros(((x.max() + 1) * (y.max() + 1), k.max() + 1))
            np.add.at(counts, (combination, k), subset)
            assert np.all(counts.sum(axis=1) > 0)  # the paper does not say where an empty one goes
            groups = sorted(map(sorted, collapse_by_hand(counts, subset.sum())))
            new = {v: code for v, code in tops.items() if v not in pair}
            new[codes.shape[1] + len(found)] = np.array(
                [[c in group for group in groups].index(True) for c in combination]
            )
            candidates.append((held_out_accuracy(new, k, weight, folds), pair, groups, new))
        best = max(candidates, key=lambda candidate: candidate[0])
        if best[0] <= scores[-1] + 1e-9:
            break
        scores.append(best[0])
        found.append((set(best[1]), {frozenset(group) for group in best[2]}))
        tops = best[3]
    return found, scores
