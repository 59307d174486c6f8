"""Damaged and malicious files; `python tests/files/mutants.py` judges 10,000 of them."""

import mutants


def test_mutants_are_refused_or_work():
    found = mutants.run(0, 400)
    assert len(found) == 400
    assert [row for row in found if row[2] not in ("refused", "works")] == []
    assert sum(row[2] == "refused" for row in found) > 200


def test_a_crash_is_seen(monkeypatch, tmp_path):
    script = tmp_path / "crash.py"
    script.write_text("import os, sys\nprint('begin', sys.argv[2], flush=True)\nos.abort()\n")
    monkeypatch.setattr(mutants, "__file__", str(script))
    found = mutants.run(5, 2)
    assert [row[:1] + row[2:3] for row in found] == [[5, "crash"], [6, "crash"]]
