"""Say whether the next version can be cut: one line for each check, and a verdict.

Run by `make release-check`. It builds wheel and sdist, looks into them, and tries both in empty
environments on the oldest and the newest supported Python that this machine has. Then it tries each
extra alone. What cannot be tried here is named.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterable
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from typing import NamedTuple

from packaging.metadata import Metadata

from wheel_check import ROOT, Environment, Failed, build, use_command_line, use_library

MOST_FILE, MOST_ARCHIVE = 300_000, 2_500_000
"""Bytes of the largest file in an archive, and of the archive."""

DEVELOPMENT = ("test", "docs", "dev")
"""Extras for those who work on this library; they need a clone."""

COMPILE = """
from sklearn.datasets import load_iris
from latentclass import LatentTreeClassifier

X, y = load_iris(return_X_y=True)
model = LatentTreeClassifier(n_cuts=1, calibrate=False, random_state=0).fit(X, y)
assert model.score(X, y) > 0.85
"""
"""Compiles kernels: numba is the dependency that follows a new Python last."""

FITTED = """
import pathlib, tempfile
from sklearn.datasets import load_wine
import latentclass
from latentclass.baselines import NaiveBayes

X, y = load_wine(return_X_y=True)
model = NaiveBayes().fit(X, y)
folder = pathlib.Path(tempfile.mkdtemp())
"""

EXTRAS = {
    "plots": """
import matplotlib
matplotlib.use("Agg")
model.explain(X[:1]).plot().figure_.savefig(folder / "evidence.png")
assert (folder / "evidence.png").stat().st_size > 1000
""",
    "cli": use_command_line,
    "files": """
from sklearn.linear_model import LogisticRegression
inner = LogisticRegression(max_iter=1000)
mixed = latentclass.LatentVariableClassifier(inner, 2, n_init=1, calibrate=False, random_state=0)
mixed.fit(X[:, [0, 10]], y)
latentclass.save(mixed, folder / "mixed.lc", foreign="skops")
again = latentclass.load(folder / "mixed.lc", trusted=[])
assert (again.predict_proba(X[:, [0, 10]]) == mixed.predict_proba(X[:, [0, 10]])).all()
""",
    "report": """
latentclass.report(model, X, y).save(folder / "report.html")
assert "Content-Security-Policy" in (folder / "report.html").read_text(encoding="utf-8")
""",
    "distributed": """
from distributed import Client, LocalCluster
parts = [(X[i::3], y[i::3]) for i in range(3)]
quiet = dict(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
with LocalCluster(**quiet) as cluster, Client(cluster) as client:
    far = NaiveBayes().fit(latentclass.Parts(parts, client=client))
assert (far.predict(X) == NaiveBayes().fit(latentclass.Parts(parts)).predict(X)).all()
""",
    "page": """
import json, urllib.request
with latentclass.serve(model, X, y, block=False) as page:
    address, token = page.address.split("#")
    index = urllib.request.urlopen(address).read()
    headers = {"Origin": address.rstrip("/"), "X-Latentclass-Token": token,
               "Content-Type": "application/json"}
    question = urllib.request.Request(address + "ask/about", b"{}", headers)
    answer = json.load(urllib.request.urlopen(question))
assert b"<script" in index
assert answer
""",
}
"""How each extra is tried: code that follows `FITTED`, or a function of the environment."""


# ----------------------------------------------------------------------------- versions


class Versions(NamedTuple):
    """The version that is next, and what to edit before it can be tagged."""

    target: str
    edits: list[str]


def read_versions(version_file: str, changelog: str, citation: str, today: str) -> Versions:
    """Compare the texts of the three files that name the version."""
    version = _find(r'__version__ = "(.+)"', version_file)
    heading = _find(r"^## (.+)$", changelog)
    cited, cited_date = (_find(rf"^{key}: (.+)$", citation) for key in ("version", "date-released"))
    target = version.partition(".dev")[0]
    if version != target:
        if heading != "Unreleased":
            raise Failed(
                f"_version.py has {version}, but the first section of CHANGELOG.md is {heading!r}. "
                'Begin it with "## Unreleased".'
            )
        edits = [
            f'src/latentclass/_version.py: __version__ = "{target}"',
            f'CHANGELOG.md: "## {target} - {today}" in place of "## Unreleased"',
            f'CITATION.cff: "version: {target}" and "date-released: {today}"',
        ]
        return Versions(target, edits)
    date = heading.removeprefix(f"{version} - ")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        raise Failed(
            f"_version.py has {version}, but the first section of CHANGELOG.md is {heading!r}. "
            f'Name it "## {version} - {today}".'
        )
    if (cited, cited_date.strip("\"'")) != (version, date):
        raise Failed(
            f"CITATION.cff has version {cited or 'none'} and date-released {cited_date or 'none'}. "
            f"Set version: {version} and date-released: {date}."
        )
    return Versions(target, [])


def _find(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.M)
    return found[1] if found else ""


def check_tree() -> str:
    """Refuse changes that are not committed: they would not be in the tag."""
    changed = _git("status", "--porcelain")
    if changed:
        raise Failed(f"{len(changed)} changed or new files. Commit or remove them: {changed[0]}")
    return f"commit {_git('rev-parse', '--short', 'HEAD')[0]}"


def check_tag(target: str) -> str:
    """Refuse a version that was tagged before, elsewhere."""
    if _git("tag", "--list", f"v{target}") and f"v{target}" not in _git("tag", "--points-at"):
        raise Failed(f"The tag v{target} is on another commit. Raise the version in _version.py.")
    return f"v{target}"


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(("git", *arguments), cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise Failed(done.stderr.strip())
    return done.stdout.splitlines()


# ----------------------------------------------------------------------------- contents


def check_wheel(path: Path, tracked: Iterable[str]) -> str:
    """Compare a wheel with the files of the package, and look at its metadata."""
    with zipfile.ZipFile(path) as archive:
        sizes = {one.filename: one.file_size for one in archive.infolist()}
        about = next(name for name in sizes if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(about)
    home = about.rpartition("/")[0]
    inside = {name.removeprefix("src/") for name in tracked if name.startswith("src/")}
    inside |= {f"{home}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    inside.add(f"{home}/licenses/LICENSE")
    return _compare_files(path, sizes, inside) + _check_metadata(metadata)


def check_sdist(path: Path, tracked: Iterable[str]) -> str:
    """Compare an sdist with the files that pyproject.toml includes."""
    with tarfile.open(path) as archive:
        files = {one.name.partition("/")[2]: one for one in archive.getmembers() if one.isfile()}
        about = archive.extractfile(files["PKG-INFO"])
        assert about is not None
        metadata = about.read()
    included = _project()["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    inside = {name for name in tracked if f"/{name.partition('/')[0]}" in included}
    inside |= {"PKG-INFO", "pyproject.toml", ".gitignore"}  # hatchling adds them
    sizes = {name: one.size for name, one in files.items()}
    return _compare_files(path, sizes, inside) + _check_metadata(metadata)


def _compare_files(path: Path, sizes: dict[str, int], wanted: set[str]) -> str:
    if absent := sorted(wanted - set(sizes)):
        raise Failed(f"{path.name} lacks {len(absent)} files: {', '.join(absent[:5])}")
    if foreign := sorted(set(sizes) - wanted):
        raise Failed(f"{path.name} has {len(foreign)} other files: {', '.join(foreign[:5])}")
    largest = max(sizes, key=sizes.__getitem__)
    if sizes[largest] > MOST_FILE:
        raise Failed(f"{largest} in {path.name} has {sizes[largest]:,} bytes, over {MOST_FILE:,}")
    n_bytes = path.stat().st_size
    if n_bytes > MOST_ARCHIVE:
        raise Failed(f"{path.name} has {n_bytes:,} bytes, over {MOST_ARCHIVE:,}")
    return f"{len(sizes)} files, {n_bytes / 1000:,.0f} KB"


def _check_metadata(text: bytes) -> str:
    """Validate metadata as an index does."""
    try:
        Metadata.from_email(text, validate=True)
    except ExceptionGroup as errors:
        raise Failed("; ".join(str(error) for error in errors.exceptions)) from None
    found: Message = BytesParser().parsebytes(text)
    return f", metadata {found['Metadata-Version']}"


def _project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


# ------------------------------------------------------------------------------ Pythons


def supported_pythons() -> list[str]:
    """Pythons that pyproject.toml names, the oldest first."""
    marks = [_find(r"^Programming Language :: Python :: (3\.\d+)$", one)
             for one in _project()["project"]["classifiers"]]  # fmt: skip
    found = sorted(filter(None, marks), key=lambda name: int(name[2:]))
    wanted = _project()["project"]["requires-python"]
    if not found or wanted != f">={found[0]}":
        raise Failed(f"pyproject.toml has requires-python {wanted!r}, but classifiers for {found}")
    return found


def find_python(name: str) -> Path | None:
    """A Python of a version such as "3.13": this one, on PATH, or in pyenv."""
    on_path = shutil.which(f"python{name}")
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    paths = [Path(sys.executable), *([Path(on_path)] if on_path else [])]
    paths += sorted(pyenv.glob(f"{name}.*/bin/python"))
    ask = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    for path in paths:
        told = subprocess.run([path, "-c", ask], capture_output=True, text=True)
        if told.stdout.strip() == name:
            return path
    return None


# ------------------------------------------------------------------------------- checks


class Checks:
    """Runs checks one after the other, and prints a line for each."""

    def __init__(self) -> None:
        self.n_checks = self.n_failed = self.n_skipped = 0

    def run(self, title: str, check: Callable[[], object]) -> bool:
        """Whether a check passes. It raises `Failed`, or returns words to print."""
        self.n_checks += 1
        begin = time.monotonic()
        try:
            words, passed = check(), True
        except Failed as failure:
            words, passed = failure, False
            self.n_failed += 1
        seconds = time.monotonic() - begin
        took = f" ({seconds:.0f} s)" if seconds > 2 else ""
        shown = f": {words}" if words else ""
        print(f"{'ok     ' if passed else 'FAILED '} {title}{shown}{took}", flush=True)
        return passed

    def skip(self, title: str, reason: str) -> None:
        """Name what cannot be tried here."""
        self.n_skipped += 1
        print(f"skipped {title}: {reason}", flush=True)


def try_archive(archive: Path, python: Path, constraints: Path | None) -> None:
    """Install a wheel or an sdist into an empty environment, and use it."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder) / "empty", python)
        environment.install(archive, constraints)
        use_library(environment)
        if archive.suffix == ".whl":  # the same code, so once will do
            environment.python(COMPILE)
        environment.install(f"{archive}[cli]", constraints)
        use_command_line(environment)


def try_extra(wheel: Path, extra: str, python: Path) -> None:
    """Install a wheel with one extra into an empty environment, and use what it serves."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder) / "empty", python)
        environment.install(f"{wheel}[{extra}]", None)
        use = EXTRAS[extra]
        if callable(use):
            use(environment)
        else:
            environment.python(FITTED + use)


def try_citation() -> None:
    """Validate CITATION.cff with the program of those who made the format."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder) / "empty")
        environment.install("cffconvert==2.0.0", None)
        environment.program("cffconvert", "--validate", "-i", ROOT / "CITATION.cff")


def check_built(checks: Checks, folder: Path) -> None:
    """Check the archives in a folder."""
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    tracked = _git("ls-files")
    checks.run("files of the wheel", lambda: check_wheel(wheel, tracked))
    checks.run("files of the sdist", lambda: check_sdist(sdist, tracked))
    supported = supported_pythons()
    pythons = {name: path for name in supported if (path := find_python(name))}
    for name in supported:
        if name not in pythons:
            checks.skip(f"Python {name}", "it is neither on PATH nor in pyenv")
    if not pythons:
        raise Failed(f"None of Python {', '.join(supported)} is here. Install one of them.")
    oldest, newest = min(pythons, key=supported.index), max(pythons, key=supported.index)
    ages = [("oldest", oldest, ROOT / "constraints-oldest.txt"), ("newest", newest, None)]
    for archive in (wheel, sdist):
        kind = "wheel" if archive is wheel else "sdist"
        for age, name, constraints in ages:
            checks.run(
                f"{kind} on Python {name} with the {age} libraries",
                lambda a=archive, n=name, c=constraints: try_archive(a, pythons[n], c),
            )
    for extra in EXTRAS:
        checks.run(
            f"extra {extra!r} alone on Python {newest}",
            lambda e=extra: try_extra(wheel, e, pythons[newest]),
        )


def main() -> int:
    """Run all checks; return 1 if one fails."""
    checks, versions = Checks(), Versions("The next version", [])
    today = time.strftime("%Y-%m-%d")
    files = ("src/latentclass/_version.py", "CHANGELOG.md", "CITATION.cff")
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in files]

    def compare_versions() -> str:
        nonlocal versions
        versions = read_versions(*texts, today)
        edits = f", after {len(versions.edits)} edits" if versions.edits else ""
        return f"{versions.target}{edits}"

    checks.run("clean work tree", check_tree)
    if checks.run("version, changelog and citation agree", compare_versions):
        checks.run("tag", lambda: check_tag(versions.target))
    checks.run("CITATION.cff is valid", try_citation)
    with tempfile.TemporaryDirectory() as folder:
        if checks.run("build", lambda: build(Path(folder))):
            check_built(checks, Path(folder))
    return verdict(checks, versions)


def verdict(checks: Checks, versions: Versions) -> int:
    """Print what to do now; return the exit code."""
    left = f"; {checks.n_skipped} could not be tried here" if checks.n_skipped else ""
    failed = f"{checks.n_failed} of {checks.n_checks} checks failed"
    if checks.n_failed:
        print(f"\n{versions.target} cannot be cut: {failed}{left}.")
        return 1
    print(f"\nAll {checks.n_checks} checks passed{left}.")
    if versions.edits:
        print(f"To cut {versions.target}, make these edits, commit, and run this again:")
        print(*(f"  {edit}" for edit in versions.edits), sep="\n")
    else:
        print(f"{versions.target} can be cut: git tag v{versions.target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
