"""Run the Python examples of README and docs, and write their output below them.

The examples of a page run in one namespace, from top to bottom. A `text` block right after an
example holds its output. `tests/test_docs.py` fails if a page shows another output than its
examples print. `python docs/refresh.py` updates all pages, `python docs/refresh.py docs/start.md`
those you name.
"""

import contextlib
import io
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLE = re.compile(r"^```python\n(?P<code>.*?)^```\n(?P<told>\n```text\n.*?^```\n)?", re.M | re.S)


def refreshed(page: Path) -> str:
    """The text of a page with the output that its examples print now."""
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
    for page in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        page.write_text(refreshed(page), encoding="utf-8")
