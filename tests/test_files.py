"""Files that are never seen half-written."""

import os
import stat

import pytest

from latentclass import _files
from latentclass._files import replacing


def test_the_file_is_replaced_at_the_end_only(tmp_path):
    path = tmp_path / "result"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["result"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_after_an_error_the_old_file_is_still_there_and_nothing_else(tmp_path, error):
    path = tmp_path / "result"
    path.write_bytes(b"old")

    def fail():
        with replacing(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["result"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
def test_permissions_are_those_of_any_new_file(tmp_path):
    with replacing(tmp_path / "ours") as file:
        file.write(b"x")
    (tmp_path / "other").write_bytes(b"x")
    ours, other = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "other"))
    assert ours == other


def test_the_file_and_then_its_name_are_written_to_disk(tmp_path, monkeypatch):
    synced = []

    def record(descriptor):
        synced.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        synced.append((tmp_path / "result").exists())

    monkeypatch.setattr(_files.os, "fsync", record)
    with replacing(tmp_path / "result") as file:
        file.write(b"x")
    assert synced == ["file", False, "folder", True]


def test_a_folder_that_cannot_be_synced_is_no_error(tmp_path, monkeypatch):
    def refuse(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError

    monkeypatch.setattr(_files.os, "fsync", refuse)
    with replacing(tmp_path / "result") as file:
        file.write(b"x")
    assert (tmp_path / "result").read_bytes() == b"x"


@pytest.mark.skipif(os.name == "nt", reason="Windows holds open files by itself")
def test_what_a_killed_process_left_goes_with_the_next_file(tmp_path):
    path = tmp_path / "result"
    with replacing(path) as file:
        file.write(b"old")
        (part,) = tmp_path.glob("*.part")
        os.utime(part, (0, 0))  # as if begun long ago
        with replacing(path) as other:
            other.write(b"in the meantime")
        assert part.exists(), "it is still being written"
    part.write_bytes(b"half")  # as a killed process leaves it: nobody holds it
    with replacing(path) as file:
        assert part.exists(), "it is too young to be sure"
        file.write(b"new")
    os.utime(part, (0, 0))
    (tmp_path / "mine.part").write_bytes(b"of somebody else")
    with replacing(tmp_path / "other") as file:
        file.write(b"another file")
    assert part.exists(), "it belongs to another file"
    with replacing(path) as file:
        assert not part.exists()
        file.write(b"newest")
    assert sorted(os.listdir(tmp_path)) == ["mine.part", "other", "result"]
    assert path.read_bytes() == b"newest"
