"""The examples of README and docs print what the pages say, and every picture has its drawing."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# drawn by `benchmarks/hnb.py --full --plot`, which takes long
FROM_BENCHMARKS = {"hnb-cost"}
# taken by `docs/screenshot.py` and `docs/film.py`, which need a browser
PHOTOGRAPHS = {"report-page", "tutorial-report", "live-page"}


def load_script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


refresh = load_script("refresh")


@pytest.mark.parametrize("page", refresh.PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_print_what_the_page_says(page):
    assert refresh.refreshed(page) == page.read_text(encoding="utf-8")


def test_the_readme_has_an_example():
    assert refresh.EXAMPLE.search((ROOT / "README.md").read_text(encoding="utf-8"))


def test_every_picture_is_drawn_by_a_function_and_shown_on_a_page():
    drawn = set(load_script("draw").find_drawings()) | FROM_BENCHMARKS | PHOTOGRAPHS
    files = {path.stem for path in (ROOT / "docs" / "pictures").iterdir()}
    text = "".join(page.read_text(encoding="utf-8") for page in refresh.PAGES)
    shown = set(re.findall(r"pictures/([\w-]+)\.(?:png|gif)", text))
    assert drawn == files == shown
