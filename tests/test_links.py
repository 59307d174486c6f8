"""Links of the Markdown files outside the site lead to files and headings that exist.

The site's own links are checked by `mkdocs build --strict`. Links to other hosts are not tried.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\((?P<path>[^)\s#]*)(?:#(?P<anchor>[^)\s]*))?(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
HEADING = re.compile(r"^#+ +(.*?) *$", re.M)
TEXTS = [
    *sorted(ROOT.glob("*.md")),
    *(ROOT / folder / "README.md" for folder in ("benchmarks", "reproduce")),
]


def anchors(text):
    """The anchors of the headings of a text, as GitHub and the site make them."""
    plain = [re.sub(r"[`*]|\]\([^)]*\)", "", name) for name in HEADING.findall(FENCE.sub("", text))]
    return {re.sub(r"[^\w\- ]", "", name).strip().lower().replace(" ", "-") for name in plain}


def broken_links(path):
    """The links of a file that lead nowhere."""
    text = path.read_text(encoding="utf-8")
    found = []
    for link in LINK.finditer(FENCE.sub("", text)):
        if "://" in link["path"] or link["path"].startswith("mailto:"):
            continue
        target = path.parent / link["path"] if link["path"] else path
        if not target.exists() or (
            link["anchor"] and link["anchor"] not in anchors(target.read_text(encoding="utf-8"))
        ):
            found.append(link[0])
    return found


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(path):
    assert broken_links(path) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "there.md").write_text("# The `first` part\n")
    page = tmp_path / "page.md"
    page.write_text("[a](there.md) [b](there.md#the-first-part) [c](gone.md) [d](there.md#gone)\n")
    assert broken_links(page) == ["](gone.md)", "](there.md#gone)"]
