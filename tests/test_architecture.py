"""Imports point one way only, and importing the package stays cheap."""

import ast
import functools
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
import sklearn.base

import latentclass
from latentclass._compat import CallbackSupportMixin

ROOT = Path(latentclass.__file__).parent

# Which of our parts each part may import, besides itself. CONTRIBUTING.md shows this as a map.
BASE = {
    "_axes",
    "_compat",
    "_display",
    "_missing_words",
    "_files",
    "_show",
    "_show_versions",
    "_spreadsheet",
    "_types",
    "_validation",
    "_version",
    "_warn",
    "exceptions",
}
BELOW = BASE | {"engine", "data"}
SHARED = BELOW | {"estimator"}
ALLOWED = {
    "engine": BASE,
    "data": BASE,
    "datasets": BASE | {"data"},
    "estimator": BELOW | {"plots"},
    "lcm": SHARED,
    "discrete": SHARED,
    "naive_bayes": SHARED | {"lcm"},
    "hnb": SHARED | {"discrete"},
    "latent_tree": SHARED | {"discrete"},
    "mixture": SHARED | {"naive_bayes"},
    "baselines": SHARED | {"discrete", "naive_bayes"},
    "auto": SHARED | {"discrete", "hnb", "latent_tree", "lcm", "mixture", "naive_bayes"},
    "files": SHARED | {"auto", "discrete", "hnb", "latent_tree", "lcm", "mixture", "naive_bayes"},
    "evaluation": SHARED | {"datasets"},
    "monitoring": SHARED,
    "plots": BASE | {"data"},
    "reports": SHARED
    | {"auto", "baselines", "discrete", "hnb", "latent_tree", "lcm", "mixture", "naive_bayes"}
    | {"evaluation", "plots", "tables"},
    "tables": BELOW,
}
ALLOWED["reproduction"] = ALLOWED["reports"] | {"datasets"}
ALLOWED["page"] = ALLOWED["reports"] | {"datasets", "files", "reports"}
ALLOWED["cli"] = BASE | set(ALLOWED) - {"plots"}

# Files that may import scikit-learn, and why. All others are pure functions on arrays and values.
KNOW_SCIKIT_LEARN = {
    "its private names": ["_compat.py"],
    "what all estimators share": ["estimator/*.py"],
    "estimators of a family": [
        "*/_classifier.py",
        "*/_classifier_cv.py",
        "*/_*_classifier.py",
        "*/_*_classifier_cv.py",
        "*/_discretizer.py",
        "mixture/_latent_mixture.py",
        "naive_bayes/_base.py",
        "naive_bayes/_mixture.py",
        "naive_bayes/_finite_mixture.py",
        "naive_bayes/_projected.py",
        "discrete/_base.py",
        "discrete/_network_base.py",
        "discrete/_aode.py",
        "discrete/_hidden_naive_bayes.py",
    ],
    "fit other estimators": [
        "baselines/*.py",
        "evaluation/*.py",
        "mixture/_classifier_presets.py",
        "reports/_quality.py",
        "mixture/_plain_conversion.py",
        "mixture/_component_classifiers.py",
        "reproduction/_field_peers.py",
        "reproduction/_field_tables.py",
        "reproduction/_lvc.py",
        "auto/_families.py",
        "reports/_peers.py",
        "cli/_held_out.py",
    ],
    "has the digits that come with it": ["reproduction/_blcm_figures.py"],
    "check tables, labels and models as all estimators do": [
        "data/_read.py",
        "data/_labels.py",
        "plots/_model.py",
        "reports/_table.py",
    ],
    "data sets that come with it or that it downloads": [
        "datasets/_sources.py",
        "datasets/_openml.py",
        "datasets/_variants.py",
        "page/_digits.py",
    ],
}


def parts():
    return sorted(p.name for p in ROOT.iterdir() if p.is_dir() and (p / "__init__.py").exists())


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


@functools.cache
def nodes(path):
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported_names(path):
    """All names that a file imports, at any depth: inside functions, under TYPE_CHECKING."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_modules(path):
    """As `imported_names`, without the last part where it is a name inside one of our modules."""
    for name in imported_names(path):
        ours_inside = name.startswith("latentclass.") and name not in MODULES
        yield name.rpartition(".")[0] if ours_inside else name


def find_cycle(graph):
    """Modules that import each other, the first repeated at the end; None if there are none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def test_every_part_has_its_rule():
    assert set(parts()) == set(ALLOWED)


@pytest.mark.parametrize("part", sorted(ALLOWED))
def test_imports_point_downwards(part):
    for path in (ROOT / part).rglob("*.py"):
        for module in imported_modules(path):
            # the command line calls the public functions, as a user does
            if part != "cli":
                assert module != "latentclass", f"{path.name} imports the whole package"
            if module.startswith("latentclass."):
                target = module.split(".")[1]
                assert target == part or target in ALLOWED[part], f"{path.name} imports {module}"


def test_no_import_cycle():
    graph = {name: set(imported_modules(path)) for name, path in MODULES.items()}
    assert graph["latentclass.evaluation._compare"] > {"latentclass.evaluation._comparison"}
    assert find_cycle(graph) is None


def test_a_cycle_is_found():
    assert find_cycle({"a": {"b"}, "b": {"c", "d"}, "c": set()}) is None
    assert sorted(set(find_cycle({"a": {"b"}, "b": {"c", "d"}, "c": {"a"}}))) == ["a", "b", "c"]


def imports_scikit_learn(path):
    return any(re.match(r"sklearn\b|latentclass\._compat\b", name) for name in imported_names(path))


def test_only_estimators_know_scikit_learn():
    allowed = [pattern for patterns in KNOW_SCIKIT_LEARN.values() for pattern in patterns]
    importing = [path.relative_to(ROOT) for path in MODULES.values() if imports_scikit_learn(path)]
    for path in importing:
        assert any(map(path.match, allowed)), f"{path} imports scikit-learn"
    for pattern in allowed:
        assert any(path.match(pattern) for path in importing), f"{pattern} need not be listed"


def test_private_names_of_scikit_learn_are_used_in_one_file():
    bases = (sklearn.base.BaseEstimator, sklearn.base.ClassifierMixin, CallbackSupportMixin)
    private = {name for base in bases for name in dir(base) if re.match("_[^_]", name)}
    assert "_get_param_names" in private
    for path in set(MODULES.values()) - {ROOT / "_compat.py"}:
        for name in imported_names(path):
            assert not re.match(r"sklearn\..*\b_", name), f"{path} imports {name}"
        used = {node.attr for node in nodes(path) if isinstance(node, ast.Attribute)}
        assert not used & private, path


def loaded_by(statement):
    code = f"import sys\n{statement}\nprint(*sorted(sys.modules), sep='\\n')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize(
    "statement", ["import latentclass", "from latentclass.datasets import list_datasets"]
)
def test_import_loads_no_heavy_library(statement):
    loaded = loaded_by(statement)
    assert not loaded & {"pandas", "polars", "pyarrow", "matplotlib", "numba", "dask", "sklearn"}


def test_a_model_loads_only_what_scikit_learn_loads_too():
    base = loaded_by("import sklearn.base, scipy.special")
    more = loaded_by("from latentclass.baselines import NaiveBayes") - base
    heavy = {"matplotlib", "numba", "dask", "polars", "sklearn.datasets", "scipy.optimize"}
    assert not more & heavy


def test_plots_load_matplotlib_only_to_draw():
    assert "matplotlib" not in loaded_by("import latentclass.plots")


def test_names_are_loaded_when_asked_for():
    assert set(latentclass.__all__) <= set(dir(latentclass))
    for name in latentclass.__all__:
        assert getattr(latentclass, name) is not None
    with pytest.raises(AttributeError, match="module 'latentclass' has no attribute 'nonsense'"):
        _ = latentclass.nonsense
