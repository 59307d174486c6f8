"""Tasks on threads: their order, and what an interrupt leaves."""

import _thread
import threading
from functools import partial

import pytest

from latentclass.engine._side_by_side import side_by_side


@pytest.mark.parametrize("n_threads", [1, 3])
def test_results_come_in_the_order_of_the_tasks(n_threads):
    tasks = [partial(pow, i, 2) for i in range(7)]
    assert side_by_side(tasks, n_threads, threading.Event()) == [i * i for i in range(7)]


def test_an_interrupt_asks_all_tasks_to_end_and_keeps_what_they_have():
    stop, waiting = threading.Event(), threading.Barrier(3)

    def task(number):
        if stop.is_set():  # the interrupt came before the task was known to have begun
            return number
        waiting.wait(timeout=30)
        assert stop.wait(timeout=30), "nobody asked to stop"
        return number

    def interrupt():
        waiting.wait(timeout=30)
        _thread.interrupt_main()

    other = threading.Thread(target=interrupt)
    other.start()
    assert side_by_side([partial(task, 1), partial(task, 2)], 2, stop) == [1, 2]
    other.join()


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_in_a_task_is_raised(n_threads):
    with pytest.raises(ZeroDivisionError):
        side_by_side([lambda: 1.0, lambda: 1 / 0], n_threads, threading.Event())
