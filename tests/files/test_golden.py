"""Files of every released format load, and predict what they predicted."""

import json
from pathlib import Path

import numpy as np
import pytest
from golden_models import FOLDER, answers, table_for
from mutants import places_of, unpack

import latentclass
from latentclass.files import _classes
from latentclass.files._codec import Decoder
from latentclass.files._container import FORMAT

FILES = sorted(FOLDER.glob("*/*.lc"))
EXPECTED = {
    folder: json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    for folder in FOLDER.iterdir()
}
# what no file of ours has: sums of partial_fit, coders of foreign classifiers
ELSEWHERE = {"LabelledSums", "MatrixCoder", "ProductStats", "Table", "Training"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_old_files_predict_what_they_did(path):
    model = latentclass.load(path)
    X, _ = table_for(path.stem)
    expected = EXPECTED[path.parent][path.stem]
    if isinstance(expected[0][0], str):
        assert answers(model, X[:6]) == expected
    else:
        np.testing.assert_allclose(answers(model, X[:6]), expected, rtol=1e-7, atol=1e-12)


def test_there_are_files_of_every_format():
    assert {folder.name for folder in FOLDER.iterdir()} == {
        f"format_{number}" for number in range(1, FORMAT + 1)
    }
    for folder, expected in EXPECTED.items():
        assert {path.stem for path in folder.glob("*.lc")} == set(expected)


def names_in(path):
    document, _ = unpack(Path(path).read_bytes())
    keys = {step for place in places_of(document) for step in place if isinstance(step, str)}
    return {key for key in keys if _classes.is_known(key)}


def test_the_newest_files_have_every_class_of_the_table():
    newest = FOLDER / f"format_{FORMAT}"
    found = set().union(*(names_in(path) for path in newest.glob("*.lc")))
    known = {*_classes.ESTIMATORS, *_classes.VALUES}
    assert known - found == ELSEWHERE


def test_the_newest_files_have_every_form_of_a_value():
    text = b"".join(path.read_bytes() for path in (FOLDER / f"format_{FORMAT}").glob("*.lc"))
    forms = set(Decoder._readers) | {"repeat"}
    found = {form for form in forms if f'{{"{form}":'.encode() in text}
    assert forms - found == {"int", "foreign"}


def test_golden_files_are_small():
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 400_000
