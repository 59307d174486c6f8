"""Explanations in words and as a data frame."""

import numpy as np
import pandas as pd
import pytest

from latentclass.data import learn_schema
from latentclass.estimator._explanation import Cells, Explanation


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


def test_evidence_names_columns_with_their_values_the_strongest_first():
    frame = pd.DataFrame({"size": [0.1 + 0.2, np.nan], "town": ["Oslo", "<b>"], "big": [1e7, 2.0]})
    explanation = Explanation(
        np.array([[0.5, -2.0, 1.0], [0.0, 0.25, 3.0]]),
        np.array(["<i>yes", "no"]),
        np.zeros(2),
        np.zeros(2),
        list(frame),
        np.arange(2),
        Cells(*learn_schema(frame)),
    )
    assert explanation.evidence() == [("town = Oslo", -2.0), ("big = 1e+07", 1.0),
                                      ("size = 0.3", 0.5)]  # fmt: skip
    assert explanation.evidence(-1) == [("big = 2", 3.0), ("town = <b>", 0.25)]
    html = explanation._repr_html_()
    assert html.count("<table>") == 2
    assert "row 0: &lt;i&gt;yes with log-odds +0.00" in html
    assert "<tr><td>town = &lt;b&gt;</td><td>+0.25</td></tr>" in html
    assert "<b>" not in html


def test_evidence_without_cells_names_the_columns(explanation):
    assert explanation.evidence() == [("b", -2.0), ("c", 1.25), ("a", 0.5)]
    assert explanation._repr_html_().endswith("<p>... and 2 more rows</p>")
    with pytest.raises(IndexError, match=r"^row=7 is outside the 7 explained rows"):
        explanation.evidence(7)


def test_plot_draws_the_row(explanation):
    import matplotlib as mpl

    mpl.use("Agg")
    display = explanation.plot(0, n_top=2)
    assert [bar.get_width() for bar in display.bars_] == [-2.0, 1.25]
    assert display.target == "yes"
