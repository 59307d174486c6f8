"""Davidson's latent variable classifier: Tables 6 to 11, and the entries of the whole paper.

Tables 1 to 3 and Figures 2 to 4 are in `_lvc_mixtures.py`, Tables 4 and 5 and Figure 5 in
`_lvc_two_normals.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import RepeatedStratifiedKFold

from latentclass._types import FloatArray
from latentclass.mixture._classifier import LatentVariableClassifier
from latentclass.mixture._latent_mixture import LatentMixture
from latentclass.reproduction import _lvc_mixtures, _lvc_two_normals
from latentclass.reproduction._entry import Entry
from latentclass.reproduction._lvc_mixtures import SEARCHES, SETS, SIZES
from latentclass.reproduction._published import read_published
from latentclass.reproduction._records import NOT_RUN, Record, text_of
from latentclass.reproduction._work import Work

FEW: dict[str, Any] = {"n_init": 10, "max_iter": 200}
"""Starts and iterations of "quick", and of what the paper does not have."""

REPEATS = {"quick": 2, "paper": 20}


class ClassColumn(ClassifierMixin, BaseEstimator):
    """A mixture in which the class is one more nominal column: P(y | x) = sum P(c | x) P(y | c)."""

    def __init__(
        self,
        n_components: int = 1,
        search: str = "em",
        *,
        n_init: int = 4,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.search = search
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _table(self, X: Any, labels: Any) -> Any:
        import pandas as pd  # an extra

        table = pd.DataFrame(np.asarray(X, dtype=float)).rename(columns=str)
        return table.assign(label=pd.Categorical(labels, categories=self.classes_.astype(str)))

    def fit(self, X: Any, y: Any) -> ClassColumn:
        """Fit the mixture to the columns and the class."""
        self.classes_ = np.unique(y)
        self.mixture_ = LatentMixture(
            self.n_components, self.search, n_init=self.n_init, max_iter=self.max_iter, tol=1e-4,
            random_state=self.random_state,
        ).fit(self._table(X, np.asarray(y).astype(str)))  # fmt: skip
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(y | x)."""
        posterior = self.mixture_.predict_proba(self._table(X, [None] * len(X)))
        return np.asarray(posterior @ self.mixture_.probabilities_["label"])

    def predict(self, X: Any) -> Any:
        """Return the most probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def rows_of(algorithm: str, k: int, *, quick: bool) -> dict[str, Any]:
    """Return what is compared for k components: the paper's classifier, and ours for causes."""
    search = SEARCHES[algorithm]
    as_published = LatentVariableClassifier.as_published(
        n_components=k, search=search, random_state=0
    )
    if quick:
        as_published.set_params(**FEW)
    ours = LatentVariableClassifier(None, k, search, calibrate=False, random_state=0, **FEW)
    rows = {"Mean": as_published, "Mean, with our prior": ours}
    if algorithm == "EM":
        rows["Mean, class as a column"] = ClassColumn(k, search, random_state=0, **FEW)
    else:
        rows["Mean, averaged, with our prior"] = LatentVariableClassifier(
            None, k, search, average=True, calibrate=False, random_state=0, **FEW
        )
    return rows


def accuracy_table(work: Work, *, name: str, called: str, algorithm: str) -> Iterator[Record]:
    """Yield mean accuracy and mean square error for each number of components."""
    published = {
        int(line["k"]): line
        for line in read_published("lvc_table6-11_accuracy")
        if (line["dataset"], line["search"]) == (called, algorithm)
    }
    for k in SIZES:
        for row, classifier in rows_of(algorithm, k, quick=work.quick).items():
            repeats = REPEATS[work.profile if row == "Mean" else "quick"]
            result = work.compare(
                {f"{algorithm} {k}, {row}": classifier},
                [name],
                cv=RepeatedStratifiedKFold(n_splits=10, n_repeats=repeats, random_state=0),
                scoring=("accuracy", "fit_seconds"),
            )
            folds = result.fold_scores(name, "accuracy")[:, 0]
            theirs = published[k]["mean_accuracy"] if row == "Mean" else ""
            column = f"k = {k}"
            if np.isnan(folds).any():
                yield Record(row, column, "accuracy, %", published=theirs, note=NOT_RUN)
                continue
            yield Record(
                row,
                column,
                "accuracy, %",
                text_of(100 * folds.mean(), 1),
                text_of(100 * folds.std(), 1),
                published=theirs,
                seconds=text_of(float(result.scores("fit_seconds")[0, 0]), 3),
                runs=str(len(folds)),
            )
            if row == "Mean":
                # as the paper makes it of the mean and the standard deviation of the folds
                error = 100 * ((1 - folds.mean()) ** 2 + folds.var())
                yield Record(
                    "MSE", column, "mean square error, %", text_of(error),
                    published=published[k]["mse"],
                )  # fmt: skip


PROTOCOL = (
    "Ten stratified folds, repeated with other folds. Naive Bayes in each component, by maximum "
    "likelihood, as published; k = 1 is naive Bayes of all rows. ± is the standard deviation of "
    "the folds. Mean square error: (1 - mean)^2 + variance of the folds' accuracies. The "
    "other rows are ours, with 2 x 10 folds and 10 starts of at most 200 iterations."
)
LOOK_FOR = {
    "EM": (
        'With "our prior" each variance is estimated as if one more row had been seen. "Class as a '
        'column": a mixture without classifiers, in which the class is one more column.'
    ),
    "ERA": (
        'With "our prior" each variance is estimated as if one more row had been seen. "Averaged": '
        "the mean of the predictions of up to 26 models that one search visited."
    ),
}
TABLES = tuple(
    Entry(
        paper="lvc",
        kind="table",
        number=number,
        title=f"accuracy on {called}, {algorithm}",
        data=(SETS[called],),
        classifiers=(f"LVC by {algorithm}",),
        protocol=PROTOCOL,
        profiles={
            "quick": "2 x 10 folds, 10 starts of at most 200 iterations.",
            "paper": "20 x 10 folds, 50 starts of at most 1000 iterations.",
        },
        run=partial(accuracy_table, name=SETS[called], called=called, algorithm=algorithm),
        folds_of_sd=10,
        look_for=LOOK_FOR[algorithm],
    )
    for number, (called, algorithm) in enumerate(
        ((called, algorithm) for called in SETS for algorithm in ("EM", "ERA")), start=6
    )
)

MINUTES: dict[str, dict[str, float]] = {
    "lvc-table-1": {"quick": 0.6, "paper": 1.1},
    "lvc-table-2": {"quick": 0.2, "paper": 0.8},
    "lvc-table-3": {"quick": 0.2, "paper": 1.1},
    "lvc-table-4": {"quick": 2.5},
    "lvc-table-5": {"quick": 0.1, "paper": 0.1},
    "lvc-table-6": {"quick": 1.1},
    "lvc-table-7": {"quick": 1.6},
    "lvc-table-8": {"quick": 0.6},
    "lvc-table-9": {"quick": 1},
    "lvc-table-10": {"quick": 0.9},
    "lvc-table-11": {"quick": 1.9},
    "lvc-figure-2": {"quick": 0.2, "paper": 1.1},
    "lvc-figure-3": {"quick": 0.3, "paper": 0.8},
    "lvc-figure-4": {"quick": 0.2, "paper": 1.1},
    "lvc-figure-5": {"quick": 0.1, "paper": 0.1},
}
ENTRIES = tuple(
    replace(entry, minutes=MINUTES.get(entry.name, {}))
    for entry in sorted(
        (*_lvc_mixtures.ENTRIES, *_lvc_two_normals.ENTRIES, *TABLES),
        key=lambda entry: (entry.kind != "table", entry.number),
    )
)
