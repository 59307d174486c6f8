"""Which variables to join, and into which states: both from class counts alone.

Equations are those of Langseth and Nielsen (2006). A pair is strong if its dependence is unlikely
to be chance. The states of the variable that joins it are groups of combinations of the two levels,
chosen for a short description.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincc, gammaln

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.engine._counts import column_sums

TIES = 1e-11
"""Relative difference up to which two sums count as equal: they differ by rounding alone."""


def x_log_x(values: FloatArray) -> FloatArray:
    """x log x, 0 at 0."""
    return np.asarray(values * np.log(np.where(values > 0, values, 1.0)))


def log_fit(counts: FloatArray) -> FloatArray:
    """log-likelihood of the classes of rows in one state each, from class counts (..., K)."""
    return np.asarray(x_log_x(counts).sum(axis=-1) - x_log_x(counts.sum(axis=-1)))


def collapse_states(
    counts: FloatArray, expected: FloatArray, n_rows: float, *, exact: bool = False
) -> CodeArray:
    """States for combinations by predictive description length (Algorithm 2), shape (S,).

    Two states with class counts a and b become one if that shortens the description (equation 7,
    with natural logarithms throughout):

        (K / 2) log N + fit(a + b) - fit(a) - fit(b) > 0,   fit(a) = sum_k a_k log(a_k / sum a)

    Parameters
    ----------
    counts : array of shape (S, K)
        Class counts of each combination.
    expected : array of shape (S, K)
        Class weights of each combination. A combination without rows in `counts` gets the state
        that fits these weights best.
    n_rows : float
        N.
    exact : bool
        The best partition of all instead of greedy steps; two classes only.

    Examples
    --------
    >>> counts = np.array([[9.0, 1.0], [0.0, 8.0], [8.0, 2.0], [0.0, 0.0]])
    >>> collapse_states(counts, counts + [0.1, 0.3], 28.0).tolist()
    [0, 1, 0, 1]
    """
    n_classes = counts.shape[1]
    penalty = 0.5 * n_classes * np.log(max(n_rows, 1.0))
    seen = np.flatnonzero(counts.sum(axis=1) > 0)
    if not seen.size:
        return np.zeros(len(counts), dtype=np.int32)
    label, merged = _join_proportional(counts[seen], penalty)
    grouped = _best_groups(merged, penalty) if exact else _greedy_groups(merged, penalty)
    label = grouped[label]
    state = np.full(len(counts), -1)
    state[seen] = label
    rest = np.flatnonzero(state < 0)
    if rest.size:
        n_states = int(label.max()) + 1
        total = np.zeros((n_states, n_classes))
        np.add.at(total, label, counts[seen])
        # class shares of the state with one more row like the average of all
        smooth = total + counts.sum(axis=0) / max(float(counts.sum()), 1e-300) + 1e-12
        log_share = np.log(smooth / smooth.sum(axis=1, keepdims=True))
        want = expected[rest] / np.maximum(expected[rest].sum(axis=1, keepdims=True), 1e-300)
        state[rest] = _rounded(want @ log_share.T, 1.0).argmax(axis=1)
    # numbered in the order of the combinations
    _, first, inverse = np.unique(state, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse.reshape(-1)])


def expected_counts(counts: FloatArray, n_first: int) -> FloatArray:
    """Class weights by which combinations without rows get a state, shape (S, K).

    Those of all rows, `counts` (K, S), and a little of what independence of the two variables
    expects; the first has `n_first` levels.
    """
    both = counts.reshape(len(counts), n_first, -1)
    by_class = np.maximum(counts.sum(axis=1), 1e-300)
    guess = both.sum(axis=2)[:, :, None] * both.sum(axis=1)[:, None, :]
    guess = guess.reshape(len(counts), -1) / by_class[:, None] + 1e-9
    return np.asarray((counts + 1e-3 * guess).T)


def _rounded(values: FloatArray, unit: float) -> FloatArray:
    """Values without the last digits, which depend on the order of sums."""
    step = _tie_step(unit)
    return np.asarray(np.rint(values / step) * step)


def _tie_step(unit: float) -> float:
    return max(unit, 1e-300) * TIES


def _join_proportional(counts: FloatArray, penalty: float) -> tuple[IndexArray, FloatArray]:
    """Join combinations with the same class shares: greedy steps would start with them."""
    if penalty <= 0:
        return np.arange(len(counts)), counts
    share = np.round(counts / counts.sum(axis=1, keepdims=True), 11) + 0.0
    table: dict[bytes, int] = {}
    label = np.array([table.setdefault(row.tobytes(), len(table)) for row in share], dtype=np.intp)
    merged = np.zeros((len(table), counts.shape[1]))
    np.add.at(merged, label, counts)
    return label, merged


def _greedy_groups(counts: FloatArray, penalty: float) -> IndexArray:
    """Join the two groups that gain most, as long as that is above 0."""
    from latentclass.hnb._kernels import join_groups  # loads numba

    into = join_groups(counts.copy(), penalty, _tie_step(float(counts.sum())))
    return np.unique(into, return_inverse=True)[1].reshape(-1)


def _best_groups(counts: FloatArray, penalty: float) -> IndexArray:
    """The partition of shortest description: sorted by the second class's share it is contiguous.

    Dynamic programming over the last group's start.
    """
    order = np.argsort(counts[:, 1] / counts.sum(axis=1), kind="stable")
    before = np.vstack([np.zeros(counts.shape[1]), np.cumsum(counts[order], axis=0)])
    length = np.zeros(len(before))
    start = np.zeros(len(before), dtype=np.intp)
    unit = float(counts.sum())
    for end in range(1, len(before)):
        value = _rounded(length[:end] + penalty - log_fit(before[end] - before[:end]), unit)
        start[end] = value.argmin()
        length[end] = value[start[end]]
    label = np.empty(len(counts), dtype=np.intp)
    end, group = len(counts), 0
    while end > 0:
        label[order[start[end] : end]] = group
        end, group = int(start[end]), group + 1
    return label


def log_chi2_tail(statistic: FloatArray, freedom: FloatArray) -> FloatArray:
    """log P(chi-square variable > statistic), exact where the probability itself is 0 in floats."""
    a, x = np.broadcast_arrays(0.5 * np.asarray(freedom), 0.5 * np.asarray(statistic))
    tail = gammaincc(a, x)
    out = np.log(np.maximum(tail, 1e-290))
    far = tail < 1e-280
    if far.any():
        out[far] = _far_tail(a[far], x[far])
    return np.asarray(out)


def _far_tail(a: FloatArray, x: FloatArray) -> FloatArray:
    """log of the upper incomplete gamma ratio by its continued fraction (Lentz), for x >> a."""
    tiny = 1e-300
    b = x + 1.0 - a
    c = np.full_like(x, 1.0 / tiny)
    d = 1.0 / b
    h = d.copy()
    for i in range(1, 500):
        factor = -i * (i - a)
        b = b + 2.0
        d = factor * d + b
        d = 1.0 / np.where(np.abs(d) < tiny, tiny, d)
        c = b + factor / c
        c = np.where(np.abs(c) < tiny, tiny, c)
        delta = c * d
        h = h * delta
        if np.all(np.abs(delta - 1.0) < 1e-13):
            break
    return np.asarray(a * np.log(x) - x - gammaln(a) + np.log(np.abs(h)))


def pair_strength(tables: FloatArray, offsets: IndexArray, measure: str) -> FloatArray:
    """How surely one variable depends on each of others (equation 4); higher is surer.

    The paper ranks by Q = P(chi-square variable <= statistic), which is 1 in floats for most pairs.
    Here it is -log(1 - Q), which has the same order.

    Parameters
    ----------
    tables : array of shape (..., K, r, L)
        Weight of each level of the variable with each level of the others, by class.
    offsets : array of int
        Where each of the others' levels start.
    measure : {"chi2", "expected_kl"}
        "chi2": 2 N I(X; Y | class), which has K (r_x - 1) (r_y - 1) degrees of freedom if X and Y
        are independent given the class. "expected_kl": 2 N times the mean divergence of
        P(class | x, y) from what the two say if independent, see `_expected_kl`.

    Returns
    -------
    array of shape (..., n)
        Minus the log of the probability of a larger statistic; -inf for a single level.
    """
    if measure == "expected_kl":
        from latentclass.hnb._expected_kl import log_tail  # loads numba

        strength = -log_tail(tables, offsets)
    else:
        strength = -_information_log_tail(tables, offsets)
    several = (np.diff(offsets) > 1) & (tables.shape[-2] > 1)
    strength = np.where(several, strength, -np.inf)
    # sums over classes in another order differ in the last digits, which must not decide
    with np.errstate(invalid="ignore", divide="ignore"):
        digits = 10.0 ** (9 - np.floor(np.log10(np.maximum(np.abs(strength), 1e-3))))
        rounded = np.rint(strength * digits) / digits
    return np.asarray(np.where(np.isfinite(strength), rounded, strength))


def _information_log_tail(tables: FloatArray, offsets: IndexArray) -> FloatArray:
    """log P(larger conditional mutual information of independent variables)."""
    n_classes, r = tables.shape[-3:-1]
    by_level = column_sums(tables, offsets)  # (..., K, r, n): X = a with Y observed
    margin = tables.sum(axis=-2)  # (..., K, L)
    both = by_level.sum(axis=-2)  # (..., K, n)
    joint = column_sums(x_log_x(tables).sum(axis=-2), offsets)
    information = (
        joint
        - x_log_x(by_level).sum(axis=-2)
        - column_sums(x_log_x(margin), offsets)
        + x_log_x(both)
    ).sum(axis=-2)
    freedom = n_classes * (r - 1) * (np.diff(offsets) - 1)
    return log_chi2_tail(2.0 * np.maximum(information, 0.0), np.maximum(freedom, 1.0))
