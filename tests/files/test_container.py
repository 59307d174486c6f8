"""The bytes of model files: what is refused, with which words, before anything is built."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from golden_models import make_table
from mutants import pack, unpack, with_header
from safetensors.numpy import load_file

import latentclass
from latentclass.baselines import NaiveBayes
from latentclass.exceptions import ModelFileError
from latentclass.files import _container
from latentclass.files._container import FORMAT, TYPES


@pytest.fixture
def path(tmp_path):
    X, y = make_table(24)
    latentclass.save(NaiveBayes().fit(X, y), tmp_path / "model.lc")
    return tmp_path / "model.lc"


def refusal(path, data=None):
    """What `load` and `describe_file` say."""
    if data is not None:
        path.write_bytes(data)
    messages = []
    for function in (latentclass.load, latentclass.describe_file):
        with pytest.raises(ModelFileError) as caught:
            function(path)
        messages.append(str(caught.value).replace(repr(os.fspath(path)), "FILE"))
    assert messages[0] == messages[1]
    return messages[0]


def test_safetensors_reads_the_arrays(path):
    _, arrays = unpack(path.read_bytes())
    tensors = load_file(path)
    assert set(tensors) == {*arrays, "document"}
    for name, array in arrays.items():
        assert np.array_equal(tensors[name], array)
    assert json.loads(tensors["document"].tobytes())["several"] is False


def test_only_five_types_of_numbers_are_written(path):
    assert set(load_file(path)) <= {*TYPES, "document"}
    assert set(TYPES) == {"F64", "F32", "I64", "I32", "U8"}


def test_no_module_path_stands_in_a_file(path):
    text = path.read_bytes()
    for word in (b"latentclass.", b"sklearn.", b"numpy.", b"__", b"builtins"):
        assert word not in text.replace(b'{"__metadata__":{', b"", 1)


def test_the_same_model_gives_the_same_arrays(path):
    model = latentclass.load(path)
    first = unpack(path.read_bytes())
    latentclass.save(model, path)
    second = unpack(path.read_bytes())
    assert first[0]["models"] == second[0]["models"]
    assert all(np.array_equal(first[1][name], second[1][name]) for name in first[1])


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (b"", "it is empty"),
        (b"\x80\x04\x95", "it looks like a pickle, which can run any code when it is loaded"),
        (b"PK\x03\x04", "it looks like a zip archive"),
        (b"hello, world", "it begins differently"),
        (b"\x10\0\0\0\0\0\0\0" + b'{"a":{"dtype":1}', "it begins differently"),
    ],
)
def test_other_files_are_not_ours(path, start, reason):
    assert refusal(path, start) == (
        f"FILE is not a model file of latentclass: {reason}. Pass a file that latentclass fit "
        "or latentclass.save wrote."
    )


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises((IsADirectoryError, PermissionError)):
        latentclass.load(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_a_device_is_no_file():
    with pytest.raises(ModelFileError, match="'/dev/zero' is not a regular file"):
        latentclass.load("/dev/zero")


def test_a_file_that_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        latentclass.load(tmp_path / "none.lc")


def test_cut_off(path):
    data = path.read_bytes()
    assert refusal(path, data[:-5]) == (
        f"FILE is cut off: it has {len(data) - 5:,} bytes, but its header names {len(data):,}. "
        "Copy it again, or save the model anew."
    )
    assert refusal(path, data[:100]) == (
        "FILE is cut off inside its header. Copy it again, or save the model anew."
    )


def test_too_long(path):
    data = path.read_bytes()
    assert refusal(path, data + b"x") == (
        f"FILE is damaged: it has {len(data) + 1:,} bytes, but its header names {len(data):,}. "
        "Copy it again, or save the model anew."
    )


def test_one_bit_is_seen(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    assert refusal(path, bytes(data)) == (
        "FILE is damaged: its checksum is not that of its contents. Copy it again, or save the "
        "model anew."
    )


def test_a_newer_format_says_what_to_do(path):
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = re.sub(rb'"latentclass":"[^"]*"', b'"latentclass":"9.1"', data[8:end])
    header = header.replace(b'"format":"1"', b'"format":"3","more":"things"')
    assert refusal(path, with_header(data, header)) == (
        "FILE was written by latentclass 9.1 in format 3, but this is latentclass "
        f"{latentclass.__version__}, which reads formats up to {FORMAT}: upgrade latentclass."
    )


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b'"dtype":"F64"', b'"dtype":"F16"', "its header is not as latentclass writes it"),
        (b'"dtype":"U8"', b'"dtype":"BOOL"', "its header is not as latentclass writes it"),
        (b'"document":', b'"F64":1,"document":', "its header is not as latentclass writes it"),
        (b'"document":', b'"other":', "its header is not as latentclass writes it"),
        (b'"format":"1"', b'"format":"x"', "its header cannot be read"),
        (b'"latentclass":"', b'"latentclass":"\\n', "its header names no version"),
        (b'"F64"', b"\xff", "its header cannot be read"),
    ],
)
def test_damaged_headers(path, old, new, reason):
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    assert refusal(path, with_header(data, data[8:end].replace(old, new, 1))) == (
        f"FILE is damaged: {reason}. Copy it again, or save the model anew."
    )


def test_a_huge_header_is_not_read(path):
    data = path.read_bytes()
    assert refusal(path, (2**62).to_bytes(8, "little") + data[8:]) == (
        f"FILE is damaged: its header would have {2**62:,} bytes. Copy it again, or save the model "
        "anew."
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"a":1,"a":2}', "a name occurs twice"),
        (b'{"a":NaN}', "NaN is not a JSON number"),
        (b"{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    ],
)
def test_documents_that_cannot_be_read(path, text, reason):
    assert refusal(path, pack(text, {})) == (
        f"FILE holds no valid model: its document cannot be read ({reason}). Save the model anew."
    )


def test_a_document_that_would_fill_the_memory(path):
    text = b"[" + b"[]," * 200_000 + b"[]]"
    assert refusal(path, pack(text, {})) == (
        "The description of the model has 600,004 bytes and 400,002 entries, but a model file "
        "holds at most 67,108,864 and 300,000. Join rare categories, or drop columns of text."
    )


def test_a_document_of_something_else(path):
    assert refusal(path, pack({"a": 1}, {})) == (
        "FILE holds no valid model: its document does not have the right parts. Save the model "
        "anew."
    )


def test_a_killed_save_leaves_the_old_file(path, monkeypatch):
    before = path.read_bytes()
    model = latentclass.load(path)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_container, "_header", interrupt)
    with pytest.raises(KeyboardInterrupt):
        latentclass.save(model, path)
    monkeypatch.undo()
    monkeypatch.setattr("latentclass._files.os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        latentclass.save(model, path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


# ------------------------------------------------------------------------- describe


def test_a_description_says_what_is_in_a_file(path):
    shown = latentclass.describe_file(path)
    model = shown.models[""]
    assert model.class_name == "NaiveBayes"
    assert model.parameters == NaiveBayes().get_params()
    assert model.columns == latentclass.load(path).schema_.kinds
    assert model.classes == ["low", "mid", "top"]
    assert shown.n_bytes == path.stat().st_size
    assert shown.versions["latentclass"] == latentclass.__version__
    text = str(shown)
    assert text == repr(shown)
    assert text.startswith("NaiveBayes(accelerate=False, alpha='auto', ")
    assert "3 classes: 'low', 'mid', 'top'" in text
    assert f"{shown.n_bytes:,} bytes, sha256 {shown.sha256}" in text


def test_a_description_of_several_models(tmp_path):
    auto = latentclass.AutoLatentClassifier(families={"n": NaiveBayes()})
    models = {"a": NaiveBayes(), "b": auto}
    latentclass.save(models, tmp_path / "models.lc")
    text = str(latentclass.describe_file(tmp_path / "models.lc"))
    assert re.search(r"^a: NaiveBayes\(.*\), not fitted$", text, re.M)
    assert "families={'n': NaiveBayes(" in text


def test_a_description_loads_no_scikit_learn(path):
    code = (
        "import sys, latentclass\n"
        f"latentclass.describe_file({os.fspath(path)!r})\n"
        "assert not {'sklearn', 'scipy', 'pandas', 'numba'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_note_about_the_model_is_kept_and_shown(path, tmp_path):
    about = {"target": "class", "n_rows": 24, "scores": {"log_loss": 0.5, "by": [1, None, True]}}
    assert latentclass.describe_file(path).about == {}
    latentclass.save(latentclass.load(path), tmp_path / "noted.lc", about=about)
    assert latentclass.describe_file(tmp_path / "noted.lc").about == about
    assert isinstance(latentclass.load(tmp_path / "noted.lc"), NaiveBayes)


DEEP = {"a": [[[[[[[1]]]]]]]}


@pytest.mark.parametrize(
    "about", [["target"], {"a": float("nan")}, {"a": (1, 2)}, {1: "a"}, DEEP, {"a": "x" * 70_000}]
)
def test_a_note_holds_plain_values_only(path, tmp_path, about):
    with pytest.raises(
        ValueError, match=r"^about must be a dict of text, finite numbers, .* most\."
    ):
        latentclass.save(latentclass.load(path), tmp_path / "noted.lc", about=about)
    assert not (tmp_path / "noted.lc").exists()


@pytest.mark.parametrize(
    ("about", "reason"),
    [
        (["target"], "its note is not a dict of plain values"),
        (None, "its note is not a dict of plain values"),
        (DEEP, "its note is not a dict of plain values"),
        ({"a": "x" * 70_000}, "its note is too long"),
    ],
)
def test_a_note_in_a_file_is_checked(path, about, reason):
    document, arrays = unpack(path.read_bytes())
    document["about"] = about
    assert reason in refusal(path, pack(document, arrays))


def test_reproducible_files_leave_out_what_the_clock_said(tmp_path):
    X, y = make_table(60)
    quick = {"families": ["NaiveBayes", "TAN"], "time_budget": None, "random_state": 0}
    for name in ("one.lc", "two.lc"):
        model = latentclass.AutoLatentClassifier(**quick).fit(X, y)
        latentclass.save(model, tmp_path / name, reproducible=True)
    assert (tmp_path / "one.lc").read_bytes() == (tmp_path / "two.lc").read_bytes()
    shown = latentclass.describe_file(tmp_path / "one.lc")
    assert shown.date == ""
    assert "written by latentclass" in str(shown)
    board = latentclass.load(tmp_path / "one.lc").leaderboard_
    assert {row.fit_seconds for row in board} == {0.0}
    assert all(row.fit_seconds > 0 for row in model.leaderboard_)


def test_files_are_small(path):
    assert Path(path).stat().st_size < 5000
