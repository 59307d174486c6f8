"""The check of commit messages accepts what CONTRIBUTING asks for, and names each fault."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "tools" / "commit_message.py"
spec = importlib.util.spec_from_file_location("commit_message", SCRIPT)
commit_message = importlib.util.module_from_spec(spec)
spec.loader.exec_module(commit_message)
find_faults = commit_message.find_faults


@pytest.mark.parametrize(
    "message",
    [
        "Latent trees: keep the best start\n",
        "LCM, HNB: weights of zero drop a row\n\nWhy: a class without rows failed.\n",
        "Docs: pages in plain English\n# Please enter the commit message\n# On branch main\n",
        f"Area: {'x' * 66}\n",
        "Merge branch 'main' into tests\n",
        'Revert "Docs: pages in plain English"\n',
        "fixup! Docs: pages in plain English\n",
    ],
)
def test_good_messages_have_no_fault(message):
    assert find_faults(message) == []


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("", 'must read "Area: effect"'),
        ("Keep the best start\n", 'must read "Area: effect"'),
        ("trees: keep the best start\n", 'must read "Area: effect"'),
        ("Trees:keep the best start\n", 'must read "Area: effect"'),
        ("Trees: keep the best start.\n", 'must read "Area: effect"'),
        ("Trees: \n", 'must read "Area: effect"'),
        (f"Area: {'x' * 67}\n", "The title has 73 characters: use at most 72."),
        ("Trees: keep the best start\nWhy not?\n", "The second line must be empty"),
    ],
)
def test_each_fault_is_named(message, fault):
    (found,) = find_faults(message)
    assert fault in found


def test_the_command_fails_on_a_bad_message_and_is_silent_on_a_good_one(tmp_path):
    file = tmp_path / "COMMIT_EDITMSG"
    for message, code, printed in [
        ("Trees: keep the best start\n", 0, ""),
        (f"Trees: {'x' * 70}\n", 1, "The title has 77 characters: use at most 72.\n"),
    ]:
        file.write_text(message, encoding="utf-8")
        run = subprocess.run(
            [sys.executable, SCRIPT, file], capture_output=True, text=True, check=False
        )
        assert (run.returncode, run.stdout) == (code, printed)
