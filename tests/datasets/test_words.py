"""The word tables of Reuters, on a handful of documents."""

import json
from math import log

import numpy as np
import pytest

from latentclass.datasets import load_dataset
from latentclass.datasets._variants import information_gain, informative_words

DOCUMENTS = [
    ("train", ["earn"], "profit rose the company said"),
    ("train", ["earn", "acq"], "profit fell a bid said"),
    ("train", ["crude"], "oil rose said opec"),
    ("train", ["crude"], "oil fell the tanker said"),
    ("test", ["earn"], "profit oil dividend dividend"),
    ("test", ["grain"], "wheat dividend said"),
]


def corpus(documents):
    lines = [
        json.dumps({"id": i, "split": split, "topics": topics, "text": text})
        for i, (split, topics, text) in enumerate(documents)
    ]
    return "\n".join(lines) + "\n"


def load(make_folder, documents, topic):
    make_folder("reuters", {"r.jsonl": corpus(documents)}, n_rows=len(documents))
    return load_dataset(f"reuters/{topic}")


def test_words_are_those_of_two_training_documents_best_first(make_folder):
    data = load(make_folder, DOCUMENTS, "earn")
    # profit and oil tell all about earn, fell and rose nothing, and said is in every document;
    # "the" is a function word; the others stand in one training document, or in none.
    assert list(data.X.columns) == ["oil", "profit", "fell", "rose", "said"]
    assert set(data.kinds.values()) == {"binary"}
    assert data.y.tolist() == ["earn", "earn", "other", "other", "earn", "other"]
    assert data.split.tolist() == ["train"] * 4 + ["test"] * 2
    assert data.X.astype(int).to_numpy().tolist() == [
        [0, 1, 0, 1, 1],
        [0, 1, 1, 0, 1],
        [1, 0, 0, 1, 1],
        [1, 0, 1, 0, 1],
        [1, 1, 0, 0, 0],
        [0, 0, 0, 0, 1],
    ]


def test_the_test_half_has_no_say_in_the_words(make_folder):
    changed = [*DOCUMENTS[:4], ("test", ["earn"], "wheat oil wheat"), ("test", [], "rose")]
    first = load(make_folder, DOCUMENTS, "earn").X
    second = load(make_folder, changed, "earn").X
    assert list(first.columns) == list(second.columns)
    assert first[:4].equals(second[:4])


def test_no_more_words_than_asked_for():
    documents = [{"oil", "gas"}, {"oil", "gas"}, {"bid"}, {"bid"}]
    positive = np.array([True, True, False, False])
    assert informative_words(documents, positive, 2) == ["bid", "gas"]


@pytest.mark.parametrize(("a", "b", "c", "d"), [(3, 1, 2, 6), (4, 0, 0, 5), (2, 2, 3, 3)])
def test_information_gain_is_mutual_information(a, b, c, d):
    """Against the sum over the four cells: word and positive, word and not, and so on."""
    n = a + b + c + d
    expected = sum(
        cell / n * log(cell * n / (row * column))
        for cell, row, column in (
            (a, a + b, a + c),
            (b, a + b, b + d),
            (c, c + d, a + c),
            (d, c + d, b + d),
        )
        if cell
    )
    gain = information_gain(np.array([a + b]), np.array([a]), n, a + c)
    np.testing.assert_allclose(gain, [expected], rtol=1e-12, atol=1e-15)
