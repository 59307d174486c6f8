"""Build the wheel, install it alone into an empty environment, and use it there.

Run by `make test`: a dependency that pyproject.toml forgets must fail here. `release_check.py` does
the same and more with these functions.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests" / "files"
PROGRAMS = "Scripts" if sys.platform == "win32" else "bin"

USE = """
import importlib.metadata, pathlib, pkgutil, sys, tempfile
import latentclass
from latentclass.baselines import NaiveBayes
from latentclass.datasets import list_datasets, load_dataset

assert "site-packages" in latentclass.__file__, latentclass.__file__
assert importlib.metadata.version("latentclass") == latentclass.__version__
for module in pkgutil.walk_packages(latentclass.__path__, "latentclass."):
    extras = ("latentclass.cli.", "latentclass.page.", "latentclass.tables.")
    if not module.name.startswith(extras):
        __import__(module.name)
wine = load_dataset("wine")
model = NaiveBayes(calibrate=True).fit(wine.X, wine.y)
assert model.score(wine.X, wine.y) > 0.9
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "wine.lc"
    latentclass.save(model, path)
    assert (latentclass.load(path).predict_proba(wine.X) == model.predict_proba(wine.X)).all()
assert len(list_datasets()) > 40
golden = sorted(pathlib.Path(sys.argv[1]).rglob("*.lc"))  # written where all extras are installed
assert len(golden) > 20
for path in golden:
    latentclass.load(path)
# files that are not Python
for name in ("report.html", "findings.html", "report.css", "report.js"):
    assert (pathlib.Path(latentclass.__file__).parent / "reports" / name).is_file(), name
static = pathlib.Path(latentclass.__file__).parent / "page" / "static"
assert (static / "index.html").is_file()
assert len(list(static.glob("*.js"))) == 7
foreign = {"pandas", "polars", "pyarrow", "matplotlib"} & set(sys.modules)
assert not foreign, foreign
"""


class Failed(Exception):
    """A command failed: what it was, and the end of what it printed."""


def run(*command: str | Path, constraints: Path | None = None, fails: bool = False) -> str:
    """Run a command away from this tree; return what it printed."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    # an empty value undoes the one that the Makefile sets
    settings["PIP_CONSTRAINT"] = settings["PIP_BUILD_CONSTRAINT"] = str(constraints or "")
    done = subprocess.run(
        command, cwd=tempfile.gettempdir(), env=settings, text=True, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if bool(done.returncode) != fails:
        words = " ".join(str(part) for part in command if "\n" not in str(part))
        raise Failed(f"{words}\n{done.stdout[-3000:].strip()}")
    return done.stdout


def build(folder: Path, *kinds: str) -> None:
    """Write the built package to a folder; `kinds` are options of `python -m build`."""
    constraints = ROOT / "constraints.txt"
    command = (sys.executable, "-m", "build", *kinds, "--outdir", folder, ROOT, "--quiet")
    run(*command, constraints=constraints)


class Environment:
    """An environment that holds nothing but pip."""

    def __init__(self, folder: Path, python: str | Path = sys.executable) -> None:
        run(python, "-m", "venv", folder)
        self._programs = folder / PROGRAMS

    def install(self, what: str | Path, constraints: Path | None) -> None:
        """Install something with pip, and with the versions of a file of constraints."""
        # most of what is installed is never imported, so compiling it would take most of the time
        pip = ("-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check")
        run(self._programs / "python", *pip, str(what), constraints=constraints)

    def python(self, code: str, *arguments: str | Path) -> str:
        """Run some code, in which any warning is an error."""
        return run(self._programs / "python", "-W", "error", "-c", code, *arguments)

    def program(self, name: str, *arguments: str | Path, fails: bool = False) -> str:
        """Run a program that was installed."""
        return run(self._programs / name, *arguments, fails=fails)


def use_library(environment: Environment) -> None:
    """Import everything that needs no extra; fit, save and load."""
    environment.python(USE, GOLDEN)


def use_command_line(environment: Environment) -> None:
    """From a data set to predictions, with the extra `cli` alone."""
    with tempfile.TemporaryDirectory() as folder:
        data, model, out = (Path(folder) / name for name in ("iris.csv", "iris.lc", "out.csv"))
        program = ("latentclass", "datasets", "iris", "-o", data)
        environment.program(*program)
        fit = ("fit", data, "-t", "class", "-m", "naive-bayes", "-q", "-o", model)
        environment.program("latentclass", *fit)
        environment.program("latentclass", "predict", model, data, "-q", "-o", out)
        n_lines = len(out.read_text(encoding="utf-8").splitlines())
        if n_lines != 151:
            raise Failed(f"latentclass predict wrote {n_lines} lines for 150 rows and a heading")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder, "--wheel")
        (wheel,) = folder.glob("*.whl")
        environment = Environment(folder / "empty")
        environment.install(wheel, ROOT / "constraints.txt")
        use_library(environment)
        print("the wheel works in an empty environment")
        without = environment.program("latentclass", fails=True)
        assert without.startswith("Error: the command line needs click, "), without
        environment.install(f"{wheel}[cli]", ROOT / "constraints.txt")
        use_command_line(environment)
        print("the command line works with its extra alone")


if __name__ == "__main__":
    main()
