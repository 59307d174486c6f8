"""The compiled passes against exact fractions, from ordinary tables to the smallest numbers."""

import math
from fractions import Fraction
from itertools import chain, product

import numpy as np
import pytest
from kernel_entry import entry
from numpy.testing import assert_allclose
from tree_reference import random_rows, random_tables

from latentclass.latent_tree import _pass_kernels as kernels
from latentclass.latent_tree._expected_counts import messages, plan_rows
from latentclass.latent_tree._row_patterns import group_rows
from latentclass.latent_tree._schedule import (
    K_PARENT,
    LAM,
    MESSAGE,
    SIZE,
    K,
    make_program,
    make_sites,
)
from latentclass.latent_tree._tree import Tree

SHAPES = {
    "two latent nodes": ((-1, 0, 0, 0, 1, 1), (2, 3, 2, 2, 2, 3), (-1, -1, 0, 1, 2, 3)),
    "an inner node that shows a column": ((-1, 0, 0, 1, 1), (3, 2, 2, 2, 2), (-1, 0, 1, 2, 3)),
    "one state": ((-1, 0, 0, 0), (1, 2, 3, 2), (-1, 0, 1, 2)),
}


def make_case(shape, lowest):
    """A tree with entries down to 10**lowest, and rows with holes."""
    rng = np.random.default_rng(0)
    even = Tree.even(*SHAPES[shape])
    tables = []
    for table in random_tables(even, rng).tables:
        small = table * 10.0 ** rng.uniform(lowest, 0, table.shape)
        small[:, -1] = 1.0 - small[:, :-1].sum(axis=1)
        tables.append(small)
    tree = Tree(*SHAPES[shape], tuple(tables))
    return tree, group_rows(random_rows(tree, 8, rng)).blocks[0]


def exact_messages(tree, sites):
    """lam and message of each site in fractions: m(p) = sum_s P(s | p) prod_i m_i(s)."""
    lams, sent = [], []
    for site in sites:
        lam = [[Fraction(1)] * site.size for _ in range(site.k)]
        if not site.inputs:
            lam = [
                [Fraction(int(u in (s, site.k))) for u in range(site.size)] for s in range(site.k)
            ]
        for source, places in zip(site.inputs, site.places, strict=True):
            for s, u in product(range(site.k), range(site.size)):
                lam[s][u] *= sent[source][s][places[u]]
        lams.append(lam)
        message = lam
        if site.node >= 0:
            message = [
                [sum(Fraction(x) * lam[s][u] for s, x in enumerate(row)) for u in range(site.size)]
                for row in tree.tables[site.node]
            ]
        sent.append(message)
    return lams, sent


def exact_numbers(numbers, start, k, size):
    """Numbers with their exponents as fractions, (k, size)."""
    return [
        [
            Fraction(float(numbers.value[i])) * Fraction(2) ** (256 * int(numbers.exponent[i]))
            for i in range(start + s * size, start + (s + 1) * size)
        ]
        for s in range(k)
    ]


def assert_close(found, expected):
    for one, other in zip(chain(*found), chain(*expected), strict=True):
        assert abs(one - other) <= Fraction(1e-12) * other


def exact_counts(tree, codes, weight):
    """Expected counts by the sum over all states of all nodes, and the log-likelihood."""
    counts, total = [Fraction(0)] * len(tree.theta), 0.0
    for row, w in zip(codes, weight, strict=True):
        joint = {}
        for states in product(*map(range, tree.cardinalities)):
            shown = [(s, row[c]) for s, c in zip(states, tree.columns, strict=True) if c >= 0]
            if all(code in (-1, s) for s, code in shown):
                entries = [
                    int(tree.offsets[v]) + (0 if p < 0 else states[p]) * k + states[v]
                    for v, (p, k) in enumerate(zip(tree.parents, tree.cardinalities, strict=True))
                ]
                joint[tuple(entries)] = math.prod(Fraction(tree.theta[i]) for i in entries)
        p_row = sum(joint.values())
        total += w * (math.log(p_row.numerator) - math.log(p_row.denominator))
        for entries, p in joint.items():
            for i in entries:
                counts[i] += Fraction(float(w)) * p / p_row
    return np.array([float(c) for c in counts]), total


@pytest.mark.parametrize("lowest", [0, -90, -300])
@pytest.mark.parametrize("shape", SHAPES)
class TestPasses:
    def test_upward(self, shape, lowest):
        tree, block = make_case(shape, lowest)
        sites = make_sites(tree, block)
        program = make_program(tree, sites)
        numbers = messages(program, tree.theta)
        lams, sent = exact_messages(tree, sites)
        for i, site in enumerate(sites):
            own = program.sites[i].tolist()
            assert (own[K], own[SIZE]) == (site.k, site.size)
            found = exact_numbers(numbers, own[MESSAGE], own[K_PARENT], site.size)
            assert_close(found, sent[i])
            if site.inputs:
                assert_close(exact_numbers(numbers, own[LAM], site.k, site.size), lams[i])
            assert numbers.floor[i] >= kernels.TINY
        assert numbers.scaled.any() == (lowest == -300 or numbers.exponent.any())

    def test_counts_of_both_passes(self, shape, lowest):
        tree, block = make_case(shape, lowest)
        weight = np.linspace(0.5, 2.0, len(block.codes))
        plan = plan_rows(tree, group_rows(block.codes, weight))
        counts, total = plan.expect(0, tree.theta[None])
        expected, expected_total = exact_counts(tree, block.codes, weight)
        assert_allclose(counts[0], expected, rtol=1e-10, atol=1e-300)
        assert_allclose(total, expected_total, rtol=1e-12)


@pytest.mark.parametrize(("value", "exponent"), [(0.75, 0), (0.75, 2), (3.0, -3), (1.0, -9)])
def test_shift(value, exponent):
    expected = float(Fraction(value) * Fraction(2) ** (256 * exponent))
    assert entry(kernels._shift)(value, exponent) == expected


def at(*offsets):
    return [np.uint64(offset) for offset in offsets]


@pytest.mark.parametrize("k_parent", [1, 2, 3, 4])
def test_posteriors_and_counts_of_an_edge(k_parent):
    rng = np.random.default_rng(k_parent)
    conditional, above = rng.random((k_parent, 3)), rng.random((k_parent, 10))
    lam = rng.random((3, 10))
    joint = np.einsum("pu,ps,su->psu", above, conditional, lam)
    count = np.ones(k_parent * 3)
    value = np.concatenate([lam.ravel(), np.full(10 * k_parent, np.nan)])
    both = np.concatenate([np.full(30, np.nan), above.ravel()])
    for s in range(3):
        table, step, own, message, parents, n = at(s, 3, 10 * s, 30, k_parent, 10)
        entry(kernels._spread)(
            conditional.ravel(), table, step, value, own, both, message, parents, n, count
        )
    assert_allclose(both[:30].reshape(3, 10), joint.sum(axis=0), rtol=1e-13)
    assert_allclose(count.reshape(k_parent, 3), 1 + joint.sum(axis=2), rtol=1e-13)


def test_weighted_logarithms_of_rows_in_any_grouping():
    x = np.array([0.5, 0.25, 2.0, 1e-70, 1e-70, 1e-70, 1e-70, 3.0, 0.0, 0.5])
    weight = np.array([2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 4.0])
    e = np.zeros(10, dtype=np.int32)
    used, start = weight > 0, np.uint64(0)
    plain = weight[used] @ np.log(x[used])
    assert_allclose(entry(kernels._sum_logs)(x, e, start, weight), plain, rtol=1e-14)
    e -= np.arange(10, dtype=np.int32)
    scaled = weight[used] @ (np.log(x[used]) + e[used] * kernels.LOG_BIG)
    assert_allclose(entry(kernels._sum_logs)(x, e, start, weight), scaled, rtol=1e-14)
    weight[8] = 1.0
    assert entry(kernels._sum_logs)(x, e, start, weight) == -math.inf


def test_memory_is_left_clean_for_the_next_start():
    tree, block = make_case("two latent nodes", -300)
    plan = plan_rows(tree, group_rows(block.codes))
    first = plan.expect(0, tree.theta[None])
    ((_, exponent, scaled, _, _),) = plan._rooms
    assert not exponent.any()
    assert not scaled.any()
    for a, b in zip(first, plan.expect(0, tree.theta[None]), strict=True):
        assert np.array_equal(a, b)
