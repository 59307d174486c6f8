"""Whole and non-negative columns: how they are learned, kept, and drawn."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import latentclass
from latentclass import LatentMixture, Parts
from latentclass.baselines import NaiveBayes
from latentclass.data import learn_schema
from latentclass.data._number_facts import FIRST_ROWS, learn_number_facts

NAN = np.nan


def facts(fitted):
    return {c.name: (c.whole, c.non_negative) for c in fitted.schema_.columns}


@pytest.fixture
def counts():
    """Few children, so that a Gaussian draws negative numbers; and the other kinds of columns."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    return pd.DataFrame(
        {
            "children": rng.poisson(0.5 + y).astype(float),
            "income": rng.exponential(1.0 + y),
            "balance": np.round(rng.normal(0, 100, 300)),
            "change": rng.normal(0, 1, 300),
            "town": rng.choice(["A", "B"], 300),
        }
    ), y


EXPECTED = {
    "children": (True, True),
    "income": (False, True),
    "balance": (True, False),
    "change": (False, False),
    "town": (False, False),
}


class TestLearning:
    def test_they_are_learned_from_all_values(self, counts):
        assert facts(NaiveBayes().fit(*counts)) == EXPECTED

    def test_missing_cells_do_not_matter(self, counts):
        X, y = counts
        X = X.mask(np.random.default_rng(1).random(X.shape) < 0.2)
        assert facts(NaiveBayes().fit(X, y)) == EXPECTED

    def test_a_late_row_counts(self):
        values = np.arange(3.0 * FIRST_ROWS)
        values[-1] = -0.5
        schema = learn_number_facts(*learn_schema(values[:, None]))
        assert not schema.columns[0].whole
        assert not schema.columns[0].non_negative

    def test_a_column_without_values_has_none(self):
        schema = learn_number_facts(*learn_schema([[NAN], [NAN]]))
        assert not schema.columns[0].whole

    def test_rows_of_weight_zero_do_not_count(self, counts):
        X, y = counts
        X.loc[5, ["children", "income"]] = [0.5, -1.0]
        weight = np.ones(len(y))
        weight[5] = 0
        assert facts(NaiveBayes().fit(X, y, sample_weight=weight)) == EXPECTED

    def test_sparse_tables(self):
        X = sp.csr_array([[0, 2.5, -1.0], [3.0, 0, 0], [NAN, 0, 4.0]])
        schema = learn_number_facts(*learn_schema(X))
        found = [(column.whole, column.non_negative) for column in schema.columns]
        assert found == [(True, True), (False, True), (True, False)]

    def test_parts_agree_with_the_table(self, counts):
        X, y = counts
        both = [(X[:150], y[:150]), (X[150:], y[150:])]
        assert facts(NaiveBayes().fit(Parts(both))) == EXPECTED
        X.loc[200, "children"] = 0.5
        X.loc[3, "income"] = -0.5
        both = [(X[:150], y[:150]), (X[150:], y[150:])]
        found = facts(NaiveBayes().fit(Parts(both)))
        assert found == {**EXPECTED, "children": (False, True), "income": (False, False)}

    def test_more_rows_may_take_them_away(self, counts):
        X, y = counts
        numbers = X[["children", "income"]]
        model = NaiveBayes().partial_fit(numbers, y)
        assert facts(model) == {name: EXPECTED[name] for name in numbers}
        more = numbers.assign(children=0.5)
        assert facts(model.partial_fit(more, y))["children"] == (False, True)


class TestDrawing:
    @pytest.mark.parametrize("convert", [lambda X: X, pl.from_pandas, pa.Table.from_pandas])
    def test_drawn_numbers_are_like_those_seen(self, counts, convert):
        X, y = counts
        drawn, _ = NaiveBayes(random_state=0).fit(convert(X), y).sample(500)
        if not isinstance(drawn, pd.DataFrame):
            drawn = drawn.to_pandas()
        assert drawn["children"].dtype == np.int64
        assert drawn["balance"].dtype == np.int64
        assert drawn["children"].min() == 0
        assert drawn["income"].min() == 0
        assert drawn["balance"].min() < 0
        assert (drawn["change"] % 1 != 0).all()
        assert set(drawn["town"]) == {"A", "B"}

    def test_nothing_else_changes(self, counts):
        """The same rows as before, rounded and cut off at 0."""
        X, y = counts
        model = NaiveBayes(random_state=0).fit(X[["children", "change"]], y)
        drawn, _ = model.sample(200)
        plain = NaiveBayes(random_state=0).fit(X[["children", "change"]], y)
        columns = plain.schema_.columns
        object.__setattr__(columns[0], "whole", False)
        object.__setattr__(columns[0], "non_negative", False)
        rough, _ = plain.sample(200)
        assert (rough["children"] < 0).any()
        expected = np.maximum(np.rint(rough["children"]), 0)
        assert drawn["children"].tolist() == expected.tolist()
        assert drawn["change"].tolist() == rough["change"].tolist()

    def test_arrays_hold_floats(self, counts):
        X, y = counts
        drawn, _ = (
            NaiveBayes(random_state=0).fit(X[["children", "income"]].to_numpy(), y).sample(99)
        )
        assert drawn.dtype == np.float64
        assert drawn.min() == 0
        assert (drawn[:, 0] % 1 == 0).all()

    def test_numbers_too_large_to_be_exact_stay_floats(self):
        X = pd.DataFrame({"a": [0.0, 1e20, 2e20, 3e20]})
        drawn, _ = NaiveBayes(random_state=0).fit(X, [0, 0, 1, 1]).sample(5)
        assert drawn["a"].dtype == np.float64

    def test_a_mixture_too(self, counts):
        X, _ = counts
        drawn, _ = LatentMixture(2, random_state=0).fit(X).sample(200)
        assert drawn["children"].dtype == np.int64
        assert drawn["children"].min() == 0

    def test_complete_gives_the_mean_itself(self, counts):
        X, y = counts
        model = NaiveBayes().fit(X[["children"]], y)
        filled = model.complete(pd.DataFrame({"children": [NAN]}))
        assert filled["children"][0] == pytest.approx(X["children"].mean(), rel=0.01)

    def test_model_files_keep_them(self, counts, tmp_path):
        X, y = counts
        model = NaiveBayes(random_state=0).fit(X, y)
        latentclass.save(model, tmp_path / "model.lc")
        again = latentclass.load(tmp_path / "model.lc")
        assert facts(again) == EXPECTED
        pd.testing.assert_frame_equal(again.sample(50)[0], model.sample(50)[0])
