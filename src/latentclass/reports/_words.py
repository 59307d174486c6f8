"""The first paragraph of a report, and what to beware of, in plain words."""

from __future__ import annotations

from typing import Any

from latentclass.reports._summary import Data, Importance, Quality, Rows, Score, Structure, Subject
from latentclass.reports._text import cut, listed, loss, percent, plural

MUCH_MISSING, OFF, DOMINANT, ODD = 0.5, 0.1, 0.6, 0.01
"""Share of a column that is often missing, calibration error that
is worth a word, share of all weight in one column, and p-value of an odd row."""


def first_words(
    subject: Subject, quality: Quality | None, structure: Structure, importance: Importance
) -> tuple[str, ...]:
    """What was predicted from what, how well, beside what, and what was found."""
    target = cut(subject.target, 40) if subject.target else "the class"
    names = listed([one.name for one in subject.classes], 4)
    words = [
        f"This model ({subject.model}) predicts {target} ({names}) from "
        f"{plural(subject.n_columns, 'column')}. The table has {plural(subject.n_rows, 'row')}"
        + (
            f", {subject.n_unlabelled:,} of them without a class."
            if subject.n_unlabelled and quality is not None
            else "."
        )
    ]
    if quality is not None:
        words += _how_good(quality)
    words.append(structure.sentence)
    strongest = [column.name for column in importance.columns[:3] if column.weight > 0]
    if strongest:
        few = (
            "column that matters most is" if len(strongest) == 1 else "columns that matter most are"
        )
        words.append(f"The {few} {listed(strongest)}.")
    return tuple(words)


def _how_good(quality: Quality) -> list[str]:
    ours, others = quality.scores[0], quality.scores[1:]
    which = ", each left out of the fit in turn" if quality.n_folds > 1 else " that it had not seen"
    words = [
        f"On {plural(quality.n_rows, 'row')}{which}, it was right for "
        f"{_share(ours)} of them (95 % interval {percent(ours.accuracy.low)} to "
        f"{percent(ours.accuracy.high)}), with a log-loss of {loss(ours.log_loss.value)} "
        f"({loss(ours.log_loss.low)} to {loss(ours.log_loss.high)}; lower is better, and 0 is "
        "perfect)."
    ]
    if others:
        words.append(f"Guessing the most common class is right for {_share(others[0])}.")
    peers = [f"{_share(one)} (log-loss {loss(one.log_loss.value)})" for one in others[1:]]
    if peers:
        named = [f"{one.name.lower()} for" for one in others[1:]]
        named[0] = named[0].replace(" for", " is right for")
        both = [f"{name} {figures}" for name, figures in zip(named, peers, strict=True)]
        words.append(f"On the same rows, {' and '.join(both)}.")
        words.append(_verdict(others[1:]))
    return words


def _share(score: Score) -> str:
    return percent(score.accuracy.value)


def _verdict(others: tuple[Score, ...]) -> str:
    better = [one.name.lower() for one in others if _gap(one) > 0]
    worse = [one.name.lower() for one in others if _gap(one) < 0]
    same = [one.name.lower() for one in others if _gap(one) == 0]
    parts = []
    if better:
        parts.append(f"clearly better than {listed(better)}")
    if same:
        parts.append(f"not clearly different from {listed(same)}")
    if worse:
        parts.append(f"clearly worse than {listed(worse)}")
    return f"By log-loss the model is {', and '.join(parts)}."


def _gap(score: Score) -> int:
    """1 if a classifier is clearly worse than the model, -1 if clearly better, otherwise 0."""
    gap = score.difference
    if gap is None or gap.low <= 0 <= gap.high:
        return 0
    return 1 if gap.low > 0 else -1


def beware(
    model: Any,
    quality: Quality | None,
    importance: Importance,
    rows: Rows,
    data: Data,
    flags: tuple[str, ...],
) -> tuple[str, ...]:
    """What a reader should know before trusting the model."""
    found: list[str] = list(flags)
    if quality is None:
        found.append("No row has a label, so nothing is known about how good the predictions are.")
    else:
        found += _of_quality(quality)
    total = sum(column.weight for column in importance.columns)
    top = importance.columns[0] if importance.columns else None
    if top is not None and len(importance.columns) > 1 and top.weight > DOMINANT * total:
        found.append(
            f"{cut(top.name)} alone carries {percent(top.weight / total)} of all evidence. Check "
            "that it is known before the class is, and not a consequence of it."
        )
    empty = [column.name for column in data.columns if column.share_missing > MUCH_MISSING]
    if empty:
        found.append(f"More than half of the cells are missing in {listed(empty)}.")
    odd = sum(1 for row in rows.listed if row.unusual is not None and row.unusual < ODD)
    rated = sum(1 for row in rows.listed if row.unusual is not None)
    if rated and odd > 5 * ODD * rated and odd > 3:
        found.append(
            f"{percent(odd / rated)} of the rows are very unusual for the model (1 % would be "
            "normal). Its picture of the columns is rough, so judge rows by their rank only."
        )
    if not getattr(model, "converged_", True) and not hasattr(model, "leaderboard_"):
        found.append("The fit was stopped before it settled. Raise max_iter and fit again.")
    if getattr(model, "interrupted_", False):
        found.append("The search for the best models was interrupted.")
    return tuple(found)


def _of_quality(quality: Quality) -> list[str]:
    found = []
    ours, others = quality.scores[0], quality.scores[1:]
    if others and others[0].accuracy.value >= ours.accuracy.value:
        found.append("The model is right no more often than a guess of the most common class.")
    elif others and _gap(others[0]) <= 0:
        found.append("By log-loss the model is not clearly better than the plain class shares.")
    better = [one.name.lower() for one in others[1:] if _gap(one) < 0]
    if better:
        found.append(
            f"On this table {listed(better)} predicts better. Use this model for what it explains, "
            "or try AutoLatentClassifier."
        )
    if quality.calibration_error > OFF:
        sure = sum(
            one.n_rows * (one.confidence - one.accuracy.value) for one in quality.reliability
        )
        word = "too sure of itself" if sure > 0 else "too unsure of itself"
        found.append(
            f"The model is {word}: its probabilities are off by "
            f"{percent(quality.calibration_error)} on average."
        )
    lost = [one.name for one in quality.per_class if one.recall is not None and one.recall < 0.2]
    if lost:
        found.append(f"Fewer than one in five rows are found of {listed(lost)}.")
    return found
