"""The pages of benchmarks show what their records hold."""

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(ROOT / "benchmarks")
    import _pages
    import _record

every_page = pytest.mark.parametrize("page", _pages.PAGES, ids=lambda page: page.parent.name)
FOLDERS = sorted({folder for folder, _ in _pages.PAGES.values()})

SCRIPTS = sorted(
    str(path.relative_to(ROOT)) for folder in FOLDERS for path in folder.glob("[!_]*.py")
)


def make_record(value="0.5", **fields):
    return _record.Record(**{"what": "iris", "figure": "fit / peer", "value": value} | fields)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(_record, "ROOT", tmp_path)
    monkeypatch.setattr(_record, "SHORT_RUNS", tmp_path / "build")
    return lambda keep=True: _record.Run(str(tmp_path / "script.py"), keep=keep)


@every_page
def test_the_tables_are_those_of_the_records(page):
    assert _pages.render(page) == page.read_text(encoding="utf-8"), "Run `make pages`."


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_script_has_records_and_a_place_on_the_page(folder):
    page = folder / "README.md"
    marked = re.findall(r"<!-- records: (\w+) -->", page.read_text(encoding="utf-8"))
    kept = {path.stem for path in (folder / "records").glob("*.csv")}
    scripts = {path.stem for path in folder.glob("[!_]*.py")}
    assert sorted(marked) == sorted(kept) == sorted(scripts)


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_finds_what_it_imports(name, monkeypatch):
    """The scripts run by hand only, so a name that has moved would go unnoticed."""
    path = ROOT / name
    monkeypatch.syspath_prepend(path.parent)
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    assert callable(module.main)


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name.startswith("benchmarks")])
def test_every_benchmark_states_its_short_form(name):
    text = ast.get_docstring(ast.parse((ROOT / name).read_text(encoding="utf-8")))
    assert re.search(r"Short form: .*`--full`: ", text, re.S)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_table_cell_is_long(folder):
    lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    cells = [cell.strip() for line in lines if line.startswith("|") for cell in line.split("|")]
    assert max(map(len, cells)) <= _record.LONGEST_CELL


@pytest.mark.parametrize(
    "path", sorted((ROOT / "benchmarks" / "records").glob("*.csv")), ids=lambda path: path.stem
)
def test_every_benchmark_figure_has_a_date_and_a_clock(path):
    for record in _record.read_records(path):
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", record.date)
        is_ratio = " / " in record.figure
        assert record.clock in (_record.CLOCKS if is_ratio else ("", *_record.CLOCKS))


def test_a_changed_record_changes_the_page():
    before, after = (_pages.one_line_per_figure([make_record(v)]) for v in ("0.5", "0.6"))
    assert before != after


def test_a_table_shows_the_newest_value_the_range_and_a_missed_limit():
    old = make_record("0.3", low="0.2", limit="0.5", date="2026-01-01", runs="3")
    new = make_record("0.6", limit="0.5", date="2026-01-02", versions="numpy 2")
    assert _pages.one_line_per_figure([old, new]) == (
        "| what | figure | value | limit | runs | date |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| iris | fit / peer | 0.6 (0.2 to 0.6) | 0.5, missed | 4 | 2026-01-02 |\n"
        "\nVersions: numpy 2.\n"
    )


def test_a_limit_that_holds_is_not_marked():
    assert "missed" not in _pages.one_line_per_figure([make_record("0.5", limit="0.5")])


def test_cases_with_the_same_figures_share_a_table():
    records = [
        make_record("80", figure="accuracy", unit="%", paper="79", date="2026-01-01"),
        make_record("0.4", figure="log-loss", date="2026-01-01"),
        make_record("1/2/3", what="wine", figure="wins", date="2026-01-02"),
        make_record("2/2/2", what="wine", figure="wins", date="2026-01-03"),
    ]
    assert _pages.one_line_per_case(records) == (
        "| what | accuracy, % | log-loss | date |\n"
        "| --- | --- | --- | --- |\n"
        "| iris | 80 (paper 79) | 0.4 | 2026-01-01 |\n"
        "\n"
        "| what | wins | date |\n"
        "| --- | --- | --- |\n"
        "| wine | 2/2/2 | 2026-01-03 |\n"
    )


def test_a_run_writes_what_it_measured(run):
    with run() as first:
        first.add_ratio("iris", "fit / peer", 1.0, 3.0, limit=0.5)
    (record,) = _record.read_records(first.path)
    assert (record.value, record.limit, record.clock) == ("0.3333", "0.5", "wall")
    assert (record.seconds, record.peer_seconds) == ("1", "3")
    assert "numpy" in record.versions
    assert float(record.load) >= 0


def test_kept_records_are_added_and_short_ones_replaced(run):
    for keep, values in ((True, ["1", "2"]), (False, ["2"])):
        for value in (1.0, 2.0):
            with run(keep) as one:
                one.add("iris", "fit", value, unit="s")
        assert [record.value for record in _record.read_records(one.path)] == values


def test_a_run_that_fails_leaves_the_records_alone(run):
    with run() as first:
        first.add("iris", "fit", 1.0)
    before = first.path.read_bytes()

    def fail():
        with run() as second:
            second.add("iris", "fit", 2.0)
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        fail()
    assert first.path.read_bytes() == before


def test_records_read_back_as_they_were_written(tmp_path):
    records = [make_record(what='a, "b"', paper="1/2"), make_record("-1e-05", unit="%")]
    _record.write_records(tmp_path / "some" / "records.csv", records)
    assert _record.read_records(tmp_path / "some" / "records.csv") == records


@pytest.mark.parametrize("what", ["", "x" * 41, "a | b", "a\nb"])
def test_what_does_not_fit_into_a_cell_is_refused(what):
    with pytest.raises(ValueError, match=re.escape(f"what={what!r} does not fit")):
        make_record(what=what)


def test_numbers_are_short_and_large_ones_whole():
    shown = [_record._text(v) for v in (None, "1/2", 0.123456, 12345.6, -22460.0, 3.0, 1e-9)]
    assert shown == ["", "1/2", "0.1235", "12346", "-22460", "3", "1e-09"]


def test_best_times_takes_the_shortest_turn_after_the_first(monkeypatch):
    ticks = iter([0, 10, 14, 20, 22])  # a turn that is not counted, one of 4 and one of 2 seconds
    monkeypatch.setitem(_record.CLOCKS, "wall", lambda: next(ticks))
    assert _record.best_times({"task": lambda: None}, repeats=2) == {"task": 2}


def test_growth_has_a_table_per_curve_with_the_newest_figures():
    records = [
        make_record("0.5", what="rows 10,000", figure="LCM", unit="s"),
        make_record("3.2", what="rows 10,000", figure="LCM, memory", unit="MB"),
        make_record("over 60 s", what="rows 1,000", figure="LCM, 8 components"),
        make_record("0.25", what="rows 10,000", figure="LCM", unit="s"),
        make_record("7", what="missing 0.1", figure="LCM", unit="s"),
        make_record("1", what="missing 0.1", figure="LCM, memory", unit="MB"),
    ]
    assert _pages.one_table_per_curve(records) == (
        "| rows | 1,000 | 10,000 |\n| --- | --- | --- |\n"
        "| LCM |  | 0.25 s, 3 MB |\n| LCM, 8 components | over 60 s |  |\n"
        "\n| missing | 0.1 |\n| --- | --- |\n| LCM | 7 s, 1 MB |\n"
    )


def test_few_labels_has_means_over_sets_and_counts_those_not_worse():
    records = [
        make_record("0.2", what="iris, 5 labels, draw 0", figure="TAN, labelled"),
        make_record("0.9", what="iris, 5 labels, draw 0", figure="TAN, all"),
        make_record("0.1", what="iris, 5 labels, draw 0", figure="TAN, all"),
        make_record("0.4", what="wine, 5 labels, draw 0", figure="TAN, labelled"),
        make_record("0.5", what="wine, 5 labels, draw 0", figure="TAN, all"),
        make_record("0.3", what="wine, 15 labels, draw 1", figure="Forest, labelled"),
    ]
    assert _pages.mean_over_sets(records) == (
        "| model, rows | 5 labels a class | 15 labels a class | sets not worse |\n"
        "| --- | --- | --- | --- |\n"
        "| TAN, labelled | 0.300 (2) |  |  |\n"
        "| TAN, all | 0.300 (2) |  | 1 of 2 |\n"
        "| Forest, labelled |  | 0.300 (1) |  |\n"
    )


def test_budgets_have_the_newest_means_and_say_how_many_were_kept():
    records = [
        make_record("0.9", what="iris, 5 s", figure="log-loss"),
        make_record("0.1", what="iris, 5 s", figure="log-loss"),
        make_record("0.9", what="iris, 5 s", figure="accuracy"),
        make_record("1.2", what="iris, 5 s", figure="seconds / budget", limit="1.1"),
        make_record("0.2", what="wine, 5 s", figure="log-loss"),
        make_record("0.8", what="wine, 5 s", figure="accuracy"),
        make_record("1.0", what="wine, 5 s", figure="seconds / budget", limit="1.1"),
    ]
    header, _, line, *_ = _pages.one_line_per_budget(records).splitlines()
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert [cell.strip() for cell in header.strip("|").split("|")][4:6] == [
        "at most",
        "budgets kept",
    ]
    assert cells[:6] == ["5 s", "0.1500", "85.0 %", "1.10", "1.20", "1 of 2"]
