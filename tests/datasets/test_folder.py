"""Reading a folder: made-up ones, whole and damaged."""

import gzip
import json

import numpy as np
import pytest

from latentclass.datasets import list_datasets, load_dataset
from latentclass.exceptions import DataSetUnavailableError

ONE = [{"name": "x", "kind": "continuous"}]


def test_csv_becomes_columns_of_the_kinds_in_the_index(autos):
    data = load_dataset("autos", container="numpy")
    assert data.kinds == {"price": "continuous", "fuel": "binary", "doors": "nominal"}
    assert data.X[0].tolist() == [1.5, "gas", "10"]
    assert np.isnan(data.X[1, 0])
    # Only the empty cell is missing; a question mark is a value.
    assert data.X[2].tolist() == [-20.0, None, "?"]
    assert data.y.tolist() == ["a", "b", "a", "b"]
    assert data.split is None
    assert data.licence == "free"
    assert data.source == f"folder {autos}: autos.csv (from a friend)"


def test_complete_rows_are_computed_from_the_whole(autos):
    data = load_dataset("autos/complete", container="numpy")
    assert data.name == "autos/complete"
    assert data.X.tolist() == [[1.5, "gas", "10"], [4.0, "gas", "9"]]
    assert data.y.tolist() == ["a", "b"]


def test_a_copy_of_another_size_is_told(autos):
    assert load_dataset("autos").differs == (
        "This copy has 4 rows and 3 columns, but the data set is known to have 205 and 25."
    )


def test_a_copy_of_the_right_size_needs_no_remark(make_folder):
    columns = [{"name": f"c{i}", "kind": "continuous"} for i in range(4)]
    text = "c0,c1,c2,c3,class\n" + "1,2,3,4,a\n" * 150
    make_folder("iris", {"iris.csv": text}, columns, n_rows=150)
    assert load_dataset("iris", source="folder").differs is None


def test_data_home_comes_before_the_environment(autos, monkeypatch, tmp_path):
    monkeypatch.setenv("LATENTCLASS_DATA", str(tmp_path / "nowhere"))
    assert len(load_dataset("autos", data_home=autos).y) == 4
    assert "folder" in {s for info in list_datasets(data_home=autos) for s in info.available}


def test_source_folder_goes_past_generated_and_bundled(make_folder):
    home = make_folder("iris", {"iris.csv": "x,class\n1,a\n"}, ONE, n_rows=1)
    assert load_dataset("iris", source="folder").source.startswith(f"folder {home}")
    assert load_dataset("iris").source.startswith("scikit-learn")


def test_gzip_and_halves(make_folder):
    def zipped(path):
        path.write_bytes(gzip.compress(b"a1,class\n3,0\n,1\n"))

    columns = [{"name": "a1", "kind": "nominal", "n_values": 3}]
    make_folder(
        "monks-1",
        {"t.csv": "a1,class\n1,1\n", "u.csv.gz": zipped},
        columns,
        file={"train": "t.csv", "test": "u.csv.gz"},
        n_rows=3,
    )
    whole = load_dataset("monks-1", container="numpy")
    assert whole.split.tolist() == ["train", "test", "test"]
    assert whole.X.ravel().tolist() == ["1", "3", None]
    half = load_dataset("monks-1/train", container="numpy")
    assert half.X.tolist() == [["1"]]
    # The other half needs no folder, and by the order of sources none is asked.
    assert load_dataset("monks-1/test").source == "generated"
    assert len(load_dataset("monks-1/test", source="folder").y) == 2


def test_what_the_index_says_of_differences_is_passed_on(make_folder):
    make_folder("zoo", {"z.csv": "x,class\n1,a\n"}, ONE, n_rows=1, mismatch="Only one animal.")
    assert load_dataset("zoo").differs.startswith("Only one animal. This copy has 1 rows")


def test_half_of_a_copy_without_halves_is_refused(make_folder):
    make_folder("monks-2", {"m.csv": "x,class\n1,a\n"}, ONE, n_rows=1)
    with pytest.raises(
        ValueError, match=r"^This copy does not say which rows belong to the train half."
    ):
        load_dataset("monks-2/train")


def test_breast_loses_its_id(make_folder):
    columns = [{"name": "id", "kind": "continuous"}, *ONE]
    make_folder("breast-w-id", {"b.csv": "id,x,class\n7,1,a\n"}, columns, n_rows=1)
    assert list(load_dataset("breast-w").kinds) == ["x"]
    assert list(load_dataset("breast").kinds) == ["id", "x"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x,class\n1,a\nhello,a\n", "line 3: column 'x' is continuous but holds 'hello'. A missi"),
        ("x,class\n,a\ninf,a\n", "line 3: column 'x' is continuous but holds 'inf'. A missing"),
        ("x,class\n1,a\nnan,b\n", "line 3: column 'x' is continuous but holds 'nan'. A missing"),
        ("x,class\n1,a\n1\n", "line 3 has 1 cells, expected 2.$"),
        ("x,class\n1,a\n2,\n", r"line 3 has no class label in the last column.$"),
        (
            "y,class\n1,a\n2,b\n",
            r"does not match index.json. Not in the index: \['y'\]; not in the",
        ),
        (
            "",
            r"does not match index.json. Not in the index: \[\]; not in the file: \['x'\]. Fetch a "
            r"fresh copy.$",
        ),
        ("x,class\n", "zoo.csv has 0 rows, but index.json says 2. Fetch a fresh copy"),
        ("x,class\n1,a\n", "zoo.csv has 1 rows, but index.json says 2. Fetch a fresh copy"),
        (lambda path: path.write_bytes(b"x,class\n\xff,a\n"), r"zoo.csv cannot be read \(Unicode"),
    ],
)
def test_damaged_csv_is_named_with_line_and_reason(make_folder, content, message):
    make_folder("zoo", {"zoo.csv": content}, ONE, n_rows=2)
    with pytest.raises(ValueError, match=message):
        load_dataset("zoo")


@pytest.mark.parametrize("n_bytes", [5, 20])
def test_cut_gzip_is_said(make_folder, n_bytes):
    def cut(path):
        path.write_bytes(gzip.compress(b"x,class\n" + b"1.25,a\n" * 99)[:n_bytes])

    make_folder("zoo", {"zoo.csv.gz": cut}, ONE, n_rows=99)
    with pytest.raises(ValueError, match=r"zoo.csv.gz cannot be read \(.*\). Fetch a fresh copy.$"):
        load_dataset("zoo")


def test_missing_file_folder_and_index_are_said(make_folder, tmp_path):
    home = make_folder("zoo", {"zoo.csv": ""}, ONE, n_rows=1)
    (home / "zoo.csv").unlink()
    with pytest.raises(DataSetUnavailableError, match=r"zoo.csv is missing, but index.json na"):
        load_dataset("zoo")
    (home / "index.json").unlink()
    with pytest.raises(
        DataSetUnavailableError, match=r"data has no index.json. Set LATENTCLASS_DA"
    ):
        load_dataset("zoo")
    with pytest.raises(
        DataSetUnavailableError, match=r"nowhere does not exist. Set LATENTCLASS_DA"
    ):
        load_dataset("zoo", data_home=tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("{", r"index.json cannot be read \(JSONDecodeError"),
        ("[]", r"index.json cannot be read \(TypeError"),
        ("{}", "index.json is damaged: it lacks 'datasets'. Fetch a fresh copy.$"),
        (
            '{"datasets": [{"name": "zoo", "file": "z"}]}',
            "is damaged: it lacks 'n_rows'. Fetch a fresh copy.$",
        ),
    ],
)
def test_damaged_index_is_said(make_folder, index, message):
    home = make_folder("zoo", {"zoo.csv": ""}, ONE, n_rows=1)
    (home / "index.json").write_text(index)
    with pytest.raises(ValueError, match=message):
        load_dataset("zoo")


def test_unavailable_lists_the_places_and_the_ways_out(autos):
    with pytest.raises(DataSetUnavailableError) as caught:
        load_dataset("monks-3")
    text = str(caught.value)
    assert "- generated: it cannot be computed from a definition\n" in text
    assert "- bundled: it does not come with scikit-learn\n" in text
    assert f"- folder: {autos / 'index.json'} has no entry 'monks-3'\n" in text
    assert "- openml: download of data set 335 failed (<urlopen error no network in tes" in text
    assert "Its test half needs no files: 'monks-3/test'." in text
    assert (
        "Always available: balance-scale, corral, iris, iris/uci, mofn-3-7-10/test, monks-1/test, "
        in text
    )
    assert "go online" in text


def test_unavailable_does_not_promise_what_openml_has_not():
    with pytest.raises(DataSetUnavailableError) as caught:
        load_dataset("usps/3-vs-5")
    text = str(caught.value)
    assert "- folder: no folder given (LATENTCLASS_DATA is not set)\n" in text
    assert "- openml: no matching copy is known there\n" in text
    assert "go online" not in text
    assert "test half" not in text


def digits(path):
    rng = np.random.default_rng(0)
    arrays = {}
    for half, labels in (("train", [3, 5, 0]), ("test", [1, 6, 7, 3, 5])):
        arrays[f"X_{half}"] = rng.integers(-1000, 1001, (len(labels), 256)).astype(np.int16)
        arrays[f"y_{half}"] = np.array(labels, dtype=np.uint8)
    np.savez(path, **arrays)


def test_digits_and_their_variants(make_folder):
    make_folder("usps", {"usps.npz": digits}, n_rows=8)
    grey = load_dataset("usps", container="numpy")
    assert grey.X.shape == (8, 256)
    assert grey.X.dtype == np.float64
    assert np.abs(grey.X).max() <= 1
    assert grey.split.tolist() == ["train"] * 3 + ["test"] * 5
    bits = load_dataset("usps/bits", container="numpy")
    assert bits.X.dtype == bool
    pair = load_dataset("usps/3-vs-5", container="numpy")
    assert pair.y.tolist() == ["3", "5", "3", "5"]
    np.testing.assert_array_equal(pair.X, bits.X[[0, 1, 6, 7]])
    assert load_dataset("usps/01-vs-67").y.tolist() == ["01", "01", "67", "67"]
    assert load_dataset("usps/01-vs-67/test").y.tolist() == ["01", "67", "67"]


def test_bits_are_the_smoothed_image_cut_at_zero(make_folder):
    make_folder("usps", {"usps.npz": digits}, n_rows=8)
    image = load_dataset("usps", container="numpy").X[0].reshape(16, 16)
    bits = load_dataset("usps/bits", container="numpy").X[0].reshape(16, 16)
    # By hand: a 7 x 7 Gaussian (4 standard deviations of 0.75 pixels) over paper of value -1.
    at = np.arange(-3, 4)
    weight = np.exp(-(at**2) / (2 * 0.75**2))
    weight /= weight.sum()
    padded = np.pad(image, 3, constant_values=-1.0)
    for row, column in np.ndindex(16, 16):
        patch = padded[row : row + 7, column : column + 7]
        assert bits[row, column] == (weight @ patch @ weight > 0)


def test_damaged_digits_are_said(make_folder):
    home = make_folder("usps", {"usps.npz": "no archive"}, n_rows=8)
    with pytest.raises(ValueError, match=r"usps.npz cannot be read \(BadZipFile: not a NumPy arch"):
        load_dataset("usps")
    np.savez(home / "usps.npz", X_train=np.zeros((1, 256)))
    with pytest.raises(ValueError, match=r"usps.npz is damaged: it lacks .*y_tr"):
        load_dataset("usps")


def test_variant_of_a_copy_with_other_labels_is_refused(make_folder):
    make_folder("glass", {"g.csv": "x,class\n1,a\n"}, ONE, n_rows=1)
    with pytest.raises(
        ValueError, match=r"^This copy has no rows of class build wind float, .* classes a"
    ):
        load_dataset("glass2")


def test_damaged_documents_are_said(make_folder):
    make_folder("reuters", {"r.jsonl": json.dumps({"text": "oil"}) + "\n"}, n_rows=1)
    with pytest.raises(ValueError, match=r"r.jsonl is damaged: it lacks 'topics'"):
        load_dataset("reuters/earn")
