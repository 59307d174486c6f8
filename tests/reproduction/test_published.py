"""The published numbers are those that the papers print."""

from importlib.resources import files
from statistics import fmean

import pytest

from latentclass.datasets._facts import paper_uses
from latentclass.reproduction._published import PAPERS, published_cells, read_published

FOLDER = files("latentclass.reproduction").joinpath("published")
NAMES = sorted(path.name.removesuffix(".csv") for path in FOLDER.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_each_file_names_its_paper_and_has_whole_lines(name):
    assert name.partition("_")[0] in PAPERS
    lines = read_published(name)
    assert lines
    assert all(None not in line and None not in line.values() for line in lines)


@pytest.mark.parametrize(
    ("table", "row", "column", "accuracy", "sd"),
    [  # read off the printed tables
        ("hnb_table2_accuracy", "postop", "NB", "64.25", "5.0"),
        ("hnb_table2_accuracy", "monks-2", "NN", "99.77", "0.3"),
        ("hnb_table2_accuracy", "vehicle", "TAN", "68.79", "1.6"),
        ("hnb_table2_accuracy", "soybean-large", "HNB", "92.36", "1.1"),
        ("ltc_table1_accuracy", "anneal", "C4.5", "98.77", "0.98"),
        ("ltc_table1_accuracy", "letter", "LTC", "92.71", "0.47"),
        ("ltc_table1_accuracy", "vowel", "TAN", "87.37", "2.94"),
        ("ltc_table1_accuracy", "zoo", "BAN", "96.09", "5.05"),
    ],
)
def test_cells_are_as_printed(table, row, column, accuracy, sd):
    line = published_cells(table, "dataset", "classifier")[row, column]
    assert (line["accuracy"], line["sd"]) == (accuracy, sd)


@pytest.mark.parametrize(
    ("table", "column", "average"),
    [  # the last lines of the printed tables
        ("hnb_table2_accuracy", "NB", 82.91),
        ("hnb_table2_accuracy", "TAN", 83.97),
        ("hnb_table2_accuracy", "C5.0", 82.98),
        ("hnb_table2_accuracy", "NN", 84.71),
        ("hnb_table2_accuracy", "HNB", 85.52),
        ("ltc_table1_accuracy", "LTC", 86.49),
        ("ltc_table1_accuracy", "NB", 83.12),
        ("ltc_table1_accuracy", "TAN", 85.80),
        ("ltc_table1_accuracy", "AODE", 85.85),
        ("ltc_table1_accuracy", "BAN", 85.66),
        ("ltc_table1_accuracy", "C4.5", 84.32),
    ],
)
def test_columns_have_the_printed_average(table, column, average):
    cells = published_cells(table, "dataset", "classifier")
    found = [float(line["accuracy"]) for (_, name), line in cells.items() if name == column]
    assert fmean(found) == pytest.approx(average, abs=0.015)  # the papers round


def test_wins_ties_and_losses_are_as_printed():
    counts = {line["versus"]: line for line in read_published("ltc_table2_wins_ties_losses")}
    assert list(counts["NB"].values()) == ["NB", "17", "19", "1"]
    assert list(counts["C4.5"].values()) == ["C4.5", "11", "24", "2"]


@pytest.mark.parametrize("paper", ["hnb", "ltc"])
def test_the_data_sets_are_those_of_the_paper(paper):
    table = "hnb_table2_accuracy" if paper == "hnb" else "ltc_table1_accuracy"
    named = {line["dataset"] for line in read_published(table)}
    assert named == {use.called for use in paper_uses()[paper]}
