from contextlib import contextmanager

import pytest


@pytest.fixture
def refuses():
    """Expect an error with exactly these words."""

    @contextmanager
    def check(error, message):
        with pytest.raises(error) as caught:
            yield
        assert str(caught.value) == message

    return check
