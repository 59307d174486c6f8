"""Kept threads: results in order, errors passed on, no waiting for threads that are busy."""

import os
import threading
import time

import pytest

from latentclass.engine import _tree_threads as threads_module
from latentclass.engine._tree_threads import map_threads


@pytest.mark.parametrize("n_threads", [1, 2, 5, 50])
def test_results_come_in_the_order_of_the_items(n_threads):
    def visit(i):
        time.sleep(0.001 * (i % 3))
        return 10 * i

    assert map_threads(visit, range(20), n_threads) == [10 * i for i in range(20)]
    assert map_threads(visit, [], n_threads) == []


def test_two_items_are_at_work_at_once():
    meeting = threading.Barrier(2, timeout=30)
    assert sorted(map_threads(lambda _: meeting.wait(), [0, 1], 2)) == [0, 1]


def test_threads_are_kept():
    def names():
        meeting = threading.Barrier(3, timeout=30)

        def visit(_):
            meeting.wait()
            return threading.current_thread()

        return set(map_threads(visit, range(3), 3))

    first = names()
    assert threading.current_thread() in first
    assert names() == first


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("bad", [0, 1, 3])
def test_errors_are_passed_on(n_threads, bad):
    def visit(i):
        if i == bad:
            raise ValueError(f"item {i}")
        return i

    with pytest.raises(ValueError, match=rf"^item {bad}$"):
        map_threads(visit, range(4), n_threads)
    assert map_threads(abs, [-1, -2], n_threads) == [1, 2]


def test_work_inside_work_does_not_wait_for_itself():
    def visit(i):
        return map_threads(lambda j: 10 * i + j, range(3), 2)

    expected = [[10 * i + j for j in range(3)] for i in range(4)]
    assert map_threads(visit, range(4), 2) == expected


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="no fork on this system")
def test_a_forked_process_makes_threads_of_its_own():
    map_threads(abs, [1, 2], 2)
    assert threads_module._pools
    pools = dict(threads_module._pools)
    try:
        threads_module._forget()
        assert not threads_module._pools
        assert map_threads(abs, [-1, -2], 2) == [1, 2]
    finally:
        for pool in threads_module._pools.values():
            pool.shutdown()
        threads_module._pools.update(pools)
