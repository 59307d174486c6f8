"""One library thread inside, the former number outside: nested, in threads, after errors."""

import os
import subprocess
import sys
import threading
from contextlib import suppress

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from latentclass.engine import _blas
from latentclass.engine._blas import one_library_thread
from latentclass.engine._parallel import computation, map_blocks

HUNG = 300  # seconds: a limit for threads that wait for ever


def n_threads():
    return {entry["num_threads"] for entry in threadpool_info() if entry["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    before = [(library, library.get_num_threads()) for library in _blas._libraries()]
    for library, _ in before:
        _blas._set(library, 2)
    yield
    assert n_threads() == {2}
    for library, number in before:
        _blas._set(library, number)


def test_boosting_of_scikit_learn_has_the_limit_too():
    code = (
        "import sklearn.base\n"
        "from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as n_threads\n"
        "from latentclass.engine._blas import one_library_thread\n"
        "with one_library_thread():\n    print(n_threads())\n"
        "print(n_threads())\n"
    )
    two = os.environ | {"OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=two, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["1", "2"]


def test_the_limit_holds_inside_and_ends_with_it():
    with one_library_thread():
        assert n_threads() == {1}
        with one_library_thread():
            assert n_threads() == {1}
        assert n_threads() == {1}
    assert n_threads() == {2}


def test_the_limit_ends_after_an_error():
    @computation
    def fail(what):
        """Fail."""
        assert n_threads() == {1}
        raise ValueError(what)

    with pytest.raises(ValueError, match="this"):
        fail("this")
    assert n_threads() == {2}
    assert (fail.__name__, fail.__doc__) == ("fail", "Fail.")


def test_the_last_of_several_threads_ends_it():
    inside, leave = threading.Barrier(3), [threading.Event(), threading.Event()]
    left = []

    def visit(number):
        with one_library_thread():
            inside.wait(timeout=HUNG)
            leave[number].wait(timeout=HUNG)
        left.append(n_threads())

    threads = [threading.Thread(target=visit, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    inside.wait(timeout=HUNG)
    for event, thread in zip(leave, threads, strict=True):
        event.set()
        thread.join()
    assert left == [{1}, {2}]


def test_threads_for_blocks_have_the_limit_of_their_caller():
    meeting = threading.Barrier(2, timeout=HUNG)

    def visit(_):
        meeting.wait()
        return _blas.is_limited()

    assert list(map_blocks(visit, range(2), 2)) == [False, False]
    with one_library_thread():
        assert list(map_blocks(visit, range(2), 2)) == [True, True]
        assert n_threads() == {1}


class Library:
    """A library whose limit is one per thread, as that of MKL is."""

    internal_api = "mkl"

    def __init__(self):
        self.local = threading.local()

    def get_num_threads(self):
        return getattr(self.local, "number", 4)

    def set_num_threads(self, number):
        self.local.number = number


def test_a_limit_per_thread_is_set_and_ended_in_each(monkeypatch):
    library = Library()
    monkeypatch.setattr(_blas, "_libraries", lambda: [library])
    seen = []

    def visit():
        with one_library_thread():
            seen.append(library.get_num_threads())
        seen.append(library.get_num_threads())

    with one_library_thread():
        other = threading.Thread(target=visit)
        other.start()
        other.join()
        assert library.get_num_threads() == 1
    assert seen == [1, 4]
    assert library.get_num_threads() == 4


def test_results_do_not_change():
    product = computation(np.matmul)
    A = np.random.default_rng(0).normal(size=(20, 20))
    np.testing.assert_allclose(product(A, A), A @ A, rtol=1e-12)


@pytest.mark.parametrize("point", range(1, 9))
def test_an_interrupt_while_the_limit_is_set_or_lifted_leaves_no_trace(point):
    before = [library.get_num_threads() for library in _blas._libraries()]
    n_calls = 0

    def interrupt(frame, event, _):
        nonlocal n_calls
        if event == "call" and frame.f_code.co_filename == _blas.__file__:
            n_calls += 1
            if n_calls == point:
                raise KeyboardInterrupt

    sys.setprofile(interrupt)
    try:
        with suppress(KeyboardInterrupt), _blas.one_library_thread():
            pass
    finally:
        sys.setprofile(None)
    assert not _blas.is_limited()
    assert _blas._n_inside == 0
    assert [library.get_num_threads() for library in _blas._libraries()] == before
