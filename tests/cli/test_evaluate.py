"""`latentclass evaluate`: scores on labelled rows, and whether the model has seen them."""

import numpy as np
import pytest
from command_runs import draw_customers, read_csv, run, write_csv
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss

import latentclass
from latentclass.cli._training_rows import N_MARKS, note_rows, share_of_known


@pytest.fixture
def new(tmp_path):
    return write_csv(tmp_path / "new.csv", draw_customers(80, seed=1))


def test_scores_are_those_of_scikit_learn(fitted, new):
    ended = run("evaluate", fitted(), new, "--json")
    assert (ended.code, ended.err) == (0, "")
    found = ended.json
    predicted = run("predict", fitted(), new, "--proba").rows[1:]
    truth = [row[4] for row in read_csv(new)[1:]]
    proba = np.array([row[3:] for row in predicted], dtype=float)
    labels = [row[1] for row in predicted]
    np.testing.assert_allclose(found["accuracy"], accuracy_score(truth, labels), rtol=1e-12)
    np.testing.assert_allclose(found["log_loss"], log_loss(truth, proba), rtol=1e-9)
    yes = np.array([label == "yes" for label in truth])
    np.testing.assert_allclose(found["brier"], 2 * np.mean((proba[:, 1] - yes) ** 2), rtol=1e-9)
    matrix = [list(row.values()) for row in found["confusion"].values()]
    assert matrix == confusion_matrix(truth, labels).tolist()
    assert sum(bin_["rows"] for bin_ in found["calibration"]) == 80
    assert found["known_rows"] == 0.0


def test_scores_in_words(fitted, new):
    ended = run("evaluate", fitted(), new)
    lines = ended.out.splitlines()
    assert lines[0] == "rows  accuracy  log-loss   Brier  calibration error"
    assert "Confusion matrix: true classes down, predicted classes across" in lines


def test_training_rows_are_known_again(fitted, tmp_path):
    rows = draw_customers()
    message = (
        "Warning: The model learned from about 100 % of these rows, so the scores "
        "are too good. Evaluate it on rows that it has not seen.\n"
    )
    assert run("evaluate", fitted(), write_csv(tmp_path / "a.csv", rows)).err == message
    part = [rows[0], *rows[60:20:-1]]
    assert run("evaluate", fitted(), write_csv(tmp_path / "b.csv", part)).err == message


def test_rows_without_a_class_and_with_an_unknown_one(fitted, new, tmp_path):
    rows = read_csv(new)
    rows[1][4], rows[2][4] = "", "perhaps"
    ended = run("evaluate", fitted(), write_csv(tmp_path / "c.csv", rows), "--json")
    assert ended.err == (
        "Warning: These classes are new to the model, so their rows count as wrong: 'perhaps'.\n"
    )
    assert (ended.json["rows"], ended.json["unlabelled"]) == (79, 1)
    assert sum(ended.json["confusion"]["perhaps"].values()) == 1


def test_unseen_categories_are_said(fitted, new, tmp_path):
    rows = read_csv(new)
    rows[3][2] = rows[5][2] = "gold"
    ended = run("evaluate", fitted(), write_csv(tmp_path / "odd.csv", rows))
    assert ended.err == (
        "Warning: plan: 2 cells hold values that the model has not seen, such as 'gold'; they "
        "count as missing.\n"
    )


def test_what_cannot_be_evaluated(fitted, new, tmp_path):
    ended = run("evaluate", fitted(), new, "--target", "chrn")
    assert ended.code == 1
    assert "There is no column 'chrn'. Did you mean 'churn'?" in ended.err
    bare = write_csv(tmp_path / "bare.csv", [row[:4] for row in read_csv(new)])
    assert run("evaluate", fitted(), bare).err == (
        f"Error: {str(bare)!r} has no column 'churn' with the true classes. Use latentclass "
        "predict, or add it.\n"
    )
    rows = [[*row[:4], "churn" if k == 0 else ""] for k, row in enumerate(read_csv(new))]
    path = write_csv(tmp_path / "none.csv", rows)
    ended = run("evaluate", fitted(), path)
    assert ended.err == f"Error: {str(path)!r}, column 'churn' holds no class in any row.\n"
    latentclass.save(latentclass.load(fitted()), tmp_path / "plain.lc")
    ended = run("evaluate", tmp_path / "plain.lc", new)
    assert ended.code == 2
    assert "The model file names no target: give --target COLUMN." in ended.err
    assert run("evaluate", tmp_path / "plain.lc", new, "--target", "churn").code == 0


def test_marks_estimate_the_share_of_known_rows():
    rng = np.random.default_rng(0)
    every = [f"{int(mark):016x}" for mark in rng.integers(0, 2**63, 5000)]
    old, new = every[:4000], every[4000:]
    note = note_rows(old)
    assert len(note["marks"]) == N_MARKS
    assert share_of_known(note, old) == 1.0
    assert share_of_known(note, new) == 0.0
    assert 0.3 < share_of_known(note, old[:1000] + new) < 0.7
    # rows that come again by chance tell nothing, unless it is the same table
    often = ["a", "b"] * 50
    assert note_rows(often)["marks"] == []
    assert share_of_known(note_rows(often), often) == 1.0
    assert share_of_known(note_rows(often), often[:50]) is None
