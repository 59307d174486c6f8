"""Sites and programs: each pattern is a distinct part of the rows, and the arrays say the same."""

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tree_reference import random_rows, random_tree, seen

from latentclass.latent_tree import _schedule as program_module
from latentclass.latent_tree._row_patterns import group_rows
from latentclass.latent_tree._schedule import (
    EVIDENCE,
    INPUTS,
    K_PARENT,
    LAM,
    LEARNED,
    MESSAGE,
    PLACES,
    SIZE,
    TABLE,
    K,
    make_program,
    make_sites,
)
from latentclass.latent_tree._tree import Tree


def slow_lam(tree, sites, number):
    """What a site multiplies, (k, patterns), from the sites below it; evidence is 0 or 1."""
    site = sites[number]
    if not site.inputs:
        return np.column_stack([np.eye(site.k), np.ones(site.k)])
    out = np.ones((site.k, site.size))
    for source, places in zip(site.inputs, site.places, strict=True):
        message = slow_lam(tree, sites, source)
        node = sites[source].node
        if node > 0:
            message = tree.tables[node] @ message
        out *= message[:, places]
    return out


@pytest.mark.parametrize("own_share", [0.8, 1.0])
@pytest.mark.parametrize("group_size", [4, 16])
@pytest.mark.parametrize("seed", range(4))
class TestSites:
    @pytest.fixture(autouse=True)
    def case(self, seed, group_size, own_share, monkeypatch):
        monkeypatch.setattr(program_module, "GROUP_SIZE", group_size)
        monkeypatch.setattr(program_module, "OWN_SHARE", own_share)
        self.tree = random_tree(seed, n_leaves=6, inner_observed=seed % 2 == 1)
        rows = group_rows(random_rows(self.tree, 30, np.random.default_rng(seed)))
        self.block = rows.blocks[0]
        self.sites = make_sites(self.tree, self.block)

    def test_rows_of_one_pattern_agree(self):
        for site in self.sites:
            parts = self.block.codes[:, sorted(site.columns)]
            for pattern in np.unique(site.ids):
                assert len(np.unique(parts[site.ids == pattern], axis=0)) == 1
            assert site.ids.max() < site.size

    def test_the_root_comes_last_and_inputs_before_their_users(self):
        assert self.sites[-1].node == 0
        for number, site in enumerate(self.sites):
            assert all(source < number for source in site.inputs)
        sent = sorted(site.node for site in self.sites if site.node >= 0)
        assert sent == list(range(len(self.tree.parents)))

    def test_the_sites_give_the_probability_of_each_row(self):
        lam = slow_lam(self.tree, self.sites, len(self.sites) - 1)
        found = (self.tree.tables[0] @ lam)[0, self.sites[-1].ids]
        expected = [seen(self.tree, row).sum() for row in self.block.codes]
        assert_allclose(found, expected, rtol=1e-12)

    def test_a_program_has_the_same_inputs_and_places(self):
        program = make_program(self.tree, self.sites)
        table, spans = program.sites.tolist(), []
        for i, site in enumerate(self.sites):
            edges = slice(table[i][INPUTS], table[i + 1][INPUTS])
            assert tuple(program.edges[edges, 0]) == site.inputs
            places = program.places[table[i][PLACES] : table[i + 1][PLACES]]
            assert np.array_equal(places, site.places.ravel())
            assert table[i][EVIDENCE] == (not site.inputs)
            assert table[i][LEARNED] == (site.node >= 0)
            if site.node >= 0:
                assert table[i][TABLE] == self.tree.offsets[site.node]
            spans += _spans(table[i], stored=bool(site.inputs))
        # the numbers of all sites lie side by side
        spans.sort()
        assert spans[0][0] == 0
        assert spans[-1][1] == program.n_numbers
        assert all(a[1] == b[0] for a, b in pairwise(spans))


def _spans(site, stored):
    """Where a site's numbers lie: its product unless it is evidence, and its message."""
    message = (site[MESSAGE], site[MESSAGE] + site[K_PARENT] * site[SIZE])
    if not (site[LEARNED] and stored):
        return [message]
    return [(site[LAM], site[LAM] + site[K] * site[SIZE]), message]


def test_inputs_are_grouped(monkeypatch):
    monkeypatch.setattr(program_module, "GROUP_SIZE", 4)
    tree = Tree.even((-1, *(0,) * 6), (2,) * 7, (-1, *range(6)))
    codes = np.array(list(product(range(2), repeat=6)))
    sites = program_module.make_sites(tree, group_rows(codes).blocks[0])
    grouped = [site for site in sites if site.node < 0]
    assert [(site.size, len(site.inputs)) for site in grouped] == [(4, 2)] * 3
    assert (sites[-1].size, len(sites[-1].inputs)) == (64, 3)


STEP_TREE = Tree.even(
    (-1, 0, 1, 2, 0, 1, 2, 3, 3), (3,) * 4 + (4,) * 5, (-1,) * 4 + tuple(range(5))
)


def test_inputs_in_step_with_their_site_are_found(monkeypatch):
    """A site and its input whose patterns are the rows themselves go through memory in step."""
    block = group_rows(np.random.default_rng(0).integers(-1, 4, (200, 5))).blocks[0]
    programs = {}
    for share in (1.0, 0.5):
        monkeypatch.setattr(program_module, "OWN_SHARE", share)
        block.patterns.clear()
        sites = make_sites(STEP_TREE, block)
        programs[share] = make_program(STEP_TREE, sites)
    assert not programs[1.0].edges[:, 1].any()
    program = programs[0.5]
    assert program.edges[:, 1].any()
    table = program.sites.tolist()
    for site in range(len(table) - 1):
        size = table[site][SIZE]
        for number, edge in enumerate(range(table[site][INPUTS], table[site + 1][INPUTS])):
            source, straight = program.edges[edge].tolist()
            start = table[site][PLACES] + number * size
            in_order = np.array_equal(program.places[start : start + size], np.arange(size))
            assert straight == (in_order and table[source][SIZE] == size)
