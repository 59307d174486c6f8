"""Warnings point to the line of the user."""

import warnings

import pytest

from latentclass._warn import warn_user


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
