"""The fuzzing script runs, and tells of what it finds."""

import pytest

import fuzz
import latentclass.baselines


def test_no_drawn_table_breaks_a_promise(capsys, few_steps):
    n_failures = fuzz.main(["--tables", "2"])
    assert n_failures == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda *_: 1 / 0, "ZeroDivisionError at test_fuzz.py"),
        (lambda self, X, priors=None: [[2.0]], "AttributeError"),  # noqa: ARG005
    ],
)
def test_a_failure_is_shown_with_its_command(monkeypatch, capsys, broken, words):
    monkeypatch.setattr(latentclass.baselines.NaiveBayes, "predict_proba", broken)
    assert fuzz.main(["--seed", "3", "--only", "NaiveBayes"]) == 1
    printed = capsys.readouterr().out
    assert "python tests/fuzz.py --seed 3 --only NaiveBayes" in printed
    assert words in printed
    assert "1 failed" in printed
