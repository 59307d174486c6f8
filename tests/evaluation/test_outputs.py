"""Tests, tables and plots of a comparison, on results set by hand."""

import csv
import io
import re
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from latentclass.baselines import NaiveBayes, majority
from latentclass.datasets import load_dataset
from latentclass.evaluation import Comparison, compare, corrected_t_test, kohavi_pooled_test
from latentclass.evaluation._folds import Fold
from latentclass.evaluation._metrics import read_scoring
from latentclass.evaluation._run import pack
from latentclass.evaluation._tables import Cell, TextTable, number, p_text

# right rows of 10 in each of 4 folds, by data set and classifier
RIGHT = {
    "easy": {"A": [10, 10, 9, 10], "B": [9, 10, 9, 9], "C_1": [5, 6, 5, 5]},
    "hard": {"A": [6, 5, 7, 6], "B": [6, 6, 7, 6], "C_1": [5, 5, 6, 6]},
    "odd & even": {"A": [8, 8, 8, 8], "B": [8, 8, 8, 8], "C_1": [9, 7, 8, 7]},
}


def record(n_right, dataset, name, fold):
    y = np.zeros(10, dtype=np.int32)
    predicted = (np.arange(10) >= n_right).astype(np.int32)
    proba = np.where(predicted[:, None] == [0, 1], 0.75, 0.25).astype(np.float32)
    return {
        "dataset": dataset,
        "classifier": name,
        "fold": fold,
        "error": None,
        "warnings": [],
        "n_train": 30,
        "n_test": 10,
        "fit_seconds": 0.5,
        "predict_seconds": 0.25,
        "classes": ["no", "yes"],
        "y": pack(y),
        "predicted": pack(predicted),
        "proba": pack(proba),
    }


@pytest.fixture
def comparison():
    folds = [
        Fold(k, np.setdiff1d(np.arange(40), rows), rows, "")
        for k, rows in enumerate(np.arange(40).reshape(4, 10))
    ]
    records = {
        (dataset, name, k): record(n_right, dataset, name, k)
        for dataset, by_name in RIGHT.items()
        for name, counts in by_name.items()
        for k, n_right in enumerate(counts)
    }
    metrics = read_scoring(["accuracy", "brier", "fit_seconds"])
    return Comparison(records, dict.fromkeys(RIGHT, folds), ["A", "B", "C_1"], metrics, "honest", 0)


# ------------------------------------------------------------------------------- tests


def test_scores_by_hand(comparison):
    assert_allclose(
        comparison.scores(), [[0.975, 0.925, 0.525], [0.6, 0.625, 0.55], [0.8, 0.8, 0.775]]
    )
    # p = 0.75 for the predicted class: 0.125 if right, 1.125 if wrong
    assert_allclose(comparison.scores("brier")[0, 0], (39 * 0.125 + 1.125) / 40)
    assert_allclose(comparison.scores("predict_seconds"), 0.25)
    assert_allclose(comparison.fold_scores("easy")[:, 2], [0.5, 0.6, 0.5, 0.5])
    assert comparison.record("hard", "B", 3)["fold"] == 3


def test_tests_are_those_of_the_functions(comparison):
    a, b, c = (np.array(RIGHT["easy"][name]) / 10 for name in ("A", "B", "C_1"))
    assert comparison.test("A", "C_1", dataset="easy") == corrected_t_test(a, c, 30, 10)
    paired = comparison.test("A", "B", "paired", dataset="easy")
    assert_allclose(paired.p_value, stats.ttest_rel(a, b).pvalue)
    pooled = comparison.test("A", "B", "kohavi")
    scores, sd = comparison.scores(), comparison.sd()
    assert pooled == kohavi_pooled_test(scores[:, 0], scores[:, 1], sd[:, 0], sd[:, 1])
    assert comparison.test("A", "C_1", "wilcoxon").p_value == 0.25  # 3 of 3: 2 / 2^3
    assert_allclose(comparison.friedman().mean_ranks, [1.5, 1.5, 3.0])


def test_wins_ties_losses(comparison):
    assert comparison.wins_ties_losses("A", "B", test=None) == (1, 1, 1)
    assert comparison.wins_ties_losses("A", "B") == (0, 3, 0)
    assert comparison.wins_ties_losses("A", "C_1", test="paired") == (1, 2, 0)
    assert comparison.wins_ties_losses("C_1", "A", test=None) == (0, 0, 3)
    # for a loss, lower is better
    assert comparison.wins_ties_losses("A", "C_1", test=None, metric="brier") == (3, 0, 0)


def test_impossible_questions_are_refused(comparison):
    for call, message in (
        (lambda: comparison.test("A", "B"), "how='corrected' compares on one data set. Name it"),
        (
            lambda: comparison.test("A", "B", "wilcoxon", dataset="easy"),
            "how='wilcoxon' compares over all data sets. Leave out dataset=.",
        ),
        (lambda: comparison.test("A", "Z", "kohavi"), "classifier='Z' must be one of 'A', 'B', 'C"),
        (lambda: comparison.fold_scores("x"), "dataset='x' must be one of 'easy', 'hard'"),
        (lambda: comparison.table(alpha=(0.01, 0.1)), "alpha=(0.01, 0.1) must be at most 2 lev"),
        (lambda: comparison.table(test="sign"), "test='sign' must be one of"),
        (lambda: comparison.scores("auc"), "Score 'auc' is not one of"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            call()


# ------------------------------------------------------------------------------- tables


def test_table_on_the_console(comparison):
    published = {("easy", "A"): 97.0, ("hard", "C_1"): 51.25}
    assert str(comparison.table(published=published)).splitlines() == [
        "accuracy (%) of 3 classifiers on 3 data sets",
        "--------------------------------------------------------------------",
        "data set                       A             B                   C_1",
        "--------------------------------------------------------------------",
        "easy        >97.50 ±2.47 (97.00)   92.50 ±4.16  52.50 ±7.90*",
        "hard         60.00 ±7.75          >62.50 ±7.65  55.00 ±7.87  (51.25)",
        "odd & even  >80.00 ±6.32          >80.00 ±6.32  77.50 ±6.60",
        "average            79.17                 78.33        61.67",
        "mean rank           1.50                  1.50         3.00",
        "best                   2                     2            0",
        "--------------------------------------------------------------------",
        ">: the best on a data set.",
        "±: standard deviation in theory (Kohavi), sqrt(a(1-a)/N).",
        "Significantly worse than the best (corrected resampled t-test): - at 10 %, * at 1 %. Not "
        "corrected for the number of comparisons.",
        "In brackets: published score.",
    ]


def test_table_without_extras(comparison):
    assert str(comparison.table("brier", sd=None, test=None)).splitlines()[:5] == [
        "brier (lower is better) of 3 classifiers on 3 data sets",
        "---------------------------------",
        "data set         A       B    C_1",
        "---------------------------------",
        "easy        >0.150   0.200  0.600",
    ]
    assert "over the folds" in str(comparison.table("brier"))


def test_table_in_markdown(comparison):
    text = comparison.table(sd=None).to_markdown()
    assert text.startswith(
        "**accuracy (%) of 3 classifiers on 3 data sets**\n"
        "\n"
        "| data set | A | B | C\\_1 |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| easy | **97.50** | 92.50 | 52.50\\* |\n"
        "| hard | 60.00 | **62.50** | 55.00 |\n"
        "| odd & even | **80.00** | **80.00** | 77.50 |\n"
        "| average | 79.17 | 78.33 | 61.67 |\n"
        "| mean rank | 1.50 | 1.50 | 3.00 |\n"
        "| best | 2 | 2 | 0 |\n"
        "\n"
        "Bold: the best on a data set.\n"
    )
    assert comparison.table(sd=None)._repr_markdown_() == text


def test_table_in_latex(comparison):
    text = comparison.table(published={("hard", "B"): 60}).to_latex()
    assert r"\caption{accuracy (\%) of 3 classifiers on 3 data sets}" in text
    assert "\\begin{tabular}{lrrr}\n\\toprule\ndata set & A & B & C\\_1 \\\\\n\\midrule" in text
    assert (
        r"easy & \textbf{97.50} $\pm$ 2.47 & 92.50 $\pm$ 4.16 & 52.50 $\pm$ 7.90$^{*}$ \\" in text
    )
    assert r"\textbf{62.50} $\pm$ 7.65 (60.00)" in text
    assert r"odd \& even & " in text
    assert r"\par\footnotesize $\pm$: standard deviation" in text


def test_latex_escapes_every_special_sign():
    table = TextTable("c", (r"\~^&%$#_{}<>", "b"), (("x", Cell("1")),), (), {"x": [1]})
    assert (
        r"\textbackslash{}\textasciitilde{}\textasciicircum{}\&\%\$\#\_\{\}\textless{}"
        r"\textgreater{} & b \\"
    ) in table.to_latex()
    assert r"\\~^&%$#\_{}\<\>" in table.to_markdown()


def test_a_table_wider_than_a_line_becomes_several():
    rows = (("first", Cell("1.0"), Cell("20.0"), Cell("3.0")), ("b", *map(Cell, ("4", "5", "6"))))
    table = TextTable("caption", ("data", "one", "two", "three"), rows, ("A note.",), {})
    whole = table.to_text(width=24)
    assert whole == table.to_text() == str(table)
    assert whole.splitlines()[2] == "data   one   two  three"
    assert table.to_text(width=17).splitlines() == [
        "caption",
        "----------------",
        "data   one   two",
        "----------------",
        "first  1.0  20.0",
        "b        4     5",
        "----------------",
        "data   three",
        "------------",
        "first    3.0",
        "b          6",
        "------------",
        "A note.",
    ]
    narrow = table.to_text(width=1).splitlines()
    assert [line for line in narrow if line.startswith("data")] == [
        "data   one",
        "data    two",
        "data   three",
    ]


HOSTILE = "[x](javascript:y)|\r\n\n*z* & \x1b"


def test_hostile_names_stay_in_their_cells():
    table = TextTable(f"c {HOSTILE}", ("a", HOSTILE), ((HOSTILE, Cell("1")),), (), {"x": [1]})
    flat = "[x](javascript:y)| *z* &"
    assert str(table).splitlines()[2].endswith(f"  {flat}")
    assert str(table).splitlines()[4].startswith(f"{flat}  ")
    assert table.to_markdown().splitlines() == [
        r"**c \[x\](javascript:y)\| \*z\* &**",
        "",
        r"| a | \[x\](javascript:y)\| \*z\* & |",
        "| --- | ---: |",
        r"| \[x\](javascript:y)\| \*z\* & | 1 |",
    ]
    # bare, a bracket or a star after the end of a row would belong to that end
    assert "\\midrule\n{[}x](javascript:y)| {*}z{*} \\& & 1 \\\\\n" in table.to_latex()


@pytest.mark.parametrize("start", [*"=+-@", "\t", "\r", "\n", "\uff1d"])
def test_no_text_in_a_csv_file_is_a_formula(start):
    text = f"{start}cmd|' /C calc'!A0"
    table = TextTable("c", ("a",), (), (), {text: [text, "a=b"], "number": [-1.5, float("-inf")]})
    rows = list(csv.reader(io.StringIO(table.to_csv(), newline="")))
    plain = "'" + text.replace("\r", "\n")
    assert rows == [[plain, "number"], [plain, "-1.5"], ["a=b", "-inf"]]


def test_table_as_csv_and_frame(comparison):
    table = comparison.table(published={("hard", "B"): 60.0}, sd="folds")
    lines = table.to_csv().splitlines()
    assert lines[0] == "data set,A,A sd,B,B sd,B published,C_1,C_1 sd"
    assert lines[1].startswith("easy,0.975,")
    assert ",0.925," in lines[1]
    assert lines[1].split(",")[5] == ""
    frame = table.to_frame()
    assert frame["B published"].isna().tolist() == [True, False, True]
    assert_allclose(frame[["A", "B", "C_1"]], comparison.scores())


def test_summary(comparison):
    text = str(comparison.summary())
    assert text.splitlines()[2].split() == [
        *("classifier", "accuracy", "brier", "fit_seconds", "mean", "rank", "best", "worse"),
        "failed",
    ]
    assert text.splitlines()[4].split() == ["A", "79.17", "0.333", "0.500", "1.50", "2", "0", "0"]
    assert text.splitlines()[6].split()[-2:] == ["1", "0"]
    chi2 = stats.friedmanchisquare(*comparison.scores().T)
    assert f"chi2(2) = {chi2.statistic:.2f}, p = {chi2.pvalue:.2f}" in text
    assert "worse" not in str(comparison.summary(test=None))


def test_versus(comparison):
    table = comparison.versus("A")
    assert table.header == (
        *("versus", "difference", "w/t/l", "significant w/t/l", "Wilcoxon p", "Nemenyi p"),
        "Kohavi p",
    )
    rows = [[cell if isinstance(cell, str) else cell.text for cell in row] for row in table.rows]
    assert rows[0][:4] == ["B", "0.83", "1/1/1", "0/3/0"]
    assert rows[1][:5] == ["C_1", "17.50", "3/0/0", "1/2/0", "0.25"]
    assert list(table.to_frame().columns) == list(table.header)
    by_brier = comparison.versus("C_1", "brier", test="paired")
    assert "Kohavi p" not in by_brier.header
    assert by_brier.data["w/t/l"] == ["0/0/3", "0/0/3"]


def test_everything_by_fold(comparison):
    frame = comparison.to_frame()
    assert len(frame) == 36
    assert frame.query("dataset == 'easy' and classifier == 'B'")["accuracy"].tolist() == [
        *(0.9, 1.0, 0.9, 0.9),
    ]
    assert set(frame.columns) >= {"log_loss", "ece", "fit_seconds", "n_train", "protocol"}
    from io import StringIO

    pd.testing.assert_frame_equal(
        pd.read_csv(StringIO(comparison.to_csv()), keep_default_na=False), frame, check_dtype=False
    )


def test_numbers_as_text():
    assert [number(0.12345, 2, percent=True), number(float("nan"), 1)] == ["12.35", "-"]
    assert [p_text(p) for p in (0.5, 0.0123, 0.00123, 1e-12, float("nan"))] == [
        *("0.50", "0.01", "1.2e-03", "1.0e-12", "-"),
    ]


def test_extras_are_named_when_they_are_missing(comparison, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        comparison.to_frame()
    with pytest.raises(ImportError, match=re.escape('pip install "latentclass[plots]"')):
        comparison.plot_errors("A", "B")


# -------------------------------------------------------------------------------- plots


def test_scatter_of_errors(comparison):
    display = comparison.plot_errors("A", "B")
    assert_allclose(display.x_error, [0.025, 0.4, 0.2])
    assert_allclose(display.y_error, [0.075, 0.375, 0.2])
    assert display.n_better == (1, 1, 1)
    assert_allclose(np.asarray(display.points_.get_offsets()), [[2.5, 7.5], [40, 37.5], [20, 20]])
    assert display.ax_.get_xlabel() == "A error (%)"
    assert display.ax_.get_ylabel() == "B error (%)"
    assert display.ax_.get_title() == "above the line A is better"
    display.x_error[0] = np.nan
    assert display.plot(ax=display.ax_, annotate=True).ax_ is display.ax_
    assert [text.get_text() for text in display.ax_.texts] == ["hard", "odd & even"]
    close(display)


def test_critical_difference_diagram(comparison):
    display = comparison.plot_ranks(alpha=0.1)
    assert_array_equal(display.mean_ranks, [1.5, 1.5, 3.0])
    # q(0.10, k = 3) sqrt(3 * 4 / (6 * 3)) = 2.052 * 0.8165
    assert_allclose(display.difference, 2.052 * np.sqrt(12 / 18), atol=1e-3)
    assert display.groups == [[0, 1, 2]]
    texts = [text.get_text() for text in display.ax_.texts]
    assert {"A (1.50)", "B (1.50)", "C_1 (3.00)", "critical difference 1.68 (10 %)"} <= set(texts)
    close(display)


def close(display):
    import matplotlib.pyplot as plt

    plt.close(display.figure_)


def test_html_has_both_tables_and_no_markup_of_names(comparison):
    html = comparison._repr_html_()
    assert html.count("<table>") == 2
    assert "<td>odd &amp; even</td>" in html
    table = TextTable("<c>", ("<h>", "n"), (("<r>", Cell("1.0", best=True)),), ("<n>",), {"n": [1]})
    assert table.to_html() == (
        "<p>&lt;c&gt;</p><table><thead><tr><th>&lt;h&gt;</th><th>n</th></tr></thead>"
        "<tbody><tr><td>&lt;r&gt;</td><td>&gt;1.0</td></tr></tbody></table>"
        "<p>&gt;: the best on a data set.</p><p>&lt;n&gt;</p>"
    )


def test_an_infinite_statistic_is_not_shown():
    """Two data sets on which three classifiers have the same order."""
    X, y = load_dataset("iris").X, load_dataset("iris").y
    models = {"nb": NaiveBayes(), "few": NaiveBayes(prior=1e3), "majority": majority()}
    found = compare(models, [("one", X, y), ("two", X[::2], y[::2])], cv=3)
    assert "Friedman: chi2(2) = 4.00, p = 0.14.\n" in str(found)
