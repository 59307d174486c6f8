"""Classifiers of an installed Weka 3.6 as scikit-learn estimators.

The papers compare their models with classifiers of Weka. This module runs those that are not worth
rewriting. It also runs some that this library has too, to check the two programs against each
other. Weka is optional: it is only needed when a model is fitted.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin

from latentclass._types import FloatArray, IndexArray
from latentclass._validation import check_number
from latentclass.data._schema import Schema, Table
from latentclass.estimator._decision import least_loss
from latentclass.estimator._reading import TableReader, Training, store_fitted
from latentclass.exceptions import WekaError, WekaUnavailableError

JAR_VARIABLE = "LATENTCLASS_WEKA"
USUAL_JARS = (
    "/usr/share/java/weka.jar",
    "/usr/share/weka/weka.jar",
    "/usr/share/weka/lib/weka.jar",
)


class Weka(NamedTuple):
    """Paths of java and of Weka."""

    java: str
    jar: str


def find_weka() -> Weka:
    """Find the java program and Weka's jar file.

    The jar is the file named by the environment variable LATENTCLASS_WEKA, or else the one from
    Debian's package.

    Raises
    ------
    WekaUnavailableError
        If java or the jar is missing. The message says how to install it.
    """
    named = os.environ.get(JAR_VARIABLE)
    if named and not Path(named).is_file():
        raise WekaUnavailableError(
            f"{JAR_VARIABLE} is {named!r}, but there is no such file. Set it to the path of "
            "weka.jar (Weka 3.6), or unset it to use the one of Debian's package 'weka'."
        )
    jar = named or next((path for path in USUAL_JARS if Path(path).is_file()), None)
    if jar is None:
        raise WekaUnavailableError(
            f"Weka 3.6 was not found: there is no {USUAL_JARS[0]}. Debian's package 'weka' "
            f"provides it (apt install weka); or set {JAR_VARIABLE} to the path of weka.jar."
        )
    java = shutil.which("java")
    if java is None:
        raise WekaUnavailableError(
            f"Weka is at {jar}, but the program 'java' that runs it was not found. Install a Java "
            "runtime (Debian's package 'weka' brings one: apt install weka), or add it to PATH."
        )
    return Weka(java, jar)


# ------------------------------------------------------------------ ARFF files


class Attribute(NamedTuple):
    """A column of an ARFF file: numeric, or nominal if it has labels."""

    name: str
    labels: tuple[str, ...] | None = None


def readable_names(values: Iterable[Any]) -> tuple[str, ...]:
    """Return a different one-line text in UTF-8 for each value.

    These labels only appear in Weka's printed models, for people to read. Weka's answers are read
    by position.
    """
    names: list[str] = []
    taken: set[str] = set()
    for value in values:
        text = str(value).encode("utf-8", "replace").decode("utf-8")
        # Weka may remove spaces at the ends and repeated spaces
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        name, n_same = text, 1
        while name in taken or not name:
            n_same += 1
            name = f"{text}#{n_same}"
        taken.add(name)
        names.append(name)
    return tuple(names)


def quoted(text: str) -> str:
    r"""Quote a text for an ARFF file.

    Examples
    --------
    >>> print(quoted("it's 5 % of {a, b}"))
    'it\'s 5 % of {a, b}'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def arff_text(
    attributes: Sequence[Attribute],
    columns: Sequence[npt.NDArray[Any]],
    weight: FloatArray | None = None,
) -> str:
    """Return the text of an ARFF file.

    Parameters
    ----------
    attributes : sequence of Attribute
        Names and labels of the columns.
    columns : sequence of arrays, one per attribute
        For a numeric attribute numbers, with NaN where missing. For a nominal attribute the
        positions of the labels, with -1 where missing.
    weight : array of shape (n_rows,), optional
        Weights of the rows. They are written unless all are 1.

    Examples
    --------
    >>> attributes = [Attribute("size"), Attribute("colour", ("red", "blue"))]
    >>> print(arff_text(attributes, [np.array([1.5, np.nan]), np.array([1, -1])]))
    @relation table
    @attribute 'size' numeric
    @attribute 'colour' {'red','blue'}
    @data
    1.5,'blue'
    ?,?
    <BLANKLINE>
    """
    lines = ["@relation table"]
    cells: list[list[str]] = []
    for (name, labels), column in zip(attributes, columns, strict=True):
        if labels is None:
            lines.append(f"@attribute {quoted(name)} numeric")
            cells.append(["?" if x != x else repr(x) for x in column.tolist()])  # x != x: NaN
        else:
            texts = [quoted(label) for label in labels]
            lines.append(f"@attribute {quoted(name)} {{{','.join(texts)}}}")
            texts.append("?")  # code -1 selects the last
            cells.append([texts[code] for code in column.tolist()])
    if weight is not None and np.any(weight != 1):
        cells.append([f"{{{w!r}}}" for w in weight.tolist()])
    lines.append("@data")
    lines.extend(map(",".join, zip(*cells, strict=True)))
    return "\n".join(lines) + "\n"


def arff_table(
    table: Table,
    schema: Schema,
    classes: npt.NDArray[Any],
    codes: IndexArray,
    weight: FloatArray | None = None,
) -> str:
    """Return the text of an ARFF file for a coded table and class codes (-1: unknown)."""
    block = table.block(slice(None))
    names = readable_names([*schema.names, "class"])
    attributes, columns = [], []
    numeric, coded = iter(block.numeric.T), iter(block.codes.T)
    for name, column in zip(names, schema.columns, strict=False):
        continuous = column.kind == "continuous"
        values = next(numeric if continuous else coded)
        if not continuous and not column.observed:  # in ARFF, a nominal column needs labels
            continuous, values = True, np.full(table.n_rows, np.nan)
        labels = None if continuous else readable_names(column.categories)
        attributes.append(Attribute(name, labels))
        columns.append(values)
    attributes.append(Attribute(names[-1], readable_names(classes)))
    return arff_text(attributes, [*columns, codes], weight)


def parse_distributions(printed: str, n_rows: int, n_classes: int) -> tuple[IndexArray, FloatArray]:
    """Read the predicted class (-1: none) and probabilities from Weka's `-p 0 -distribution`.

    Each line ends with the distribution, with a star at the predicted class. The rest of the line
    (row, and the first letters of the actual and predicted label) is not needed.

    Examples
    --------
    >>> parse_distributions('''
    ... inst#     actual  predicted error distribution
    ...     1        1:?      2:yes       0.25,*0.75
    ... ''', n_rows=1, n_classes=2)
    (array([1]), array([[0.25, 0.75]]))
    """
    _, header, body = printed.partition("inst#")
    found = [line.split()[-1].split(",") for line in body.splitlines()[1:] if line.strip()]
    # an unclassified row has a single question mark instead of a distribution
    found = [["?"] * n_classes if row == ["?"] else row for row in found]
    if not header or len(found) != n_rows or any(len(row) != n_classes for row in found):
        raise WekaError(
            f"Weka was asked for {n_rows} distributions over {n_classes} classes, but printed:\n"
            f"{_last_words(printed, '')}"
        )
    star = [next((k for k, p in enumerate(row) if p.startswith("*")), -1) for row in found]
    plain = [[p.lstrip("*").replace("?", "nan") for p in row] for row in found]
    proba = np.nan_to_num(np.array(plain, dtype=np.float64).reshape(n_rows, n_classes))
    chosen = np.where(proba.sum(axis=1) > 0, np.array(star, dtype=np.intp), -1)
    return chosen, proba


# ------------------------------------------------------------------ the estimator


class WekaClassifier(TableReader, ClassifierMixin, BaseEstimator):
    """A classifier of Weka 3.6.

    `fit` writes the table to an ARFF file, lets Weka train on it, and keeps Weka's model.
    `predict` lets this model classify another file. Both start java, which takes about half a
    second. Tables are read as in the library's own classifiers: text, categories and booleans are
    nominal, numbers are numeric, missing cells stay missing, and a category not seen in `fit` is
    read as missing. Unlabelled rows are left out.

    Parameters
    ----------
    scheme : str, default="trees.J48"
        Java class of the classifier; the leading "weka.classifiers." may be left out.
    options : sequence of str, default=()
        Weka's options for this classifier, one string per word.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete. "from_dtype": those of text, category or boolean type; None:
        none; or a list of names or positions, or a mask.
    timeout : float or None, default=600
        Maximum number of seconds for a run of Weka.
    memory : str, default="2g"
        Maximum memory of java.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
    class_prior_ : array of shape (n_classes,)
        Share of each class.
    description_ : str
        What Weka prints about the model, such as a tree.
    model_ : bytes
        Weka's model file. It is a serialised Java object. As with pickle, only load your own.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_features_in_ : int
        Number of columns seen in `fit`.

    Notes
    -----
    Weka 3.6 prints probabilities with three digits, so `predict_proba` is not more precise. It is
    scaled to sum to 1. `predict` uses Weka's own prediction, made before rounding. Some
    classifiers leave rows unclassified, for example Id3 at a leaf without training rows. Weka
    counts such a row as an error; here its probabilities are `class_prior_`. With only one class,
    Weka is not run.

    Examples
    --------
    >>> WekaClassifier("bayes.AODE", ("-F", "30"))
    WekaClassifier(options=('-F', '30'), scheme='bayes.AODE')
    """

    handle_unknown = "missing"
    class_prior_: FloatArray
    description_: str
    model_: bytes

    def __init__(
        self,
        scheme: str = "trees.J48",
        options: Sequence[str] = (),
        *,
        categorical_features: Any = "from_dtype",
        timeout: float | None = 600,
        memory: str = "2g",
    ) -> None:
        self.scheme = scheme
        self.options = options
        self.categorical_features = categorical_features
        self.timeout = timeout
        self.memory = memory

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Let Weka train on the labelled rows, with `sample_weight` as weights of the rows."""
        self._check_parameters()
        everything = self._read_training(X, y, sample_weight)
        training = everything.take(everything.labelled)
        counts = np.bincount(training.y, training.weight, minlength=training.n_classes)
        # Weka's classifiers refuse a single class, and there is nothing to learn
        model, description = b"", "One class only"
        if training.n_classes > 1:
            model, description = self._train(training)
        store_fitted(
            self,
            {
                **everything.attributes(),
                "class_prior_": counts / counts.sum(),
                "model_": model,
                "description_": description,
            },
        )
        return self

    def _train(self, training: Training) -> tuple[bytes, str]:
        """Return Weka's model file and what Weka prints about the model."""
        text = arff_table(
            training.table, training.schema, training.classes, training.y, training.weight
        )
        with tempfile.TemporaryDirectory(prefix="latentclass-weka-") as folder:
            rows, model = Path(folder, "train.arff"), Path(folder, "weka.model")
            rows.write_text(text, encoding="utf-8")
            asked = ["-t", str(rows), "-d", str(model), "-no-cv", "-v", *self.options]
            printed, complaint = self._run(asked)
            # Weka's exit code is 0 even if it fails, so look for the file
            if not model.is_file():
                self._fail("train", printed, complaint)
            return model.read_bytes(), printed.strip()

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class to three digits, in the order of `classes_`."""
        chosen, proba = self._distributions(X)
        proba[chosen < 0] = self.class_prior_
        return np.asarray(proba / proba.sum(axis=1, keepdims=True))

    def predict(self, X: Any, loss: Any = None) -> npt.NDArray[Any]:
        """Class that Weka predicts; with `loss` (as in `NaiveBayes`) that of least loss."""
        if loss is not None:
            return np.asarray(self.classes_[least_loss(self.predict_proba(X), loss, self.classes_)])
        chosen, _ = self._distributions(X)
        return np.asarray(self.classes_[np.where(chosen < 0, self.class_prior_.argmax(), chosen)])

    def _distributions(self, X: Any) -> tuple[IndexArray, FloatArray]:
        table = self._read(X)
        if not self.model_:  # one class
            return np.zeros(table.n_rows, dtype=np.intp), np.ones((table.n_rows, 1))
        nothing = np.full(table.n_rows, -1)
        text = arff_table(table, self.schema_, self.classes_, nothing)
        with tempfile.TemporaryDirectory(prefix="latentclass-weka-") as folder:
            rows, model = Path(folder, "test.arff"), Path(folder, "weka.model")
            rows.write_text(text, encoding="utf-8")
            model.write_bytes(self.model_)
            asked = ["-l", str(model), "-T", str(rows), "-p", "0", "-distribution"]
            printed, complaint = self._run(asked)
        if "inst#" not in printed:
            self._fail("predict", printed, complaint, "A category not seen in fit is missing.")
        return parse_distributions(printed, table.n_rows, len(self.classes_))

    def _check_parameters(self) -> None:
        if not isinstance(self.scheme, str) or not re.fullmatch(r"\w+(\.\w+)*", self.scheme):
            raise ValueError(
                f"scheme={self.scheme!r} must be the name of a Java class, such as 'trees.J48'."
            )
        if isinstance(self.options, str) or not all(isinstance(o, str) for o in self.options):
            raise ValueError(
                f"options={self.options!r} must be a sequence of strings, one per word, such as "
                "('-C', '0.25')."
            )
        if not isinstance(self.memory, str) or not re.fullmatch(r"\d+[kKmMgG]", self.memory):
            raise ValueError(f"memory={self.memory!r} must be text such as '512m' or '2g'.")
        check_number("timeout", self.timeout, low=0, strict=True, none=True)

    def _run(self, arguments: Sequence[str]) -> tuple[str, str]:
        """Run Weka; return its standard output and standard error."""
        java, jar = find_weka()
        name = self.scheme
        name = name if name.startswith("weka.") else f"weka.classifiers.{name}"
        # encoding and decimal point must not depend on the language of the user
        command = [java, f"-Xmx{self.memory}", "-Djava.awt.headless=true", "-Dfile.encoding=UTF-8"]
        command += ["-Dstdout.encoding=UTF-8", "-Dstderr.encoding=UTF-8"]
        command += ["-Duser.language=en", "-Duser.country=US", "-cp", jar, name, *arguments]
        try:
            run = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.timeout,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise WekaError(
                f"Weka's {self.scheme} was stopped after timeout={self.timeout:g} seconds. Raise "
                "timeout, or use fewer rows or columns."
            ) from None
        return run.stdout, run.stderr

    def _fail(self, verb: str, printed: str, complaint: str, note: str = "") -> NoReturn:
        raise WekaError(
            f"Weka's {self.scheme} with options {tuple(self.options)} did not {verb}. "
            f"{note}{' ' if note else ''}Its last lines:\n{_last_words(printed, complaint)}"
        )


def _last_words(printed: str, complaint: str, n_lines: int = 8) -> str:
    """Return the last lines that Weka printed, without its help text and Java's stack trace."""
    said = (complaint if complaint.strip() else printed).split("General options:")[0]
    lines = [line.rstrip() for line in said.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("\tat ")]
    return "\n".join(lines[-n_lines:]) or "(none)"


# ------------------------------------------------------------------ the papers' settings


def _one_against_rest(scheme: str, options: Sequence[str]) -> WekaClassifier:
    """Use a two-class scheme for any number of classes. With two, Weka runs it unchanged."""
    wrapped = ("-M", "0", "-W", f"weka.classifiers.{scheme}", "--", *options)
    return WekaClassifier("meta.MultiClassClassifier", wrapped)


def weka_winnow() -> WekaClassifier:
    """Unbalanced Winnow as in the binary LCM paper: α = 2, β = 0.5, initial weights 2, one pass.

    Columns must be discrete. With more than two classes, each class is learned against the rest.
    The paper does not say how it did this for Winnow.

    Examples
    --------
    >>> weka_winnow().scheme
    'meta.MultiClassClassifier'
    """
    return _one_against_rest(
        "functions.Winnow", ("-I", "1", "-A", "2.0", "-B", "0.5", "-H", "-1.0", "-W", "2.0")
    )


def weka_adtree() -> WekaClassifier:
    """Alternating decision tree as in the binary LCM paper: 10 rounds of boosting, all paths tried.

    With more than two classes, each class is learned against the rest, as in the paper.

    Examples
    --------
    >>> weka_adtree().options[-4:]
    ('-B', '10', '-E', '-3')
    """
    return _one_against_rest("trees.ADTree", ("-B", "10", "-E", "-3"))


def weka_id3() -> WekaClassifier:
    """ID3 as in the binary LCM paper. Columns must be discrete, without missing cells.

    A category not seen in `fit` is read as missing, so Weka's ID3 refuses it in prediction.

    Examples
    --------
    >>> weka_id3()
    WekaClassifier(scheme='trees.Id3')
    """
    return WekaClassifier("trees.Id3")


def weka_j48() -> WekaClassifier:
    """C4.5 as in the LTC paper: the defaults of Weka's J48, confidence 0.25 and 2 rows per leaf.

    Examples
    --------
    >>> weka_j48()
    WekaClassifier(options=('-C', '0.25', '-M', '2'))
    """
    return WekaClassifier("trees.J48", ("-C", "0.25", "-M", "2"))


def weka_rbf_network() -> WekaClassifier:
    """Radial basis functions as in the binary LCM paper: 2 clusters per class, ridge 1e-8.

    Examples
    --------
    >>> weka_rbf_network().scheme
    'functions.RBFNetwork'
    """
    return WekaClassifier(
        "functions.RBFNetwork",
        ("-B", "2", "-S", "1", "-R", "1.0E-8", "-M", "-1", "-W", "0.1"),
    )


def weka_aode(frequency_limit: int = 1) -> WekaClassifier:
    """AODE. The frequency limit is 1 in the binary LCM paper and 30 in the LTC paper.

    Columns must be discrete. Weka uses Laplace smoothing.

    Examples
    --------
    >>> weka_aode(30)
    WekaClassifier(options=('-F', '30'), scheme='bayes.AODE')
    """
    check_number("frequency_limit", frequency_limit, low=1, whole=True)
    return WekaClassifier("bayes.AODE", ("-F", str(frequency_limit)))


def weka_hidden_naive_bayes() -> WekaClassifier:
    """Hidden naive Bayes: "HNB" in the binary LCM paper (not hierarchical naive Bayes).

    Columns must be discrete, without missing cells.

    Examples
    --------
    >>> weka_hidden_naive_bayes()
    WekaClassifier(scheme='bayes.HNB')
    """
    return WekaClassifier("bayes.HNB")


def _bayes_net(search: str, search_options: Sequence[str], alpha: float) -> WekaClassifier:
    check_number("alpha", alpha, low=0)
    package = "weka.classifiers.bayes.net"
    chosen = ("-D", "-Q", f"{package}.search.local.{search}", "--", *search_options)
    estimator = ("-E", f"{package}.estimate.SimpleEstimator", "--", "-A", repr(float(alpha)))
    return WekaClassifier("bayes.BayesNet", (*chosen, *estimator))


def weka_tan(alpha: float = 0.5) -> WekaClassifier:
    """Tree-augmented naive Bayes. `alpha` is 0.5 in the binary LCM paper and 1 in the LTC paper.

    Weka itself cuts continuous columns into intervals and fills missing cells.

    Examples
    --------
    >>> weka_tan(alpha=1).options[-2:]
    ('-A', '1.0')
    """
    return _bayes_net("TAN", ("-S", "BAYES"), alpha)


def weka_ban(alpha: float = 1.0) -> WekaClassifier:
    """Bayesian network augmented naive Bayes: "BAN" in the LTC paper.

    Hill climbing by AIC starts from naive Bayes. Arcs are added, deleted and reversed, without a
    limit on the number of parents. At the end, attributes outside the Markov blanket of the class
    are connected to it. Weka may also reverse arcs of the class, and rounding decides ties. Weka
    itself cuts continuous columns into intervals and fills missing cells.

    Examples
    --------
    >>> weka_ban().options[4:10]
    ('-R', '-P', '100000', '-mbc', '-S', 'AIC')
    """
    return _bayes_net("HillClimber", ("-R", "-P", "100000", "-mbc", "-S", "AIC"), alpha)


def weka_k2(max_parents: int = 1, alpha: float = 0.5) -> WekaClassifier:
    """Bayesian network by K2, starting from naive Bayes: "BayesNet" in the binary LCM paper.

    `max_parents` includes the class. Weka's default is 1, which keeps the structure of naive
    Bayes. The paper used Weka's defaults, and its two rows hardly differ.

    Examples
    --------
    >>> weka_k2(max_parents=2).options[4:8]
    ('-P', '2', '-S', 'BAYES')
    """
    check_number("max_parents", max_parents, low=1, whole=True)
    return _bayes_net("K2", ("-P", str(max_parents), "-S", "BAYES"), alpha)
