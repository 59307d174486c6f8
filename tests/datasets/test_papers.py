"""The data of the papers, from their folder: sizes, and figures that only the right rows give."""

import csv
import gzip
import json
from collections import Counter
from functools import cache

import numpy as np
import pytest
from sklearn.naive_bayes import BernoulliNB

from latentclass import datasets
from latentclass.datasets import list_datasets
from latentclass.datasets._facts import paper_uses, registry

load_dataset = cache(datasets.load_dataset)  # each file is read once for all tests

NAMES = [info.name for info in list_datasets()]


@pytest.fixture
def index(papers_data):
    entries = json.loads((papers_data / "index.json").read_text("utf-8"))["datasets"]
    return {entry["name"]: entry for entry in entries}


def stored(home, file):
    """Read a file with no code of ours: rows of cells, with an empty cell where missing."""
    opened = gzip.open if file.endswith(".gz") else open
    with opened(home / file, "rt", encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    return header, rows


def cells(data):
    """Write a data set as `stored` reads it, numbers as floats."""
    return [
        tuple("" if x is None or x != x else x for x in (*row, label))
        for row, label in zip(data.X, data.y, strict=True)
    ]


def as_floats(rows, kinds):
    number = [kind == "continuous" for kind in kinds.values()] + [False]
    return [
        tuple(float(x) if is_number and x else x for x, is_number in zip(row, number, strict=True))
        for row in rows
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_set_loads_from_the_folder_with_the_known_sizes(papers_data, name):
    if name == "two-normals":
        with pytest.raises(OSError, match="has no entry 'two-normals'"):
            load_dataset(name, source="folder")
        return
    (info,) = (info for info in list_datasets() if info.name == name)
    data = load_dataset(name, source="folder")
    assert data.X.shape == (info.rows, info.continuous + info.binary + info.nominal)
    kinds = Counter(data.kinds.values())
    assert kinds == Counter(continuous=info.continuous, binary=info.binary, nominal=info.nominal)
    assert data.X.isna().any(axis=1).sum() == info.incomplete_rows
    assert len(set(data.y)) <= info.classes
    if name in registry():
        assert len(set(data.y)) == registry()[name].seen
        assert (data.split is None) == (registry()[name].train is None)
        if data.split is not None:
            assert (data.split == "train").sum() == registry()[name].train
    assert "folder" in info.available
    assert "This copy" not in (data.differs or "")


@pytest.mark.parametrize("paper", paper_uses())
def test_sizes_of_the_papers(papers_data, paper):
    for use in paper_uses()[paper]:
        data = load_dataset(use.name, container="numpy")
        if not use.agrees:
            assert data.differs or use.agrees is None
            continue
        assert data.X.shape[1] == use.attributes
        if isinstance(use.instances, tuple):
            assert ((data.split == "train").sum(), (data.split == "test").sum()) == use.instances
        else:
            assert len(data.y) == use.instances


def test_the_papers_tables_are_the_published_ones(papers_data):
    published = papers_data.parent / "published"
    if not published.is_dir():
        pytest.skip("needs the published tables beside the data folder")
    for paper, table in (("lcm", "lcm_table1"), ("hnb", "hnb_table1"), ("ltc", "ltc_table1")):
        with (published / f"{table}_datasets.csv").open() as stream:
            rows = {row["dataset"]: row for row in csv.DictReader(stream)}
        uses = {use.called: use for use in paper_uses()[paper]}
        assert uses.keys() == rows.keys()
        for called, row in rows.items():
            use = uses[called]
            assert (use.attributes, use.classes) == (
                int(row["n_attributes"]),
                int(row["n_classes"]),
            )
            train, test = row.get("n_instances") or row["n_train"], row.get("n_test", "CV")
            split = not test.startswith("CV")
            assert use.instances == ((int(train), int(test)) if split else int(train))


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("balance-scale", "balance-scale.csv"),
        ("corral", "corral.csv"),
        ("monks-1/test", "monks-1.test.csv"),
        ("monks-2/test", "monks-2.test.csv"),
        ("monks-3/test", "monks-3.test.csv"),
        ("mofn-3-7-10/test", "mofn-3-7-10.test.csv"),
    ],
)
def test_generated_sets_equal_the_files(papers_data, name, file):
    generated = load_dataset(name, container="numpy", source="generated")
    header, rows = stored(papers_data, file)
    assert [*generated.kinds, "class"] == header
    assert Counter(cells(generated)) == Counter(as_floats(rows, generated.kinds))
    assert generated.kinds == load_dataset(name, source="folder").kinds


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("iris/uci", "iris.csv"),
        ("wine", "wine.csv"),
        ("glass2", "glass2.csv"),
        ("breast-w", "breast-w.csv"),
        ("shuttle-small", "shuttle-small.csv"),
        ("autos", "autos.csv"),
        ("anneal", "anneal.csv"),
        ("mushroom", "mushroom.csv.gz"),
    ],
)
def test_bundled_and_computed_sets_equal_the_files_row_by_row(papers_data, name, file):
    data = load_dataset(name, container="numpy")
    header, rows = stored(papers_data, file)
    assert [*data.kinds, "class"] == header
    assert cells(data) == as_floats(rows, data.kinds)


@pytest.mark.parametrize(("name", "n_noise"), [("waveform-21", 0), ("waveform-5000", 19)])
def test_generated_waves_have_the_moments_of_the_stored_ones(papers_data, name, n_noise):
    ours = load_dataset(name, container="numpy", source="generated")
    file = load_dataset(name, container="numpy", source="folder")
    assert list(ours.kinds) == list(file.kinds)
    for label in "012":
        a, b = ours.X[ours.y == label], file.X[file.y == label]
        # About 1650 rows a class and standard deviations of 1 to 2: four standard errors.
        np.testing.assert_allclose(a.mean(axis=0), b.mean(axis=0), atol=0.25)
        np.testing.assert_allclose(np.cov(a.T), np.cov(b.T), atol=0.45)


def test_index_aliases_are_ours(papers_data, index):
    aliases = json.loads((papers_data / "index.json").read_text("utf-8"))["aliases"]
    for alias, name in aliases.items():
        assert load_dataset(alias, source="folder").name == name
    assert index.keys() <= registry().keys()


def test_stated_mismatches_of_the_index_are_told(papers_data, index):
    told = [name for name, entry in index.items() if entry["mismatch"] and name != "reuters"]
    assert len(told) == 10
    for name in told:
        assert load_dataset(name, source="folder").differs


def test_containers_agree(papers_data):
    for name in ("autos", "vote", "hepatitis", "usps/3-vs-5"):
        frame, polars = load_dataset(name), load_dataset(name, container="polars")
        array = load_dataset(name, container="numpy")
        assert list(polars.X.columns) == list(frame.X.columns) == list(array.kinds)
        for i, column in enumerate(frame.X):
            expected = [None if x != x else x for x in frame.X[column].tolist()]
            assert polars.X[column].to_list() == expected
            assert [None if x != x else x for x in array.X[:, i].tolist()] == expected


def naive_bayes(name):
    """Test accuracy in % of Bernoulli naive Bayes with Laplace smoothing, trained on the half."""
    data = load_dataset(name, container="numpy")
    train, test = data.split == "train", data.split == "test"
    model = BernoulliNB(alpha=1.0).fit(data.X[train], data.y[train].astype(str))
    return 100 * model.score(data.X[test], data.y[test].astype(str))


@pytest.mark.parametrize(
    ("name", "accuracy"), [("bits", 85.33), ("3-vs-5", 94.44), ("01-vs-67", 89.42)]
)
def test_naive_bayes_on_usps_is_that_of_the_paper(papers_data, name, accuracy):
    """Binary LCM, table 2: only the paper's own images in its own halves give these."""
    assert naive_bayes(f"usps/{name}") == pytest.approx(accuracy, abs=0.005)


def test_usps_bits_equal_the_stored_ones(papers_data):
    bits = load_dataset("usps/bits", container="numpy")
    with np.load(papers_data / "usps.npz") as arrays:
        for half in ("train", "test"):
            expected = np.unpackbits(arrays[f"bits_{half}"], axis=1).astype(bool)
            np.testing.assert_array_equal(bits.X[bits.split == half], expected)


def test_usps_counts_are_those_of_table_1(papers_data):
    data = load_dataset("usps")
    train = Counter(data.y[data.split == "train"])
    test = Counter(data.y[data.split == "test"])
    assert [train[str(d)] for d in range(10)] == [767, 622, 475, 406, 409, 361, 420, 390, 377, 422]
    assert [test[str(d)] for d in range(10)] == [786, 647, 454, 418, 443, 355, 414, 402, 331, 399]


@pytest.mark.parametrize(
    ("topic", "accuracy", "positive"),
    [("crude", 94.6, 189), ("earn", 94.8, 1087), ("acq", 96.3, 719)],
)
def test_naive_bayes_on_reuters_is_near_that_of_the_paper(papers_data, topic, accuracy, positive):
    """Binary LCM, table 2, has 95.16, 94.00 and 96.95 with its own list of words."""
    data = load_dataset(f"reuters/{topic}", container="numpy")
    assert data.X.dtype == bool
    assert (data.y[data.split == "test"] == topic).sum() == positive
    assert naive_bayes(f"reuters/{topic}") == pytest.approx(accuracy, abs=0.05)


def test_breast_w_has_the_likelihood_of_lvc(papers_data):
    """NOTES on LVC: one diagonal Gaussian, missing cells at the mean: -15152 (paper -15156)."""
    x = load_dataset("breast-w", container="numpy").X
    x = np.where(np.isnan(x), np.nanmean(x, axis=0), x)
    value = -len(x) / 2 * (np.log(2 * np.pi * x.var(axis=0)) + 1).sum()
    assert value == pytest.approx(-15152.1, abs=0.05)
