"""Many iterations in one call, against the same steps taken one at a time with slow sums."""

import numpy as np
import pytest
from mixture_reference import (
    draw,
    log_joint,
    log_likelihood,
    make_rows,
    make_starts,
    pack,
    posterior,
    statistics,
)
from numpy.testing import assert_allclose, assert_array_equal

from latentclass.engine import _product as product
from latentclass.engine._product_mixture import MixtureParams
from latentclass.mixture._iteration_kernels import run_steps
from latentclass.mixture._padded_rows import make_spares, no_spares, with_place
from latentclass.mixture._searches import Marks

N_ROWS = 60


def make_marks(n_starts):
    """The marks of starts that have not begun."""
    low, no, none = np.full(n_starts, -np.inf), np.zeros(n_starts, bool), np.zeros(n_starts, int)
    return Marks(low, no, no.copy(), low.copy(), no.copy(), none, none.copy())


class Call:
    """The arrays of a call of `run_steps`, for all starts."""

    def __init__(self, data, params, n_steps):
        self.rows, self.prior, self.offsets = pack(data), data.prior, data.layout.offsets
        self.params = with_place(MixtureParams(*(array.copy() for array in params)))
        self.kept = with_place(MixtureParams(*(array.copy() for array in params)))
        n_starts, n_components = params.log_weight.shape
        self.marks = make_marks(n_starts)
        self.spares = no_spares(self.params)
        self.objective, self.best_so_far = (np.empty((n_starts, n_steps)) for _ in range(2))
        self.lost = np.zeros((n_starts, n_components), dtype=bool)

    def run(self, s, chance, sharpness):
        return run_steps(
            self.rows, self.prior, self.offsets, chance, sharpness, s, self.params, self.kept,
            self.marks, self.spares, self.objective, self.best_so_far, self.lost,
        )  # fmt: skip


def slow_step(data, params, chance, sharpness):
    """The objective of one start, and the parameters of its next iteration."""
    joint = log_joint(data, params, 0)
    flat = product.Params(params.mean[0], params.scale[0], params.log_prob[0])
    penalty = product.log_prior(flat, data.prior).sum()
    share = posterior(sharpness * (joint - joint.max(axis=1, keepdims=True)))
    weight = np.eye(share.shape[1])[draw(share, chance)] * data.weight[:, None]
    row_weight, *sums = statistics(data, weight)
    found = product.estimate(product.Stats(*sums), data.prior, data.layout)
    with np.errstate(divide="ignore"):
        log_weight = np.log(row_weight / row_weight.sum())
    objective = (log_likelihood(data, joint) + penalty) / data.weight.sum()
    return objective, MixtureParams(log_weight[None], *(array[None] for array in found))


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 0.0])
def test_steps_are_those_taken_one_at_a_time(holes, alpha):
    data = make_rows(N_ROWS, holes=holes, alpha=alpha)
    params = make_starts(data)
    n_steps = 6
    sharpness = np.linspace(0.5, 3.0, n_steps)
    call = Call(data, params, n_steps)
    chance = np.random.default_rng(2).random((2, n_steps, N_ROWS))
    for s in range(2):
        assert call.run(s, chance[s], sharpness) == n_steps
        mine = MixtureParams(*(array[s : s + 1] for array in params))
        seen, all_params = [], []
        for step in range(n_steps):
            all_params.append(mine)
            value, mine = slow_step(data, mine, chance[s, step], sharpness[step])
            seen.append(value)
        assert_allclose(call.objective[s], seen, rtol=1e-10)
        assert_allclose(call.best_so_far[s], np.maximum.accumulate(seen), rtol=1e-10)
        assert_allclose(call.marks.best[s], max(seen), rtol=1e-10)
        for name, array in mine._asdict().items():
            found, kept = getattr(call.params, name)[s], getattr(call.kept, name)[s]
            best = getattr(all_params[int(np.argmax(seen))], name)[0]
            if name == "log_prob":
                found, kept = found[:, :-1], kept[:, :-1]
            assert_allclose(found, array[0], rtol=1e-9, atol=1e-12)
            assert_allclose(kept, best, rtol=1e-9, atol=1e-12)
        assert call.marks.usable[s]
        assert not call.marks.fresh[s]
        assert not call.lost[s].any()


def test_it_stops_where_a_component_loses_its_rows():
    data = make_rows(N_ROWS)
    params = make_starts(data)
    params.log_weight[0] = [np.log(0.5), np.log(0.5), -np.inf]
    call = Call(data, params, 4)
    chance = np.random.default_rng(2).random((4, N_ROWS))
    assert call.run(0, chance, np.ones(4)) == 1
    assert_array_equal(call.lost[0], [False, False, True])
    assert call.marks.fresh[0]
    assert not call.lost[1].any()  # the other start is left alone


def test_parameters_with_a_collapsed_component_are_kept_only_without_others():
    data = make_rows(N_ROWS, holes=False, strength=0.0)
    params = make_starts(data)
    params.scale[0, 1, 0] = 1e-5
    call = Call(data, params, 1)
    chance = np.random.default_rng(2).random((1, N_ROWS))
    call.run(0, chance, np.ones(1))
    assert not call.marks.usable[0]
    assert_array_equal(call.kept.scale[0], params.scale[0])
    for into, new in zip(call.params, with_place(params), strict=True):
        into[0] = new[1]
    call.marks.fresh[0] = False
    call.marks.best[0] = 1e9  # what is usable is kept even if its objective is lower
    call.run(0, chance, np.ones(1))
    assert call.marks.usable[0]
    assert call.marks.best[0] == call.objective[0, 0] < 1e9
    assert_array_equal(call.kept.scale[0], params.scale[1])
    for into, new in zip(call.params, with_place(params), strict=True):
        into[0] = new[0]
    call.marks.fresh[0] = False
    call.marks.best[0] = -1e9  # what is not usable is not kept any more, however good
    call.run(0, chance, np.ones(1))
    assert call.marks.usable[0]
    assert call.marks.best[0] == -1e9
    assert_array_equal(call.kept.scale[0], params.scale[1])


def test_a_lost_component_becomes_a_spare_one():
    data = make_rows(N_ROWS)
    params = make_starts(data)
    params.log_weight[0] = [np.log(0.5), np.log(0.5), -np.inf]
    mixture = data.problem(3, [slice(0, N_ROWS)])
    chance = np.random.default_rng(2).random((2, N_ROWS))
    call = Call(data, params, 2)
    call.spares = make_spares(mixture, 1, np.random.default_rng(5))
    assert call.run(0, chance, np.ones(2)) == 2
    assert (call.marks.reseeded[0], call.marks.rounds[0], call.spares.used[0]) == (1, 1, 1)

    # step by step: the second begins with the spare component and its share of 1 in 4
    first = MixtureParams(*(array[:1].copy() for array in params))
    seen, between = slow_step(data, first, chance[0], 1.0)
    weight = np.append(np.exp(between.log_weight[0, :2]), 1 / 3)
    between.log_weight[0] = np.log(weight / weight.sum())
    for into, spare in zip(between[1:], call.spares.params[1:], strict=True):
        into[0, 2] = spare[0, 0][: into.shape[2]]
    then, after = slow_step(data, between, chance[1], 1.0)
    assert_allclose(call.objective[0], [seen, then], rtol=1e-10)
    assert_allclose(call.params.mean[0], after.mean[0], rtol=1e-9, atol=1e-12)
    # parameters with a component put elsewhere are not kept
    assert call.marks.best[0] == call.objective[0, 0]


def test_it_stops_where_there_are_too_few_spare_components():
    data = make_rows(N_ROWS)
    params = make_starts(data)
    params.log_weight[0] = [0.0, -np.inf, -np.inf]
    call = Call(data, params, 2)
    call.spares = make_spares(data.problem(3, [slice(0, N_ROWS)]), 1, np.random.default_rng(5))
    assert call.run(0, np.random.default_rng(2).random((2, N_ROWS)), np.ones(2)) == 1
    assert_array_equal(call.lost[0], [False, True, True])
    assert call.spares.used[0] == 0
