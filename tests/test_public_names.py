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


def test_the_reference_page_lists_all_public_names_and_no_others():
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^::: (\S+)", page, re.M)
    assert len(listed) == len(set(listed))
    assert set(listed) == public_paths()
