"""Damaged files: one sentence, exit code 1, nothing written, nothing that acts on a terminal."""

import pytest
from command_runs import run

DAMAGED = {
    "empty": b"",
    "binary": bytes(range(256)) * 20,
    "NUL bytes": b"income,visits,churn\n1,2,yes\n\x00\x00,3,no\n",
    "ragged": b"income,visits,churn\n1,2,yes\n3,no\n4,5,no\n",
    "same names": b"income,income,churn\n1,2,yes\n3,4,no\n",
    "no rows": b"income,visits,churn\n",
    "open quote": b'income,visits,churn\n1,"2,yes\n3,4,no\n',
    "not Parquet": b"PAR1 and then nothing",
    "escape codes": b"\x1b[2Ja,b\n1,2\n",
}


@pytest.mark.parametrize("kind", DAMAGED)
@pytest.mark.parametrize("command", ["fit", "predict", "check"])
def test_a_damaged_file_is_one_sentence(fitted, tmp_path, kind, command):
    ending = ".parquet" if kind == "not Parquet" else ".csv"
    path = tmp_path / f"damaged{ending}"
    path.write_bytes(DAMAGED[kind])
    arguments = {
        "fit": ["fit", path, "-t", "churn", "-m", "naive-bayes", "-o", tmp_path / "m.lc"],
        "predict": ["predict", fitted(), path, "-o", tmp_path / "out.csv"],
        "check": ["check", path, "-t", "churn"],
    }[command]
    ended = run(*arguments, "--quiet")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("Error: ")
    assert ended.err.count("\n") == 1
    assert "\x1b" not in ended.err
    assert "fault in latentclass" not in ended.err
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
