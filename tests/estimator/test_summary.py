"""What a fitted model is, in text, HTML and as a dict."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from latentclass import AutoLatentClassifier, LatentMixture, LCMClassifier, Parts, load, save
from latentclass.estimator._summary import ModelSummary
from plain import NaiveBayes


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"], dtype=object)[np.arange(40) % 2]
    X = pd.DataFrame(
        {
            "size": rng.normal(np.arange(40) % 2),
            "town": np.array(["Oslo", "Rome"])[rng.integers(0, 2, 40)],
            "band": np.array(["I", "II", "III"])[rng.integers(0, 3, 40)],
        }
    )
    return X, y


def test_the_text_has_a_line_for_each_fact(table):
    X, y = table
    y[:4] = None
    model = NaiveBayes(unlabelled_weight=0.5, random_state=0).fit(X, y)
    found = model.summary()
    assert str(found).splitlines() == [
        "NaiveBayes: The columns are independent given the class.",
        "  rows     40, 4 of them without a label",
        "  columns  1 continuous (size), 1 binary (town), 1 nominal (band)",
        "  classes  "
        + ", ".join(
            f"{c} ({100 * p:.1f} %)" for c, p in zip("ab", model.class_prior_, strict=True)
        ),
        f"  fit      log-likelihood: {model.log_likelihood_:,.2f}; iterations: {model.n_iter_}; "
        "converged: yes; temperature: 1.00; weight of unlabelled rows: 0.50",
    ]


def test_the_dict_is_json(table):
    model = LCMClassifier(1, n_init=1, calibrate=False, random_state=0).fit(*table)
    found = model.summary().to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["n_rows"] == 40
    assert found["columns"] == {"continuous": ["size"], "binary": ["town"], "nominal": ["band"]}
    assert found["structure"] == {"latent variables": 1, "components": 1}
    assert list(found["classes"]) == ["a", "b"]
    assert found["fit"]["converged"] is True


def test_html_is_escaped():
    found = ModelSummary(
        "M", "It is <so>.", 3, 0, {"continuous": ["<x>"]}, {"<a>": 1.0}, {}, {}, "<why>"
    )
    html = found._repr_html_()
    assert "<p>It is &lt;so&gt;.</p>" in html
    assert "<td>classes</td><td>&lt;a&gt; (100.0 %)</td>" in html
    assert "<td>1 continuous (&lt;x&gt;)</td>" in html
    assert "<td>why</td><td>&lt;why&gt;</td>" in html


def test_many_names_are_counted():
    names, shares = [f"x{j}" for j in range(9)], {f"c{k}": 0.125 for k in range(8)}
    found = ModelSummary("M", "", None, 0, {"continuous": names}, shares, {}, {"rows": 1234567.0})
    text = str(found)
    assert "9 continuous (x0, x1, x2, x3, x4, x5, and 3 more)" in text
    assert "c5 (12.5 %), and 2 more" in text
    assert "  rows     not known\n" in text
    assert text.endswith("  fit      rows: 1.23457e+06")


def test_auto_tells_its_members_and_why(table):
    model = AutoLatentClassifier(None, families=["NaiveBayes", "TAN"], cv=2, random_state=0)
    found = model.fit(*table).summary()
    assert found.why == model.why_
    weights = {f"weight of {name}": weight for name, weight in model.weights_.items()}
    assert found.structure == weights
    assert found.fit["candidates compared"] == 2
    assert found.fit["all candidates finished"] is True
    assert "iterations" not in found.fit
    assert model.best_estimator_.summary().n_rows == 40


def test_a_mixture_tells_its_components(table):
    X, _ = table
    model = LatentMixture(2, random_state=0).fit(X)
    found = model.summary()
    assert found.classes == dict(enumerate(model.weights_.tolist()))
    assert found.structure["components"] == 2
    assert found.n_rows == 40
    assert "  components  0 (" in str(found)


def test_rows_are_counted_in_parts_chunks_and_weights(table, tmp_path):
    X, y = table
    X, y = X[["size"]].to_numpy(), y.astype(str)
    halves = [(X[:25], y[:25]), (X[25:], y[25:])]
    for sample_rows in (20, 1000):  # fewer rows than there are, and all of them
        parts = Parts(halves, sample_rows=sample_rows)
        assert NaiveBayes().fit(parts).summary().n_rows == 40
        bare = Parts([X[:25], X[25:]], sample_rows=sample_rows)
        assert LatentMixture(random_state=0).fit(bare).summary().n_rows == 40
    assert LatentMixture(2, random_state=0).fit(np.r_[X, X]).summary().n_rows == 80
    assert NaiveBayes().fit(X, y, sample_weight=np.arange(40) % 4 > 0).summary().n_rows == 30
    model = NaiveBayes(prior=1.0, alpha=1.0).partial_fit(X[:10], y[:10])
    assert model.partial_fit(X[10:], y[10:]).summary().n_rows == 40
    assert model.fit(X[:10], y[:10]).partial_fit(X[:20], y[:20]).summary().n_rows == 20
    save(model, tmp_path / "model.lc")
    assert load(tmp_path / "model.lc").summary() == model.summary()


def test_a_model_that_is_not_fitted_is_refused():
    for model in (NaiveBayes(), LatentMixture()):
        with pytest.raises(NotFittedError):
            model.summary()
        with pytest.raises(NotFittedError):
            model.unusual([[1.0]])
