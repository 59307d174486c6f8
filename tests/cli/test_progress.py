"""What is said about work that takes longer."""

import pytest

from latentclass.cli import _progress
from latentclass.cli._console import Console
from latentclass.cli._progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""

    class Clock:
        now = 0.0

        def monotonic(self):
            return self.now

    monkeypatch.setattr(_progress, "time", Clock())
    return _progress.time


def test_phase_count_and_time_left(clock):
    progress = Progress(Console(), "predicting")
    clock.now = 4.0
    assert progress.text() == "predicting: 4 s"
    progress.advance(1000)
    assert progress.text() == "predicting: 1,000 rows, 4 s"
    progress.advance(1000, of=8000)
    assert progress.text() == "predicting: 2,000 of 8,000 rows, 4 s (12 s left)"
    progress.tell("writing")
    assert progress.text().startswith("writing: ")


def test_lines_come_after_some_patience(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    with Progress(Console(), "working") as progress:
        while "working: 0 s" not in capsys.readouterr().err:
            assert progress._thread.is_alive()
    assert not progress._thread.is_alive()


def test_quick_work_and_quiet_work_say_nothing(monkeypatch, capsys):
    with Progress(Console(), "working"):
        pass
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    with Progress(Console(quiet=True), "working"):
        pass
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    monkeypatch.setattr(Console, "live", True)
    monkeypatch.setenv("FORCE_COLOR", "1")  # lets rich take any stream for a terminal
    shown = ""
    with Progress(Console(color=False), "working", 3, "models") as progress:
        progress.advance()
        while "1 of 3 models" not in shown:
            shown += capsys.readouterr().err
            assert progress._thread.is_alive()
    assert not progress._thread.is_alive()
