"""Names, aliases, variants, and the papers' tables as we carry them."""

import subprocess
import sys

import pytest

from latentclass.datasets import DatasetInfo, list_datasets, load_dataset
from latentclass.datasets._facts import aliases, paper_uses, registry, resolve
from latentclass.datasets._variants import STEPS

PAPERS = {"lcm": 15, "blcm": 6, "hnb": 22, "ltc": 37, "lvc": 4}
# Where a paper's printed sizes are not the sizes of the data, each with a reason in `differs`.
DISAGREE = {
    ("blcm", "Reuters crude"),
    ("blcm", "Reuters earn"),
    ("blcm", "Reuters acq"),
    ("hnb", "monks-2"),
    ("hnb", "monks-3"),
    ("hnb", "chess"),
}


@pytest.mark.parametrize(("paper", "n_sets"), PAPERS.items())
def test_each_paper_has_its_whole_table(paper, n_sets):
    uses = paper_uses()[paper]
    assert len(uses) == n_sets
    assert {use.paper for use in uses} == {paper}
    listed = [name for info in list_datasets(paper) for name in info.called]
    assert sorted(listed) == sorted(use.called for use in uses)


def test_sizes_agree_with_the_papers_or_the_difference_is_told():
    uses = [use for table in paper_uses().values() for use in table]
    assert {(use.paper, use.called) for use in uses if use.agrees is False} == DISAGREE
    assert {use.paper for use in uses if use.agrees is None} == {"lvc"}
    for use in uses:
        assert use.agrees is not False or resolve(use.name).differs


def test_every_parent_and_step_exists():
    for facts in registry().values():
        assert (facts.parent is None) == (facts.step is None)
        if facts.parent:
            assert facts.parent in registry()
            assert facts.step in STEPS


def test_registry_texts_are_sentences():
    for facts in registry().values():
        for text in (facts.about, facts.differs, *facts.notes.values()):
            assert text is None or text[-1] in ".?"


def test_aliases_point_at_data_sets():
    assert set(aliases().values()) <= registry().keys()
    assert resolve("crx").name == "credit-a"
    assert resolve(" Pima ").name == "diabetes"
    assert resolve("crx/complete").name == "credit-a/complete"


def test_general_variants_change_the_facts():
    complete = resolve("vote/complete")
    assert (complete.rows, complete.incomplete, complete.parent) == (232, 0, "vote")
    assert resolve("monks-2/train").rows == 169
    assert resolve("usps/3-vs-5/test").rows == 773


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("irs", r"^Unknown data set 'irs'. Did you mean 'iris'.*\? list_datasets\(\) shows all.$"),
        ("qqqqqq", r"^Unknown data set 'qqqqqq'. list_datasets\(\) shows all.$"),
        ("", r"^Unknown data set ''. list_datasets\(\) shows all.$"),
        (
            "crx/whole",
            "^Data set 'credit-a' has no variant 'crx/whole'. It has 'credit-a/complete'.$",
        ),
        ("monks-1/half", "It has 'monks-1/complete', 'monks-1/train', 'monks-1/test'.$"),
        ("reuters/gold", "It has 'reuters/acq', 'reuters/crude', 'reuters/earn'.$"),
        ("iris/train", "^Data set 'iris' has no train half, because the papers do not split it."),
        (
            "reuters",
            "^Data set 'reuters' is text, not a table. Load one of 'reuters/acq', 'reuters/crude', "
            "'reuters/earn'.$",
        ),
        (
            "reuters/train",
            "^Data set 'reuters/train' is text, not a table. Load one of 'reuters/acq'",
        ),
    ],
)
def test_wrong_names_are_answered_with_the_right_ones(name, message):
    with pytest.raises(ValueError, match=message):
        load_dataset(name)


def test_wrong_options_are_answered_with_the_right_ones():
    with pytest.raises(ValueError, match=r"^container='dask' must be one of 'auto', 'pandas', 'p"):
        load_dataset("iris", container="dask")
    with pytest.raises(ValueError, match=r"^source='web' must be one of 'auto', 'generated', 'b"):
        load_dataset("iris", source="web")
    with pytest.raises(
        ValueError, match=r"^paper='nb' must be one of None, 'lcm', 'blcm', 'hnb', 'l"
    ):
        list_datasets("nb")


def test_list_shows_each_set_once_with_its_sources():
    infos = {info.name: info for info in list_datasets()}
    assert len(infos) == len(list_datasets())
    assert "reuters" not in infos
    assert infos["iris"].available == ("bundled", "openml")
    assert infos["iris/uci"].available == ("bundled", "openml")
    assert infos["monks-1"].available == ("openml",)
    assert infos["monks-1/test"].available == ("generated", "openml")
    assert infos["glass2"].available == ("openml",)
    assert infos["usps/3-vs-5"].available == ()
    assert infos["corral"] == DatasetInfo(
        name="corral",
        rows=128,
        continuous=0,
        binary=6,
        nominal=0,
        classes=2,
        incomplete_rows=0,
        papers=("ltc",),
        called=(),
        available=("generated",),
        description=resolve("corral").about,
    )


def test_list_of_a_paper_gives_the_papers_form_and_names():
    infos = {info.name: info for info in list_datasets("hnb")}
    assert infos["diabetes"].called == ("diabetes", "pima")
    assert infos["breast-w-id/complete"].called == ("breast",)
    assert infos["breast-w-id/complete"].rows == 683


def test_list_sees_the_folder(autos):
    infos = {info.name: info for info in list_datasets()}
    assert infos["autos"].available == ("folder", "openml")
    assert infos["autos/complete"].available == ("folder", "openml")
    assert infos["zoo"].available == ("openml",)


def test_a_data_set_tells_which_papers_use_it_and_how():
    papers = load_dataset("iris").papers
    assert papers.keys() == {"lcm", "hnb", "ltc", "lvc"}
    (use,) = papers["ltc"]
    assert (use.called, use.name, use.attributes, use.classes) == ("iris", "iris/uci", 4, 3)
    assert (use.instances, use.agrees) == (150, True)


def test_import_is_light():
    code = (
        "import sys, latentclass.datasets as d; d.list_datasets(); "
        "print({'pandas', 'polars', 'matplotlib', 'sklearn', 'scipy'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
