"""BIF text, read back by a small reader of its own."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.baselines import NaiveBayes
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
