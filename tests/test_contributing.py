"""CONTRIBUTING.md names files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = ROOT / "CONTRIBUTING.md"
HOMES = {
    "maths": "src/latentclass",
    "fitted model": "src/latentclass",
    "estimator": "src/latentclass",
    "tests": "tests",
    "page": "docs/explanation",
    "pictures": "docs/drawings",
    "benchmark": "benchmarks",
    "reproduction": "src/latentclass/reproduction",
}

if not TEXT.is_file():
    pytest.skip("CONTRIBUTING.md is in a clone, not in a source archive", allow_module_level=True)


def newcomers_table():
    lines = [line for line in TEXT.read_text(encoding="utf-8").splitlines() if "|" in line]
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in lines]
    start = next(i for i, row in enumerate(rows) if row[0] == "family")
    return [dict(zip(rows[start], row, strict=True)) for row in rows[start + 2 :] if len(row) == 9]


@pytest.mark.parametrize("column", HOMES)
def test_the_newcomers_table_names_files_that_exist(column):
    named = {row["family"]: row[column].strip("`") for row in newcomers_table()}
    assert len(named) >= 12
    home = ROOT / HOMES[column]
    missing = [family for family, name in named.items() if not (home / name).exists()]
    assert not missing


def test_files_that_the_text_names_exist():
    named = set(re.findall(r"`([\w/.]+/[\w.]+\.(?:py|md|yml|toml))`", TEXT.read_text("utf-8")))
    homes = [ROOT, *(ROOT / home for home in HOMES.values())]
    missing = [name for name in named if not any((home / name).exists() for home in homes)]
    assert len(named) > 20
    assert not missing
