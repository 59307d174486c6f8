"""Build the wheel, install it alone into an empty environment, and use it there.

Run by `make test`: a dependency that pyproject.toml forgets must fail here.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent

USE = """
import importlib.metadata, pathlib, pkgutil, sys
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
print("the wheel works in an empty environment")
"""


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, str(ROOT), "--quiet")
        (wheel,) = Path(folder).glob("*.whl")
        venv.create(Path(folder) / "empty", with_pip=True)
        python = Path(folder) / "empty" / ("Scripts" if sys.platform == "win32" else "bin")
        run(
            *(str(python / "python"), "-m", "pip", "install", "--quiet"),
            *("-c", str(ROOT / "constraints.txt"), str(wheel)),
        )
        run(str(python / "python"), "-W", "error", "-c", USE, str(ROOT / "tests" / "files"))
        without = subprocess.run([python / "latentclass"], capture_output=True, text=True)
        assert without.stderr.startswith("Error: the command line needs click, "), without.stderr
        run(
            *(str(python / "python"), "-m", "pip", "install", "--quiet"),
            *("-c", str(ROOT / "constraints.txt"), f"{wheel}[cli]"),
        )
        data, model = Path(folder) / "iris.csv", Path(folder) / "iris.lc"
        program = str(python / "latentclass")
        run(program, "datasets", "iris", "-o", str(data))
        run(program, "fit", str(data), "-t", "class", "-m", "naive-bayes", "-q", "-o", str(model))
        run(program, "predict", str(model), str(data), "-q", "-o", str(Path(folder) / "out.csv"))
        print("the command line works with its extra alone")


if __name__ == "__main__":
    main()
