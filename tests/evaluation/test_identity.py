"""Keys are equal only for equal computations; data sets are read as problems."""

import functools
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from evaluation_helpers import Logged
from numpy.testing import assert_array_equal
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import latentclass.evaluation._identity as identity_module
from latentclass.baselines import NaiveBayes
from latentclass.datasets import load_dataset
from latentclass.evaluation import TableClassifier
from latentclass.evaluation._identity import describe, identity, package_version, versions
from latentclass.evaluation._problem import discretise_globally, read_problems


def key(estimator, **changed):
    parts = {"data": "d", "fold": "f", "seed": 0, "protocol": "honest"} | changed
    return identity(estimator, **parts)[0]


def double(X):
    return 2 * X


def scaled_by(factor):
    return lambda X: factor * X


PIPELINES = [
    LogisticRegression(),
    LogisticRegression(C=2),
    LogisticRegression(C=2.0000001),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(StandardScaler(with_std=False), LogisticRegression()),
    make_pipeline(FunctionTransformer(double), LogisticRegression()),
    make_pipeline(FunctionTransformer(np.log), LogisticRegression()),
    make_pipeline(FunctionTransformer(np.exp), LogisticRegression()),
    make_pipeline(FunctionTransformer(scaled_by(2)), LogisticRegression()),
    make_pipeline(FunctionTransformer(scaled_by(3)), LogisticRegression()),
    make_pipeline(FunctionTransformer(functools.partial(double)), LogisticRegression()),
    GridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=StratifiedKFold(3)),
    GridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=StratifiedKFold(4)),
    GridSearchCV(LogisticRegression(), {"C": np.array([1, 2])}, cv=StratifiedKFold(4)),
    GridSearchCV(LogisticRegression(), {"C": np.array([1, 3])}, cv=StratifiedKFold(4)),
    LogisticRegression(class_weight={"a": 1.0, "b": 2.0}),
    RandomForestClassifier(random_state=np.random.RandomState(0)),
    RandomForestClassifier(random_state=np.random.RandomState(1)),
    LogisticRegression(class_weight={"a", "b"}),
    LogisticRegression(class_weight={"a", "c"}),
    LogisticRegression(class_weight=np.array(["a", None], dtype=object)),
    LogisticRegression(class_weight=float),
    Logged(),
    Logged(shrink=0.5),
    NaiveBayes(),
    TableClassifier(LogisticRegression()),
]


def test_every_difference_in_parameters_changes_the_key():
    keys = [key(estimator) for estimator in PIPELINES]
    assert len(set(keys)) == len(keys)
    assert keys == [key(estimator) for estimator in PIPELINES]


def test_parameters_without_influence_do_not():
    assert key(RandomForestClassifier(n_jobs=2, verbose=3)) == key(RandomForestClassifier())


def test_all_else_that_determines_a_result_changes_the_key(monkeypatch):
    model = NaiveBayes()
    keys = {key(model)}
    for change in ({"data": "e"}, {"fold": "g"}, {"seed": 1}, {"protocol": "paper"}):
        keys.add(key(model, **change))
    monkeypatch.setattr(identity_module, "__version__", "99.0")
    keys.add(key(model))
    assert len(keys) == 6


def test_versions_name_the_libraries_that_compute():
    found = versions(describe(make_pipeline(StandardScaler(), NaiveBayes())))
    assert set(found) == {"latentclass", "numpy", "scipy", "sklearn"}
    assert package_version("functools") == "python"
    assert package_version("evaluation_helpers") is None


def test_a_development_version_brings_a_checksum_of_the_code(monkeypatch):
    identity_module._development_mark.cache_clear()
    monkeypatch.setattr(identity_module, "__version__", "1.0.dev0")
    assert re.fullmatch(
        r"1\.0\.dev0\+sha256\.[0-9a-f]{16}", versions(describe(NaiveBayes()))["latentclass"]
    )
    # scikit-learn's classifiers are not computed anew whenever our code changes
    assert versions(describe(LogisticRegression()))["latentclass"] == "1.0.dev0"
    identity_module._development_mark.cache_clear()
    monkeypatch.setattr(identity_module, "__version__", "1.0")
    assert versions(describe(NaiveBayes()))["latentclass"] == "1.0"
    identity_module._development_mark.cache_clear()


def test_code_of_ones_own_is_known_by_its_source():
    def named(body):
        space = {"__name__": "at_a_prompt"}
        exec(f"def f(X):\n    return {body}", space)
        return describe(space["f"])

    assert named("X + 1") == named("X + 1") != named("X + 2")
    assert "sha256" in describe(Logged())["class"]
    Made = type("Made", (), {"__module__": "at_a_prompt"})
    assert describe(Made) == describe(type("Made", (), {"__module__": "at_a_prompt"}))


def test_what_cannot_be_told_apart_is_refused():
    with pytest.raises(TypeError, match="A parameter of type generator cannot be described"):
        key(LogisticRegression(C=(n for n in range(3))))


# ------------------------------------------------------------------------------- data sets


def checksum(X, y):
    return read_problems(("d", X, y))[0].checksum


def test_data_checksum_sees_every_change():
    y = np.array(["a", "b", "a", "b"])
    X = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0], [0.0, 8.0]])
    changed = X.copy()
    changed[0, 0] = np.nextafter(1.0, 2.0)
    frame = pd.DataFrame(X, columns=["p", "q"])
    tables = [
        X,
        changed,
        X[:, ::-1],
        frame,
        frame.rename(columns={"p": "r"}),
        frame.assign(p=frame.p.astype(int)),
        frame.assign(p=frame.p.astype(str)),
        frame.assign(p=frame.p.astype(str).astype("category")),
        pl.DataFrame({"p": X[:, 0], "q": X[:, 1]}),
        sp.csr_array(np.nan_to_num(X)),
        sp.csr_array(np.nan_to_num(changed)),
    ]
    sums = [checksum(table, y) for table in tables]
    assert len(set(sums)) == len(sums)
    assert checksum(X.copy(order="F"), list(y)) == sums[0]
    assert checksum(X.tolist(), y) == sums[0]
    assert checksum(np.where(X == 0, -0.0, X), y) == sums[0]
    assert checksum(X, ["a", "b", "b", "a"]) not in sums
    assert checksum(X, ["a", "c", "a", "c"]) not in sums
    assert checksum(X, ["a", None, "a", "b"]) not in sums


def test_labels_stay_what_they_are():
    numbers = read_problems(("n", np.eye(4), [3, 5, None, 5]))[0]
    assert numbers.labels.tolist() == [3, 5, None, 5]
    assert_array_equal(numbers.codes, [0, 1, -1, 1])
    assert read_problems(("n", np.eye(2), [3, 5]))[0].labels.dtype.kind == "i"


def test_data_sets_come_by_name_as_objects_or_triples(blobs):
    problems = read_problems(["iris", load_dataset("corral"), blobs[0]])
    assert [problem.name for problem in problems] == ["iris", "corral", "three"]
    assert read_problems("iris")[0].checksum == problems[0].checksum


@pytest.mark.parametrize(
    ("datasets", "error", "message"),
    [
        ([], ValueError, "datasets must be data sets with different names, found none."),
        (["iris", "iris"], ValueError, "found the name(s) ['iris'] more than once."),
        ([3], TypeError, "a triple (name, X, y), found int."),
        ([(1, 2, 3)], TypeError, "a triple (name, X, y), found tuple."),
        (("d", np.eye(3), ["a", "b"]), ValueError, "'d' has 3 rows and 2 labels."),
        (("d", np.eye(2), ["a", "a"]), ValueError, "Data set 'd' has only one class"),
    ],
)
def test_impossible_data_sets_are_refused(datasets, error, message):
    with pytest.raises(error, match=re.escape(message)):
        read_problems(datasets)


# -------------------------------------------------------------- the papers' discretisation


def test_global_discretisation_cuts_by_class_and_keeps_the_container():
    values = np.r_[np.arange(20.0), np.nan, 3.0]
    X = pd.DataFrame({"v": values, "flat": 1.0, "town": ["Rome", "Oslo"] * 11})
    y = ["low"] * 10 + ["top"] * 10 + ["low", None]
    problem = read_problems(("d", X, y))[0]
    cut = discretise_globally(problem)
    assert list(cut.X.columns) == ["v", "flat", "town"]
    assert cut.X["v"].tolist()[:20] == ["bin 0"] * 10 + ["bin 1"] * 10  # the cut is at 9.5
    assert pd.isna(cut.X["v"][20])
    assert cut.X["v"][21] == "bin 0"
    assert cut.X["v"].dtype == "category"
    assert set(cut.X["flat"]) == {"bin 0"}
    assert cut.X["town"].tolist() == X["town"].tolist()
    assert cut.checksum != problem.checksum
    assert discretise_globally(cut) is cut


@pytest.mark.parametrize("container", ["numpy", "polars"])
def test_global_discretisation_in_other_containers(container):
    iris = load_dataset("iris", container=container)
    cut = discretise_globally(read_problems(iris)[0])
    assert type(cut.X) is type(iris.X)
    column = cut.X[:, 2]
    assert sorted(set(column.tolist() if container == "numpy" else column)) == [
        "bin 0",
        "bin 1",
        "bin 2",
    ]
