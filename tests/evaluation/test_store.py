"""The store is append-only, tolerates damage, and can be merged with others."""

import errno
import json
import multiprocessing
import os
import re

import pytest
from evaluation_helpers import write_many

from latentclass.evaluation import Store, merge_stores
from latentclass.evaluation._store import _line


def record(key, error=None, **more):
    return {"key": key, "error": error, "seconds": 0.1, **more}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "results.jsonl"


def test_records_are_found_again(path):
    store = Store(path)
    store.add(record("a", text="Zoë", values=[1.5, None, 1e-300]))
    store.add(record("b"))
    assert Store(path).records == store.records
    assert all(json.loads(line)["key"] in "ab" for line in path.read_text().splitlines())


def test_without_a_path_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Store().add(record("a"))
    assert list(tmp_path.iterdir()) == []


def test_a_record_is_on_the_disk_when_add_returns(path, monkeypatch):
    calls = []
    for name in ("write", "fsync"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, n=name, r=real: (calls.append(n), r(*a))[1])
    Store(path).add(record("a"))
    assert calls == ["write", "fsync"]


@pytest.mark.parametrize("cut", [1, 2, 10, 60])
def test_a_damaged_last_record_is_ignored_and_reported(path, cut):
    store = Store(path)
    store.add(record("a"))
    store.add(record("b"))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - cut])
    if cut == 1:  # only the line's end is missing: the record is whole
        assert list(Store(path).records) == ["a", "b"]
        damaged = Store(path)
    else:
        with pytest.warns(UserWarning, match=r"results.jsonl: skipped 1 damaged record\(s\) \(lin"):
            damaged = Store(path)
        assert list(damaged.records) == ["a"]
        assert damaged.n_damaged == 1
    # the next record does not continue the half line
    damaged.add(record("c"))
    kept = {"a", "b", "c"} if cut == 1 else {"a", "c"}
    if cut == 1:
        assert set(Store(path).records) == kept
    else:
        with pytest.warns(UserWarning, match="1 damaged"):
            assert set(Store(path).records) == kept


def test_a_changed_byte_is_seen(path):
    Store(path).add(record("a", text="abcdef"))
    path.write_bytes(path.read_bytes().replace(b"abcdef", b"abcxef"))
    with pytest.warns(UserWarning, match="1 damaged"):
        assert Store(path).records == {}


@pytest.mark.parametrize("line", ["[1, 2]", "{}", '{"check": 1}', "3", "\x00\x00"])
def test_lines_of_another_kind_are_damage(path, line):
    Store(path).add(record("a"))
    with path.open("a") as file:
        file.write("\n" + line + "\n" * 2)
    with pytest.warns(UserWarning, match="1 damaged"):
        assert list(Store(path).records) == ["a"]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ({"error": None}, "has no text as its 'key'"),
        ({"key": 3, "error": None}, "has no text as its 'key'"),
        ({"key": "b"}, "has neither a text nor null as its 'error'"),
        ({"key": "b", "error": ["no"]}, "has neither a text nor null as its 'error'"),
        ({"key": "b", "error": "\ud800"}, "has neither a text nor null as its 'error'"),
        ({"key": "b", "error": None, "n": -1}, "has a bad n"),
    ],
)
def test_a_record_that_lies_is_damage(path, content, fault):
    Store(path).add(record("a"))
    with path.open("ab") as file:
        file.write(_line(content))
    message = (
        f"results.jsonl: skipped 1 damaged record(s) (line 2); the first {fault}. Their results are"
        " computed again."
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(message)}$"):
        store = Store(path, lambda one: "has a bad n" if one.get("n") == -1 else None)
    assert list(store.records) == ["a"]


def test_a_store_that_cannot_be_written_to_is_an_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    message = (
        r"The store 's.jsonl' cannot be written to \(.+\), so nothing is computed\. Pass store= a "
        r"file in a folder that you can write to\.$"
    )
    with pytest.raises(OSError, match=message):
        Store(tmp_path / "file" / "s.jsonl").check_writable()
    with pytest.raises(OSError, match=r"The store '.+' cannot be read \(Is a directory\)\. Pass"):
        Store(tmp_path)
    Store(tmp_path / "new" / "s.jsonl").check_writable()
    Store(None).check_writable()


def test_many_damaged_lines_are_not_all_listed(path):
    path.parent.mkdir()
    path.write_text("x\n" * 7)
    message = "(line 1, 2, 3, 4, 5, ...); the first is cut off or was changed, as when a run is"
    with pytest.warns(UserWarning, match=re.escape(message)):
        assert Store(path).n_damaged == 7


def test_nothing_is_stored_twice_and_success_replaces_failure(path):
    store = Store(path)
    store.add(record("a", error="ValueError: no"))
    store.add(record("a", error="ValueError: again"))
    store.add(record("a", n=1))
    store.add(record("a", n=2))
    store.add(record("a", error="too late"))
    assert len(path.read_text().splitlines()) == 2
    assert Store(path).records["a"] == record("a", n=1)


def test_stores_merge(tmp_path):
    a, b, both = (tmp_path / f"{name}.jsonl" for name in ("a", "b", "both"))
    for key in "xy":
        Store(a).add(record(key))
    for key in "yz":
        Store(b).add(record(key))
    assert sorted(merge_stores(both, a, b)) == ["x", "y", "z"]
    assert len(both.read_text().splitlines()) == 3
    merge_stores(both, a, b)
    assert len(both.read_text().splitlines()) == 3
    # plain concatenation is a store too
    (tmp_path / "cat.jsonl").write_bytes(a.read_bytes() + b.read_bytes())
    assert Store(tmp_path / "cat.jsonl").records == Store(both).records
    with pytest.raises(FileNotFoundError, match=r"There is no store 'c\.jsonl' to merge"):
        merge_stores(both, tmp_path / "c.jsonl")


def test_a_full_disk_is_an_error(path, monkeypatch):
    monkeypatch.setattr(os, "write", lambda *_: 5)
    with pytest.raises(OSError, match=r"Only 5 of \d+ bytes could be written to results.jsonl"):
        Store(path).add(record("a"))

    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", refuse)
    message = r"Nothing could be written to results\.jsonl \(No space left on device\)\. If the"
    with pytest.raises(OSError, match=message):
        Store(path).add(record("a"))


def test_processes_may_write_to_one_store(path):
    path.parent.mkdir()
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_many, args=(path, name)) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    store = Store(path)
    assert len(store.records) == 90
    assert store.n_damaged == 0
