"""Warnings point to the line of the user."""

import threading
import warnings

import pytest

from latentclass._warn import recorded_warnings, warn_user


def called_from(module, category=UserWarning):
    """Warn from a function of a module with this name; return the file that is blamed."""
    code = "def call(warn, category):\n    warn('look', category)\n"
    namespace = {"__name__": module}
    exec(compile(code, f"<{module}>", "exec"), namespace)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        namespace["call"](warn_user, category)
    assert [str(entry.message) for entry in caught] == ["look"]
    assert caught[0].category is category
    return caught[0].filename


@pytest.mark.parametrize("module", ["latentclass.lcm._em", "sklearn.callback._base"])
def test_frames_of_the_library_are_skipped(module):
    assert called_from(module) == __file__


@pytest.mark.parametrize("module", ["latentclassical", "sklearn.pipeline", "__main__"])
def test_the_first_other_frame_is_named(module):
    assert called_from(module, RuntimeWarning) == f"<{module}>"


def test_blocks_that_overlap_in_threads_leave_the_process_as_it_was():
    """The second block begins before the first ends, and ends after it."""
    begun, ended, seen = threading.Event(), threading.Event(), []

    def outlast():
        with recorded_warnings() as caught:
            warnings.warn("second", UserWarning, stacklevel=1)
            begun.set()
            ended.wait()
            warnings.warn("second again", UserWarning, stacklevel=1)
        seen.extend(str(entry.message) for entry in caught)

    before = list(warnings.filters), warnings.showwarning
    other = threading.Thread(target=outlast)
    with recorded_warnings() as caught:
        other.start()
        begun.wait()
        warnings.warn("first", UserWarning, stacklevel=1)
    ended.set()
    other.join()
    assert (list(warnings.filters), warnings.showwarning) == before
    assert [str(entry.message) for entry in caught] == ["first"]
    assert seen == ["second", "second again"]


def test_a_block_within_a_block_and_the_threads_of_a_block():
    with recorded_warnings() as outer:
        helper = threading.Thread(target=warnings.warn, args=("helper",))
        helper.start()
        helper.join()
        with recorded_warnings() as inner:
            warnings.warn("inner", stacklevel=1)
        warnings.warn("outer", stacklevel=1)
    assert [str(entry.message) for entry in inner] == ["inner"]
    assert [str(entry.message) for entry in outer] == ["helper", "outer"]


def test_warnings_of_other_threads_are_shown_while_two_record():
    ready, done = threading.Barrier(2), threading.Event()

    def record():
        with recorded_warnings():
            ready.wait()
            done.wait()

    other = threading.Thread(target=record)
    with warnings.catch_warnings(record=True) as shown:
        with recorded_warnings():
            other.start()
            ready.wait()
            stranger = threading.Thread(target=warnings.warn, args=("stranger",))
            stranger.start()
            stranger.join()
        done.set()
        other.join()
    assert [str(entry.message) for entry in shown] == ["stranger"]
