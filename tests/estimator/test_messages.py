"""What users are told when they pass something that looks right and is not."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import latentclass
from latentclass import LatentMixture, LCMClassifier, MDLDiscretizer
from latentclass.baselines import TAN, NaiveBayes
from latentclass.datasets import load_dataset
from latentclass.evaluation import compare
from latentclass.plots import BoundaryDisplay, LatentSpaceDisplay

READ_FILE = (
    "X is the text 'x.csv', not a table. If it names a file, read it first: "
    "X = latentclass.read_table(path)."
)


def says(error, message):
    return pytest.raises(error, match=f"^{re.escape(message)}$")


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(size=20),
            "coat": rng.choice(["short", "long"], 20),
            "churn": rng.choice(["yes", "no"], 20),
        }
    )


@pytest.fixture
def model(table):
    return NaiveBayes().fit(table[["size", "coat"]], table["churn"])


class TestTables:
    def test_a_file_name(self, model):
        with says(TypeError, READ_FILE):
            model.predict("x.csv")
        with says(TypeError, READ_FILE):
            model.predict(Path("x.csv"))
        with says(TypeError, READ_FILE):
            NaiveBayes().fit("x.csv", "churn")
        with says(TypeError, READ_FILE):
            NaiveBayes(unlabelled_weight=0).fit("x.csv")
        with says(TypeError, READ_FILE):
            LatentMixture().fit("x.csv")

    def test_a_lazy_table(self, model, table):
        lazy = pl.from_pandas(table[["size", "coat"]]).lazy()
        words = "X is a lazy table (LazyFrame), but NaiveBayes needs its rows. Collect it first: "
        with says(TypeError, words + "X.collect()."):
            model.predict(lazy)
        with says(TypeError, words + "X.collect()."):
            NaiveBayes().fit(lazy, table["churn"])


class TestLabels:
    def test_no_labels(self, table):
        words = (
            "fit requires y to be passed, but the target y is None. Pass one label per row; None "
            "or NaN marks an unlabelled row."
        )
        with says(ValueError, words):
            NaiveBayes().fit(table)

    @pytest.mark.parametrize("kind", [NaiveBayes, MDLDiscretizer])
    def test_the_name_of_a_column(self, table, kind):
        words = (
            "y is 'churn', the name of a column of X. Pass the column itself, X['churn'], and "
            "leave it out of X."
        )
        with says(ValueError, words):
            kind().fit(table, "churn")
        with says(ValueError, words):
            kind().fit(pl.from_pandas(table), "churn")

    def test_a_list_with_the_name_of_a_column(self, table):
        words = (
            "y is ['churn'], the name of a column of X. Pass the column itself, X['churn'], and "
            "leave it out of X."
        )
        with says(ValueError, words):
            NaiveBayes().fit(table, ["churn"])

    def test_other_text(self, table):
        with says(ValueError, "y is the text 'loss'. Pass one label per row."):
            NaiveBayes().fit(table, "loss")

    @pytest.mark.filterwarnings("ignore:y has a single class")
    def test_one_row_may_have_a_label_like_a_column(self, table):
        fitted = NaiveBayes().fit(table[["size", "coat"]].head(1), ["size"])
        assert fitted.classes_.tolist() == ["size"]


class TestPriors:
    """Priors of each row are tested with all classifiers; here, what is wrong with them."""

    def test_too_few_rows(self, model, table):
        words = (
            "priors has shape (3, 2), but there are 2 classes: ['no', 'yes']. Pass one row per row "
            "of X, which has 20."
        )
        with says(ValueError, words):
            model.predict_proba(table[["size", "coat"]], priors=np.full((3, 2), 0.5))

    def test_a_row_that_does_not_sum_to_one(self, model, table):
        priors = np.full((20, 2), 0.5)
        priors[7] = [0.5, 0.25]
        words = (
            "priors must be probabilities that sum to 1, got [0.5, 0.25] with sum 0.75 in row 7."
        )
        with says(ValueError, words):
            model.predict_proba(table[["size", "coat"]], priors=priors)


def test_a_size_that_another_class_searches_for(table):
    words = (
        "n_latent='auto' is not for LCMClassifier, which has a fixed size. Use LCMClassifierCV, "
        "which searches for the size, or pass a whole number of at least 1."
    )
    with says(ValueError, words):
        LCMClassifier("auto").fit(table[["size"]], table["churn"])


def test_a_folder_that_is_not_there(table, tmp_path):
    path = tmp_path / "nowhere" / "model.bif"
    words = f"{path} cannot be written: there is no folder {path.parent}. Make it first."
    with says(FileNotFoundError, words):
        TAN().fit(table[["size", "coat"]], table["churn"]).to_bif(path)
    with says(FileNotFoundError, words):
        latentclass.save(TAN().fit(table[["size", "coat"]], table["churn"]), path)


def test_a_picture_of_another_model(model, table):
    words = (
        "NaiveBayes has no attribute loadings_, which this picture needs. Pass a fitted "
        "LCMClassifier, LCMClassifierCV, BinaryLCMClassifier or HybridLCMClassifier."
    )
    with says(TypeError, words):
        LatentSpaceDisplay.from_estimator(model, table[["size", "coat"]])


def test_a_picture_of_too_few_columns(model, table):
    words = "A picture of regions needs two continuous columns, but the table has 1: ['size']."
    with says(ValueError, words):
        BoundaryDisplay.from_estimator(model, table[["size", "coat"]])


def test_data_without_a_name(table):
    words = 'A data set of your own needs a name, found a pair. Pass a triple: ("name", X, y).'
    with says(TypeError, words):
        compare([NaiveBayes()], [(table[["size", "coat"]], table["churn"])])


def test_a_file_is_no_data_set():
    words = (
        "'file.csv' looks like a file, but load_dataset takes the name of a data set. Read the "
        "file with latentclass.read_table('file.csv')."
    )
    with says(ValueError, words):
        load_dataset("file.csv")


class TestNames:
    def test_a_name_that_is_elsewhere(self):
        words = (
            "module 'latentclass' has no attribute 'NaiveBayes'. It is elsewhere: from "
            "latentclass.baselines import NaiveBayes"
        )
        with says(AttributeError, words):
            _ = latentclass.NaiveBayes
        with says(ImportError, words):
            from latentclass import NaiveBayes  # noqa: F401

    def test_a_name_that_is_nearly_right(self):
        words = (
            "module 'latentclass' has no attribute 'LCMclassifer'. Did you mean: from latentclass "
            "import LCMClassifier"
        )
        with says(ImportError, words):
            from latentclass import LCMclassifer  # noqa: F401

    def test_any_other_name(self):
        with says(ImportError, "module 'latentclass' has no attribute 'nonsense'"):
            from latentclass import nonsense  # noqa: F401
        assert not hasattr(latentclass, "nonsense")
        assert not hasattr(latentclass, "_NaiveBayes")

    def test_modules_are_still_found(self):
        from latentclass import _files, exceptions

        assert _files.replacing
        assert exceptions.ModelFileError
