"""Check a commit message: run by git through pre-commit, or by hand with the message's file.

The rule is stated in CONTRIBUTING.md: a title "Area: effect" of at most 72 characters, then, if
there is a body, an empty line.
"""

import re
import sys
from pathlib import Path

MAX_TITLE = 72
AREA_AND_EFFECT = re.compile(r"[A-Z][^:]*: \S.*[^.\s]")
FROM_GIT = re.compile(r"(Merge|Revert|fixup!|squash!|amend!) ")
"""Titles that git writes itself."""


def find_faults(message: str) -> list[str]:
    """Return what is wrong with a commit message, one sentence per fault."""
    # git leaves its own remarks in the file as comments, and cuts them off later
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    title, *rest = lines or [""]
    if FROM_GIT.match(title):
        return []
    faults = []
    if not AREA_AND_EFFECT.fullmatch(title):
        faults.append(
            f'The title {title!r} must read "Area: effect", with a capital letter and no full '
            'stop, as in "Latent trees: keep the best start".'
        )
    if len(title) > MAX_TITLE:
        faults.append(f"The title has {len(title)} characters: use at most {MAX_TITLE}.")
    if rest and rest[0].strip():
        faults.append("The second line must be empty: it separates the title from the body.")
    return faults


def main(path: str) -> int:
    """Print the faults of the message in a file; return 1 if there are any."""
    faults = find_faults(Path(path).read_text(encoding="utf-8"))
    print("\n".join(faults), end="\n" if faults else "")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
