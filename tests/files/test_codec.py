"""Values as trees and arrays: every form, and every refusal of a form."""

from typing import Any, TypeVar

import numpy as np
import pytest
from same import differences
from typing_extensions import TypeAliasType

from latentclass.data._schema import Column, Schema
from latentclass.discrete._bins import Bins
from latentclass.files._build import build_object
from latentclass.files._checks import CHECKS
from latentclass.files._classes import ESTIMATORS, VALUES, class_of, name_of
from latentclass.files._codec import MOST_DEPTH, Decoder, Encoder, Unstorable, stored_fields
from latentclass.files._container import TYPES
from latentclass.files._types import field_types, fits


def refuse_foreign(name, data):
    raise AssertionError(name)


def there_and_back(value):
    encoder = Encoder()
    tree = encoder.encode(value)
    decoder = Decoder(encoder.arrays, build_object, refuse_foreign)
    again = decoder.decode(tree)
    decoder.finish()
    return again


VALUES_TO_STORE = {
    "none": None,
    "numbers": [0, -1, 2**62, -(2**63), 10**40, 0.1, -0.0, 5e-324, 1.7976931348623157e308],
    "not finite": [float("inf"), float("-inf"), float("nan")],
    "text": ["", "é漢", "\x00", "\ud800", 'a"b', "{[,"],
    "many texts": [f"ü{i}" for i in range(20)],
    "many odd texts": ["\ud800", "", "é"] * 5,
    "many floats": [float("nan"), *np.linspace(0, 1, 9).tolist()],
    "many ints": tuple(range(-5, 5)),
    "many large ints": list(range(2**63 - 4, 2**63 + 4)),
    "mixed": [1, 1.0, True, "1", None] * 4,
    "tuples": ((), (1,), ((2,), [3])),
    "dicts": {"a": {1: "x", (2, "y"): None, None: True, 0.5: []}, "": {}},
    "range": range(3, -8, -2),
    "scalars": [np.float64(0.1), np.float32(0.1), np.int64(-3), np.int32(7), np.bool_(True)],
    "text scalar": np.str_("a"),
    "arrays": [
        np.arange(6, dtype=kind).reshape(2, 3)
        for kind in ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1")
    ],
    "largest": np.array([2**64 - 1, 0], dtype=np.uint64),
    "flags": np.array([[True], [False]]),
    "empty": [np.empty((0, 3)), np.empty(0, dtype=np.int32), np.empty((2, 0), dtype=bool)],
    "one number": np.array(3.5),
    "by columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "strided": np.arange(20.0)[::3],
    "bits": np.array([np.nan, -0.0, np.inf, 5e-324]),
    "words": np.array([["a", "long"], ["", "ü"]]),
    "no words": np.empty((0,), dtype="<U1"),
    "objects": np.array([None, "a", 1.5, (1,)], dtype=object),
    "ragged": [np.arange(float(n)) for n in range(12)],
    "ragged codes": tuple(np.arange(n, dtype=np.int32) for n in range(12)),
    "ragged numbers": tuple(np.arange(n) for n in range(12)),
    "ragged in two ways": [np.zeros(n, dtype="f8" if n % 2 else "f4") for n in range(12)],
    "columns": tuple(Column(f"c{j}", "continuous") for j in range(10)),
    "other columns": tuple(Column(f"c{j}", "nominal", ("a", "b", str(j))) for j in range(10)),
    "schema": Schema((Column("a", "binary", (0, 1)),), "numpy", (5,)),
}


@pytest.mark.parametrize("name", VALUES_TO_STORE)
def test_values_come_back_to_the_bit(name):
    value = VALUES_TO_STORE[name]
    again = there_and_back(value)
    assert not differences(value, again)
    if name == "by columns":
        assert again.flags.f_contiguous


def test_one_value_in_two_places_stays_one():
    column = Column("a", "continuous")
    many = tuple(Column(f"c{j}", "continuous") for j in range(9))
    again = there_and_back([column, many, column, many[3], list(many)])
    assert again[0] is again[2]
    assert again[1][3] is again[3]
    assert again[4][8] is again[1][8]


def test_arrays_can_be_written_to_and_are_their_own():
    first, second = there_and_back([np.zeros(3), np.ones(3)])
    first[:] = 5
    assert second.tolist() == [1, 1, 1]
    assert first.base is None or first.base.nbytes == first.nbytes


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "a model file cannot hold a object of builtins."),
        ({1, 2}, "a model file cannot hold a set of builtins."),
        (len, "a model file cannot hold a builtin_function_or_method of builtins."),
        (1j, "a model file cannot hold a complex of builtins."),
        (np.array([1j]), "a model file cannot hold an array of type complex128."),
        (np.array(["2020"], dtype="M8[D]"), "a model file cannot hold an array of type datetime64"),
        (np.array([1.0], dtype=">f8"), "a model file cannot hold an array of type >f8."),
        (np.float16(1), "a model file cannot hold a float16 of numpy."),
        (
            Schema((Column("a", "nominal", (1j,)),), "numpy"),
            "Schema.columns: Column.categories: a model file cannot hold a complex of builtins.",
        ),
    ],
)
def test_what_cannot_be_stored(value, message):
    with pytest.raises(Unstorable) as caught:
        Encoder().encode(value)
    assert str(caught.value).startswith(message)


def nested(depth):
    tree = 1
    for _ in range(depth):
        tree = [tree]
    return tree


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (nested(MOST_DEPTH + 2), "its values are nested too deeply"),
        ({}, "a value is not of a known form"),
        ({"tuple": [], "list": []}, "a value is not of a known form"),
        ({"tuple": 1}, "a tuple has no list of items"),
        ({"eval": "1"}, "it names 'eval', which this version does not know"),
        ({"Evil": {}}, "it names 'Evil', which this version does not know"),
        ({"os.system": {}}, "it names 'os.system', which this version does not know"),
        ({"float": "1"}, "a number is not of a known form"),
        ({"int": "9" * 200}, "a whole number is not of a known form"),
        ({"numpy": ["object", 1]}, "a number of numpy is not of a known form"),
        ({"map": [[1, 2], [1, 3]]}, "a key occurs twice"),
        ({"range": [0, 1.5, 1]}, "a range is not of a known form"),
        ({"array": ["float64"]}, "an array is not of a known form"),
        ({"array": ["float64", [1], "A"]}, "an array is not of a known form"),
        ({"array": ["object", [1]]}, "an array has the unknown type 'object'"),
        ({"array": ["float64", [-1]]}, "an array has an impossible shape"),
        ({"array": ["float64", [2**50, 0]]}, "an array has an impossible shape"),
        ({"array": ["float64", [1.0]]}, "an array has an impossible shape"),
        ({"array": ["float64", [9]]}, "it has fewer numbers of type F64 than its arrays need"),
        ({"array": ["float32", [1]]}, "it has fewer numbers of type F32 than its arrays need"),
        ({"array": ["bool", [2]]}, "a boolean array holds other numbers"),
        ({"array": ["int8", [1]]}, "an array of type int8 holds numbers outside its range"),
        ({"text": [[2], ["a"]]}, "an array of text has an impossible size"),
        ({"text": [[1], [5]]}, "an array of text holds something else"),
        ({"objects": [[3], [1]]}, "an array of objects has an impossible size"),
        ({"floats": -1}, "an array has an impossible shape"),
        ({"texts": 1}, "a text has an impossible length"),
        ({"arrays": ["float64", 1]}, "an array has an impossible length"),
        ({"arrays": ["x", 1]}, "an array has the unknown type 'x'"),
        ({"same": 0}, "a value refers to one that is not there"),
        ({"each": ["Column", 2, {}]}, "a list of values has no fields"),
        ({"each": ["Column", 2, {"name": ["a"]}]}, "a list of values lacks some of their fields"),
        ({"each": ["NaiveBayes", 1, {}]}, "a list of values is not of a known form"),
        ({"each": ["Column", 10**9, {}]}, "a list of values is not of a known form"),
        ({"random_state": {"tuple": []}}, "a random state is not of a known form"),
        ({"foreign": [1, 1]}, "a part of another library has no name"),
        ({"NaiveBayes": {"fitted": {}}}, "an estimator must have parameters and fitted"),
        ({"Column": {"name": "a"}}, "Column does not have its fields: 'kind'"),
        (
            {"Column": {"name": "a", "kind": "continuous", "more": 1}},
            "Column does not have its fields: 'more'",
        ),
        ({"Column": {"name": "a", "kind": "odd"}}, "Column.kind is of a wrong type"),
        (
            {"NaiveBayes": {"parameters": {"C": 1}, "fitted": {}}},
            "NaiveBayes has the unknown parameter 'C'",
        ),
        (
            {"NaiveBayes": {"parameters": {}, "fitted": {"predict": 1}}},
            "NaiveBayes has the unknown attribute 'predict'",
        ),
        (
            {"NaiveBayes": {"parameters": {}, "fitted": {"means_": 1}}},
            "NaiveBayes has the unknown attribute 'means_'",
        ),
        (
            {"NaiveBayes": {"parameters": {"n_jobs": 10**6}, "fitted": {}}},
            "n_jobs is too large",
        ),
    ],
)
def test_trees_that_are_refused(tree, message):
    arrays = {
        "F64": np.arange(2.0),
        "I64": np.array([50]),
        "I32": np.array([1000], dtype=np.int32),
        "U8": np.array([7, 7], dtype=np.uint8),
    }
    decoder = Decoder(arrays, build_object, refuse_foreign)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        decoder.decode(tree)
    assert str(caught.value).startswith(message)


def test_numbers_that_are_left_over_are_refused():
    decoder = Decoder({"F64": np.zeros(3)}, build_object, refuse_foreign)
    decoder.decode({"array": ["float64", [2]]})
    with pytest.raises(ValueError, match="it has more numbers of type F64 than its values use"):
        decoder.finish()


# ------------------------------------------------------------------- the closed table


def test_every_class_of_the_table_is_found_by_its_name():
    for name in (*ESTIMATORS, *VALUES):
        assert name_of(class_of(name)) == name


def test_every_field_of_every_value_has_a_type():
    for name in VALUES:
        hints = field_types(class_of(name))
        assert set(stored_fields(class_of(name))) <= set(hints)


@pytest.mark.parametrize(
    ("marks", "fault"),
    [
        ([(), (1,), ()], "a companion is among the columns"),
        ([(), (), (2,)], "'c' marks holes of a column that is not there"),
        ([(), (), (-1,)], "'c' marks holes of a column that is not there"),
    ],
)
def test_companions_mark_columns_of_the_table(marks, fault):
    columns = [
        Column(name, "binary", ("no", "yes"), marks=m) for name, m in zip("abc", marks, strict=True)
    ]
    with pytest.raises(ValueError, match=fault):
        CHECKS["Schema"](Schema(tuple(columns), "pandas"))


def test_checks_are_of_known_classes():
    assert set(CHECKS) <= {*ESTIMATORS, *VALUES}


def test_types_of_numbers_are_those_of_safetensors():
    assert [np.dtype(kind).itemsize for kind in TYPES.values()] == [8, 8, 4, 4, 1]


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, float, True),
        (True, float, False),
        (True, int, False),
        (np.int64(1), int, True),
        (1.0, int, False),
        (None, float | None, True),
        ((1, 2), tuple[int, ...], True),
        ((1, "a"), tuple[int, str], True),
        ((1,), tuple[int, str], False),
        ([1], tuple[int, ...], False),
        ({"a": 1.5}, dict[str, float], True),
        ({1: 1.5}, dict[str, float], False),
        (np.zeros(1), field_types(Bins)["cuts"], True),
        (np.zeros(1, dtype=int), field_types(Bins)["cuts"], False),
    ],
)
def test_types_are_compared(value, hint, expected):
    assert fits(value, hint) is expected


def test_an_alias_with_a_name_is_what_it_stands_for():
    # numpy's NDArray is one from version 2.5 on
    numbers = TypeVar("numbers", bound=np.generic)
    meant = np.ndarray[Any, np.dtype[numbers]]
    alias = TypeAliasType("alias", meant, type_params=(numbers,))[np.float64]
    assert fits(np.zeros(1), alias)
    assert not fits(np.zeros(1, dtype=int), alias)


# ---------------------------------------------------------------- one fault at a time


def bins(**changed):
    fields = {
        "cuts": np.array([1.0, 2.0]),
        "edge": np.array([1.0, 2.0, 2.0]),
        "scale": np.ones(3),
        "mean": np.zeros(3),
        "mode": np.zeros(3),
        "peak": np.zeros(3),
    }
    return fields | changed


TREE = {
    "parents": (-1, 0, 0),
    "cardinalities": (2, 2, 2),
    "columns": (-1, 0, 1),
    "tables": (np.array([[0.5, 0.5]]), np.full((2, 2), 0.5), np.full((2, 2), 0.5)),
}
NETWORK = {"n_levels": (2, 2), "parents": ((), (0,)), "class_parent": (True, True)}
HIERARCHY = {"children": (0, 1), "states": np.array([[0, 1], [1, 1]], dtype=np.int32)}
HALVING = {
    "asked": np.array([[0, -1], [0, 1], [0, 1]]),
    "answer": np.array([[1, 0], [-1, 1], [-1, -1]]),
}


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("Bins", bins(cuts=np.array([2.0, 1.0])), "cuts must rise"),
        ("Bins", bins(cuts=np.array([1.0, np.nan])), "cuts has numbers that are not finite"),
        ("Bins", bins(mean=np.zeros(2)), "bins has shape (2,), but the model needs (3,)."),
        ("Bins", bins(scale=np.array([1.0, 0.0, 1.0])), "scale must be positive"),
        ("Tree", TREE | {"parents": (-1, 0, 5)}, "parents[2]=5 must be a node before node 2."),
        ("Tree", TREE | {"columns": (-1, 0, 0)}, "Nodes 1 and 2 both show column 0"),
        ("Tree", TREE | {"cardinalities": (2, 2, 3)}, "tables[2] has shape (2, 2) but must"),
        ("NetworkStructure", NETWORK | {"parents": ((1,), (0,))}, "The arcs make a cycle"),
        ("NetworkStructure", NETWORK | {"parents": ((), (7,))}, "parents of attribute 1 do not"),
        ("NetworkStructure", NETWORK | {"parents": ((), (0, 0))}, "attribute 1 has a parent twice"),
        ("NetworkStructure", NETWORK | {"parents": ((),)}, "not all attributes have parents"),
        ("Halving", HALVING | {"asked": np.full((3, 2), 5)}, "a question does not exist"),
        (
            "Halving",
            HALVING | {"answer": np.array([[1, 0], [1, 1], [-1, -1]])},
            "the questions of a column do not form a tree",
        ),
        (
            "ProductLayout",
            {"centre": np.zeros(1), "unit": np.ones(1), "offsets": np.array([0, 3, 2])},
            "offsets must rise from 0",
        ),
        (
            "ProductLayout",
            {"centre": np.zeros(1), "unit": np.zeros(1), "offsets": np.array([0])},
            "unit must be positive",
        ),
        ("SoftMax", {"orders": (np.array([0, 2]),)}, "order of categories must name each place"),
        ("StickBreaking", {"orders": (np.array([0, 0]),)}, "order of categories must name each"),
        (
            "Column",
            {"name": "a", "kind": "binary", "categories": ("x",)},
            "binary column 'a' needs two categories",
        ),
        (
            "Column",
            {"name": "a", "kind": "nominal", "categories": ("x", "x", "y")},
            "column 'a' has a category twice",
        ),
    ],
)
def test_values_that_are_refused(name, fields, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        build_object(name, fields)
    assert str(caught.value).startswith(message)


def test_the_same_values_without_fault_are_built():
    sound = {"Bins": bins(), "Tree": TREE, "NetworkStructure": NETWORK, "Halving": HALVING}
    for name, fields in sound.items():
        build_object(name, fields)


@pytest.mark.parametrize(
    ("children", "states", "message"),
    [
        ((0, 2), None, "a latent variable has children that do not exist"),
        ((0, 0), None, "a latent variable has children that do not exist"),
        ((0, 1), [[0, 2], [2, 2]], "states must go from 0 without gaps"),
        ((0, 1), [[0, 1]], "states has shape (1, 2), but the model needs (2, 2)."),
        ((0, 1), [[0, -1], [1, 1]], "states must go from 0 without gaps"),
    ],
)
def test_hierarchies_that_are_refused(children, states, message):
    states = HIERARCHY["states"] if states is None else np.array(states, dtype=np.int32)
    latent = build_object("HierarchyLatent", {"children": children, "states": states})
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        build_object("Hierarchy", {"n_levels": (2, 2), "latents": (latent,)})
    assert str(caught.value).startswith(message)
