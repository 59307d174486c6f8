"""OpenML through a stand-in for scikit-learn's download."""

import os
import zipfile
from http.client import IncompleteRead
from types import SimpleNamespace

import numpy as np
import pytest

from latentclass.datasets import load_dataset
from latentclass.datasets._openml import cache_folder
from latentclass.exceptions import DataSetUnavailableError


@pytest.fixture
def serve(monkeypatch):
    """Answer every download with this table; return the list of what was asked for."""

    def install(data, target, names=None, categories=None, error=None):
        asked = []

        def fetch(**options):
            asked.append(options)
            if error:
                raise error
            return SimpleNamespace(
                data=np.asarray(data, dtype=float),
                target=target,
                feature_names=names or [f"c{i}" for i in range(np.shape(data)[1])],
                categories=categories,
            )

        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
        return asked

    return install


def tae():
    """Return a table of the shape of tae: 151 rows, 2 binary columns of 5, 3 classes."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 2, (151, 5)).astype(float)
    target = np.array(["1", "2", "3"], dtype=object)[np.arange(151) % 3]
    return data, target, list("abcde"), {"a": ["no", "yes"], "d": ["x", "y"]}


def test_download_is_decoded_and_checked(serve):
    data, target, names, categories = tae()
    asked = serve(data, target, names, categories)
    found = load_dataset("tae", container="numpy")
    assert asked[0]["data_id"] == 48
    assert found.source == "OpenML, data set 48"
    assert found.kinds == {
        "a": "binary",
        "b": "continuous",
        "c": "continuous",
        "d": "binary",
        "e": "continuous",
    }
    assert found.X[:, 0].tolist() == ["yes" if cell else "no" for cell in data[:, 0]]
    assert found.X[:, 1].tolist() == data[:, 1].tolist()
    assert found.y.tolist() == target.tolist()
    assert "OpenML" not in found.differs


def test_second_load_comes_from_the_cache(serve):
    data, target, names, categories = tae()
    data[3, 0] = data[4, 1] = np.nan
    asked = serve(data, target, names, categories)
    first, second = load_dataset("tae"), load_dataset("tae")
    assert len(asked) == 1
    assert first.X.equals(second.X)
    assert first.X.dtypes.equals(second.X.dtypes)
    assert first.kinds == second.kinds
    assert first.y.tolist() == second.y.tolist()
    assert second.source == first.source
    assert second.differs.endswith("OpenML's copy has 2 rows with a missing cell, not 0.")
    assert second.differs == first.differs
    # Nothing half-written stays behind.
    assert [path.name for path in cache_folder().iterdir()] == ["tae.openml-48.v1.npz"]


def with_bad_bytes(path):
    content = path.read_bytes()
    return content[:55] + b"\xff" * 10 + content[65:]


def with_bad_header(path):
    """An archive whose checksums are right, with an array whose header is not Python."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("columns.npy", b"\x93NUMPY\x01\x00\x08\x00{'a': (((\n")
    return path.read_bytes()


def with_other_rows(path):
    np.savez(path, y=np.array(["1", "2"]), columns=np.array("{}"))
    return path.read_bytes()


DAMAGE = {
    "empty": lambda _: b"",
    "cut off": lambda path: path.read_bytes()[:500],
    "no archive": lambda _: b"PK\x03\x04 not really",
    "bad header": with_bad_header,
    "other rows": with_other_rows,
    "bad bytes": with_bad_bytes,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_cache_is_told_and_mended(serve, damage):
    asked = serve(*tae())
    expected = load_dataset("tae")
    (path,) = cache_folder().iterdir()
    path.write_bytes(damage(path))
    message = (
        r"tae.openml-48.v1.npz could not be read \(.*: .*\), so the data set is downloaded again\.$"
    )
    with pytest.warns(UserWarning, match=message) as warned:
        found = load_dataset("tae")
    assert len(warned) == 1
    assert found.X.equals(expected.X)
    assert load_dataset("tae").X.equals(expected.X)
    assert len(asked) == 2


def test_cache_that_cannot_be_written_is_a_warning(serve, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LATENTCLASS_CACHE", str(tmp_path / "file"))
    serve(*tae())
    with pytest.warns(UserWarning, match="could not be written .* Set LATENTCLASS_CACHE to a fol"):
        assert len(load_dataset("tae").y) == 151


def test_interrupted_write_leaves_nothing(serve, monkeypatch):
    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", full)
    serve(*tae())
    with pytest.warns(UserWarning, match="disk full"):
        load_dataset("tae")
    assert list(cache_folder().iterdir()) == []


def test_place_of_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("LATENTCLASS_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("LATENTCLASS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "latentclass"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "latentclass"


def test_another_data_set_is_refused_and_not_kept(serve):
    data, target, _, _ = tae()
    serve(data[:150, :4], np.where(target == "3", "2", target)[:150])
    message = (
        "^OpenML data set 48 is not the expected 'tae': 150 rows, expected 151; 4 attributes, "
        "expected 5; 2 classes, expected 3. It is not used. Set LATENTCLASS_DATA to a folder"
    )
    with pytest.raises(ValueError, match=message):
        load_dataset("tae")
    assert not cache_folder().exists()


@pytest.mark.parametrize(
    "error",
    [
        OSError("no route to host"),
        TimeoutError("timed out"),
        IncompleteRead(b""),
        ValueError("md5 checksum does not match"),
    ],
)
def test_failed_download_is_unavailable(serve, error):
    serve(*tae(), error=error)
    with pytest.raises(DataSetUnavailableError, match="- openml: download of data set 48 failed"):
        load_dataset("tae")


def test_known_differences_are_accepted_and_told(serve):
    rng = np.random.default_rng(0)
    serve(rng.random((101, 16)), np.array(list("abcdefg") * 15)[:101])
    assert load_dataset("zoo").differs == "OpenML's copy has 16 of the 17 columns."
    serve(rng.random((6430, 36)), np.arange(6430) % 6)
    assert load_dataset("satimage").differs == "OpenML's copy has 6430 of the 6435 rows."


def test_labels_are_translated_and_variants_follow(serve):
    counts = {"1": 70, "2": 10, "3": 20, "4": 30, "5": 40, "6": 10, "7": 10}
    target = np.repeat(list(counts), [n * 300 for n in counts.values()])
    target = np.concatenate([target, np.full(58000 - len(target), "1")])
    serve(np.zeros((58000, 9)), target)
    small = load_dataset("shuttle-small")
    assert len(small.y) == 5800
    assert (small.y == "Rad.Flow").sum() == 2200
    assert small.source == "OpenML, data set 40685"


def test_target_column_can_be_named(serve):
    asked = serve(np.zeros((345, 6)), np.arange(345) % 2)
    load_dataset("liver")
    assert asked[0]["target_column"] == "selector"


def test_missing_marks_of_anneal_are_a_value(serve):
    data = np.zeros((898, 38))
    data[0, 0] = np.nan
    names = [f"c{i}" for i in range(38)]
    serve(data, np.arange(898) % 5, names, {"c0": ["Y"], "c1": ["Y", "N"]})
    found = load_dataset("anneal", container="numpy")
    assert found.X[0, 0] == "?"
    assert found.X[1, 0] == "Y"
    assert found.kinds["c0"] == found.kinds["c1"] == "binary"
    assert found.differs is None


CRABS = ["sp", "sex", "index", "FL", "RW", "CL", "CW", "BD"]


def test_crabs_get_one_label_of_two_columns(serve):
    data = np.zeros((200, 8))
    data[:, 0] = np.arange(200) // 100
    data[:, 1] = np.arange(200) // 50 % 2
    data[:, 3:] = np.arange(200)[:, None]
    categories = {"sp": ["B", "O"], "sex": ["Male", "Female"]}
    asked = serve(data, None, CRABS, categories)
    crabs = load_dataset("crabs")
    assert asked[0]["target_column"] is None
    assert list(crabs.X.columns) == ["FL", "RW", "CL", "CW", "BD"]
    assert crabs.y[::50].tolist() == ["blue_male", "blue_female", "orange_male", "orange_female"]


def test_crabs_without_the_columns_are_refused(serve):
    serve(np.zeros((200, 8)), None, ["x", *CRABS[1:3], "y", *CRABS[4:]])
    with pytest.raises(ValueError, match="0 rows, expected 200; 4 attributes, expected 5; 0 class"):
        load_dataset("crabs")


def monks(order):
    robots = load_dataset("monks-1/test", container="numpy")
    data = robots.X.astype(float) - 1
    train = data[np.random.default_rng(1).choice(432, 124, replace=False)]
    parts = {"train": train, "test": data}
    values = np.concatenate([parts[half] for half in order])
    y = np.arange(len(values)) % 2
    names = list(robots.kinds)
    sizes = (3, 3, 2, 3, 4, 2)
    levels = {n: [str(i + 1) for i in range(k)] for n, k in zip(names, sizes, strict=True)}
    return values, y, names, levels


@pytest.mark.parametrize("order", [("train", "test"), ("test", "train")])
def test_halves_are_told_by_their_rows(serve, order):
    serve(*monks(order))
    robots = load_dataset("monks-1")
    sizes = {"train": 124, "test": 432}
    assert robots.split.tolist() == [half for half in order for _ in range(sizes[half])]
    assert len(load_dataset("monks-1/train").y) == 124
    assert load_dataset("monks-1").split.tolist() == robots.split.tolist()


def test_halves_that_cannot_be_told_are_refused(serve):
    values, y, names, levels = monks(("train", "test"))
    mixed = np.random.default_rng(0).permutation(values)
    serve(mixed, y, names, levels)
    with pytest.raises(ValueError, match=r"^OpenML data set 333 has the test half of 'monks-1'"):
        load_dataset("monks-1")


def test_own_id_comes_before_the_parent(serve):
    asked = serve(np.zeros((699, 9)), np.arange(699) % 2)
    load_dataset("breast-w/complete")
    assert asked[0]["data_id"] == 15
