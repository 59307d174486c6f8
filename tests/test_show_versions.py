"""The versions for a bug report: every library of a user's install, and nothing private."""

import platform
import re
import tomllib
from importlib import metadata
from pathlib import Path

import numpy

import latentclass

ROOT = Path(__file__).parent.parent


def test_every_library_of_users_is_there_once(capsys):
    latentclass.show_versions()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"latentclass {latentclass.__version__}"
    assert lines[1].startswith(f"Python {platform.python_version()} on ")
    assert f"numpy {numpy.__version__}" in lines
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(one for extra in extras.keys() - {"test", "docs", "dev"} for one in extras[extra]),
    ]
    names = {re.match(r"[\w.-]+", one)[0] for one in wanted}
    assert sorted(line.split()[0] for line in lines[2:]) == sorted(names)
    assert str(Path.home()) not in " ".join(lines)


def test_a_library_that_is_not_installed_is_named(capsys, monkeypatch):
    known = metadata.version

    def version(name):
        if name == "rich":
            raise metadata.PackageNotFoundError(name)
        return known(name)

    monkeypatch.setattr(metadata, "version", version)
    latentclass.show_versions()
    assert "rich is not installed" in capsys.readouterr().out.splitlines()
