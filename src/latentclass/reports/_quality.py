"""Held-out scores: the model is fitted again without the rows that it is then asked about."""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from latentclass._types import FloatArray, IndexArray
from latentclass._warn import recorded_warnings
from latentclass.evaluation._folds import LabelledKFold
from latentclass.evaluation._metrics import (
    SMALLEST,
    Predictions,
    brier,
    expected_calibration_error,
)
from latentclass.reports._peers import PEERS, too_slow
from latentclass.reports._summary import (
    ClassScore,
    CutOff,
    Interval,
    PartScore,
    Quality,
    ReliabilityBin,
    Score,
)
from latentclass.reports._table import SEED, Rows, draw
from latentclass.reports._text import plural

BESIDE = {
    "Guessing": "majority",
    "Logistic regression": "logistic-regression",
    "Gradient boosting": "gradient-boosting",
}
"""What the model is shown beside, on the same folds. Guessing means the most common class."""

N_DRAWS = 1000
"""Draws of the bootstrap."""

MOST_CELLS = 500_000
"""Cells of the table that the folds are made of; a model with a weight in `COSTLY` gets fewer."""

FEW_CELLS = 100_000
"""Above this number of cells one third of the rows is held out once; there are no folds."""

LEAST_ROWS = 300
"""Rows that are used even if they have more cells."""

COSTLY = {
    "AutoLatentClassifier": 25,
    "BinaryLCMClassifier": 8,
    "BinaryLCMClassifierCV": 25,
    "HNBClassifier": 4,
    "HybridLCMClassifier": 8,
    "LCMClassifierCV": 12,
    "LatentTreeClassifier": 12,
    "LatentVariableClassifier": 4,
}
"""Models that take so many times longer to fit than a linear one, roughly. The limit on cells does
not ask the clock, so that the page is the same on every machine."""

LONG_FIT = 60.0
"""Seconds that `AutoLatentClassifier` noted for one fold, above which it is fitted again only
once."""

ONCE = 3
"""If the model is fitted again only once, one of so many parts is held out."""

LEAST_BIN = 15
"""Rows of a bin of the reliability diagram."""

MOST_BINS = 10
MOST_ROC = 120
"""Bins of the reliability diagram, and points of the ROC curve."""

CUT_OFFS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Probabilities of the sought class for which the page says what would be found."""


class HeldOut(NamedTuple):
    """Rows that a model was asked about without having seen them, and its answers."""

    rows: IndexArray
    proba: FloatArray


def measure(model: Any, rows: Rows, *, folds: int, new_rows: bool) -> tuple[Quality, HeldOut]:
    """Score a model on labelled rows that it has not seen."""
    if new_rows:
        asked = rows.labelled
        proba = model.predict_proba(rows.take(asked))
        guess = np.broadcast_to(np.asarray(model.class_prior_), proba.shape)
        answers = {type(model).__name__: proba, next(iter(BESIDE)): guess}
        used, n_folds = asked, 0
        part = np.zeros(len(asked), dtype=np.intp)
    else:
        used, n_folds = choose_rows(model, rows, folds)
        asked, part, answers = refit(model, rows, used, n_folds)
    y = rows.codes[asked]
    ours = next(iter(answers.values()))
    own = None if new_rows else np.asarray(model.predict_proba(rows.take(asked)))
    quality = Quality(
        tell_source(rows, used, n_folds, model),
        len(asked),
        n_folds,
        score_all(answers, y),
        *describe_answers(ours, y, rows.classes),
        tuple(part_score(ours[part == k], y[part == k]) for k in range(max(n_folds, 1))),
        None if own is None else part_score(own, y),
    )
    return quality, HeldOut(asked, ours)


# ------------------------------------------------------------------------- refits


def choose_rows(model: Any, rows: Rows, folds: int) -> tuple[IndexArray, int]:
    """The rows that the folds are made of, and the number of folds; 1 is a single hold-out."""
    n_columns = max(len(rows.schema.columns), 1)
    most = int(max(MOST_CELLS / COSTLY.get(type(model).__name__, 1) / n_columns, LEAST_ROWS))
    used = draw(np.arange(rows.n_rows), most)
    if not (rows.codes[used] >= 0).any():
        used = draw(rows.labelled, most)
    counts = np.bincount(rows.codes[used][rows.codes[used] >= 0])
    seconds = sum(row.fit_seconds for row in getattr(model, "leaderboard_", ()))
    folds = max(min(folds, int(counts.max())), 2)
    once = len(used) * n_columns > FEW_CELLS or seconds > LONG_FIT
    return used, 1 if once and counts.max() >= ONCE else folds


def refit(
    model: Any, rows: Rows, used: IndexArray, n_folds: int
) -> tuple[IndexArray, IndexArray, dict[str, FloatArray]]:
    """Held-out rows, the part of each, and what each classifier says about them."""
    contenders = {type(model).__name__: unfitted(model)}
    contenders |= {
        name: PEERS[peer](SEED)
        for name, peer in BESIDE.items()
        if not too_slow(peer, len(model.classes_))
    }
    labels = np.empty(rows.n_rows, dtype=object)
    labels[rows.labelled] = model.classes_[rows.codes[rows.labelled]].tolist()
    splitter = LabelledKFold(n_folds if n_folds > 1 else ONCE, shuffle=True, random_state=SEED)
    asked: list[IndexArray] = []
    answers: dict[str, list[FloatArray]] = {name: [] for name in contenders}
    with recorded_warnings(), threadpool_limits(1):
        # one thread: sums are then the same on every machine
        strata = [None if code < 0 else f"{code:06d}" for code in rows.codes[used]]
        folds = splitter.split(np.zeros((len(used), 1)), strata)
        for train, test in islice(folds, n_folds):
            X_train, X_test = rows.take(used[train]), rows.take(used[test])
            y_train = as_labels(labels[used[train]], model.classes_)
            asked.append(used[test])
            for name, one in contenders.items():
                fitted = clone(one).fit(X_train, y_train)
                place = np.searchsorted(model.classes_, fitted.classes_)
                proba = np.zeros((len(test), len(model.classes_)))
                proba[:, place] = fitted.predict_proba(X_test)
                answers[name].append(proba)
    order = np.argsort(np.concatenate(asked), kind="stable")
    joined = {name: np.concatenate(parts)[order] for name, parts in answers.items()}
    part = np.repeat(np.arange(len(asked)), [len(rows) for rows in asked])
    return np.concatenate(asked)[order], part[order], joined


def as_labels(labels: Any, classes: Any) -> Any:
    """Labels for `fit`: an array of the classes' own type if no row lacks its label."""
    if any(label is None for label in labels):
        return labels
    return np.array(labels.tolist(), dtype=classes.dtype)


def unfitted(model: Any) -> Any:
    """The model before its fit; the one that chooses repeats its plan, without a clock."""
    again = clone(model)
    return again.set_params(plan=model.plan_) if hasattr(model, "plan_") else again


def tell_source(rows: Rows, used: IndexArray, n_folds: int, model: Any) -> str:
    """Where the numbers come from, in plain words."""
    if not n_folds:
        return (
            "The rows are new to the model, so its own predictions are scored. There are no rows "
            "to fit other classifiers to; the guess uses the class shares of the fit."
        )
    if n_folds == 1:
        text = (
            "To save time, one third of the rows was held out once, and predicted by a model "
            "fitted to the others only, with the same settings. The other classifiers were treated "
            "the same way."
        )
    else:
        text = (
            f"The rows were split into {n_folds} parts. Each part was predicted by a model fitted "
            "to the other parts only, with the same settings. The other classifiers were treated "
            "the same way."
        )
    text += (
        " The model itself has seen all rows, and its own answers to them would look better than "
        "they are."
    )
    if len(used) < rows.n_rows:
        text += (
            f" This was done with {plural(len(used), 'row')} drawn from "
            f"{rows.n_rows:,}. With more rows to learn from, scores are usually a little better."
        )
    if getattr(model, "n_unlabelled_", 0) and (rows.codes < 0).any():
        text += " Rows without a label are learned from, but not scored."
    return text


# ------------------------------------------------------------------------- scores


def score_all(answers: dict[str, FloatArray], y: IndexArray) -> tuple[Score, ...]:
    """Scores with intervals; the first classifier is the one that the others differ from."""
    here = np.arange(len(y))
    hits = np.stack([proba.argmax(axis=1) == y for proba in answers.values()], axis=1)
    losses = np.stack(
        [-np.log(np.maximum(proba[here, y], SMALLEST)) for proba in answers.values()], axis=1
    )
    draws_of_hits, draws_of_losses = bootstrap(np.hstack([hits, losses]), hits.shape[1])
    found = []
    for place, (name, proba) in enumerate(answers.items()):
        gap = losses[:, place] - losses[:, 0]
        found.append(
            Score(
                name,
                interval(hits[:, place].mean(), draws_of_hits[:, place]),
                interval(losses[:, place].mean(), draws_of_losses[:, place]),
                brier(Predictions(y, proba.argmax(axis=1), np.array(proba))),
                interval(gap.mean(), draws_of_losses[:, place] - draws_of_losses[:, 0])
                if place
                else None,
            )
        )
    return tuple(found)


def part_score(proba: FloatArray, y: IndexArray) -> PartScore:
    """Accuracy and log-loss on some rows."""
    found = np.maximum(proba[np.arange(len(y)), y], SMALLEST)
    right = float((proba.argmax(axis=1) == y).mean())
    return PartScore(len(y), right, float(-np.log(found).mean()))


def bootstrap(values: FloatArray, n_first: int) -> tuple[FloatArray, FloatArray]:
    """Means of columns over rows drawn with replacement; the first columns, then the others."""
    rng = np.random.default_rng(SEED)
    n = len(values)
    means = np.empty((N_DRAWS, values.shape[1]))
    for k in range(N_DRAWS):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)
        means[k] = counts @ values / n
    return means[:, :n_first], means[:, n_first:]


def interval(value: float, draws: FloatArray) -> Interval:
    """A value and the middle 95 % of its draws."""
    low, high = np.quantile(draws, [0.025, 0.975])
    return Interval(float(value), float(low), float(high))


def describe_answers(
    proba: FloatArray, y: IndexArray, classes: list[str]
) -> tuple[
    tuple[tuple[int, ...], ...],
    tuple[ReliabilityBin, ...],
    float,
    tuple[ClassScore, ...],
    int,
    tuple[tuple[float, float], ...],
    tuple[CutOff, ...],
]:
    """Confusion matrix, reliability, calibration error, each class, and how to find the rarer."""
    best, n = proba.argmax(axis=1), len(classes)
    confusion = np.zeros((n, n), dtype=int)
    np.add.at(confusion, (y, best), 1)
    per_class = []
    for k, name in enumerate(classes):
        right, mine, said = confusion[k, k], confusion[k].sum(), confusion[:, k].sum()
        per_class.append(
            ClassScore(
                name,
                int(mine),
                int(said),
                float(right / mine) if mine else None,
                float(right / said) if said else None,
                area_under_roc(proba[:, k], y == k),
            )
        )
    sought = int(np.bincount(y, minlength=2).argmin()) if n == 2 else -1
    return (
        tuple(tuple(map(int, row)) for row in confusion),
        reliability(proba.max(axis=1), best == y),
        expected_calibration_error(Predictions(y, best, proba)),
        tuple(per_class),
        sought,
        roc_curve(proba[:, sought], y == sought) if n == 2 else (),
        cut_offs(proba[:, sought], y == sought) if n == 2 else (),
    )


def reliability(confidence: FloatArray, right: Any) -> tuple[ReliabilityBin, ...]:
    """Rows by their confidence in bins of equal size, the least certain first."""
    order = np.argsort(confidence, kind="stable")
    n_bins = int(np.clip(len(order) // LEAST_BIN, 1, MOST_BINS))
    return tuple(
        ReliabilityBin(
            len(part), float(confidence[part].mean()), wilson(int(right[part].sum()), len(part))
        )
        for part in np.array_split(order, n_bins)
        if len(part)
    )


def wilson(hits: int, n: int) -> Interval:
    """A share and its 95 % interval by Wilson's score."""
    z, share = 1.959964, hits / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return Interval(share, float(max(middle - half, 0.0)), float(min(middle + half, 1.0)))


def area_under_roc(score: FloatArray, positive: Any) -> float | None:
    """How often a row of the class gets more than a row of another; ties count half."""
    from scipy.stats import rankdata

    n, rest = int(positive.sum()), int((~positive).sum())
    if not n or not rest:
        return None
    ranks = rankdata(score)[positive].sum()
    return float((ranks - n * (n + 1) / 2) / (n * rest))


def roc_curve(score: FloatArray, positive: Any) -> tuple[tuple[float, float], ...]:
    """Share of false alarms and share found as the threshold falls, from (0, 0) to (1, 1)."""
    if not positive.any() or positive.all():
        return ()
    order = np.argsort(-score, kind="stable")
    last = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1)
    found = np.concatenate([[0.0], np.cumsum(positive[order])[last] / positive.sum()])
    alarms = np.concatenate([[0.0], np.cumsum(~positive[order])[last] / (~positive).sum()])
    if len(found) > MOST_ROC:
        keep = np.unique(np.linspace(0, len(found) - 1, MOST_ROC).astype(int))
        found, alarms = found[keep], alarms[keep]
    return tuple((float(a), float(b)) for a, b in zip(alarms, found, strict=True))


def cut_offs(score: FloatArray, positive: Any) -> tuple[CutOff, ...]:
    """How many rows of a class are found, and how many others are taken for it."""
    n, rest = int(positive.sum()), int((~positive).sum())
    if not n or not rest:
        return ()
    lines = []
    for bound in CUT_OFFS:
        named = score >= bound
        found, alarms = int((named & positive).sum()), int((named & ~positive).sum())
        lines.append(CutOff(bound, found, alarms, found / n, alarms / rest))
    return tuple(lines)
