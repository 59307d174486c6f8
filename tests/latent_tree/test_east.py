"""The search for latent trees: every move against full propagation, and what the search keeps."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.latent_tree import _east
from latentclass.latent_tree._east import EastSettings, first_tree, search
from latentclass.latent_tree._east_local_em import local_em, n_entries, region_log_likelihood
from latentclass.latent_tree._east_messages import Base, Data, floored
from latentclass.latent_tree._east_moves import (
    Judged,
    LocalEM,
    _disturbed,
    judge,
    make,
    node_deletions,
    node_introductions,
    outside,
    relocations,
    state_moves,
)
from latentclass.latent_tree._east_region import make_region
from latentclass.latent_tree._east_shape import LooseTree, Shape
from latentclass.latent_tree._em import fit_tree
from latentclass.latent_tree._inference import group_rows, node_posteriors, row_log_likelihood
from latentclass.latent_tree._tree import (
    Tree,
    irregular_nodes,
    largest_regular_cardinality,
    n_parameters,
    observed_codes,
    sample_nodes,
)

HOW = LocalEM(n_init=4, max_iter=12, tol=0.01, seed=0)


def random_tree(rng, n_latent=4, n_leaves=11):
    """Latent nodes first; every one has at least two leaves."""
    parents = [-1, *(int(rng.integers(0, i)) for i in range(1, n_latent))]
    parents += [j % n_latent for j in range(n_leaves)]
    states = [int(rng.integers(2, 4)) for _ in range(n_latent)]
    states += [int(rng.integers(2, 5)) for _ in range(n_leaves)]
    columns = [-1] * n_latent + list(range(n_leaves))
    even = Tree.even(parents, states, columns)
    tables = tuple(rng.dirichlet(np.ones(t.shape[1]), len(t)) for t in even.tables)
    return Tree(even.parents, even.cardinalities, even.columns, tables)


def random_rows(tree, rng, n_rows=60):
    codes = observed_codes(tree, sample_nodes(tree, n_rows, rng))
    codes[rng.random(codes.shape) < 0.05] = -1
    return codes, rng.integers(1, 4, n_rows).astype(float)


def make_base(tree, codes, weight):
    rows = group_rows(codes, weight)
    return Base(
        floored(tree),
        Data(
            np.concatenate([b.codes for b in rows.blocks]),
            np.concatenate([b.weight for b in rows.blocks]),
        ),
    )


def introduction_region(base, move):
    factor = base.without(move.node, list(move.others))
    branches = [(v, move.node) for v in move.others]
    return make_region(base, branches, len(factor), factor, k_new=move.states)


def all_moves(shape):
    groups = [[m] for m in state_moves(shape, 1, 9)]
    groups += [[m] for m in state_moves(shape, -1, 9)]
    groups += [[m] for m in node_introductions(shape)]
    groups += [[m] for m in node_deletions(shape)]
    for source in sorted(shape.latent):
        for branch in shape.around[source]:
            groups.append(list(relocations(shape, source, branch, outside(shape, branch, source))))
    return groups


@pytest.mark.parametrize("seed", range(4))
def test_messages_are_the_posteriors_of_full_propagation(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    base = make_base(tree, *random_rows(tree, rng))
    expected = node_posteriors(base.tree, base.data.codes)
    for node, posterior in zip(tree.latent, expected, strict=True):
        assert_allclose(base.posterior[node].T, posterior, rtol=1e-9, atol=1e-12)
        product = base.margin[node][:, None] * np.prod(
            [base.message(other, node) for other in base.neighbours(node)], axis=0
        )
        assert_allclose(product / product.sum(axis=0), base.posterior[node], rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_what_a_move_gains_is_what_full_propagation_says(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    base = make_base(tree, *random_rows(tree, rng))
    weight = base.data.weight
    before = weight @ row_log_likelihood(base.tree, base.data.codes)
    shape = Shape.of(base.tree)
    seen = set()
    for group in all_moves(shape):
        for judged in judge(base, group, HOW):
            moved, numbers = make(base.tree, [judged])
            after = weight @ row_log_likelihood(moved, base.data.codes)
            assert_allclose(before + judged.gain, after, rtol=1e-9)
            assert n_parameters(moved) == judged.move.n_parameters
            assert irregular_nodes(moved) == ()
            assert sorted(c for c in moved.columns if c >= 0) == list(range(11))
            assert all(numbers[v] < len(moved.parents) for v in numbers)
            seen.add(judged.move.kind)
    assert seen == {"state+", "state-", "node+", "node-", "relocation"}


def test_local_em_takes_the_steps_of_em_with_fixed_tables():
    rng = np.random.default_rng(7)
    tree = random_tree(rng)
    codes, weight = random_rows(tree, rng)
    base = make_base(tree, codes, weight)
    for move in node_introductions(Shape.of(base.tree)):
        region = introduction_region(base, move)
        noise = rng.standard_exponential((1, n_entries(region)))
        tables = [np.ones((region.k, move.states))]
        tables += [np.ones((move.states, tree.cardinalities[v])) for v in move.others]
        start = _disturbed(tables, noise)
        moved, numbers = make(base.tree, [Judged(move, 0.0, start[0], move.others)])
        free = [numbers[v] for v in (len(tree.parents), *move.others)]
        for n_steps in (1, 5):
            theta, gain = local_em(region, start, n_steps, 0.0)
            fitted, _ = make(base.tree, [Judged(move, gain, theta, move.others)])
            expected = fit_tree(
                moved, codes, weight=weight, free=free, from_tables=True, tol=0.0,
                max_iter=1 + n_steps, rng=rng,
            )  # fmt: skip
            for node in free:
                assert_allclose(fitted.tables[node], expected.tree.tables[node], atol=1e-10)


def test_local_em_never_falls_and_halves_its_starts():
    rng = np.random.default_rng(1)
    tree = random_tree(rng)
    base = make_base(tree, *random_rows(tree, rng))
    move = next(node_introductions(Shape.of(base.tree)))
    region = introduction_region(base, move)
    starts = np.stack([judge(base, [move], HOW._replace(seed=s))[0].theta for s in range(3)])
    starts = 0.5 * starts + 0.5 * starts.mean(axis=0)
    values = [local_em(region, starts[:1], n, 0.0)[1] for n in range(12)]
    assert np.all(np.diff(values) >= -1e-9)
    assert_allclose(values[0], region_log_likelihood(region, starts[0]))
    alone = [local_em(region, starts[i : i + 1], 1, 0.0)[1] for i in range(3)]
    # after one step the two best starts remain
    assert local_em(region, starts, 1, 0.0)[1] == max(alone)


def test_many_columns_do_not_underflow():
    rng = np.random.default_rng(3)
    n = 400
    codes = np.repeat(rng.integers(0, 9, (40, 1)), n, axis=1).astype(np.int32)
    codes[:, ::2] = rng.integers(0, 9, (40, n // 2))
    found = search(codes, np.ones(40), [9] * n, EastSettings(n_init=2, max_states=2, max_latent=1))
    assert np.isfinite(found.log_likelihood)
    total = row_log_likelihood(found.tree, codes).sum()
    assert_allclose(total, found.log_likelihood, rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_shapes_count_and_judge_as_trees_do(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_latent=5)
    shape = Shape.of(tree)
    assert shape.n_parameters == n_parameters(tree)
    for node in tree.latent:
        assert shape.largest(node) == largest_regular_cardinality(tree, node)
    assert shape.is_regular() == (irregular_nodes(tree) == ())


def test_redundant_nodes_are_removed_without_loss():
    rng = np.random.default_rng(2)
    # node 0 has only one child; node 1 has two neighbours and as many states as one of them
    parents, states = (-1, 0, 1, 2, 2, 2, 1), (3, 2, 2, 3, 3, 3, 2)
    even = Tree.even(parents, states, (-1, -1, -1, 0, 1, 2, 3))
    tables = tuple(rng.dirichlet(np.ones(t.shape[1]), len(t)) for t in even.tables)
    tree = Tree(parents, states, even.columns, tables)
    codes = observed_codes(tree, sample_nodes(tree, 50, rng))
    tidied, _ = LooseTree(tree).tidy().tree()
    assert len(tidied.latent) == 1
    assert n_parameters(tidied) == Shape.of(tree).tidy().n_parameters
    assert_allclose(row_log_likelihood(tidied, codes), row_log_likelihood(tree, codes), rtol=1e-9)


@pytest.fixture(scope="module")
def two_groups():
    """Two dependent latent nodes of three states, with four columns below each."""
    rng = np.random.default_rng(0)
    sharp = 0.7 * np.eye(3) + 0.1
    even = Tree.even((-1, 0, *[0] * 4, *[1] * 4), (3,) * 10, (-1, -1, *range(8)))
    tree = Tree(even.parents, even.cardinalities, even.columns, (even.tables[0], *[sharp] * 9))
    return observed_codes(tree, sample_nodes(tree, 1500, rng))


def test_the_tree_that_made_the_rows_is_found(two_groups):
    rows = []
    found = search(two_groups, np.ones(1500), [3] * 8, EastSettings(), on_step=rows.append)
    tree = found.tree
    assert found.ended == "done"
    assert rows == found.steps
    groups = {
        frozenset(tree.columns[c] for c in tree.children[v] if tree.columns[c] >= 0)
        for v in tree.latent
    }
    assert groups == {frozenset(range(4)), frozenset(range(4, 8))}
    assert tree.latent_cardinalities == (3, 3)
    scores = [step.score for step in found.steps]
    assert np.all(np.diff(scores) > 0)
    assert found.steps[-1].n_parameters == n_parameters(tree)
    assert_allclose(found.log_likelihood, row_log_likelihood(tree, two_groups).sum(), rtol=1e-7)


def test_memory_and_threads_change_nothing_that_matters(two_groups, monkeypatch):
    codes, weight = two_groups[:400], np.ones(400)
    starts = []
    judge_moves = _east.judge

    def watch(base, moves, how):
        starts.append(how.n_init)
        return judge_moves(base, moves, how)

    with monkeypatch.context() as patched:
        patched.setattr(_east, "judge", watch)
        lazy = search(codes, weight, [3] * 8, EastSettings())
    assert set(starts) == {4, 16}
    assert starts.count(16) < 0.5 * len(starts)
    plain = search(codes, weight, [3] * 8, EastSettings(lazy=False))
    assert_allclose(lazy.steps[-1].score, plain.steps[-1].score, rtol=1e-3)
    monkeypatch.setattr(_east, "THREAD_WORK", 0)
    threads = search(codes, weight, [3] * 8, EastSettings(n_jobs=2))
    assert threads.tree.theta.tolist() == lazy.tree.theta.tolist()
    assert threads.tree.parents == lazy.tree.parents


def test_random_starts_help_em_on_the_whole_tree(two_groups, monkeypatch):
    fits = []
    fit_tree = _east.fit_tree

    def watch(tree, rows, **options):
        fits.append(fit_tree(tree, rows, **options))
        return fits[-1]

    monkeypatch.setattr(_east, "fit_tree", watch)
    search(two_groups[:200], np.ones(200), [3] * 8, EastSettings(n_full_init=8, max_latent=2))
    assert {len(fit.result.histories) for fit in fits} == {8}
    kept = {int(fit.result.order[0]) for fit in fits}
    assert len(kept) > 1, "only the tables of local EM were kept"
    for fit in fits:
        steps = [len(history) for history in fit.result.histories]
        assert sorted(steps)[3] == 2 < max(steps), "the worse half is dropped after one step"


def test_only_regular_trees_are_visited(two_groups, monkeypatch):
    seen = []
    keep = _east.Climb._keep

    def watch(self, kind, tree, log_likelihood):
        seen.append(tree)
        keep(self, kind, tree, log_likelihood)

    monkeypatch.setattr(_east.Climb, "_keep", watch)
    search(two_groups[:200], np.ones(200), [3] * 8, EastSettings())
    assert len(seen) > 3
    assert all(irregular_nodes(tree) == () for tree in seen)


def test_weight_two_is_the_row_twice(two_groups):
    codes = two_groups[:150]
    twice = search(codes, np.full(150, 2.0), [3] * 8, EastSettings())
    copied = search(np.repeat(codes, 2, axis=0), np.ones(300), [3] * 8, EastSettings())
    assert twice.tree.parents == copied.tree.parents
    assert twice.tree.theta.tolist() == copied.tree.theta.tolist()


def test_independent_columns_stay_alone():
    codes = np.random.default_rng(5).integers(0, 3, (300, 6)).astype(np.int32)
    found = search(codes, np.ones(300), [3] * 6, EastSettings(penalty=0.5 * np.log(300)))
    assert found.tree.latent_cardinalities == (1,)
    for node, column in enumerate(found.tree.columns):
        if column >= 0:
            share = np.bincount(codes[:, column], minlength=3) / 300
            assert_allclose(found.tree.tables[node][0], share, atol=1e-9)


def test_one_start_is_enough_to_search(two_groups):
    found = search(two_groups[:300], np.ones(300), [3] * 8, EastSettings(n_init=1))
    assert len(found.tree.latent) > 1


def test_limits_are_kept(two_groups):
    codes, weight = two_groups[:300], np.ones(300)
    small = search(codes, weight, [3] * 8, EastSettings(max_states=2))
    assert max(small.tree.latent_cardinalities) == 2
    single = search(codes, weight, [3] * 8, EastSettings(max_latent=1))
    assert len(single.tree.latent) == 1
    bic = search(codes, weight, [3] * 8, EastSettings(penalty=0.5 * np.log(300)))
    aic = search(codes, weight, [3] * 8, EastSettings())
    assert n_parameters(bic.tree) <= n_parameters(aic.tree)


def test_out_of_time_gives_the_best_so_far_and_goes_on_from_there(two_groups):
    late = EastSettings(deadline=time.monotonic())
    found = search(two_groups, np.ones(1500), [3] * 8, late)
    assert (found.ended, [s.move for s in found.steps]) == ("time", ["start"])
    on = search(two_groups, np.ones(1500), [3] * 8, EastSettings(), start=found.tree)
    assert on.ended == "done"
    assert on.tree.latent_cardinalities == (3, 3)


def test_an_interrupt_gives_the_best_so_far(two_groups):
    def stop(step):
        if step.move != "start":
            raise KeyboardInterrupt

    found = search(two_groups, np.ones(1500), [3] * 8, EastSettings(), on_step=stop)
    assert (found.ended, [s.move for s in found.steps]) == ("interrupt", ["start", "state+"])
    assert found.tree.latent_cardinalities == (2,)
    total = row_log_likelihood(found.tree, two_groups).sum()
    assert_allclose(found.log_likelihood, total, rtol=1e-7)


def test_the_first_tree_is_one_latent_node_of_one_state():
    tree = first_tree([2, 3])
    assert (tree.parents, tree.cardinalities, tree.columns) == (
        (-1, 0, 0), (1, 2, 3), (-1, 0, 1),
    )  # fmt: skip
