"""Compiled passes over the rows, against loops and indexing."""

import numpy as np
from numpy.testing import assert_allclose

from latentclass.hnb import _kernels


def test_counts_leave_out_what_has_no_group_or_no_column():
    rng = np.random.default_rng(0)
    group = rng.integers(-1, 6, 50).astype(np.int32)
    row = rng.integers(0, 20, 50).astype(np.int32)
    codes = rng.integers(-1, 4, 20).astype(np.int32)
    weight = rng.random(50)
    counts = np.zeros((6, 3))
    _kernels.add_counts(counts, group, row, weight, codes)
    expected = np.zeros((6, 3))
    for g, r, w in zip(group, row, weight, strict=True):
        if g >= 0 and 0 <= codes[r] < 3:
            expected[g, codes[r]] += w
    assert_allclose(counts, expected, rtol=1e-12)
    assert (codes == 3).any()


def test_ties_are_shared_among_the_best_classes():
    log_joint = np.log([[0.5, 0.4, 0.2, 0.1], [0.5, 0.4, 0.7, 0.1], [0.1, 0.4, 0.1, 0.9]])
    own, weight = np.array([0, 2, 0, 2], dtype=np.int32), np.array([1.0, 3.0, 10.0, 5.0])
    assert_allclose(_kernels.weight_right(log_joint, own, weight), 0.5 + 1.0 + 0.0 + 5.0)


def test_a_latent_variable_takes_the_place_of_two():
    rng = np.random.default_rng(1)
    row = rng.integers(0, 9, 30).astype(np.int32)
    evidence = [rng.integers(0, r, 9).astype(np.int32) for r in (2, 3, 4)]
    tables = [rng.normal(size=(3, r)) for r in (2, 3, 4)]
    before = rng.normal(size=(3, 30))

    def parts(i):
        return tables[i][:, evidence[i][row]]

    got = _kernels.exchange_logs(
        before, row, evidence[0], tables[0], evidence[1], tables[1], evidence[2], tables[2]
    )
    assert_allclose(got, before - parts(0) - parts(1) + parts(2), rtol=1e-12)
    added = before.copy()
    _kernels.add_logs(added, row, evidence[1], tables[1])
    assert_allclose(added, before + parts(1), rtol=1e-12)
