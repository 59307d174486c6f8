"""Run the scripts of examples/gallery, and write docs/gallery.md and its pictures.

    python docs/gallery.py                    # all of them
    python docs/gallery.py few_labels         # the pictures of those you name, and the page

The title and the text of a picture are the docstring of its script. Everything is seeded.
"""

import ast
import runpy
import sys
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).parent.parent
PAGE, PICTURES = ROOT / "docs" / "gallery.md", ROOT / "docs" / "gallery"
ORDER = [
    "digit_line_by_line",
    "missing_cells",
    "why_this_answer",
    "few_labels",
    "rules_read_aloud",
    "tree_per_class",
    "factors_of_wine",
    "groups_with_own_classifier",
    "completed_cells",
    "unusual_rows",
    "drift_between_months",
    "auto_chooses",
]
HEAD = """# Gallery

Twelve short scripts on tables that you may know. The tables come with scikit-learn or are computed,
so nothing is downloaded. Each script ends in one picture, and takes a few seconds.

Tables, rows and seeds were chosen to show one thing clearly, so a picture here is an example and no
comparison. How the models do on many tables is on their pages.

`docs/gallery.py` writes this page from `examples/gallery`.
"""


def script(name: str) -> Path:
    """The file of a script."""
    return ROOT / "examples" / "gallery" / f"{name}.py"


def run(name: str, picture: Path) -> None:
    """Run a script that draws a picture."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with mock.patch.object(sys, "argv", [str(script(name)), str(picture)]):
        runpy.run_path(str(script(name)), run_name="__main__")
    plt.close("all")


def section(name: str) -> str:
    """The part of the page about a script."""
    docstring = ast.get_docstring(ast.parse(script(name).read_text(encoding="utf-8")))
    title, text = docstring.split(".\n\n", 1)
    # a plain "python" fence would be run by docs/refresh.py and formatted by ruff
    path = f"examples/gallery/{name}.py"
    code = f'```{{.python title="{path}"}}\n--8<-- "{path}"\n```'
    return f"\n## {title}\n\n{text}\n\n![{title}](gallery/{name}.png)\n\n{code}\n"


def page() -> str:
    """The text of the page."""
    return HEAD + "".join(section(name) for name in ORDER)


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or ORDER:
        print(name)
        run(name, PICTURES / f"{name}.png")
    PAGE.write_text(page(), encoding="utf-8")
