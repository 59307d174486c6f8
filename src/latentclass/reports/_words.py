"""The first paragraphs of a report, and what to beware of, in plain words."""

from __future__ import annotations

from typing import Any

from latentclass.reports._findings import Structure
from latentclass.reports._structure import untried_candidates
from latentclass.reports._summary import Data, Importance, Quality, Rows, Score, Subject
from latentclass.reports._text import cut, listed, loss, percent, plural, points

MUCH_MISSING, OFF, DOMINANT, ODD, WEAK = 0.5, 0.1, 0.6, 0.01, 0.7
"""Share of a column that is often missing, calibration error that is worth a word, share of all
weight in one column, p-value of an odd row, and share of a class found that is worth a word."""


def first_words(
    subject: Subject, quality: Quality | None, structure: Structure, importance: Importance
) -> tuple[str, ...]:
    """Paragraphs: what was predicted from what and how well, beside what, and what was found."""
    target = cut(subject.target, 40) if subject.target else "the class"
    names = listed([one.name for one in subject.classes], 4)
    what = [
        f"This model ({subject.model}) predicts {target} ({names}) from "
        f"{plural(subject.n_columns, 'column')}. The table has {plural(subject.n_rows, 'row')}"
        + (
            f", {subject.n_unlabelled:,} of them without a class."
            if subject.n_unlabelled and quality is not None
            else "."
        )
    ]
    beside: list[str] = []
    if quality is not None:
        what += [_how_good(quality), *_weakest(quality)]
        beside = _beside(subject, quality)
    found = [structure.sentence]
    strongest = [column.name for column in importance.columns[:3] if column.weight > 0]
    if strongest:
        few = (
            "column that matters most is" if len(strongest) == 1 else "columns that matter most are"
        )
        found.append(f"The {few} {listed(strongest)}.")
    return tuple(" ".join(part) for part in (what, beside, found) if part)


def _how_good(quality: Quality) -> str:
    ours = quality.scores[0]
    how = (
        f"The rows were split into {quality.n_folds} parts, each predicted by a model that had not "
        "seen it: it"
        if quality.n_folds > 1
        else "On rows that it had not seen it"
    )
    return (
        f"{how} was right for {_share(ours)} of {plural(quality.n_rows, 'row')} (95 % interval "
        f"{percent(ours.accuracy.low)} to {percent(ours.accuracy.high)})."
    )


def _weakest(quality: Quality) -> list[str]:
    """The class of which the smallest share is found, in words."""
    known = [
        (one.recall, place)
        for place, one in enumerate(quality.per_class)
        if one.recall is not None and one.recall < 1.0
    ]
    if not known:
        return []
    place = min(known)[1]
    one, line = quality.per_class[place], quality.confusion[place]
    taken = [(n, k) for k, n in enumerate(line) if k != place and n]
    most, other = max(taken)
    name, as_name = class_word(one.name), class_word(quality.per_class[other].name)
    if one.n_rows == 1:
        return [f"It takes the only row that is {name} for {as_name}."]
    if one.n_rows - line[place] == 1:
        rest = f"calls the other one {as_name}"
    elif len(taken) == 1:
        rest = f"calls the others {as_name}"
    else:
        rest = f"calls {most:,} of the others {as_name}"
    found = f"{line[place]:,} ({percent(one.recall)})" if line[place] else "none"
    return [f"Of the {plural(one.n_rows, 'row')} that are {name}, it finds {found}, and {rest}."]


def _beside(subject: Subject, quality: Quality) -> list[str]:
    ours, others = quality.scores[0], quality.scores[1:]
    words = []
    if others:
        words.append(f"{always(subject)} is right for {_share(others[0])}.")
    if others[1:]:
        named = [f"{one.name.lower()} for {_share(one)}" for one in others[1:]]
        named[0] = named[0].replace(" for ", " is right for ", 1)
        words.append(f"On the same rows, {' and '.join(named)}.")
    words.append(
        f"The log-loss, which punishes confident mistakes most, is {loss(ours.log_loss.value)} "
        f"({loss(ours.log_loss.low)} to {loss(ours.log_loss.high)}; lower is better, and 0 is "
        "perfect)."
    )
    if others[1:]:
        words.append(_verdict(others[1:]))
    return words


def always(subject: Subject) -> str:
    """Guessing, in words."""
    return f"Always answering {class_word(max(subject.classes, key=lambda one: one.share).name)}"


def class_word(name: str) -> str:
    """The name of a class in a sentence; a number says that it is one."""
    return f"class {name}" if name.replace(".", "").isdigit() else cut(name)


def _share(score: Score) -> str:
    return percent(score.accuracy.value)


def _verdict(others: tuple[Score, ...]) -> str:
    better = [_with_loss(one) for one in others if _gap(one) > 0]
    worse = [_with_loss(one) for one in others if _gap(one) < 0]
    same = [_with_loss(one) for one in others if _gap(one) == 0]
    parts = []
    if better:
        parts.append(f"clearly better than that of {listed(better, 3, 60)}")
    if same:
        parts.append(f"not clearly different from that of {listed(same, 3, 60)}")
    if worse:
        parts.append(f"clearly worse than that of {listed(worse, 3, 60)}")
    return (
        f"It is {', and '.join(parts)}. Clearly means: on the same rows, the 95 % interval of the "
        "difference does not include 0."
    )


def _with_loss(score: Score) -> str:
    return f"{score.name.lower()} ({loss(score.log_loss.value)})"


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
    found: list[str] = []
    if quality is None:
        found.append("No row has a label, so nothing is known about how good the predictions are.")
    else:
        found += _of_quality(quality, hasattr(model, "leaderboard_"))
    untried = untried_candidates(model)
    if untried:
        found.append(
            f"The search left {len(untried)} of {plural(len(model.leaderboard_), 'candidate')} "
            f"untried for lack of time: {listed(untried, 3, 60)}. With more time it may find a "
            "better model."
        )
    found += flags
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


def _of_quality(quality: Quality, searched: bool) -> list[str]:
    found = []
    ours, others = quality.scores[0], quality.scores[1:]
    if others and others[0].accuracy.value >= ours.accuracy.value:
        found.append(
            "The model is right no more often than always answering the most common class."
        )
    elif others and _gap(others[0]) <= 0:
        found.append("By log-loss the model is not clearly better than the plain class shares.")
    better = [one.name.lower() for one in others[1:] if _gap(one) < 0]
    known = [(one.recall, one.name) for one in quality.per_class if one.recall is not None]
    weak = min((recall for recall, _ in known), default=1.0)
    if weak < WEAK:
        name = class_word(min(known, key=lambda one: one[0])[1])
        found.append(
            f"The model finds only {percent(weak)} of the rows that are {name}. "
            f"{_named_class(quality)}"
        )
    if better:
        verb = "predicts" if len(better) == 1 else "predict"
        other = "give the search more time or families" if searched else "try AutoLatentClassifier"
        found.append(
            f"On this table {listed(better)} {verb} better. Use this model for what it explains, "
            f"or {other}."
        )
    if quality.calibration_error > OFF:
        sure = sum(
            one.n_rows * (one.confidence - one.accuracy.value) for one in quality.reliability
        )
        word = "too sure of itself" if sure > 0 else "too unsure of itself"
        found.append(
            f"The model is {word}: its probabilities are off by "
            f"{points(quality.calibration_error)} on average."
        )
    return found


def _named_class(quality: Quality) -> str:
    """How the class of a row is chosen, and what a reader can do about it."""
    if not quality.cut_offs:
        return "The class with the highest probability is predicted, however low it is."
    sought, other = (cut(quality.per_class[k].name) for k in (quality.sought, 1 - quality.sought))
    found = [one.recall or 0.0 for one in quality.per_class]
    if found[quality.sought] <= found[1 - quality.sought]:
        change = f"a lower cut-off for {sought} finds more of its rows, with more false alarms"
    else:
        change = (
            f"a higher cut-off for {sought} leaves more rows to {other}, and misses more {sought}"
        )
    return (
        f"The class with a probability above 50 % is predicted; {change}: see “Finding {sought}”."
    )
