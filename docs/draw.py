"""Draw the pictures of the documentation into docs/pictures: all, or those you name.

    python docs/draw.py                   # all of them
    python docs/draw.py lcm               # those of one page
    python docs/draw.py lcm-graph hnb     # by name of the file or of the page

Everything is seeded and the files contain no date, so a second run gives the same files.
`mixture-best` needs data that it downloads or finds in a folder (see docs/reference/datasets.md).
"""

import argparse
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

HERE = Path(__file__).parent


def find_drawings() -> dict[str, Callable[[], Figure]]:
    """Return the function that draws each picture, by the name of the picture."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    package = importlib.import_module("drawings")
    found = {}
    for page in sorted(module.name for module in pkgutil.iter_modules(package.__path__)):
        if page.startswith("_"):
            continue
        module = importlib.import_module(f"drawings.{page}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                found[f"{page}-{name.replace('_', '-')}"] = function
    return found


def main() -> None:
    """Draw what the command line names."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    drawings = find_drawings()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="pictures (lcm-graph) or pages (lcm)")
    names = parser.parse_args().names
    unknown = [n for n in names if not any(n in (d, d.split("-")[0]) for d in drawings)]
    if unknown:
        parser.error(f"No picture or page is called {unknown}. Pictures: {', '.join(drawings)}.")
    for name, draw in drawings.items():
        if not names or name in names or name.split("-")[0] in names:
            print(name)
            figure = draw()
            # no software version in the file: it would differ from one machine to the next
            figure.savefig(HERE / "pictures" / f"{name}.png", dpi=110, metadata={"Software": None})
            plt.close(figure)


if __name__ == "__main__":
    main()
