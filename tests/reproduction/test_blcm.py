"""The binary LCM paper's tables and figures."""

from dataclasses import replace

import numpy as np
import pytest

from latentclass import BinaryLCMClassifier
from latentclass.datasets import load_dataset
from latentclass.exceptions import DataSetUnavailableError
from latentclass.reproduction import _blcm, _blcm_figures
from latentclass.reproduction._published import published_cells, read_published
from latentclass.reproduction._work import Work


@pytest.fixture
def work(tmp_path):
    return Work("quick", tmp_path, "blcm-table-2")


@pytest.fixture
def no_usps(monkeypatch):
    def refuse(name, **_):
        raise DataSetUnavailableError(name)

    monkeypatch.setattr(_blcm_figures, "load_dataset", refuse)
    monkeypatch.setattr(_blcm, "load_dataset", refuse)


def bits(seed=0):
    """Eight columns; a class of two groups, so that one component of one dimension is too few."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b"], 160)
    side = rng.integers(0, 2, 160)
    chance = np.where((side == (y == "a"))[:, None], [0.9] * 4 + [0.1] * 4, [0.2, 0.8] * 4)
    split = np.where(np.arange(160) < 100, "train", "test")
    X = rng.random((160, 8)) < chance
    return replace(
        load_dataset("iris", container="numpy"), name="bits", X=X, y=y.astype(object), split=split
    )


def test_counts_and_cells_are_as_printed():
    counts = read_published("blcm_table1_usps_counts")
    for part in ("n_train", "n_test"):
        assert sum(int(line[part]) for line in counts) == 4649
    cells = published_cells("blcm_table2_accuracy", "task", "classifier")
    assert cells["usps_3_vs_5", "mbLCM"]["accuracy"] == "97.41"
    assert cells["reuters_acq", "Winnow"]["accuracy"] == "90.95"
    assert len(cells) == 6 * 16


def test_every_classifier_of_the_paper_is_there(tmp_path):
    every = _blcm.baselines(Work("paper", tmp_path, "blcm-table-2"))
    assert {*every, _blcm.ONE, _blcm.TWO} == set(_blcm.NAMES)
    quick = _blcm.baselines(Work("quick", tmp_path, "blcm-table-2"))
    assert set(every) - set(quick) == set(_blcm.SLOW)


def test_the_profile_paper_has_the_settings_of_the_paper(tmp_path):
    model = _blcm.make_model(Work("paper", tmp_path, "blcm-table-2"), (35, 2))
    published = BinaryLCMClassifier.as_published(n_latent=35, n_components=2, random_state=0)
    assert model.get_params() == published.get_params()


def test_a_size_is_chosen_on_training_rows_alone(work, monkeypatch):
    monkeypatch.setattr(_blcm, "QUICK_SIZES", (1, 2, 3))
    data = bits()
    found = _blcm.find_size(work, data, (1, 2))
    tests = data.split == "test"
    other = replace(data, X=np.where(tests[:, None], ~data.X, data.X))
    stored = Work("quick", work.out, work.name, only_stored=True)
    assert _blcm.find_size(stored, other, (1, 2)) == found  # nothing to compute
    assert _blcm.find_size(stored, bits(seed=1), (1, 2)) is None
    part = replace(data, name="bits, training rows", X=data.X[:100], y=data.y[:100], split=None)
    scores = {}
    for size in [(q, m) for q in (1, 2, 3) for m in (1, 2)]:
        model = _blcm.make_model(work, size)
        result = stored.compare({f"q = {size[0]}, |M| = {size[1]}": model}, [part], cv=2)
        scores[size] = result.scores("accuracy")[0, 0]
    assert scores[found] == max(scores.values())
    assert min(scores.values()) < max(scores.values())


def test_a_task_without_data_says_so(work, no_usps):
    records = list(_blcm.table_2(work))
    assert len(records) == 6 * 16
    assert {(one.value, one.note) for one in records} == {("", "no data")}
    assert all(one.published for one in records)
    assert {one.note for one in _blcm.table_1(work)} == {"no data"}


def test_figure_6_has_the_numbers_of_example_3(work):
    found = {one.row: one for one in _blcm_figures.figure_6(work)}
    for row in ("variance", "mean"):
        assert found[row].value == found[row].published
    assert float(found["largest error"].value) < 0.01


@pytest.mark.parametrize(("task", "labels"), [("3-vs-5", ["3", "5"]), ("01-vs-67", ["01", "67"])])
def test_own_digits_stand_in_for_usps(task, labels, no_usps):
    images = _blcm_figures.load_images(task)
    assert (images.source, images.shape) == ("digits", (8, 8))
    assert sorted(set(images.y)) == labels
    assert 0.45 < images.train.mean() < 0.55


def test_figures_can_be_drawn_again_from_the_store(work, no_usps, monkeypatch):
    def small(_work, _n_latent, n_components):
        return BinaryLCMClassifier(
            2,
            n_components,
            n_init=1,
            tol=5.0,
            discriminative=False,
            calibrate=False,
            random_state=0,
        )

    monkeypatch.setattr(_blcm_figures, "make_model", small)
    stored = Work("quick", work.out, work.name, only_stored=True)
    for figure in (_blcm_figures.figure_3, _blcm_figures.figure_5, _blcm_figures.figure_8):
        first = list(figure(work))
        assert first
        picture = work.out / "blcm-table-2-quick.png"
        drawn = picture.read_bytes()
        picture.unlink()
        assert list(figure(stored)) == first
        assert picture.read_bytes() == drawn


def test_naive_bayes_takes_the_disclosed_seven_for_a_four_where_there_is_one(work, no_usps):
    images = _blcm_figures.load_images("bits")
    seven = _blcm_figures.find_seven(images)
    X, y = images.split("test")
    assert any((row == seven).all() for row in X[y == "7"])
    records = list(_blcm_figures.figure_10(work))
    shown = [one for one in records if one.column == "its probability"]
    assert [one.row.split()[0] for one in shown] == ["1", "2", "3", "4", "8"]
    assert float(shown[-1].value) > float(shown[0].value)
