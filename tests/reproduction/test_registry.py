"""Every numbered table and every figure that shows a result has an entry."""

import pytest

from latentclass.datasets import load_dataset
from latentclass.reproduction._entry import PROFILES
from latentclass.reproduction._registry import find_entries, list_entries

# The papers' numbered tables, and the figures that show a result.
PAPERS = {
    "lcm": {"table": [1, 2, 3], "figure": [1, 2, 3, 5, 7, 8]},
    "blcm": {"table": [1, 2], "figure": [3, 5, 6, 7, 8, 9, 10]},
    "hnb": {"table": [1, 2], "figure": [2]},
    "ltc": {"table": [1, 2], "figure": [3, 4]},
    "lvc": {"table": list(range(1, 12)), "figure": [2, 3, 4, 5]},
}
# No paper: a table of means, a table by data set, and a figure for each condition.
FIELD = {"table": [*range(1, 9), *range(11, 19)], "figure": list(range(1, 9))}
# Figures without a result, by what they show instead.
NO_RESULT = {
    "graph of the model": {"lcm": [4, 6], "blcm": [1, 2, 4], "hnb": [1], "ltc": [1], "lvc": [6, 7]},
    "step of an algorithm": {"lcm": [9], "ltc": [2]},
    "the data as they are drawn": {"lvc": [1]},
}
ENTRIES = list_entries()
every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


def test_every_table_and_result_figure_has_one_entry():
    wanted = {
        (paper, kind, number)
        for paper, kinds in (PAPERS | {"field": FIELD}).items()
        for kind, numbers in kinds.items()
        for number in numbers
    }
    found = [(one.paper, one.kind, one.number) for one in ENTRIES]
    assert len(found) == len(set(found))
    assert set(found) == wanted


@pytest.mark.parametrize("paper", PAPERS)
def test_the_figures_without_result_are_the_other_numbers(paper):
    exempt = [number for papers in NO_RESULT.values() for number in papers.get(paper, [])]
    figures = sorted(exempt + PAPERS[paper]["figure"])
    assert figures == list(range(1, len(figures) + 1))


@every_entry
def test_an_entry_says_what_it_does(entry):
    assert set(entry.profiles) == set(PROFILES)
    assert set(entry.minutes) <= set(PROFILES)
    assert all((entry.title, entry.protocol))
    if entry.kind == "figure":
        assert entry.look_for


def test_the_data_sets_are_known():
    for name in {name for entry in ENTRIES for name in entry.data}:
        with pytest.raises(ValueError, match="must be one of"):  # after the name was found
            load_dataset(name, source="nowhere")


def test_entries_are_found_by_number():
    assert [one.name for one in find_entries("ltc", 1)] == ["ltc-table-1"]
    with pytest.raises(ValueError, match=r"^The paper 'ltc' has no table 9 to reproduce\. There"):
        find_entries("ltc", 9)
    with pytest.raises(ValueError, match=r"^There is no paper 'lct'\. There are: lcm, blcm, "):
        find_entries("lct")
