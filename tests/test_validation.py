"""Checks of parameters, with their whole messages."""

import math
import re

import numpy as np
import pytest

from latentclass._validation import check_memory, check_number, check_option


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (2, {"low": 2, "whole": True}),
        (np.int32(2), {"low": 2, "whole": True}),
        (0.5, {"low": 0.5}),
        (np.float32(0.6), {"low": 0.5, "strict": True}),
        (None, {"low": 0, "none": True}),
        (-1e300, {"low": -math.inf}),
        (2000, {"low": 0, "high": 2000}),
    ],
)
def test_numbers_that_fit(value, rule):
    check_number("a", value, **rule)


@pytest.mark.parametrize(
    ("value", "rule", "message"),
    [
        (1, {"low": 2, "whole": True}, "a=1 must be a whole number of at least 2."),
        (2.0, {"low": 2, "whole": True}, "a=2.0 must be a whole number of at least 2."),
        (True, {"low": 0, "whole": True}, "a=True must be a whole number of at least 0."),
        (0.5, {"low": 0.5, "strict": True}, "a=0.5 must be a number above 0.5."),
        (None, {"low": 0}, "a=None must be a number of at least 0."),
        ("3", {"low": 0, "none": True}, "a='3' must be a number of at least 0, or None."),
        (math.nan, {"low": 0}, "a=nan must be a number of at least 0."),
        (math.inf, {"low": -math.inf}, "a=inf must be a number."),
        (2001, {"low": 0, "high": 2000}, "a=2001 is too large: pass at most 2,000."),
        (10**400, {"low": 0, "high": 7}, f"a={10**19}... is too large: pass at most 7."),
        (10**400, {"low": 0}, f"a={10**19}... is too large: pass at most 1.8e+308."),
        (10**30, {"low": 0, "whole": True}, f"a={10**19}... is too large: pass at most {10**9:,}."),
        (-1, {"low": 0, "high": 2000}, "a=-1 must be a number of at least 0."),
    ],
)
def test_numbers_that_do_not_fit(value, rule, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check_number("a", value, **rule)


def test_options_must_have_the_same_type():
    for value in ("x", None, True):
        check_option("a", value, ("x", None, True))
    for value in ("y", 1, np.True_, ["x"]):
        message = f"a={value!r} must be one of 'x', None, True."
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            check_option("a", value, ("x", None, True))


def test_memory_beyond_the_limit_is_refused():
    check_memory("A table", 2**33, "Do less.")
    message = "A table would need 9.5 GiB of memory, above the limit of 8 GiB. Do less."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check_memory("A table", 9.5 * 2**30, "Do less.")
