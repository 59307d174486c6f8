"""Every Python example in README and docs runs, and prints what the page says it prints."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_spec = importlib.util.spec_from_file_location("refresh", ROOT / "docs" / "refresh.py")
refresh = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(refresh)


@pytest.mark.parametrize("page", refresh.PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_print_what_the_page_says(page):
    assert refresh.refreshed(page) == page.read_text(encoding="utf-8")


def test_the_readme_has_an_example():
    assert refresh.EXAMPLE.search((ROOT / "README.md").read_text(encoding="utf-8"))
