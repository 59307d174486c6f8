"""Work on threads: results in order, errors as in a loop, interrupts, nothing left running."""

import _thread
import os
import signal
import threading
import time
from functools import partial

import joblib
import pytest

from latentclass.engine._parallel import (
    TimeUpError,
    check_stop,
    count_threads,
    map_blocks,
    plain_interrupts,
    run_interruptible,
    time_limit,
)

HUNG = 300  # seconds: a limit for threads that wait for ever, far above what a busy machine needs


def wait_until(condition):
    end = time.monotonic() + HUNG
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.001)


@pytest.fixture
def n_threads():
    """Counts the threads of Python, those that `threading` does not know included."""
    return _thread._count


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, 50])
def test_results_come_in_the_order_of_the_items(n_jobs):
    def visit(i):
        time.sleep(0.001 * (i % 3))
        return 10 * i

    assert list(map_blocks(visit, range(20), n_jobs)) == [10 * i for i in range(20)]
    assert list(map_blocks(visit, [], n_jobs)) == []


def test_two_items_are_at_work_at_once_one_of_them_here():
    meeting = threading.Barrier(2, timeout=HUNG)

    def visit(_):
        meeting.wait()
        return threading.get_ident()

    idents = list(map_blocks(visit, [0, 1], 2))
    assert len(set(idents)) == 2
    assert threading.get_ident() in idents


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_the_error_of_the_first_item_that_fails_is_raised(n_jobs, n_threads):
    before, given = n_threads(), []

    def visit(i):
        time.sleep(0.01 if i == 2 else 0.0)  # the later one fails sooner
        if i in (2, 3):
            raise ValueError(f"item {i}")
        return i

    with pytest.raises(ValueError, match=r"^item 2$"):
        given.extend(map_blocks(visit, range(9), n_jobs))
    wait_until(lambda: n_threads() == before)
    assert list(map_blocks(abs, [-1, -2], n_jobs)) == [1, 2]


def test_after_an_error_no_further_item_begins(n_threads):
    before, begun, meeting, failed = n_threads(), [], threading.Barrier(2), threading.Event()
    here = threading.get_ident()

    def visit(i):
        begun.append(i)
        meeting.wait(timeout=HUNG)
        if threading.get_ident() == here:
            failed.set()
            raise KeyboardInterrupt
        failed.wait(timeout=HUNG)
        wait_until(is_stopped)

    with pytest.raises(KeyboardInterrupt):
        list(map_blocks(visit, range(50), 2))
    assert sorted(begun) == [0, 1]
    wait_until(lambda: n_threads() == before)


def is_stopped():
    try:
        check_stop()
    except KeyboardInterrupt:
        return True
    return False


def test_work_inside_work_is_stopped_with_it(n_threads):
    before, meeting = n_threads(), threading.Barrier(2)
    here = threading.get_ident()

    def visit(i):
        meeting.wait(timeout=HUNG)
        if threading.get_ident() == here:
            raise ZeroDivisionError
        end = time.monotonic() + HUNG
        while time.monotonic() < end:
            list(map_blocks(abs, [i, i], 2))

    with pytest.raises((ZeroDivisionError, KeyboardInterrupt)):
        list(map_blocks(visit, range(2), 2))
    wait_until(lambda: n_threads() == before)
    check_stop()  # the calling thread itself is free to go on


def test_a_caller_who_wants_no_more_ends_the_work(n_threads):
    before, begun = n_threads(), []
    results = map_blocks(begun.append, range(1000), 2)
    next(results)
    results.close()
    n_begun = len(begun)
    wait_until(lambda: n_threads() == before)
    assert len(begun) == n_begun


def test_work_inside_work_does_not_wait_for_itself():
    def visit(i):
        return list(map_blocks(lambda j: 10 * i + j, range(3), 2))

    expected = [[10 * i + j for j in range(3)] for i in range(4)]
    assert list(map_blocks(visit, range(4), 2)) == expected


def test_work_stays_in_the_process_that_has_the_rows():
    assert count_threads(None) == 1
    assert count_threads(3) == 3
    assert count_threads(-1) == joblib.cpu_count()
    with joblib.parallel_config("loky", n_jobs=4):
        assert count_threads(None) == 1
        assert set(map_blocks(lambda _: os.getpid(), range(9), 2)) == {os.getpid()}
    with joblib.parallel_config("threading", n_jobs=4):
        assert count_threads(None) == 4


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_interruptible_results_come_in_the_order_of_the_tasks(n_jobs):
    tasks = [partial(pow, i, 2) for i in range(7)]
    assert run_interruptible(tasks, n_jobs, threading.Event()) == [i * i for i in range(7)]


@pytest.fixture
def interruptible():
    """Let interrupts through: a process that was started in the background ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_asks_all_tasks_to_end_and_keeps_what_they_have(n_threads):
    before = n_threads()
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
    wait_until(lambda: n_threads() == before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_blocks_on_all_threads(n_threads):
    before, begun = n_threads(), threading.Barrier(2)
    here = threading.get_ident()

    def visit(_):
        begun.wait(timeout=HUNG)
        if threading.get_ident() != here:
            _thread.interrupt_main()
        wait_until(is_stopped)

    with pytest.raises(KeyboardInterrupt):
        list(map_blocks(visit, range(2), 2))
    wait_until(lambda: n_threads() == before)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_a_task_is_raised(n_jobs):
    with pytest.raises(ZeroDivisionError):
        run_interruptible(
            [lambda: 1.0, lambda: 1 / 0, *[lambda: 1.0] * 5], n_jobs, threading.Event()
        )


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


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_time_limit_ends_work_on_all_threads(n_jobs):
    def work(_):
        while True:
            check_stop()

    with pytest.raises(TimeUpError), time_limit(time.monotonic() + 0.05):
        list(map_blocks(work, range(4), n_jobs))
    check_stop()


def test_the_earlier_of_two_time_limits_holds():
    past, future = time.monotonic() - 1, time.monotonic() + 1e6
    with time_limit(past), pytest.raises(TimeUpError), time_limit(future):
        check_stop()
    with time_limit(future), time_limit(None):
        check_stop()
