"""Run the examples of README and docs, and write their output below them.

The examples of a page run in one namespace and one folder, from top to bottom. A `text` block right
after a Python example holds its output. A `console` block holds commands, `$ latentclass ...`, each
with what it writes to standard output and standard error; `| head -3` shows the first lines of it.
Seconds and versions are masked there, and numbers in full precision are rounded.

`tests/test_docs.py` fails if a page shows another output than its examples print. `python
docs/refresh.py` updates all pages, `python docs/refresh.py docs/tutorial/python.md` those you name.
"""

import contextlib
import io
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLE = re.compile(r"^```python\n(?P<code>.*?)^```\n(?P<told>\n```text\n.*?^```\n)?", re.M | re.S)
COMMANDS = re.compile(r"^```console\n(?P<lines>.*?)^```\n", re.M | re.S)
PIPE = re.compile(r"(?P<command>.*?)(?: \| head -(?P<n_lines>\d+))?")
MASKS = {
    r"\d+\.\d\d s\b": "0.00 s",
    r"^written by .*": "written by latentclass ..., scikit-learn ..., numpy ..., python ...",
    r"^[\d,]+ bytes, sha256 .*": "... bytes, sha256 ...",
    r"^latentclass is compiling .*\n": "",
    r"^Run on \d{4}-\d\d-\d\d": "Run on 2026-01-31",
}
"""What depends on the machine and the versions of libraries, and how it is shown."""

LONG_NUMBER = re.compile(r"\d+\.\d{7,}(e-?\d+)?")
"""Numbers in full precision, whose last digits may differ from machine to machine."""


def run_command(line: str) -> str:
    """What `latentclass ...` writes, with its seconds and versions masked."""
    from click.testing import CliRunner

    from latentclass.cli import _progress
    from latentclass.cli._app import app

    _progress.PATIENCE = 1e6  # progress depends on how busy the machine is
    command, n_lines = PIPE.fullmatch(line).groups()
    name, *arguments = shlex.split(command)
    assert name == "latentclass", line
    written = CliRunner().invoke(app, arguments, prog_name=name).output
    for pattern, mask in MASKS.items():
        written = re.sub(pattern, mask, written, flags=re.M)
    written = LONG_NUMBER.sub(lambda found: f"{float(found[0]):.4g}", written)
    lines = [text.rstrip() for text in written.splitlines()]
    return "".join(f"{text}\n" for text in lines[: int(n_lines) if n_lines else None])


def rerun_commands(block: re.Match[str]) -> str:
    """A block of commands with what they write now."""
    commands = re.findall(r"^\$ ((?:.*\\\n)*.*)", block["lines"], re.M)
    texts = [f"$ {line}\n{run_command(line.replace(chr(92) + chr(10), ' '))}" for line in commands]
    return "```console\n" + "\n".join(texts) + "```\n"


def run_examples(page: Path) -> tuple[str, dict[str, Any]]:
    """Run a page in the current folder: its text with the output of now, and what it defined."""
    namespace: dict[str, Any] = {"__name__": "__main__"}

    def rerun(example: re.Match[str]) -> str:
        if example["lines"] is not None:
            return rerun_commands(example)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example["code"], str(page), "exec"), namespace)
        if example["told"] is None:
            return example[0]
        lines = [line.rstrip() for line in printed.getvalue().splitlines()]
        return f"```python\n{example['code']}```\n\n```text\n" + "\n".join(lines) + "\n```\n"

    either = re.compile(f"{EXAMPLE.pattern}|{COMMANDS.pattern}", re.M | re.S)
    return either.sub(rerun, page.read_text(encoding="utf-8")), namespace


def refreshed(page: Path) -> str:
    """The text of a page with the output that its examples print now."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return run_examples(page)[0]


if __name__ == "__main__":
    for page in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        page.write_text(refreshed(page), encoding="utf-8")
