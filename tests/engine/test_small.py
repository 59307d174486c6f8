"""Which tables NumPy is fast enough for."""

from latentclass.engine._small import compiled_always, is_small


def test_compiled_loops_are_used_until_the_last_one_that_asked_has_ended():
    assert is_small(10, 10)
    assert not is_small(11, 10)
    first, second = compiled_always(), compiled_always()
    with first:
        second.__enter__()
        assert not is_small(1, 10)
    assert not is_small(1, 10)  # the second fit goes on
    second.__exit__(None, None, None)
    assert is_small(10, 10)
