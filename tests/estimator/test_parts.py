"""Tables in parts: every source gives the same rows, and fits do not depend on the parts."""

import os
import pickle
import signal
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from latentclass import LatentMixture, Parts
from latentclass.data import _part_sources
from latentclass.estimator import _parts
from latentclass.estimator._parted import read_parts
from plain import FiniteMixtureNaiveBayes, NaiveBayes


def make_frame(n=900, seed=0, holes=0.1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "a": rng.normal(2.0 * y),
            "b": rng.normal(-y, 1.0 + y),
            "c": np.array(["x", "y, z", 'q"q', "w\nv"], dtype=object)[
                (y + rng.integers(0, 2, n)) % 4
            ],
        }
    ).mask(rng.random((n, 3)) < holes)
    frame["kind"] = pd.Series("kind " + y.astype(str).astype(object)).mask(rng.random(n) < 0.3)
    frame["w"] = rng.choice([0.0, 1.0, 2.0], n)
    return frame


@pytest.fixture(scope="module")
def frame():
    return make_frame()


def cut(frame, n_parts):
    """Rows dealt out to parts: the parts have other rows for another number of them."""
    return [frame.iloc[i::n_parts] for i in range(n_parts)]


def proba(model, frame):
    return model.predict_proba(frame[["a", "b", "c"]])


# ---------------------------------------------------------------------------- sources


def read_all(parts):
    """All rows of some parts as one frame."""
    whole = []
    for part in parts:
        table = part.X.to_pandas() if hasattr(part.X, "to_pandas") else pd.DataFrame(part.X)
        y = part.y.to_pandas() if hasattr(part.y, "to_pandas") else part.y
        whole.append(table.reset_index(drop=True).assign(kind=np.asarray(y, dtype=object)))
    return pd.concat(whole, ignore_index=True)


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "feather", "csv.gz", "folder"])
def test_files_are_read_in_parts(frame, tmp_path, monkeypatch, ending):
    monkeypatch.setattr(_parts, "PART_ROWS", 200)
    path = tmp_path / f"table.{ending}"
    if ending == "parquet":
        frame.to_parquet(path, row_group_size=250)
    elif ending == "feather":
        frame.to_feather(path, chunksize=250)
    elif ending == "folder":
        path.mkdir()
        frame[:500].to_parquet(path / "first.parquet", row_group_size=300)
        frame[500:].to_parquet(path / "second.parquet")
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    parts = Parts(path, "kind", "w")
    assert len(parts) > 1 or ending == "csv.gz"
    found = read_all(parts)
    assert_allclose(found["a"], frame["a"])
    assert_array_equal(found["c"].fillna("-"), frame["c"].fillna("-"))
    assert_array_equal(found["kind"].fillna("-").astype(str), frame["kind"].fillna("-"))


def test_lines_break_only_outside_quotes(tmp_path, monkeypatch):
    monkeypatch.setattr(_parts, "PART_ROWS", 1)
    path = tmp_path / "quotes.csv"
    rows = ['"one ""quoted""\nline",1', "plain,2", '"a\n\nb",3', '"",4']
    path.write_text("text,number\n" + "\n".join(rows))
    found = read_all(Parts(path, "number"))
    assert found["text"].tolist() == ['one "quoted"\nline', "plain", "a\n\nb", ""]
    assert found["kind"].tolist() == [1, 2, 3, 4]


def test_a_dataset_an_iterable_and_pairs(frame, tmp_path):
    frame.to_parquet(tmp_path / "table.parquet", row_group_size=400)
    dataset = pa.dataset.dataset(tmp_path / "table.parquet")
    assert len(Parts(dataset, "kind")) == 3

    class Again:
        def __iter__(self):
            return iter(cut(frame, 2))

    assert len(Parts(Again(), "kind")) == 2
    pairs = Parts([(part[["a", "b"]], part["kind"], part["w"]) for part in cut(frame, 3)])
    assert [len(part.weight) for part in pairs] == [300, 300, 300]


def test_a_memory_map_is_read_by_file_calls(tmp_path, monkeypatch):
    monkeypatch.setattr(_parts, "PART_ROWS", 40)
    values = np.arange(300.0).reshape(100, 3)
    np.save(tmp_path / "x.npy", values)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    parts = Parts(mapped, target=np.arange(100) % 2)
    assert_array_equal(np.concatenate([part.X for part in parts]), values)
    assert type(next(iter(parts)).X) is np.ndarray
    inside = Parts(mapped[10:90], target=0)
    assert_array_equal(np.concatenate([part.X for part in inside]), values[10:90, 1:])
    assert_array_equal(np.concatenate([part.y for part in inside]), values[10:90, 0])


def test_pieces_can_be_sent_to_another_process(frame, tmp_path):
    frame.to_parquet(tmp_path / "table.parquet", row_group_size=400)
    for parts in (Parts(tmp_path / "table.parquet", "kind"), Parts(cut(frame, 2), "kind")):
        piece = pickle.loads(pickle.dumps(parts._pieces[1]))
        assert len(piece.read()[0]) == len(parts._pieces[1].read()[0])


# ------------------------------------------------------------------------------- fits

MODELS = [
    NaiveBayes(unlabelled_weight=1),
    FiniteMixtureNaiveBayes(n_components=2, n_init=2, random_state=0),
    FiniteMixtureNaiveBayes(max_components=2, n_init=2, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_few_rows_are_fitted_as_one_table(model, frame):
    whole = model.fit(frame[["a", "b", "c"]], frame["kind"], sample_weight=frame["w"])
    expected = proba(whole, frame)
    history = whole.history_
    ordered = [frame[:100], frame[100:]]
    model.fit(Parts(ordered, "kind", "w"))
    assert_array_equal(proba(model, frame), expected)
    assert model.history_ == history


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_fit_does_not_depend_on_the_parts(model, frame):
    few = model.fit(Parts(cut(frame, 2), "kind", "w", sample_rows=150))
    expected, history = proba(few, frame), few.history_
    many = model.fit(Parts(cut(frame, 7), "kind", "w", sample_rows=150))
    assert_allclose(proba(many, frame), expected, rtol=1e-10, atol=1e-12)
    assert_allclose(many.history_, history, rtol=1e-10)


def test_threads_and_files_change_no_bit(frame, tmp_path):
    frame.to_parquet(tmp_path / "table.parquet", row_group_size=300)
    there = Parts([frame[:300], frame[300:600], frame[600:]], "kind", "w", sample_rows=150)
    expected = proba(NaiveBayes(unlabelled_weight=1).fit(there), frame)
    stored = Parts(tmp_path / "table.parquet", "kind", "w", sample_rows=150)
    assert_array_equal(proba(NaiveBayes(unlabelled_weight=1).fit(stored), frame), expected)
    for n_jobs in (2, -1):
        assert_array_equal(
            proba(NaiveBayes(unlabelled_weight=1, n_jobs=n_jobs).fit(stored), frame), expected
        )


def test_naive_bayes_in_parts_is_naive_bayes(frame):
    X, y, weight = frame[["a", "b", "c"]], frame["kind"], frame["w"]
    whole = NaiveBayes(unlabelled_weight=1).fit(X, y, sample_weight=weight)
    parted = NaiveBayes(unlabelled_weight=1).fit(Parts(cut(frame, 4), "kind", "w", sample_rows=50))
    assert_allclose(parted.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert_allclose(parted.log_likelihood_, whole.log_likelihood_, rtol=1e-12)
    assert parted.n_unlabelled_ == whole.n_unlabelled_
    labelled = frame[frame["kind"].notna()]
    whole = NaiveBayes(unlabelled_weight=1).fit(labelled[["a", "b", "c"]], labelled["kind"])
    parted = NaiveBayes(unlabelled_weight=1).fit(
        Parts(cut(labelled.drop(columns="w"), 3), "kind", sample_rows=50)
    )
    assert_allclose(parted.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_a_mixture_in_parts(frame):
    X = frame[["a", "b", "c"]]
    one, other = (
        LatentMixture(3, random_state=0).fit(Parts(cut(X, n_parts), sample_rows=200))
        for n_parts in (2, 5)
    )
    assert_allclose(one.means_, other.means_, rtol=1e-8)
    assert_allclose(one.entropy_, other.entropy_, rtol=1e-8)
    total = one.score_samples(X).sum()
    assert_allclose(one.log_likelihood_, total, rtol=1e-9)
    whole = LatentMixture(3, random_state=0).fit(X)
    few = LatentMixture(3, random_state=0).fit(Parts([X[:100], X[100:]]))
    assert_array_equal(few.means_, whole.means_)
    assert_array_equal(few.average_posterior_, whole.average_posterior_)


def test_the_likelihood_never_falls(frame):
    model = FiniteMixtureNaiveBayes(n_components=2, random_state=0)
    model.fit(Parts(cut(frame, 3), "kind", sample_rows=100))
    assert np.all(np.diff(model.history_) >= -1e-12)


def test_categories_and_classes_of_all_parts_are_known():
    first = pd.DataFrame({"c": ["x", "y"] * 20, "n": np.arange(40.0), "t": ["no"] * 40})
    second = pd.DataFrame({"c": ["z", None] * 20, "n": [np.nan] * 40, "t": ["yes"] * 40})
    model = NaiveBayes(unlabelled_weight=1).fit(Parts([first, second], "t", sample_rows=10))
    assert model.schema_.columns[0].categories == ("x", "y", "z")
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.predict(pd.DataFrame({"c": ["z"], "n": [1.0]})) == ["yes"]


def test_minus_one_in_some_parts_is_no_class():
    X = np.random.default_rng(0).normal(size=(90, 2))
    y = np.tile([0, 1, -1], 30)
    with pytest.warns(UserWarning, match="y is -1 in some rows"):
        parted = NaiveBayes(unlabelled_weight=1).fit(
            Parts([(X[:45], y[:45]), (X[45:], y[45:])], sample_rows=20)
        )
    with pytest.warns(UserWarning, match="y is -1 in 30 rows"):
        whole = NaiveBayes(unlabelled_weight=1).fit(X, y)
    assert parted.classes_.tolist() == [0, 1]
    assert_allclose(parted.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_rare_values_of_all_parts_share_a_level():
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(400)] + ["often"] * 800, dtype=object)
    frame = pd.DataFrame({"c": rng.permutation(words), "t": rng.integers(0, 2, 1200)})
    whole = NaiveBayes(unlabelled_weight=1).fit(frame[["c"]], frame["t"])
    parted = NaiveBayes(unlabelled_weight=1).fit(Parts(cut(frame, 5), "t", sample_rows=100))
    assert parted.schema_.columns[0].categories == whole.schema_.columns[0].categories
    assert_allclose(
        parted.predict_proba(frame[["c"]]), whole.predict_proba(frame[["c"]]), rtol=1e-9
    )


def test_answers_come_part_by_part(frame):
    model = NaiveBayes(unlabelled_weight=1).fit(frame[["a", "b", "c"]], frame["kind"])
    parts = Parts(cut(frame, 3), "kind", "w")
    found = list(parts.map(model.predict_proba, n_jobs=2))
    assert_array_equal(
        np.concatenate(found), np.concatenate([proba(model, p) for p in cut(frame, 3)])
    )
    filled = pd.concat(parts.map(model.complete))
    assert not filled.isna().any().any()


# ----------------------------------------------------------------------------- errors


def test_a_part_that_fails_twice_is_named(frame):
    calls = []

    def read():
        calls.append(1)
        raise OSError("the folder is away")

    parts = Parts(cut(frame, 2), "kind")
    parts._pieces[1] = _part_sources.Piece("month 7", read)
    with pytest.raises(RuntimeError, match="Part 'month 7' cannot be used: the folder is away"):
        NaiveBayes(unlabelled_weight=1).fit(parts)
    assert len(calls) == 2


def test_a_part_that_fails_once_is_read_again(frame):
    parts = Parts(cut(frame, 2), "kind", "w")
    good, calls = parts._pieces[1], []

    def read():
        calls.append(1)
        if len(calls) == 1:
            raise OSError("away")
        return good.read()

    parts._pieces[1] = _part_sources.Piece("month 7", read)
    expected = proba(NaiveBayes(unlabelled_weight=1).fit(Parts(cut(frame, 2), "kind", "w")), frame)
    assert_array_equal(proba(NaiveBayes(unlabelled_weight=1).fit(parts), frame), expected)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("no such file.csv",), FileNotFoundError, "There is no file or folder"),
        ((iter([np.eye(2)]),), TypeError, "can be read only once"),
        ((3,), TypeError, "source is int. Pass a path"),
        (([],), ValueError, "'source' has no rows"),
        ((np.zeros(3),), ValueError, "1 dimension"),
        ((np.zeros((3, 2)), [1, 2]), ValueError, "target has shape"),
        (([(np.eye(2),)],), ValueError, "is a tuple of 1 items"),
    ],
)
def test_sources_that_make_no_sense(arguments, error, message):
    with pytest.raises(error, match=message):
        Parts(*arguments)


def test_a_sample_without_rows_is_refused(frame):
    with pytest.raises(ValueError, match="sample_rows"):
        Parts([frame], sample_rows=0)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (lambda f: Parts(cut(f, 2)), "It has no labels. Name the column"),
        (lambda f: Parts(cut(f, 2), "species"), "has no column 'species'"),
        (lambda f: Parts([f, f.drop(columns="b")], "kind"), r"lacks the columns \['b'\]"),
        (lambda f: Parts([f, f.assign(b="text")], "kind"), "Column 'b' holds text in part '1'"),
        (lambda f: Parts([f, f[["b", "a", "c", "kind", "w"]]], "kind"), "in another order"),
        (lambda f: Parts([(f, f["kind"][:5])]), "rows and 5 labels"),
        (lambda f: Parts([f.assign(kind=None)], "kind"), "No part has a labelled row"),
    ],
)
def test_parts_that_make_no_sense(frame, parts, message):
    with pytest.raises(ValueError, match=message):
        NaiveBayes(unlabelled_weight=1).fit(parts(frame))


def test_labels_beside_parts_are_refused(frame):
    parts = Parts(cut(frame, 2), "kind")
    with pytest.raises(TypeError, match="y was passed in addition to Parts"):
        NaiveBayes(unlabelled_weight=1).fit(parts, frame["kind"])
    with pytest.raises(TypeError, match="sample_weight was passed in addition to Parts"):
        NaiveBayes(unlabelled_weight=1).fit(parts, sample_weight=frame["w"])


def test_an_empty_file(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ValueError, match=r"'empty\.csv' is empty"):
        Parts(tmp_path / "empty.csv", "t")
    (tmp_path / "table.xls").write_text("a")
    with pytest.raises(ValueError, match="is not a CSV, Parquet or Feather file"):
        Parts(tmp_path / "table.xls", "t")


def test_repr(frame):
    assert repr(Parts(cut(frame, 2), "kind")) == "Parts(list in 2 parts, target='kind')"


# ----------------------------------------------------------------------------- cluster


@dataclass(frozen=True)
class DeadlyRead:
    """Reads rows; the first time, it kills its process as a machine that fails would."""

    rows: pd.DataFrame
    marker: Path

    def __call__(self):
        if not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.rows, None, None


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_cluster_gives_the_same_model_even_if_a_worker_dies(frame, tmp_path):
    distributed = pytest.importorskip("distributed")
    local = Parts(cut(frame, 4), "kind", "w", sample_rows=150)
    expected = NaiveBayes(unlabelled_weight=1).fit(local)
    with (
        warnings.catch_warnings(),
        dask.config.set({"distributed.comm.timeouts.connect": "600s"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        warnings.simplefilter("ignore")  # the cluster's own, about the worker that died
        parts = Parts(cut(frame, 4), "kind", "w", sample_rows=150, client=client)
        read = DeadlyRead(cut(frame, 4)[2], tmp_path / "killed")
        parts._pieces[2] = _part_sources.Piece("2", read)
        found = NaiveBayes(unlabelled_weight=1).fit(parts)
    assert (tmp_path / "killed").exists()
    assert_array_equal(proba(found, frame), proba(expected, frame))
    assert found.history_ == expected.history_


def test_a_cluster_needs_parts_that_can_be_read_alone(frame):
    class Again:
        def __iter__(self):
            return iter(cut(frame, 2))

    with pytest.raises(TypeError, match="client= needs a source whose parts can be read one by"):
        Parts(Again(), "kind", client=object())


def test_a_dask_frame(frame):
    dd = pytest.importorskip("dask.dataframe")
    there = dd.from_pandas(frame.drop(columns="c"), npartitions=3)
    parts = Parts(there, "kind", "w", sample_rows=100)
    assert len(parts) == 3
    X = frame[["a", "b"]]
    whole = NaiveBayes(unlabelled_weight=1).fit(X, frame["kind"], sample_weight=frame["w"])
    found = NaiveBayes(unlabelled_weight=1).fit(parts)
    assert_allclose(found.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


# ------------------------------------------------------------------------------ sample


def read_sample(frame, n_parts, seed=0, **options):
    return read_parts(
        Parts(cut(frame, n_parts), "t", **options),
        categorical_features="from_dtype",
        most_levels=None,
        labelled=True,
        spare=False,
        seed=seed,
        n_jobs=None,
        owner="a model",
    ).sample


@pytest.mark.parametrize("weight", [None, "w"])
def test_equal_rows_are_drawn_one_by_one(weight):
    """16 distinct rows, one of them in a third of the table."""
    rng = np.random.default_rng(0)
    codes = (rng.random((6000, 3)) < [0.1, 0.3, 0.5]).astype(int)
    codes[::3] = 0
    frame = pd.DataFrame(np.array(["no", "yes"], dtype=object)[codes], columns=["a", "b", "c"])
    frame["t"] = (rng.random(6000) < 0.05).astype(int)
    if weight:
        frame[weight] = rng.choice([0.0, 0.5, 3.0], 6000)
    sample = read_sample(frame, 4, weight=weight, sample_rows=2000)
    assert len(sample.y) < 6000 / 4  # equal rows are joined
    other = read_sample(frame, 3, weight=weight, sample_rows=2000)
    for one, two in ((sample.table.codes, other.table.codes), (sample.weight, other.weight)):
        assert_array_equal(one, two)
    weights = np.ones(6000) if weight is None else frame[weight].to_numpy()
    for label, least in ((0, 0.02), (1, 0.12)):  # some 200 rows of the small class
        own = sample.take(sample.y == label)
        here = (frame["t"] == label).to_numpy()
        expected = np.average(codes[here], axis=0, weights=weights[here])
        found = np.average(own.table.codes, axis=0, weights=own.weight)
        assert_allclose(found, expected, atol=2 * least)
        share = own.weight.sum() / weights[here].sum()
        n_rows = np.count_nonzero(weights[here])
        assert_allclose(share, max(2000 / np.count_nonzero(weights), 200 / n_rows), rtol=0.25)


def test_a_small_class_is_in_the_sample_as_a_whole():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=5000), "t": rng.random(5000) < 0.01})
    sample = read_sample(frame, 4, sample_rows=100)
    assert np.count_nonzero(sample.y == 1) == frame["t"].sum()
    assert 140 < np.count_nonzero(sample.y == 0) < 260
