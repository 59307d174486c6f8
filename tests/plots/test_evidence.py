"""Bars of the evidence about a row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from latentclass import HNBClassifier, LatentMixture
from latentclass.plots import EvidenceDisplay
from plain import NaiveBayes


def test_bars_are_the_weights_of_the_row(mixed):
    table, y = mixed
    model = NaiveBayes().fit(table, y)
    rows = table.iloc[3:6]  # the first one has no length
    display = EvidenceDisplay.from_estimator(model, rows, y="b")
    weights = model.explain(rows, y="b").weights[0]
    assert display.names[0].split(" = ")[0] != "length"
    expected = sorted(weights[1:], key=abs, reverse=True)
    assert_allclose(display.weights, expected)
    assert_allclose([bar.get_width() for bar in display.bars_], expected)
    assert [text.get_text() for text in display.texts_] == [f"{w:+.1f}" for w in expected]
    assert display.ax_.get_title().startswith("Why b? Log-odds ")
    blue, grey = "#0072b2", "#666666"
    from matplotlib.colors import to_hex

    colours = [to_hex(bar.get_facecolor()) for bar in display.bars_]
    assert colours == [blue if weight > 0 else grey for weight in expected]


def test_other_rows_and_explanations(mixed):
    table, y = mixed
    model = NaiveBayes().fit(table, y)
    explanation = model.explain(table)
    one = EvidenceDisplay.from_explanation(explanation, 7)
    other = EvidenceDisplay.from_estimator(model, table, 7)
    assert_array_equal(one.weights, other.weights)
    assert one.names == other.names
    assert explanation.plot(7).names == one.names


def test_few_bars_say_how_many_are_left_out(mixed):
    table, y = mixed
    explanation = NaiveBayes().fit(table, y).explain(table)
    display = explanation.plot(n_top=1)
    assert len(display.bars_) == 1
    assert display.ax_.get_xlabel().endswith("\n3 weaker ones are not shown")
    assert len(display.plot(n_top=None).bars_) == 4
    with pytest.raises(ValueError, match=r"^n_top=0 must be a whole number of at least 1"):
        display.plot(n_top=0)


def test_infinite_weights_have_an_end_and_equal_names_their_own_bars():
    display = EvidenceDisplay(np.array([np.inf, -2.0, 0.0]), ["a", "a", "$x$"]).plot()
    assert_allclose([bar.get_width() for bar in display.bars_], [2.3, -2.0, 0.0])
    assert [text.get_text() for text in display.texts_] == ["+inf", "-2.0", "+0.0"]
    assert display.ax_.get_title() == ""
    display.figure_.canvas.draw()
    assert len(EvidenceDisplay(np.zeros(0), []).plot().bars_) == 0


def test_rules_of_a_hierarchy_are_written_in_several_lines():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 3)).astype(object)
    model = HNBClassifier(categorical_features=[0, 1, 2], random_state=0)
    model.fit(X, (X[:, 0] == X[:, 1]).astype(int))
    display = model.explain(X[:1]).plot()
    assert display.names[0] in ("x0 = x1", "x0 != x1")
    rule = " and ".join(f"column{j} = yes" for j in range(6))
    display = EvidenceDisplay(np.ones(1), [rule]).plot()
    lines = display.ax_.get_yticklabels()[0].get_text().splitlines()
    assert len(lines) == 3
    assert lines[0] == "column0 = yes and column1 = yes and"
    assert " ".join(lines) == rule


def test_a_model_that_cannot_explain_is_refused(mixed):
    model = LatentMixture(2, random_state=0).fit(mixed[0])
    with pytest.raises(TypeError, match=r"^LatentMixture has no attribute explain, which this"):
        EvidenceDisplay.from_estimator(model, mixed[0])
