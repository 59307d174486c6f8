"""Weka's classifiers: files in and out, and what is said when something is missing."""

import io
import pickle
import re
import subprocess

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.io import arff
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import (
    check_classifiers_one_label,
    check_classifiers_one_label_sample_weights,
    check_estimators_unfitted,
    check_fit2d_1sample,
    check_n_features_in,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
)

from latentclass import MDLDiscretizer
from latentclass.baselines import NaiveBayes, _weka
from latentclass.baselines._sklearn import LeaveOneOutKNN
from latentclass.baselines._weka import (
    Attribute,
    WekaClassifier,
    WekaError,
    WekaUnavailableError,
    arff_text,
    find_weka,
    parse_distributions,
    readable_names,
    weka_adtree,
    weka_aode,
    weka_ban,
    weka_hidden_naive_bayes,
    weka_id3,
    weka_j48,
    weka_k2,
    weka_rbf_network,
    weka_tan,
    weka_winnow,
)
from latentclass.exceptions import UnseenValueWarning


def absent():
    try:
        find_weka()
    except WekaUnavailableError as error:
        return str(error)
    return ""


needs_weka = pytest.mark.skipif(bool(absent()), reason=absent() or "Weka is there")

ODD = [
    "it's",
    'a "b", c',
    "{x} % y",
    "back\\slash",
    "日本 é",
    "?",
    "",
    " ",
    "two\nlines",
    "two lines",
]


# ------------------------------------------------------------------ files, without Weka


def read_arff(text):
    """Attributes and rows of what `arff_text` writes: a parser of a few lines."""
    token = r"'(?:[^'\\]|\\.)*'|[^,{}\s]+|\{[^}']*\}"

    def plain(word):
        return re.sub(r"\\(.)", r"\1", word[1:-1]) if word.startswith("'") else word

    head, _, body = text.partition("@data\n")
    attributes = []
    for line in head.splitlines()[1:]:
        name, kind = re.fullmatch(rf"@attribute ({token}) (.*)", line).groups()
        labels = None if kind == "numeric" else tuple(map(plain, re.findall(token, kind[1:-1])))
        attributes.append((plain(name), labels))
    rows = [[plain(word) for word in re.findall(token, line)] for line in body.splitlines()]
    return attributes, rows


def test_a_file_reads_back_as_it_was():
    names = readable_names(ODD)
    attributes = [Attribute("it's, x"), Attribute("y z", names)]
    numbers = np.array([0.1, np.nan, -1e-300, 1 / 3, 5.0, 1e22, 2.0, 3.0, 4.0, 6.0, 7.0])
    codes = np.array([*range(10), -1])
    text = arff_text(attributes, [numbers, codes], np.linspace(0.5, 1.5, 11))
    read, rows = read_arff(text)
    assert read == [("it's, x", None), ("y z", names)]
    assert_array_equal([float(x.replace("?", "nan")) for x, _, _ in rows], numbers)
    assert [label for _, label, _ in rows[:-1]] == list(names)
    assert text.splitlines()[-1].startswith("7.0,?,{1.5}")


def test_scipy_reads_the_file():
    attributes = [Attribute("size"), Attribute("colour", ("light red", "blue, dark"))]
    text = arff_text(attributes, [np.array([1.5, np.nan, 0.1]), np.array([1, 0, -1])])
    rows, meta = arff.loadarff(io.StringIO(text))
    assert_array_equal(rows["size"], [1.5, np.nan, 0.1])
    assert [value.strip(b"'") for value in rows["colour"]] == [b"blue, dark", b"light red", b"?"]
    assert meta.types() == ["numeric", "nominal"]


def test_names_are_single_lines_and_differ():
    names = readable_names([*ODD, 1, "1", 1.0, "\ud800", "1#2"])
    assert len(set(names)) == len(names)
    assert all(name and len(name.splitlines()) == 1 and name == name.strip() for name in names)
    assert names[:6] == tuple(ODD[:6])
    "".join(names).encode("utf-8")


def test_unit_weights_are_not_written():
    text = arff_text([Attribute("x")], [np.array([1.0])], np.ones(1))
    assert text.splitlines()[-1] == "1.0"


def test_distributions_are_read_by_position():
    printed = """
=== Predictions on test data ===

 inst#     actual  predicted error distribution
     1        1:? 2:a b c, d       0.25,*0.75,0
     2        1:?      1:it's      *0.5,0.5,0
     3        1:?         ?       0,0,0
     4        1:?         ?       ?
"""
    chosen, proba = parse_distributions(printed, 4, 3)
    assert_array_equal(chosen, [1, 0, -1, -1])
    assert_array_equal(proba, [[0.25, 0.75, 0], [0.5, 0.5, 0], [0, 0, 0], [0, 0, 0]])


def test_too_few_distributions_are_an_error():
    printed = "inst# actual predicted error distribution\n 1 1:? 1:a *1,0\n"
    with pytest.raises(WekaError, match="asked for 2 distributions over 2 classes, but printed:"):
        parse_distributions(printed, 2, 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"scheme": "-h"},
            "scheme='-h' must be the name of a Java class, such as 'trees.J48'.",
        ),
        (
            {"options": "-C 0.25"},
            "options='-C 0.25' must be a sequence of strings, one per word, such as "
            "('-C', '0.25').",
        ),
        ({"memory": "much"}, "memory='much' must be text such as '512m' or '2g'."),
        ({"timeout": 0}, "timeout=0 must be a number above 0, or None."),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        WekaClassifier(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_one_class_needs_no_weka():
    model = weka_j48().fit([[0.0], [1.0]], ["only", "only"])
    assert_array_equal(model.predict([[5.0]]), ["only"])
    assert_array_equal(model.predict_proba([[5.0]]), [[1.0]])


# ------------------------------------------------------------------ what is missing


def fit_two_rows():
    return weka_j48().fit([[0.0], [1.0]], ["a", "b"])


def test_without_weka_the_message_names_the_package(monkeypatch):
    monkeypatch.delenv("LATENTCLASS_WEKA", raising=False)
    monkeypatch.setattr(_weka, "USUAL_JARS", ("/nowhere/weka.jar",))
    message = (
        "Weka 3.6 was not found: there is no /nowhere/weka.jar. Debian's package 'weka' provides "
        "it (apt install weka); or set LATENTCLASS_WEKA to the path of weka.jar."
    )
    with pytest.raises(WekaUnavailableError, match=f"^{re.escape(message)}$"):
        fit_two_rows()


def test_without_java_the_message_says_so(monkeypatch, tmp_path):
    jar = tmp_path / "weka.jar"
    jar.touch()
    monkeypatch.setenv("LATENTCLASS_WEKA", str(jar))
    monkeypatch.setattr(_weka.shutil, "which", lambda _: None)
    message = (
        f"Weka is at {jar}, but the program 'java' that runs it was not found. Install a Java "
        "runtime (Debian's package 'weka' brings one: apt install weka), or add it to PATH."
    )
    with pytest.raises(WekaUnavailableError, match=f"^{re.escape(message)}$"):
        fit_two_rows()


def test_a_wrong_path_is_not_passed_over(monkeypatch):
    monkeypatch.setenv("LATENTCLASS_WEKA", "/nowhere/weka.jar")
    message = (
        "LATENTCLASS_WEKA is '/nowhere/weka.jar', but there is no such file. Set it to the path of "
        "weka.jar (Weka 3.6), or unset it to use the one of Debian's package 'weka'."
    )
    with pytest.raises(WekaUnavailableError, match=f"^{re.escape(message)}$"):
        fit_two_rows()


@pytest.fixture
def pretended_weka(monkeypatch):
    """No java: `subprocess.run` is what the test says."""
    monkeypatch.setattr(_weka, "find_weka", lambda: _weka.Weka("java", "weka.jar"))
    return lambda run: monkeypatch.setattr(_weka.subprocess, "run", run)


def test_a_run_that_takes_too_long_is_ended(pretended_weka):
    def run(command, **settings):
        raise subprocess.TimeoutExpired(command, settings["timeout"])

    pretended_weka(run)
    message = (
        "Weka's trees.J48 was stopped after timeout=600 seconds. Raise timeout, or use fewer "
        "rows or columns."
    )
    with pytest.raises(WekaError, match=f"^{re.escape(message)}$"):
        fit_two_rows()


def test_an_error_shows_wekas_last_words_without_its_help(pretended_weka):
    said = "Weka exception: no luck\n\nGeneral options:\n\n-h\n\tHelp\n"
    pretended_weka(lambda command, **_: subprocess.CompletedProcess(command, 0, "", said))
    message = (
        "Weka's trees.J48 with options ('-C', '0.25', '-M', '2') did not train. Its last lines:\n"
        "Weka exception: no luck"
    )
    with pytest.raises(WekaError, match=f"^{re.escape(message)}$"):
        fit_two_rows()


# ------------------------------------------------------------------ with Weka


# the checks that start java seldom: all of them together take a minute or two
FEW = [
    check_classifiers_one_label,
    check_classifiers_one_label_sample_weights,
    check_estimators_unfitted,
    check_fit2d_1sample,
    check_n_features_in,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
]


@needs_weka
@pytest.mark.parametrize("check", FEW, ids=lambda check: check.__name__)
def test_scikit_learns_own_checks(check):
    check("WekaClassifier", WekaClassifier())


@needs_weka
def test_j48_on_iris_and_after_pickling():
    X, y = load_iris(return_X_y=True)
    model = weka_j48().fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9
    assert "J48 pruned tree" in model.description_
    proba = pickle.loads(pickle.dumps(model)).predict_proba(X[1::2])
    assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert_array_equal(proba.argmax(axis=1), model.predict(X[1::2]))


@needs_weka
def test_odd_labels_missing_cells_and_new_categories_survive():
    cells = np.array([*ODD, "plain"], dtype=object)
    X = pd.DataFrame({"it's, a {column}": np.repeat(cells, 4), "class": np.arange(44.0)})
    y = np.repeat(cells, 4)
    X.iloc[0, 1] = np.nan
    # the tree splits on the text: each category is its own class
    model = WekaClassifier("trees.J48", ("-M", "1", "-U")).fit(X, y)
    assert_array_equal(model.predict(X[1:]), y[1:])
    new = pd.DataFrame({"it's, a {column}": ["new", None], "class": [1.0, np.nan]})
    with pytest.warns(UnseenValueWarning, match="1 cell holds 'new', which the model has not seen"):
        shares = model.predict_proba(new)
    assert_array_equal(*shares)  # both cells decide alike: missing


@needs_weka
def test_weights_are_wekas_and_rows_without_label_are_left_out():
    X, y = [["u"], ["u"], ["u"], ["v"]], ["a", "b", None, "a"]
    model = WekaClassifier("bayes.NaiveBayes").fit(X, y, sample_weight=[1, 3, 50, 1])
    assert_allclose(model.class_prior_, [0.4, 0.6], rtol=1e-12)
    # counts of u plus 1: class a 2 of 4, class b 4 of 5; prior plus 1: 3/7 and 4/7
    a, b = 3 / 7 * 2 / 4, 4 / 7 * 4 / 5
    assert_allclose(model.predict_proba([["u"]]), [[a / (a + b), b / (a + b)]], atol=0.0011)


@needs_weka
def test_our_leave_one_out_chooses_wekas_k():
    X, y = load_iris(return_X_y=True)
    weka = WekaClassifier("lazy.IBk", ("-K", "15", "-X")).fit(X, y)
    ours = LeaveOneOutKNN(15).fit(X, y)
    proba = weka.predict_proba(X)
    assert f"using {ours.n_neighbors_} nearest" in weka.description_
    assert_allclose(ours.predict_proba(X), proba, atol=0.0011)


@needs_weka
def test_our_discretised_naive_bayes_is_wekas():
    X, y = load_iris(return_X_y=True)
    cut = ("-F", "weka.filters.supervised.attribute.Discretize -R first-last")
    naive = ("-W", "weka.classifiers.bayes.NaiveBayes")
    weka = WekaClassifier("meta.FilteredClassifier", cut + naive).fit(X[::2], y[::2])
    cutter = MDLDiscretizer().fit(X[::2], y[::2])
    ours = NaiveBayes(categorical_features=range(4), alpha=1.0, calibrate=False)
    ours.fit(cutter.transform(X[::2]), y[::2])
    rows = cutter.transform(X[1::2])
    assert_array_equal(ours.predict(rows), weka.predict(X[1::2]))
    # 25 rows a class, so Weka's smoothed class probabilities are ours
    assert_allclose(ours.predict_proba(rows), weka.predict_proba(X[1::2]), atol=0.0016)


def corral():
    """All 64 rows of corral: (A0 and A1) or (B0 and B1); the fifth column does not matter."""
    bits = (np.arange(64)[:, None] >> np.arange(6)) & 1
    y = np.where((bits[:, 0] & bits[:, 1]) | (bits[:, 2] & bits[:, 3]), "true", "false")
    return np.array(["no", "yes"], dtype=object)[bits], y


ON_CORRAL = [  # what training rows must at least get right
    (weka_winnow(), 0.7),
    (weka_adtree(), 0.9),
    (weka_id3(), 1.0),
    (weka_rbf_network(), 0.7),
    (weka_aode(), 0.85),
    (weka_aode(30), 0.85),
    (weka_hidden_naive_bayes(), 0.85),
    (weka_tan(), 0.85),
    (weka_ban(), 0.85),
    (weka_k2(max_parents=2), 0.85),
]


@needs_weka
@pytest.mark.parametrize(
    ("model", "least"), ON_CORRAL, ids=lambda m: getattr(m, "scheme", "").split(".")[-1]
)
def test_each_of_the_papers_learns_corral(model, least):
    X, y = corral()
    assert clone(model).fit(X, y).score(X, y) >= least


@needs_weka
def test_wekas_own_complaint_is_passed_on():
    message = (
        "Weka's trees.Id3 with options () did not train. Its last lines:\n"
        "weka.core.UnsupportedAttributeTypeException: weka.classifiers.trees.Id3: Cannot handle "
        "numeric attributes!"
    )
    with pytest.raises(WekaError, match=f"^{re.escape(message)}$"):
        weka_id3().fit([[0.0], [1.0]], ["a", "b"])


@needs_weka
def test_a_new_category_is_missing_which_id3_refuses():
    model = weka_id3().fit([["u"], ["v"]], ["a", "b"])
    message = (
        "Weka's trees.Id3 with options () did not predict. A category not seen in fit is missing. "
        "Its last lines:\nweka.core.NoSupportForMissingValuesException: Id3: no missing values, "
        "please."
    )
    with (
        pytest.warns(UnseenValueWarning),
        pytest.raises(WekaError, match=f"^{re.escape(message)}$"),
    ):
        model.predict([["new"]])


@needs_weka
def test_an_unclassified_row_gets_the_class_frequencies():
    # no training row has x = v and y = q: Id3's leaf there is empty
    X = [["u", "p"], ["u", "q"], ["u", "r"], ["v", "p"], ["v", "r"], ["u", "q"]]
    model = weka_id3().fit(X, ["a", "a", "a", "a", "b", "a"])
    assert_allclose(model.predict_proba([["v", "q"]]), [[5 / 6, 1 / 6]], rtol=1e-12)
    assert model.predict([["v", "q"]]) == ["a"]


@needs_weka
def test_two_classes_are_not_taken_one_against_the_rest():
    X, y = corral()
    plain = WekaClassifier("trees.ADTree", ("-B", "10", "-E", "-3")).fit(X, y)
    assert_array_equal(weka_adtree().fit(X, y).predict_proba(X), plain.predict_proba(X))
