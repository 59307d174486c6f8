"""Run the Python examples of README and docs, and write what they print below them.

A page's examples run in one namespace from top to bottom; a `text` block right after an example
holds its output. `tests/test_docs.py` fails where a page says something else than it prints; run
`python docs/refresh.py` to write the pages anew.
"""

import contextlib
import io
import re
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLE = re.compile(r"^```python\n(?P<code>.*?)^```\n(?P<told>\n```text\n.*?^```\n)?", re.M | re.S)


def refreshed(page: Path) -> str:
    """The page's text with the output that its examples print now."""
    namespace = {"__name__": "__main__"}

    def rerun(example: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example["code"], str(page), "exec"), namespace)
        if example["told"] is None:
            return example[0]
        lines = [line.rstrip() for line in printed.getvalue().splitlines()]
        return f"```python\n{example['code']}```\n\n```text\n" + "\n".join(lines) + "\n```\n"

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return EXAMPLE.sub(rerun, page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(refreshed(page), encoding="utf-8")
