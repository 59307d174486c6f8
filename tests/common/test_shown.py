"""Summary, importance and unusual rows, for every generative classifier."""

import json

import numpy as np
from numpy.testing import assert_allclose
from scipy import stats

from latentclass import drift
from latentclass.monitoring import _drift


def test_the_summary_says_what_the_model_is(fitted):
    found = fitted.summary()
    assert found.model == type(fitted).__name__
    assert found.about.endswith(".")
    assert found.n_rows == 80
    assert found.columns == {
        "continuous": ["height", "weight"],
        "binary": ["happy", "town"],
        "nominal": ["band"],
    }
    assert list(found.classes) == fitted.classes_.tolist()
    assert_allclose(list(found.classes.values()), fitted.class_prior_)
    assert found.fit["log-likelihood"] == fitted.log_likelihood_
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert str(found).startswith(f"{found.model}: ")
    assert found._repr_html_().startswith("<p>")


def test_importance_is_the_mean_weight_of_evidence(fitted, table):
    rows = table[0].iloc[:20]
    found = fitted.importance(rows)
    assert_allclose(found.values, np.abs(fitted.explain(rows).weights).mean(axis=0))


def test_rows_of_the_model_are_not_unusual(fitted):
    """p-values of rows drawn from the model are uniform, with holes and without."""
    drawn, _ = fitted.sample(300, random_state=8)
    drawn.loc[::2, ["weight", "town"]] = None
    p = fitted.unusual(drawn, n_draws=1000, random_state=4)
    assert stats.kstest(p, "uniform").pvalue > 0.01
    odd = drawn.iloc[[1, 2]].assign(height=60.0)
    assert_allclose(fitted.unusual(odd, n_draws=99), 0.01)


def test_drift_names_the_column_that_moved(fitted, monkeypatch):
    monkeypatch.setattr(_drift, "N_DRAWN", 500)
    monkeypatch.setattr(_drift, "N_DRAWS", 99)
    drawn, _ = fitted.sample(100, random_state=3)
    drawn = drawn.assign(height=drawn["height"] + 3.0)
    reference, _ = fitted.sample(100, random_state=4)
    assert drift(fitted, drawn).moved() == ["height"]
    assert drift(fitted, drawn, reference=reference).moved() == ["height"]
