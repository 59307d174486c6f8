"""Explanations in words and as a data frame."""

import numpy as np
import pandas as pd
import pytest

from latentclass.estimator._explanation import Explanation


@pytest.fixture
def explanation():
    n = 7
    weights = np.zeros((n, 3))
    weights[0] = [0.5, -2.0, 1.25]
    return Explanation(
        weights=weights,
        target=np.array(["yes"] + ["no"] * (n - 1)),
        log_odds=np.arange(n) - 0.25,
        prior_log_odds=np.full(n, 0.125),
        feature_names=["a", "b", "c"],
        index=np.arange(10, 10 + n),
    )


def test_a_row_in_words_names_the_strongest_attributes_first(explanation):
    assert explanation.describe(0, n_top=2) == (
        "row 10: yes with log-odds -0.25 (before any attribute +0.12); weight of evidence: "
        "b -2.00, c +1.25"
    )
    assert explanation.describe().endswith("b -2.00, c +1.25, a +0.50")


def test_equal_weights_keep_the_order_of_the_columns(explanation):
    assert explanation.describe(1).endswith("a +0.00, b +0.00, c +0.00")


@pytest.mark.parametrize("row", [7, -8, 100])
def test_a_row_that_is_not_there_is_named(explanation, row):
    message = rf"^row={row} is outside the 7 explained rows\. Pass a position from 0 to 6\.$"
    with pytest.raises(IndexError, match=message):
        explanation.describe(row)


def test_the_text_shows_five_rows_and_counts_the_rest(explanation):
    lines = str(explanation).splitlines()
    assert lines[:5] == [explanation.describe(row) for row in range(5)]
    assert lines[5:] == ["... and 2 more rows"]


def test_the_frame_has_the_target_and_a_column_per_attribute(explanation):
    frame = explanation.to_frame()
    expected = pd.DataFrame(explanation.weights, columns=["a", "b", "c"], index=range(10, 17))
    expected.insert(0, "target", explanation.target)
    pd.testing.assert_frame_equal(frame, expected, check_index_type=False)
