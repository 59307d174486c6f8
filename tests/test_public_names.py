"""The public names: the same for Python, for type checkers, and on the reference page."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import latentclass
from latentclass import exceptions

ROOT = Path(__file__).parent.parent
# modules whose public names the reference page lists
MODULES = ("baselines", "data", "datasets", "evaluation", "plots", "reproduction")


def test_type_checkers_see_the_names_that_are_loaded_on_first_use():
    source = Path(latentclass.__file__).read_text(encoding="utf-8")
    block = next(
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    shown = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    submodules = dict.fromkeys(latentclass._SUBMODULES, "latentclass")
    assert shown == latentclass._HOMES | submodules
    assert set(latentclass.__all__) == {*shown, "__version__"}


def public_paths():
    """Full names of everything that is public, without the modules themselves."""
    paths = {f"latentclass.{name}" for name in latentclass._HOMES}
    for module in MODULES:
        names = importlib.import_module(f"latentclass.{module}").__all__
        paths |= {f"latentclass.{module}.{name}" for name in names}
    errors = inspect.getmembers(exceptions, inspect.isclass)
    return paths | {f"latentclass.exceptions.{name}" for name, _ in errors}


def test_the_reference_pages_list_all_public_names_and_no_others():
    folder = ROOT / "docs" / "reference"
    pages = [folder / "api.md", *(folder / "api").glob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    listed = re.findall(r"^::: (\S+)", text, re.M)
    assert len(listed) == len(set(listed))
    assert set(listed) == public_paths()


def test_the_overview_links_every_name():
    folder = ROOT / "docs" / "reference"
    overview = (folder / "api.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(api/(\w+)\.md#([\w.]+)\)", overview))
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (folder / "api").glob("*.md")}
    listed = {
        (name, path)
        for name, text in pages.items()
        for path in re.findall(r"^::: (\S+)", text, re.M)
    }
    assert linked == listed
