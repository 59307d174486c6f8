"""Numbers of components: which are tried, and which of them is kept."""

import pytest

from latentclass.mixture._sizes import fewest_of_the_best, numbers_of_components


@pytest.mark.parametrize(
    ("given", "expected"),
    [(3, [3]), ([3, 1, 3], [1, 3]), (range(2, 5), [2, 3, 4]), (iter([2, 1]), [1, 2])],
)
def test_numbers_are_tried_once_and_in_order(given, expected):
    assert numbers_of_components(given) == expected


@pytest.mark.parametrize("given", [0, 1.5, "auto", None, [2, 0], True])
def test_what_is_no_number_of_components_is_refused(given):
    with pytest.raises(ValueError, match="must be a whole number of at least 1, or several"):
        numbers_of_components(given)


def test_the_lowest_criterion_wins():
    assert fewest_of_the_best({1: 10.0, 2: 8.0, 3: 9.0}) == 2


def test_of_equal_criteria_the_smallest_number_wins():
    assert fewest_of_the_best({1: 10.0, 2: 8.0 + 1e-12, 3: 8.0}) == 2
    assert fewest_of_the_best({1: 10.0, 2: 8.0 + 1e-6, 3: 8.0}) == 3
