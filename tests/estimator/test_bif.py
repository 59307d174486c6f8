"""BIF text, read back by a small reader of its own."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from latentclass import HNBClassifier, LatentTreeClassifier
from latentclass.baselines import TAN, FiniteMixtureNaiveBayes, NaiveBayes
from latentclass.estimator._bif import BifVariable, free_name, naive_bayes_variables, write_bif


def read_bif(text):
    """Variables with their states, and tables by name, from BIF text."""
    states, tables = {}, {}
    for name, labels in re.findall(
        r"variable (\w+) \{\s+type discrete \[ \d+ \] \{ (.*?) \};", text
    ):
        states[name] = labels.split(", ")
    for name, given, body in re.findall(
        r"probability \( (\w+)(?: \| ([\w, ]+))? \) \{(.*?)\n\}", text, re.S
    ):
        parents = given.split(", ") if given else []
        table = np.full([len(states[p]) for p in (*parents, name)], np.nan)
        for config, numbers in re.findall(r"(?:table|\((.*?)\)) (.*?);", body):
            labels = config.split(", ") if config else []
            place = tuple(states[p].index(s) for p, s in zip(parents, labels, strict=True))
            table[place] = [float(number) for number in numbers.split(", ")]
        tables[name] = (tuple(parents), table)
    return states, tables


@pytest.fixture
def network():
    rng = np.random.default_rng(0)
    return [
        BifVariable("rain", ["no", "yes"], (), np.array([0.8, 0.2])),
        BifVariable("hose", ["off", "on", "leak"], ("rain",), rng.dirichlet(np.ones(3), 2)),
        BifVariable("wet", [0, 1], ("rain", "hose"), rng.dirichlet(np.ones(2), (2, 3))),
    ]


def test_what_is_written_can_be_read_back(network):
    states, tables = read_bif(write_bif(network))
    assert states == {"rain": ["no", "yes"], "hose": ["off", "on", "leak"], "wet": ["s0", "s1"]}
    for v in network:
        parents, table = tables[v.name]
        assert parents == v.parents
        assert np.array_equal(table, v.table)


def test_the_file_holds_the_text(network, tmp_path):
    path = tmp_path / "rain.bif"
    text = write_bif(network, path, title="my rain")
    assert path.read_text() == text
    assert text.startswith("network my_rain {\n}\n")


def test_the_original_names_are_kept_in_property_lines():
    odd = BifVariable("wet? {now}", ["a;b", 'say "a"'], (), np.array([0.5, 0.5]))
    text = write_bif([odd])
    assert "variable wet___now_ {" in text
    assert 'property name = "wet? now " ;' in text
    assert "property states = \"a,b, say 'a'\" ;" in text


HOSTILE = [
    *("network", "variable", "type", "discrete", "property", "probability", "table", "default"),
    *("Table", "vtable", "vtable_2", "x y", "x-y", "x_y_2", "", " ", "1", "-1", "a\nb", "a}b"),
    *("\u0434\u0430", "\u043d\u0435\u0442", "\u0434\u0430\u043d", "a//b", "/*", "a|b", "(c)"),
]


@pytest.mark.parametrize("title", ["network", "table", "", "2026"])
def test_hostile_names_are_read_by_another_program(title, tmp_path):
    gum = pytest.importorskip("pyagrum", reason="pyAgrum is not installed")
    rng = np.random.default_rng(0)
    variables = [BifVariable("root", HOSTILE, (), rng.dirichlet(np.ones(len(HOSTILE))))]
    for name in HOSTILE:
        table = rng.dirichlet(np.ones(2), len(HOSTILE))
        variables.append(BifVariable(name, ["type", "no"], ("root",), table))
    write_bif(variables, tmp_path / "hostile.bif", title=title)
    network = gum.loadBN(str(tmp_path / "hostile.bif"))
    assert network.size() == len(variables)
    posterior = gum.LazyPropagation(network)
    for node, variable in enumerate(variables[1:], start=1):
        expected = variables[0].table @ variable.table
        assert_allclose(posterior.posterior(node).toarray(), expected, atol=1e-12)


def test_variables_of_one_state_are_left_out(network, tmp_path):
    """pyAgrum refuses them."""
    rain, hose, wet = network
    always = BifVariable("always", ["on"], ("rain",), np.ones((2, 1)))
    parents = ("rain", "always", "hose")
    wet_too = wet._replace(parents=parents, table=wet.table[:, None])
    assert write_bif([rain, always, hose, wet_too]) == write_bif(network)
    gum = pytest.importorskip("pyagrum", reason="pyAgrum is not installed")
    X, y = pd.DataFrame({"a": ["u", "v"] * 4, "always": ["on"] * 8}), [0, 0, 1, 1] * 2
    models = [NaiveBayes(), FiniteMixtureNaiveBayes(n_components=1), TAN(), HNBClassifier()]
    for model in models:
        model.fit(X, y).to_bif(tmp_path / "model.bif")
        assert gum.loadBN(str(tmp_path / "model.bif")).names() == {"class", "a"}
    LatentTreeClassifier(n_cuts=1).fit(X, y).to_bif(0, tmp_path / "model.bif")
    assert gum.loadBN(str(tmp_path / "model.bif")).names() == {"a"}


def test_names_that_become_equal_are_numbered():
    names = ["a b", "a_b_2", "a-b", "a+b", "a_b"]
    variables = [BifVariable(name, ["x", "y"], (), np.ones(2) / 2) for name in names]
    found = re.findall(r"variable (\w+) ", write_bif(variables))
    assert found == ["a_b", "a_b_2", "a_b_3", "a_b_4", "a_b_5"]


def test_a_free_name_is_taken_by_no_column():
    assert free_name("class", ["a"]) == "class"
    assert free_name("class", ["class", "class_"]) == "class__"


def test_naive_bayes_as_a_network():
    X = [["u", "p"], ["v", "p"], ["u", "q"], ["u", "q"]]
    model = NaiveBayes(alpha=1.0).fit(X, [0, 0, 1, 1])
    root, first, second = naive_bayes_variables(model, class_name="x0")
    assert (root.name, root.states, root.parents) == ("x0_", [0, 1], ())
    assert_allclose(root.table, [0.5, 0.5])
    assert (first.name, first.parents) == ("x0", ("x0_",))
    assert_allclose(first.table, [[2 / 4, 2 / 4], [3 / 4, 1 / 4]])
    assert_allclose(second.table, [[3 / 4, 1 / 4], [1 / 4, 3 / 4]])


def test_continuous_columns_are_refused():
    model = NaiveBayes().fit([[0.5], [1.5], [2.5], [0.0]], [0, 0, 1, 1])
    message = (
        r"^BIF holds only discrete variables, but \['x0'\] are continuous\. Discretise them first, "
        r"for example with MDLDiscretizer\.$"
    )
    with pytest.raises(ValueError, match=message):
        naive_bayes_variables(model)
