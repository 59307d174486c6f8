"""The check before a release sees what is wrong with versions, archives and extras."""

import io
import sys
import tarfile
import zipfile

import pytest

import release_check
from wheel_check import ROOT, Failed

DEVELOPMENT = (
    '__version__ = "0.2.0.dev0"\n',
    "# Changes\n\n## Unreleased\n\n## 0.1.0 - 2026-01-02\n",
)
RELEASE = (
    '__version__ = "0.2.0"\n',
    "# Changes\n\n## 0.2.0 - 2026-03-04\n\n## 0.1.0 - 2026-01-02\n",
)
CITED = 'title: latentclass\nversion: 0.2.0\ndate-released: "2026-03-04"\n'
METADATA = b"Metadata-Version: 2.4\nName: latentclass\nVersion: 0.2.0\n"


def test_a_development_version_needs_three_edits():
    found = release_check.read_versions(*DEVELOPMENT, "title: latentclass\n", "2026-03-04")
    assert found.target == "0.2.0"
    assert found.edits == [
        'src/latentclass/_version.py: __version__ = "0.2.0"',
        'CHANGELOG.md: "## 0.2.0 - 2026-03-04" in place of "## Unreleased"',
        'CITATION.cff: "version: 0.2.0" and "date-released: 2026-03-04"',
    ]


def test_nothing_is_left_to_edit_once_the_files_agree():
    assert release_check.read_versions(*RELEASE, CITED, "2026-05-06") == ("0.2.0", [])


@pytest.mark.parametrize(
    ("version", "changelog", "citation", "words"),
    [
        (DEVELOPMENT[0], RELEASE[1], CITED, 'Begin it with "## Unreleased".'),
        (RELEASE[0], DEVELOPMENT[1], CITED, 'Name it "## 0.2.0 - 2026-05-06".'),
        (RELEASE[0], RELEASE[1].replace("03-04", "March"), CITED, 'Name it "## 0.2.0 - '),
        (
            *RELEASE,
            "title: latentclass\n",
            "version none and date-released none. Set version: 0.2.0",
        ),
        (
            *RELEASE,
            CITED.replace("03-04", "03-05"),
            "Set version: 0.2.0 and date-released: 2026-03-04",
        ),
    ],
)
def test_files_that_disagree_are_named_with_what_to_set(version, changelog, citation, words):
    with pytest.raises(Failed) as caught:
        release_check.read_versions(version, changelog, citation, "2026-05-06")
    assert words in str(caught.value)


def test_the_files_of_this_tree_agree():
    files = ("src/latentclass/_version.py", "CHANGELOG.md", "CITATION.cff")
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in files]
    assert release_check.read_versions(*texts, "2026-05-06").target.count(".") == 2


# ----------------------------------------------------------------------------- archives

TRACKED = ["src/latentclass/__init__.py", "src/latentclass/py.typed", "README.md", "tests/a.py"]
IN_WHEEL = {
    "latentclass/__init__.py": b"",
    "latentclass/py.typed": b"",
    **{f"latentclass-0.2.0.dist-info/{name}": METADATA for name in (
        "METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")},
}  # fmt: skip
IN_SDIST = {
    **dict.fromkeys(("pyproject.toml", ".gitignore", *TRACKED[:3]), b""),
    "PKG-INFO": METADATA,
}


def wheel(folder, files):
    path = folder / "latentclass-0.2.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def sdist(folder, files):
    path = folder / "latentclass-0.2.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            about = tarfile.TarInfo(f"latentclass-0.2.0/{name}")
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return path


@pytest.mark.parametrize(
    ("make", "check", "files"),
    [(wheel, "check_wheel", IN_WHEEL), (sdist, "check_sdist", IN_SDIST)],
)
def test_archives_hold_just_the_files_of_the_package(tmp_path, make, check, files):
    check = getattr(release_check, check)
    assert check(make(tmp_path, files), TRACKED).startswith(f"{len(files)} files, ")
    short = {name: text for name, text in files.items() if not name.endswith("py.typed")}
    with pytest.raises(Failed, match=r"lacks 1 files: .*latentclass/py\.typed"):
        check(make(tmp_path, short), TRACKED)
    with pytest.raises(Failed, match=r"has 1 other files: tests/a\.py"):
        check(make(tmp_path, {**files, "tests/a.py": b""}), TRACKED)


def test_large_files_and_invalid_metadata_are_refused(tmp_path):
    large = {**IN_WHEEL, "latentclass/py.typed": b"x" * (release_check.MOST_FILE + 1)}
    with pytest.raises(
        Failed, match=r"latentclass/py\.typed in .* has 300,001 bytes, over 300,000"
    ):
        release_check.check_wheel(wheel(tmp_path, large), TRACKED)
    wrong = {**IN_SDIST, "PKG-INFO": METADATA + b"License-Expression: no such licence\n"}
    with pytest.raises(Failed, match="license"):
        release_check.check_sdist(sdist(tmp_path, wrong), TRACKED)


# --------------------------------------------------------------------- Pythons and extras


def test_every_extra_for_users_is_tried():
    extras = release_check._project()["project"]["optional-dependencies"]
    assert set(release_check.EXTRAS) == set(extras) - set(release_check.DEVELOPMENT)


def test_pythons_are_found_by_their_version(monkeypatch, tmp_path):
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    this = "{}.{}".format(*sys.version_info)
    assert release_check.find_python(this).samefile(sys.executable)
    assert release_check.find_python("3.2") is None


def test_the_supported_pythons_begin_with_the_one_that_is_required():
    assert release_check.supported_pythons()[0] == "3.11"


def test_a_failed_check_ends_in_a_verdict_and_exit_code_1(capsys):
    checks = release_check.Checks()

    def fail():
        raise Failed("the wheel lacks its licence")

    assert checks.run("tag", lambda: "v0.2.0")
    assert release_check.verdict(checks, release_check.Versions("0.2.0", [])) == 0
    assert not checks.run("files of the wheel", fail)
    checks.skip("Python 3.14", "it is neither on PATH nor in pyenv")
    assert release_check.verdict(checks, release_check.Versions("0.2.0", [])) == 1
    assert capsys.readouterr().out.splitlines() == [
        "ok      tag: v0.2.0",
        "",
        "All 1 checks passed.",
        "0.2.0 can be cut: git tag v0.2.0",
        "FAILED  files of the wheel: the wheel lacks its licence",
        "skipped Python 3.14: it is neither on PATH nor in pyenv",
        "",
        "0.2.0 cannot be cut: 1 of 2 checks failed; 1 could not be tried here.",
    ]
