import json
import os
from pathlib import Path
from urllib.error import URLError

import pytest

DATA = os.environ.get("LATENTCLASS_DATA")


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """Run each test without network and data folder, and with an empty cache."""

    def offline(**_):
        raise URLError("no network in tests")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    monkeypatch.delenv("LATENTCLASS_DATA", raising=False)
    monkeypatch.setenv("LATENTCLASS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def papers_data(monkeypatch):
    """Folder with the data of the papers."""
    if not DATA:
        pytest.skip("needs the papers' data: set LATENTCLASS_DATA to their folder")
    monkeypatch.setenv("LATENTCLASS_DATA", DATA)
    return Path(DATA)


@pytest.fixture
def make_folder(tmp_path, monkeypatch):
    """Write a data folder of one set and point LATENTCLASS_DATA at it."""

    def make(name, files, columns=None, **entry):
        home = tmp_path / "data"
        home.mkdir(exist_ok=True)
        for file, content in files.items():
            path = home / file
            if callable(content):
                content(path)
            else:
                path.write_text(content, encoding="utf-8")
        whole = {
            "name": name,
            "file": next(iter(files)),
            "source": "a friend",
            "licence": "free",
            "columns": columns,
            **entry,
        }
        (home / "index.json").write_text(json.dumps({"datasets": [whole]}), encoding="utf-8")
        monkeypatch.setenv("LATENTCLASS_DATA", str(home))
        return home

    return make


@pytest.fixture
def autos(make_folder):
    """Write a few cars with holes: one continuous, one binary, one nominal column."""
    columns = [
        {"name": "price", "kind": "continuous"},
        {"name": "fuel", "kind": "nominal", "n_values": 2},
        {"name": "doors", "kind": "nominal", "n_values": 3},
    ]
    text = "price,fuel,doors,class\n1.5,gas,10,a\n,gas,9,b\n-2e1,,?,a\n4,gas,9,b\n"
    return make_folder("autos", {"autos.csv": text}, columns, n_rows=4)
