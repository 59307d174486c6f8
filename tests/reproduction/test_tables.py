"""The table of an entry has the paper's shape, with ours beside the published number."""

from latentclass.reproduction._entry import Entry
from latentclass.reproduction._records import Record
from latentclass.reproduction._tables import difference, make_table

ENTRY = Entry(
    paper="ltc",
    kind="table",
    number=1,
    title="accuracy",
    data=(),
    classifiers=("LTC", "NB"),
    protocol="Ten folds.",
    profiles={"quick": "Fewer folds.", "paper": "All."},
    run=lambda _: iter(()),
    rows=("anneal", "zoo"),
    folds_of_sd=4,
)


def cell(row, column, value, published="", **more):
    settings = {"profile": "paper", "date": "2026-11-17", **more}
    return Record(row, column, "accuracy, %", value, published=published, **settings)


RECORDS = [
    cell("zoo", "LTC", "94.06", "94.18", sd="5.00", published_sd="6.60", seconds="0.5"),
    cell("zoo", "NB", "80.00", "93.18", sd="7.00", published_sd="8.00", significance="-"),
    cell("anneal", "LTC", "97.80", "97.78", seconds="1.5"),
    cell("anneal", "NB", "", "96.10", note="not installed"),
    Record("p", "NB", "p-value", "1.0e-3", published="5e-12", profile="paper"),
]


def test_the_table_has_the_shape_of_the_paper():
    shown = [" ".join(line.split()) for line in str(make_table(ENTRY, RECORDS)).splitlines()]
    assert [line for line in shown if not line.startswith("--")] == [
        "ltc, Table 1: accuracy",
        "LTC NB",
        "anneal 97.80 (97.78, +0.02) not installed (96.10)",
        "zoo 94.06 ±5.00 (94.18 ±6.60, -0.12) 80.00 ±7.00- (93.18 ±8.00, -13.18)",
        "p 1.0e-3 (5e-12)",
        "seconds per fit 1",
        "Ten folds.",
        "Profile paper: All.",
        "Run on 2026-11-17.",
        "In brackets: the published value, and the difference (ours minus published), to the "
        "decimals that both have.",
        # 13.18 points are 3.3 standard deviations of a mean over 4 folds
        "More than two standard deviations below the paper. NB: zoo (-3.3).",
    ]


def test_the_table_as_markdown():
    lines = make_table(ENTRY, RECORDS).to_markdown().splitlines()
    assert (
        "| zoo | 94.06 ± 5.00 (94.18 ±6.60, -0.12) | 80.00 ± 7.00- (93.18 ±8.00, -13.18) |" in lines
    )


def test_a_row_of_which_nothing_was_run_is_named_below():
    more = [cell("letter", name, "", "90.0", note="not run") for name in ("LTC", "NB")]
    half = [cell("vote", "LTC", "95.00"), cell("vote", "NB", "", note="not run")]
    table = make_table(ENTRY, [*RECORDS, *more, *half])
    assert [row[0] for row in table.rows] == ["anneal", "zoo", "p", "vote", "seconds per fit"]
    assert table.rows[3][2].text == "not run"
    assert "Not run yet: letter." in table.notes


def test_where_the_paper_has_no_standard_deviation_ours_is_taken():
    more = [
        cell("vote", "LTC", "93.00", "95.00", sd="1.00"),
        cell("corral", "NB", "97.00", "100.00", sd="2.00", published_sd="0.00"),
        cell("corral", "LTC", "99.00", "100.00", sd="2.00", published_sd="0"),
        cell("letter", "LTC", "90.00", "91.00", sd="0"),
    ]
    ours = "By our standard deviation, as the paper has none or 0. LTC: vote (-4.0); NB: corral"
    assert make_table(ENTRY, [*RECORDS, *more]).notes[-2:] == (
        "More than two standard deviations below the paper. NB: zoo (-3.3).",
        f"{ours} (-3.0).",
    )
    assert make_table(ENTRY, more).notes[-1] == f"{ours} (-3.0)."


def test_differences():
    assert difference(cell("a", "b", "94.06", "94.1")) == "0.0"
    assert difference(cell("a", "b", "94.56", "94.06")) == "+0.50"
    assert difference(cell("a", "b", "2", "2")) == "0"
    assert difference(cell("a", "b", "CV(5)", "CV(5)")) is None
    assert difference(cell("a", "b", "", "2")) is None
    assert difference(RECORDS[-1]) is None
