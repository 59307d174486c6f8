"""Data sets computed from other data sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from latentclass.datasets._table import Nominal, Table, text_array

N_WORDS = 500
SHORTEST_WORD = 2


def _complete(table: Table) -> Table:
    return table.rows(~table.incomplete())


def _half(table: Table, half: str) -> Table:
    if table.split is None:
        raise ValueError(f"This copy does not say which rows belong to the {half} half.")
    return table.rows(table.split == half)


def _relabel(table: Table, labels: dict[str, str]) -> Table:
    """Keep the rows with these labels and give them new ones."""
    absent = set(labels) - set(table.y)
    if absent:
        raise ValueError(
            f"This copy has no rows of class {', '.join(sorted(absent))}, only of the classes "
            f"{', '.join(sorted(set(table.y)))}. Use another source."
        )
    kept = table.rows(np.isin(table.y.astype(str), list(labels)))
    return Table(kept.columns, text_array([labels[label] for label in kept.y]), kept.split)


def _drop_id(table: Table) -> Table:
    columns = dict(list(table.columns.items())[1:])
    return Table(columns, table.y, table.split)


def _tenth(table: Table) -> Table:
    """Draw a tenth of each class; the sum is exactly a tenth of shuttle."""
    order = ("Rad.Flow", "Fpv.Close", "Fpv.Open", "High", "Bypass", "Bpv.Close", "Bpv.Open")
    rng = np.random.default_rng(0)
    drawn = []
    for label in order:
        rows = np.flatnonzero(table.y == label)
        drawn.append(rng.choice(rows, round(len(rows) / 10), replace=False))
    return table.rows(np.sort(np.concatenate(drawn)))


def _iris_uci(table: Table) -> Table:
    columns = {}
    for (name, column), value in zip(table.columns.items(), (4.9, 3.1, 1.5, 0.1), strict=True):
        assert not isinstance(column, Nominal)
        columns[name] = column.copy()
        columns[name][[34, 37]] = value
    return Table(dict(columns), table.y, table.split)


def _bits(table: Table) -> Table:
    """Smooth the digits like the re-sampled USPS images, then cut at 0.

    With a standard deviation of 0.75 pixels, the smoothed images equal the published re-sampled
    ones in all digits that are given.
    """
    from scipy.ndimage import gaussian_filter

    grey = np.column_stack([np.asarray(column) for column in table.columns.values()])
    images = grey.reshape(-1, 16, 16)
    smooth = gaussian_filter(images, (0.0, 0.75, 0.75), mode="constant", cval=-1.0)
    bits = np.asfortranarray(smooth.reshape(len(grey), -1) > 0)
    return Table({name: bits[:, i] for i, name in enumerate(table.columns)}, table.y, table.split)


def information_gain(
    with_word: NDArray[np.int64], positive: NDArray[np.int64], n_rows: int, n_positive: int
) -> NDArray[np.float64]:
    """Return the information (nats) of the presence of each word about a two-class label.

    Parameters
    ----------
    with_word, positive : ndarray of shape (n_words,)
        Number of documents with the word, and number of those that are positive.
    n_rows, n_positive : int
        Number of all documents, and of positive documents.
    """

    def entropy(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.float64]:
        from scipy.special import xlogy

        out: NDArray[np.float64] = xlogy(a + b, a + b) - xlogy(a, a) - xlogy(b, b)
        return out

    without = n_positive - positive
    left = entropy(positive, with_word - positive)
    right = entropy(without, n_rows - with_word - without)
    whole = entropy(np.array(n_positive), np.array(n_rows - n_positive))
    return (whole - left - right) / n_rows


def informative_words(
    documents: Sequence[set[str]], positive: NDArray[np.bool_], n_words: int = N_WORDS
) -> list[str]:
    """Return the words of highest information gain, best first; ties in alphabetical order.

    Stop words, words that occur in only one document and words of a single letter are ignored.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    every = set().union(*documents) - ENGLISH_STOP_WORDS
    words = sorted(word for word in every if len(word) >= SHORTEST_WORD)
    place = {word: i for i, word in enumerate(words)}
    found = [[place[word] for word in document & place.keys()] for document in documents]
    flat = np.array([i for one in found for i in one], dtype=np.int64)
    is_positive = np.repeat(positive, [len(one) for one in found])
    counts = np.bincount(flat, minlength=len(words))
    hits = np.bincount(flat[is_positive], minlength=len(words))
    gain = information_gain(counts, hits, len(documents), int(positive.sum()))
    gain[counts < 2] = -1.0
    # Without rounding, rounding errors would decide the order of words with equal gain.
    best = np.argsort(-gain.round(12), kind="stable")[: min(n_words, int((counts > 1).sum()))]
    return [words[i] for i in best]


def _topic(table: Table, topic: str) -> Table:
    """Make a two-class problem from a topic: the columns are its most informative words."""
    assert table.split is not None
    documents = [set(text.split()) for text in np.asarray(table.columns["text"])]
    positive = np.array([topic in topics.split() for topics in table.y])
    train = table.split == "train"
    training = [document for document, kept in zip(documents, train, strict=True) if kept]
    words = informative_words(training, positive[train])
    place = {word: i for i, word in enumerate(words)}
    present = np.zeros((len(documents), len(words)), dtype=bool, order="F")
    for row, document in enumerate(documents):
        present[row, [place[word] for word in document & place.keys()]] = True
    y = np.where(positive, topic, "other").astype(object)
    return Table({word: present[:, i] for word, i in place.items()}, y, table.split)


STEPS: dict[str, Callable[[Table], Table]] = {
    "complete": _complete,
    "train": partial(_half, half="train"),
    "test": partial(_half, half="test"),
    "glass2": partial(
        _relabel,
        labels={
            "build wind float": "float",
            "vehic wind float": "float",
            "build wind non-float": "non-float",
        },
    ),
    "drop_id": _drop_id,
    "tenth": _tenth,
    "iris_uci": _iris_uci,
    "bits": _bits,
    "three_or_five": partial(_relabel, labels={"3": "3", "5": "5"}),
    "low_or_high": partial(_relabel, labels={"0": "01", "1": "01", "6": "67", "7": "67"}),
    "topic_acq": partial(_topic, topic="acq"),
    "topic_crude": partial(_topic, topic="crude"),
    "topic_earn": partial(_topic, topic="earn"),
}
