"""The field: the same rows for all, hidden by chance, and means over the same tables."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from latentclass.baselines import NaiveBayes
from latentclass.exceptions import DataSetUnavailableError
from latentclass.reproduction import _field, _field_scores, reproduce
from latentclass.reproduction import _field_tables as tables
from latentclass.reproduction._field_peers import (
    ANCHOR,
    PEERS,
    GreedyAverage,
    OutcomeOfStepMix,
    Peer,
    Tuned,
    peers,
)
from latentclass.reproduction._field_tables import Condition
from latentclass.reproduction._records import Record, read_records, write_records

N_ROWS = 700


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"], dtype=object)[np.repeat([0, 1], [500, 200])]
    x = rng.normal(size=N_ROWS) + 2 * (y == "yes")
    word = pd.Categorical(np.where(rng.random(N_ROWS) < 0.5, "a", "b"))
    return pd.DataFrame({"x": x, "word": word}), y


def test_a_small_table_has_five_folds():
    y = np.repeat(np.array(["a", "b"], dtype=object), 50)
    found = list(tables.splits(y))
    assert sorted(np.concatenate([test for _, test in found])) == list(range(100))


def test_a_large_table_is_drawn_and_keeps_the_shares_of_the_classes(table):
    _, y = table
    found = list(tables.splits(y))
    assert len(found) == tables.N_FOLDS
    for train, test in found:
        assert not set(train) & set(test)
        assert len(train) == tables.MOST_TRAINED
        assert np.mean(y[train] == "yes") == pytest.approx(200 / N_ROWS, abs=0.01)


def test_cells_are_hidden_by_chance(table):
    X, y = table
    train, _ = next(tables.splits(y))
    hidden, labels = tables.hide(X, y, train, Condition("", missing=0.3), draw=1)
    assert hidden.isna().to_numpy().mean() == pytest.approx(0.3, abs=0.04)
    assert labels is y
    again, _ = tables.hide(X, y, train, Condition("", missing=0.3), draw=1)
    pd.testing.assert_frame_equal(hidden, again)


@pytest.mark.parametrize(
    ("condition", "n_no", "n_yes"),
    [(Condition("", labels=5), 5, 5), (Condition("", labelled=0.1), 34, 14)],
)
def test_labels_are_hidden_in_training_rows_only(table, condition, n_no, n_yes):
    X, y = table
    train, test = next(tables.splits(y))
    same, labels = tables.hide(X, y, train, condition, draw=0)
    assert same is X
    assert (labels[test] == y[test]).all()
    assert (labels[train] == "no").sum() == n_no
    assert (labels[train] == "yes").sum() == n_yes
    assert sum(label is None for label in labels[train]) == len(train) - n_no - n_yes


def test_rare_classes_are_left_out_and_text_becomes_categories(monkeypatch):
    X = pd.DataFrame({"number": range(12), "word": list("abcabcabcabc")})
    y = np.array(["a"] * 6 + [" b"] * 5 + ["rare"])
    monkeypatch.setitem(tables.OTHERS, "made", ("sklearn", lambda: (X, y)))
    found, labels = tables.load("made")
    assert set(labels) == {"a", "b"}
    assert [kind.name for kind in found.dtypes] == ["float64", "category"]


def test_every_table_of_the_papers_is_there_once():
    names = tables.papers()
    assert len(names) == len(set(names)) == 46
    assert {"iris", "soybean", "letter"} <= set(names)
    assert not {"usps", "soybean/complete"} & set(names)


def test_means_are_of_the_classifiers_that_have_all_tables():
    ones, twos = np.ones(5), np.full(5, 2.0)
    found = {"iris": {"A": ones, "B": twos, "failed": ones}, "wine": {"A": ones, "B": ones}}
    kept, values = _field.common(found)
    assert kept == ["A", "B"]
    assert values[:, :, 0].tolist() == [[1, 2], [1, 1]]


def test_the_names_are_those_of_the_peers():
    assert tuple(peers()) == PEERS
    few = _field_scores.classifiers(Condition("", labels=5))
    assert ANCHOR not in few
    assert "self-training" in few
    assert ANCHOR in _field_scores.classifiers(_field_scores.CONDITIONS[0])


@pytest.fixture
def small_field(table, monkeypatch):
    """Two tables and one of the papers, three classifiers, and one that is not installed."""
    X, y = load_iris(as_frame=True, return_X_y=True)
    made = {"flowers": ("sklearn", lambda: (X, y)), "draws": ("sklearn", lambda: table)}
    monkeypatch.setattr(tables, "OTHERS", made)
    monkeypatch.setattr(tables, "QUICK_PAPERS", ("iris",))
    found = {
        "naive Bayes": NaiveBayes(),
        "plain": NaiveBayes(calibrate=False),
        "LCM": NaiveBayes(alpha=1.0),
        "not there": None,
    }
    for module in (_field, _field_scores):
        monkeypatch.setattr(module, "classifiers", lambda _: found)
    return found


def test_the_tables_and_the_figure_of_a_condition(small_field, tmp_path):
    told = []
    (means,) = reproduce("field", table=2, out=tmp_path, say=told.append)
    assert {line[0] for line in means.rows[:2]} == {"naive Bayes", "plain"}
    records = read_records(tmp_path / "field-table-2-quick.csv")
    cells = {(one.row, one.column): one.value for one in records}
    names = list(dict.fromkeys(one.row for one in records))
    losses = [float(cells[name, "log-loss"]) for name in names[:2]]
    assert losses == sorted(losses)
    assert sum(float(cells[name, "mean rank"]) for name in ("naive Bayes", "plain")) == 3
    assert sum(float(cells[name, "mean rank, papers"]) for name in names[:3]) == 6
    assert cells["LCM", "mean rank"] == ""  # it has one of the two tables
    assert cells["LCM", "tables"] == cells["LCM", "tables, papers"] == "1"
    assert {one.row: one.note for one in records if one.note} == {"not there": "not installed"}
    told.clear()
    (by_table,) = reproduce("field", table=12, out=tmp_path, say=told.append)
    assert all(line.endswith(": 0 fits") for line in told)  # the same results
    names = ["flowers", "draws", "iris", "seconds per fit"]
    assert sorted(line[0] for line in by_table.rows) == sorted(names)
    stored = read_records(tmp_path / "field-table-12-quick.csv")
    of_one = [one for one in stored if (one.row, one.column) == ("draws", "plain")]
    assert [one.statistic for one in of_one] == list(_field_scores.SCORES.values())
    assert 50 < float(of_one[1].value) < 100
    reproduce("field", figure=2, out=tmp_path)
    assert (tmp_path / "field-figure-2-quick.png").stat().st_size > 5000


def test_what_earlier_records_have_is_not_computed_again(small_field, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    reproduce("field", table=11, out=first)
    (means,) = reproduce("field", table=1, out=first)
    name = "field-table-11-quick.csv"
    records = read_records(first / name)
    lacking = {("draws", "plain"), ("flowers", "plain")}
    kept = [one for one in records if (one.row, one.column) not in lacking]
    kept.append(Record("flowers", "plain", "log-loss", note="not run"))
    second.mkdir()
    write_records(second / name, [replace(one, date="2020-01-01") for one in kept])
    told = []
    reproduce("field", table=11, out=second, say=told.append)
    assert told == [f"field-table-11, {name} #0: 1 fits" for name in ("flowers", "draws")]
    again = read_records(second / name)
    new = {one.row for one in again if one.date > "2020-01-01" and not one.note}
    assert new == {"flowers", "draws"}

    def cells(found):
        return {(r.row, r.column, r.statistic): (r.value, r.note) for r in found}

    assert cells(again) == cells(records)
    (same,) = reproduce("field", table=1, out=second)
    assert [line[:4] for line in same.rows] == [line[:4] for line in means.rows]


def test_a_table_that_cannot_be_had_is_left_out_and_named(small_field, tmp_path, monkeypatch):
    def unavailable(name, **_):
        raise DataSetUnavailableError(f"no {name} here")

    monkeypatch.setattr(tables, "load_dataset", unavailable)
    told = []
    (by_table,) = reproduce("field", table=11, out=tmp_path, say=told.append)
    assert [line[0] for line in by_table.rows] == ["flowers", "draws", "seconds per fit"]
    assert "field-table-11, iris is left out: no iris here" in told


def test_a_peer_takes_holes_words_and_rows_without_label(table):
    X, y = table
    y = y.copy()
    y[::3] = None
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    members = {"tuned": Peer(Tuned(NaiveBayes(), {"alpha": [1.0, 0.1]}))}
    for model in (members["tuned"], GreedyAverage(members)):
        proba = model.fit(X, y).predict_proba(X)
        assert proba.shape == (N_ROWS, 2)
        assert proba.sum(axis=1) == pytest.approx(1)
        known = np.array([label is not None for label in y])
        assert np.mean(model.predict(X[known]) == y[known]) > 0.8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_stepmix_answers_by_its_outcome():
    pytest.importorskip("stepmix", reason="StepMix is not installed")
    X, y = load_iris(return_X_y=True)
    X[::7, 0] = np.nan
    X = np.column_stack([X, X[:, 2] > 3])
    proba = OutcomeOfStepMix().fit(X, y).predict_proba(X)
    assert proba.sum(axis=1) == pytest.approx(1)
    assert np.mean(proba.argmax(axis=1) == y) > 0.9
