"""Every Python example in README and docs runs, page by page, top to bottom."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def examples(page):
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if examples(page)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for number, code in enumerate(examples(page), start=1):
        exec(compile(code, f"{page.name}, example {number}", "exec"), namespace)


def test_readme_has_an_example():
    assert examples(ROOT / "README.md")
