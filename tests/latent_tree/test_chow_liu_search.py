"""Hidden Chow-Liu trees and the rounds that follow."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.latent_tree._chow_liu_search import (
    _apart,
    _Rounds,
    hidden_chow_liu,
    search_fast,
)
from latentclass.latent_tree._east import Climb, EastSettings, search
from latentclass.latent_tree._east_moves import Judged, Move
from latentclass.latent_tree._inference import row_log_likelihood
from latentclass.latent_tree._tree import (
    Tree,
    irregular_nodes,
    observed_codes,
    sample_nodes,
)


@pytest.fixture(scope="module")
def chain():
    """Four latent nodes in a chain, three columns of three levels below each."""
    rng = np.random.default_rng(1)
    sharp = 0.7 * np.eye(3) + 0.1
    parents = (-1, 0, 1, 2, *np.repeat(range(4), 3).tolist())
    even = Tree.even(parents, (3,) * 16, (-1,) * 4 + tuple(range(12)))
    tree = Tree(even.parents, even.cardinalities, even.columns, (even.tables[0], *[sharp] * 15))
    codes = observed_codes(tree, sample_nodes(tree, 1200, rng))
    codes[rng.random(codes.shape) < 0.02] = -1
    return codes


def test_twins_stand_where_their_columns_stood():
    """Columns in a chain, each a noisy copy of the one before: the Chow-Liu tree is the chain."""
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 4, 4000)]
    for _ in range(4):
        noise = rng.random(4000) < 0.3
        columns.append(np.where(noise, rng.integers(0, 4, 4000), columns[-1]))
    codes = np.stack(columns, axis=1).astype(np.int32)
    tree = hidden_chow_liu(codes, np.ones(4000), [4] * 5, 99)
    below = {
        frozenset(tree.columns[c] for c in tree.children[v] if tree.columns[c] >= 0)
        for v in tree.latent
    }
    # the columns at the ends have no twin, and are leaves of their neighbour's
    assert below == {frozenset([0, 1]), frozenset([2]), frozenset([3, 4])}
    assert tree.latent_cardinalities == (2, 2, 2)
    assert irregular_nodes(tree) == ()
    own = tree.columns.index(2)
    # its two states are two sets of levels
    assert_allclose(np.sort(tree.tables[own], axis=0)[1] > 0.2, True)
    assert hidden_chow_liu(codes, np.ones(4000), [4] * 5, 1).latent_cardinalities == (1,)
    assert hidden_chow_liu(codes[:, :2], np.ones(4000), [4] * 2, 9).latent_cardinalities == (1,)


def test_it_comes_close_to_east(chain):
    weight, levels = np.ones(len(chain)), [3] * 12
    quick = search_fast(chain, weight, levels, EastSettings())
    slow = search(chain, weight, levels, EastSettings())
    assert quick.ended == "done"
    assert_allclose(quick.steps[-1].score, slow.steps[-1].score, rtol=0.005)
    assert irregular_nodes(quick.tree) == ()
    assert np.all(np.diff([step.score for step in quick.steps]) > 0)
    total = row_log_likelihood(quick.tree, chain).sum()
    assert_allclose(quick.log_likelihood, total, rtol=1e-7)
    assert sum(s.n_judged for s in quick.steps) < sum(s.n_judged for s in slow.steps)


def test_a_round_that_does_not_help_tries_its_best_move_alone(chain, monkeypatch):
    tried = []
    original = Climb._try_tree

    def refuse_many(self, kind, tree, numbers, touched):
        tried.append(len(touched))
        if len(tried) == 1:
            return None
        return original(self, kind, tree, numbers, touched)

    monkeypatch.setattr(Climb, "_try_tree", refuse_many)
    search_fast(chain, np.ones(len(chain)), [3] * 12, EastSettings(max_states=3))
    assert len(tried) > 1
    assert tried[1] < tried[0]


def test_moves_made_together_do_not_touch():
    def move(node, hung):
        return Judged(Move("state+", node, (), 3, 0), 1.0, np.empty(0), hung)

    first, near, far = move(0, (1, 5)), move(1, (0, 6)), move(2, (5, 7))
    assert _apart([first, near, far]) == [first, far]


class _Scripted(_Rounds):
    """Rounds of which each gains what a list says."""

    score = 0.0

    def __init__(self, gains):
        self.gains, self.kinds = {kind: iter(own) for kind, own in gains.items()}, []

    def _more_states(self):
        return "state+"

    def _near_relocations(self):
        return "relocation"

    def _removals(self):
        return "removal"

    def _round(self, kind):
        self.kinds.append(kind)
        gain = next(self.gains[kind], 0.0)
        self.score += gain
        return gain > 0.0


def test_rounds_of_a_kind_end_when_they_gain_little():
    search = _Scripted(
        {"state+": [900.0, 100.0, 9.0, 50.0], "relocation": [0.0, 11.0], "removal": [20.0]}
    )
    search.run()
    assert search.kinds == [
        *["state+"] * 3,  # 9 is less than a hundredth of 1009
        "relocation",
        *["removal"] * 2,
        *["state+"] * 2,  # 50, then nothing
        *["relocation"] * 2,  # 11 is more than a hundredth of 1090
        "removal",
        "state+",
        "relocation",
        "removal",
    ]
