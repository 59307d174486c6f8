"""The examples of README and docs print what the pages say, and every picture has its drawing."""

import importlib.util
import re
import shlex
from pathlib import Path

import click
import pytest

from latentclass.cli._app import app

ROOT = Path(__file__).parent.parent
# drawn by `benchmarks/hnb.py --full --plot`, which takes long
FROM_BENCHMARKS = {"hnb-cost"}
# taken by `docs/screenshot.py` and `docs/film.py`, which need a browser
PHOTOGRAPHS = {"report-page", "tutorial-report", "live-page"}


# Python and console blocks are run. Bash blocks install, run for hours or serve until Ctrl-C.
LANGUAGES = {"python", "console", "text", "bash"}
NOT_RUN = {("docs/explanation/baselines.md", "py")}  # needs Weka and Java


def load_script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


refresh = load_script("refresh")


@pytest.mark.parametrize("page", refresh.PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_print_what_the_page_says(page):
    assert refresh.refreshed(page) == page.read_text(encoding="utf-8")


def test_code_blocks_are_run_or_known_to_need_no_run():
    fence = re.compile(r"^ *```([^\n`]+)$", re.M)
    found = {
        (str(page.relative_to(ROOT)), name)
        for page in refresh.PAGES
        for name in fence.findall(page.read_text(encoding="utf-8"))
    }
    unknown = {(page, name) for page, name in found if name not in LANGUAGES}
    # the scripts of the gallery run in test_gallery.py
    scripts = {(page, name) for page, name in unknown if 'title="examples/gallery/' in name}
    assert unknown - scripts == NOT_RUN


BASH = re.compile(r"^```bash\n(.*?)^```$", re.M | re.S)
COMMANDS = [
    (page.relative_to(ROOT), line.split(" #")[0].strip())
    for page in refresh.PAGES
    for block in BASH.findall(page.read_text(encoding="utf-8"))
    for line in block.splitlines()
    if line.startswith("latentclass ")
]


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=lambda part: str(part))
def test_commands_that_are_not_run_have_options_that_exist(page, line):
    name, *arguments = shlex.split(line)[1:]
    command = app.get_command(click.Context(app), name)
    assert command is not None
    command.make_parser(click.Context(command)).parse_args(arguments)


def test_the_readme_has_an_example():
    assert refresh.EXAMPLE.search((ROOT / "README.md").read_text(encoding="utf-8"))


def test_every_picture_is_drawn_by_a_function_and_shown_on_a_page():
    drawn = set(load_script("draw").find_drawings()) | FROM_BENCHMARKS | PHOTOGRAPHS
    files = {path.stem for path in (ROOT / "docs" / "pictures").iterdir()}
    text = "".join(page.read_text(encoding="utf-8") for page in refresh.PAGES)
    shown = set(re.findall(r"pictures/([\w-]+)\.(?:png|gif)", text))
    assert drawn == files == shown
