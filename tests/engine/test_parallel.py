"""Work on threads: results in order, errors passed on, interrupts, no waiting for busy threads."""

import _thread
import os
import signal
import sys
import threading
import time
from functools import partial

import pytest

from latentclass.engine import _parallel as threads_module
from latentclass.engine._parallel import (
    map_blocks,
    map_threads,
    plain_interrupts,
    run_interruptible,
)

HUNG = 300  # seconds: a limit for threads that wait for ever, far above what a busy machine needs


@pytest.mark.parametrize("n_threads", [1, 2, 5, 50])
def test_results_come_in_the_order_of_the_items(n_threads):
    def visit(i):
        time.sleep(0.001 * (i % 3))
        return 10 * i

    assert map_threads(visit, range(20), n_threads) == [10 * i for i in range(20)]
    assert map_threads(visit, [], n_threads) == []


def test_two_items_are_at_work_at_once():
    meeting = threading.Barrier(2, timeout=HUNG)
    assert sorted(map_threads(lambda _: meeting.wait(), [0, 1], 2)) == [0, 1]


def test_threads_are_kept():
    def names():
        meeting = threading.Barrier(3, timeout=HUNG)

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


def test_after_an_error_no_further_item_begins():
    begun, meeting = [], threading.Barrier(2, timeout=HUNG)

    def visit(i):
        begun.append(i)
        meeting.wait()
        if i == 0:
            raise KeyboardInterrupt
        # the other thread is told by a variable of the loop that called us
        end = time.monotonic() + HUNG
        while not sys._getframe(1).f_locals["failed"] and time.monotonic() < end:
            time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        map_threads(visit, range(50), 2)
    assert sorted(begun) == [0, 1]


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


@pytest.mark.parametrize("n_threads", [1, 3])
def test_interruptible_results_come_in_the_order_of_the_tasks(n_threads):
    tasks = [partial(pow, i, 2) for i in range(7)]
    assert run_interruptible(tasks, n_threads, threading.Event()) == [i * i for i in range(7)]


@pytest.fixture
def interruptible():
    """Let interrupts through: a process that was started in the background ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_asks_all_tasks_to_end_and_keeps_what_they_have():
    stop, waiting = threading.Event(), threading.Barrier(3)

    def task(number):
        if stop.is_set():  # the interrupt came before the task was known to have begun
            return number
        waiting.wait(timeout=HUNG)
        assert stop.wait(timeout=HUNG), "nobody asked to stop"
        return number

    def interrupt():
        waiting.wait(timeout=HUNG)
        _thread.interrupt_main()

    other = threading.Thread(target=interrupt)
    other.start()
    assert run_interruptible([partial(task, 1), partial(task, 2)], 2, stop) == [1, 2]
    other.join()


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_in_a_task_is_raised(n_threads):
    with pytest.raises(ZeroDivisionError):
        run_interruptible([lambda: 1.0, lambda: 1 / 0], n_threads, threading.Event())


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_blocks_come_in_order_and_pass_errors_on(n_jobs):
    assert list(map_blocks(lambda i: 2 * i, range(9), n_jobs)) == [2 * i for i in range(9)]
    with pytest.raises(ZeroDivisionError):
        list(map_blocks(lambda i: 1 // i, range(2), n_jobs))


def test_an_interrupt_in_a_kernel_is_an_interrupt():
    def kernel():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise SystemError("a result with an exception set") from interrupt

    def caller():
        try:
            kernel()
        except SystemError:
            raise SystemError("a second result with an exception set")  # noqa: B904

    for function in (kernel, caller):
        with pytest.raises(KeyboardInterrupt), plain_interrupts():
            function()
    with pytest.raises(SystemError, match="other"), plain_interrupts():
        raise SystemError("other")
