"""What a model found, by family: trees, rules, latent space, components, leaderboard."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from scipy.special import xlogy

from latentclass._types import FloatArray, IndexArray
from latentclass.auto._leaderboard import name_in_words
from latentclass.auto._search import NO_TIME
from latentclass.hnb._reader import READABLE_LENGTH
from latentclass.plots._model import continuous_names, standardised_loadings
from latentclass.reports._findings import (
    Finding,
    MapFinding,
    SpaceFinding,
    Structure,
    TableFinding,
    TreeFinding,
    TreeNode,
)
from latentclass.reports._table import Rows, draw
from latentclass.reports._text import (
    NOTHING,
    cut,
    listed,
    number,
    percent,
    plain,
    plural,
)
from latentclass.reports._trees import describe_trees

MOST_LINES, MOST_POINTS = 60, 600
"""Lines of a table, and points of a scatter plot."""

MOST_SIZES = 12
"""Latent variables, components or classes that are columns of a map."""


MOVED = 0.3
"""Loading from which a latent variable is said to move a column."""

RULES_TEXT = (
    "Next to each rule is the class that it raises most: its share among the rows of the rule, its "
    "share in all rows, and how many times as large the first is. The most informative rules come "
    "first: many rows, and shares far from those in all rows. A rule with 1.0 times says next to "
    "nothing. Each rule is a state of a latent variable, named in the last column. A rule that "
    "mentions such a state, as in L1 = 1, means the rule with that name."
)

LOGIT = 1.7
"""A logistic curve is close to a normal one whose deviation is so much smaller."""


SHORT = "the search had too little time"


def describe_structure(model: Any, rows: Rows) -> Structure:
    """What a model found, in words and in findings."""
    if hasattr(model, "leaderboard_"):
        return _average(model, rows)
    if hasattr(model, "tree_edges"):
        return describe_trees(model, rows)
    if hasattr(model, "latent_children_") or hasattr(model, "models_"):
        return _hierarchy(model, rows)
    if hasattr(model, "loadings_"):
        return _latent_space(model, rows)
    if hasattr(model, "component_weights_"):
        return _components(model, rows)
    if hasattr(model, "parents_"):
        return _network(model, rows)
    if hasattr(model, "means_") and hasattr(model, "probabilities_"):
        return _profiles(model, rows)
    return Structure(f"{model.summary().about}", ())


def groups_of(model: Any, rows: Rows) -> tuple[list[str], IndexArray] | None:
    """Names of the groups that a model sorts rows into, and the group of each row."""
    if not hasattr(model, "component_weights_"):
        return None
    names = [
        f"{name} ({percent(float(weight))})"
        for name, weight in zip(_component_names(model), model.component_weights_, strict=True)
    ]
    return names, np.asarray(model.transform(rows.X)).argmax(axis=1)


def _component_names(model: Any) -> list[str]:
    return [f"component {cut(plain(name))}" for name in model.latent_names_]


# ------------------------------------------------------------------------ the average


def _candidate(name: str) -> str:
    """The name of a candidate, which a comma must not break apart in a list."""
    return name_in_words(plain(name))


def untried_candidates(model: Any) -> list[str]:
    """Candidates that the search had no time for."""
    board = getattr(model, "leaderboard_", ())
    return [
        _candidate(row.family) for row in board if row.status == "too slow" or row.reason == NO_TIME
    ]


def leading_name(model: Any) -> str:
    """The whole name of the best candidate; several can be of one class."""
    kind = type(model.best_estimator_).__name__
    alike = [
        row
        for row in model.leaderboard_
        if row.log_loss is not None and row.family.split(",")[0] == kind
    ]
    if not alike:
        return kind
    if model.scoring == "neg_log_loss":
        return _candidate(min(alike, key=lambda row: row.log_loss).family)
    return _candidate(max(alike, key=lambda row: row.accuracy).family)


def _average(model: Any, rows: Rows) -> Structure:
    heads: tuple[str, ...] = (
        "candidate", "weight", "log-loss", "accuracy", "seconds to fit", "status"
    )  # fmt: skip
    lines: list[tuple[Any, ...]] = [
        (
            _candidate(row.family),
            float(row.weight) or None,
            row.log_loss,
            row.accuracy,
            float(row.fit_seconds) if row.log_loss is not None else None,
            plain(f"{row.status}: {row.reason}" if row.reason else row.status),
        )
        for row in model.leaderboard_
    ]
    formats: tuple[str, ...] = ("text", "bar", "loss", "percent", "seconds", "text")
    if all(line[-1] == "done" for line in lines):
        heads, formats, lines = heads[:-1], formats[:-1], [line[:-1] for line in lines]
    board = TableFinding(
        "Candidates and their weights",
        "Each candidate was scored on held-out rows. The answer of the model is the average of "
        "those with a weight. The weights were chosen on the same rows, so these scores are "
        "slightly too good; the honest ones are above, under “How good”.",
        heads,
        formats,
        tuple(lines),
    )
    weights = sorted(model.weights_.items(), key=lambda item: -item[1])
    named = listed([f"{_candidate(name)} {percent(weight)}" for name, weight in weights], 4, 60)
    if len(weights) == 1:
        alone = _candidate(weights[0][0])
        sentence = f"Of {plural(len(lines), 'candidate')}, {alone} alone is used."
    else:
        sentence = f"It averages {plural(len(weights), 'model')}: {named}."
    untried = untried_candidates(model)
    if untried:
        sentence += (
            f" {plural(len(untried), 'candidate was', 'candidates were')} not tried: {SHORT}."
        )
    leading = getattr(model, "best_estimator_", None)
    if leading is None or not hasattr(leading, "schema_"):
        return Structure(sentence, (board,))
    below = describe_structure(leading, rows)
    return Structure(
        f"{sentence} {best_words(model, below.sentence) if len(weights) > 1 else below.sentence}",
        (board, *below.findings),
    )


def best_words(model: Any, found: str) -> str:
    """The best candidate and what it found, or what it is, which need not be a sentence."""
    best = f"The best single one is {leading_name(model)}"
    if found == model.best_estimator_._about:
        return f"{best}: {found[0].lower()}{found[1:]}"
    return f"{best}. {found}"


# ---------------------------------------------------------------- hierarchical naive Bayes


def _hierarchy(model: Any, rows: Rows) -> Structure:
    readers = model.models_
    first = readers[0]
    frame = model.rules(READABLE_LENGTH)
    several = len(readers) > 1
    findings: list[Finding] = []
    children = first.latent_children_
    if children:
        nodes = _hierarchy_nodes(first)
        findings.append(
            TreeFinding(
                "How columns are joined" + (" in the first of several models" if several else ""),
                "The class is predicted from the variables directly below it. A circle is a latent "
                "variable: it joins two variables and keeps only what matters for the class.",
                nodes,
            )
        )
    lines = _rule_lines(model, rows, frame, several)
    if lines:
        shown = _with_named(lines, MOST_LINES)
        heads = ("when", "raises", "its share", "in all rows", "as often", "training rows",
                 *(("model",) if several else ()), "rule of")  # fmt: skip
        formats = ("rule", "text", "bar", "percent", "times", "count",
                   *(("count",) if several else ()), "text")  # fmt: skip
        findings.append(
            TableFinding(
                "Rules",
                RULES_TEXT,
                heads,
                formats,
                tuple(shown),
                len(lines) - len(shown),
            )
        )
    used = listed([plain(name) for name in first.selected_features_], 5)
    if not children:
        sentence = f"It joins no columns; it predicts the class from {used}."
    else:
        sentence = (
            f"It joins columns into {plural(len(children), 'latent variable')} whose states read "
            f"as rules, and predicts the class from {used}."
        )
    if several:
        sentence = f"It averages {len(readers)} hierarchies. In the first one: {sentence}"
    return Structure(sentence, tuple(findings))


def _rule_lines(model: Any, rows: Rows, frame: Any, several: bool) -> list[tuple[Any, ...]]:
    """A line for each rule with the class that it raises most, those that tell most first."""
    usual = np.asarray(model.class_prior_, dtype=np.float64)
    holders: dict[tuple[Any, ...], list[str]] = {}
    telling: dict[tuple[Any, ...], float] = {}
    for row in frame.to_dict("records"):
        shares = np.array([row[f"P({label})"] for label in model.classes_.tolist()])
        raised: tuple[Any, ...] = (NOTHING, None, None, None)
        told = 0.0
        if not np.isnan(shares).any():
            times = np.divide(shares, usual, out=np.zeros_like(shares), where=usual > 0)
            best = int(np.argmax(times))
            raised = (rows.classes[best], *map(float, (shares[best], usual[best], times[best])))
            told = float(row["support"]) * float(xlogy(shares, times).sum())
        # one line for a rule that a latent variable takes over from one below it
        line = (
            plain(row["rule"]),
            *raised,
            float(row["support"]),
            *((int(row["model"]),) if several else ()),
        )
        name = f"{plain(row['latent'])} = {row['state']}".replace(" ", "\u00a0")  # on one line
        holders.setdefault(line, []).append(name)
        telling[line] = told
    return [
        (*line, ", ".join(names))
        for line, names in sorted(holders.items(), key=lambda one: -telling[one[0]])
    ]


def _with_named(lines: list[tuple[Any, ...]], most: int) -> list[tuple[Any, ...]]:
    """The first lines, and those whose states the shown rules name, so that all can be read."""
    shown, waiting = lines[:most], lines[:most]
    while waiting:
        one = waiting.pop()
        for line in lines[most:]:
            states = line[-1].replace("\u00a0", " ").split(", ")
            variables = "|".join({re.escape(state.rpartition(" = ")[0]) for state in states})
            named = re.search(rf"(?<!\w)({variables}) (!?=|(not )?in) ", one[0])
            if named and line not in shown and line[6:-1] == one[6:-1]:  # of the same model
                shown, waiting = [*shown, line], [*waiting, line]
    return shown


def _hierarchy_nodes(model: Any) -> tuple[TreeNode, ...]:
    children, states = model.latent_children_, model.n_states_
    nodes = [TreeNode("class", -1, -1, None)]
    waiting = [(name, 0) for name in reversed(model.top_variables_)]
    while waiting:
        name, parent = waiting.pop()
        place = len(nodes)
        nodes.append(TreeNode(plain(name), parent, int(states.get(name, 0)), None))
        waiting += [(child, place) for child in reversed(children.get(name, ()))]
    return tuple(nodes)


# ------------------------------------------------------------------------ latent space


def _latent_space(model: Any, rows: Rows) -> Structure:
    findings: list[Finding] = []
    means, deviations = model.latent_means_, np.sqrt(model.latent_variances_)
    n_latent = means.shape[1]
    if n_latent >= 2:
        findings.append(_plane(model, rows, means, deviations))
    names = continuous_names(model)
    if names:
        findings.append(_loadings(model, names, n_latent))
    discrete = _question_weights(model, n_latent)
    if discrete is not None:
        findings.append(discrete)
    components = len(model.component_prior_[0])
    also = f", in {components} components" if components > 1 else ""
    apart = _apart(model, names, means, deviations, rows.classes)
    sentence = f"It sums up the columns in {plural(n_latent, 'latent variable')}{also}. {apart}"
    return Structure(sentence.strip(), tuple(findings))


def separation(means: FloatArray, deviations: FloatArray) -> FloatArray:
    """How far a latent variable separates the classes: spread of their means in deviations."""
    within = np.sqrt(np.mean(deviations**2, axis=0))
    return np.asarray(np.ptp(means, axis=0) / np.where(within > 0, within, 1.0))


def _apart(
    model: Any, names: list[str], means: FloatArray, deviations: FloatArray, classes: list[str]
) -> str:
    if not means.size:
        return ""
    k = int(np.argmax(separation(means, deviations)))
    low, high = int(means[:, k].argmin()), int(means[:, k].argmax())
    if low == high:
        return ""
    latent = cut(plain(model.latent_names_[k]))
    return (
        f"Latent variable {latent} separates the classes most: it is low in "
        f"{cut(classes[low])} and high in {cut(classes[high])}.{_stands_for(model, names, k)}"
    )


def _stands_for(model: Any, names: list[str], k: int) -> str:
    """The columns that a latent variable moves most, in words."""
    moved: list[tuple[float, str]] = []
    if names:
        loadings = standardised_loadings(model)[_biggest(model)][:, k]
        for name, value in zip(names, loadings, strict=True):
            moved.append((abs(value), f"{'high' if value > 0 else 'low'} {cut(plain(name))}"))
    weights = _question_values(model)[:, k]
    for (name, level), value in zip(getattr(model, "questions_", ()), weights, strict=True):
        often = "often" if value > 0 else "rarely"
        moved.append((abs(value) / LOGIT, f"{often} {cut(plain(name))} = {_asked(level)}"))
    moved.sort(key=lambda one: -one[0])
    told = [words for size, words in moved[:3] if size >= MOVED]
    return f" Where it is high: {listed(told, 3, 70)}." if told else ""


def _asked(level: Any) -> str:
    """A category, or several that a question asks for together."""
    if not isinstance(level, tuple):
        return cut(plain(level))
    shown = [cut(plain(one), 24) for one in level[:2]]
    return " or ".join(shown) if len(level) <= 2 else f"{shown[0]} or {len(level) - 1} others"


def _biggest(model: Any) -> int:
    """The component with the most rows."""
    return int(np.argmax(np.asarray(model.class_prior_) @ np.asarray(model.component_prior_)))


def _plane(model: Any, rows: Rows, means: FloatArray, deviations: FloatArray) -> SpaceFinding:
    """Rows in the plane of the two latent variables that separate the classes most."""
    order = np.argsort(-separation(means, deviations), kind="stable")
    first, second = sorted(order[:2].tolist())
    shown = draw(np.arange(rows.n_rows), MOST_POINTS)
    points = np.asarray(model.transform(rows.take(shown)))[:, [first, second]]
    return SpaceFinding(
        "Latent space",
        "Each point is a row, placed by the two latent variables that separate the classes most. "
        "An ellipse covers about 86 % of a class as the model sees it (two standard deviations). "
        "Where ellipses overlap, rows are hard to tell apart by these two alone.",
        (plain(model.latent_names_[first]), plain(model.latent_names_[second])),
        tuple(rows.classes),
        tuple(
            (round(float(a), 4), round(float(b), 4), int(code))
            for (a, b), code in zip(points, rows.codes[shown], strict=True)
        ),
        tuple((float(row[first]), float(row[second])) for row in means),
        tuple((float(row[first]), float(row[second])) for row in deviations),
        rows.n_rows - len(shown),
        tuple(shown.tolist()),
    )


def _loadings(model: Any, names: list[str], n_latent: int) -> MapFinding:
    loadings = standardised_loadings(model)
    values = loadings[_biggest(model)]
    several = len(loadings) > 1
    order = np.argsort(-np.abs(values).max(axis=1), kind="stable")[:MOST_LINES]
    shown = min(n_latent, MOST_SIZES)
    some = (
        f" The first {shown} of {n_latent} latent variables are shown." if shown < n_latent else ""
    )
    which = f" Of {len(loadings)} components the largest is shown." if several else ""
    return MapFinding(
        "Loadings: what the latent variables stand for",
        "By how many of its standard deviations a column changes when the latent variable changes "
        f"by one.{which}{some}",
        tuple(map(plain, model.latent_names_[:shown])),
        tuple(plain(names[j]) for j in order),
        tuple(tuple(number(float(v), 2) for v in values[j, :shown]) for j in order),
        tuple(tuple(float(np.clip(v, -1, 1)) for v in values[j, :shown]) for j in order),
        max(len(names) - MOST_LINES, 0),
    )


def _question_values(model: Any) -> FloatArray:
    """Weights of the latent variables in the questions; no line for a model without any."""
    if not getattr(model, "questions_", ()):
        return np.zeros((0, np.asarray(model.latent_means_).shape[1]))
    values: FloatArray = np.asarray(model.weights_)[_biggest(model)]
    return values


def _question_weights(model: Any, n_latent: int) -> MapFinding | None:
    """Weights of the latent variables in the yes/no questions of discrete columns."""
    values = _question_values(model)
    if not len(values):
        return None
    order = np.argsort(-np.abs(values).max(axis=1), kind="stable")[:MOST_LINES]
    shown = min(n_latent, MOST_SIZES)
    top = float(np.abs(values).max()) or 1.0
    names = [f"{cut(plain(name))} is {_asked(level)}" for name, level in model.questions_]
    return MapFinding(
        "Categories: what the latent variables stand for",
        "By how much the log-odds of a category change when the latent variable changes by one.",
        tuple(map(plain, model.latent_names_[:shown])),
        tuple(names[j] for j in order),
        tuple(tuple(number(float(v), 2) for v in values[j, :shown]) for j in order),
        tuple(tuple(float(v / top) for v in values[j, :shown]) for j in order),
        max(len(names) - MOST_LINES, 0),
    )


# ---------------------------------------------------------------------------- profiles


def _components(model: Any, rows: Rows) -> Structure:
    weights = np.asarray(model.component_weights_)
    shares = np.asarray(model.class_shares_)
    kept = min(len(weights), MOST_SIZES)
    heads = tuple(_component_names(model)[:kept])
    table = TableFinding(
        "Components and their classes",
        "A component is a group of rows that are alike, found together with the classes. Each has "
        "a classifier of its own. The shares of the classes are those within the component.",
        (
            "component",
            "share of rows",
            *(f"class {cut(name)}" for name in rows.classes[:MOST_SIZES]),
        ),
        ("text", "bar", *["bar"] * min(len(rows.classes), MOST_SIZES)),
        tuple(
            (head, float(weights[c]), *map(float, shares[c, :MOST_SIZES]))
            for c, head in enumerate(heads)
        ),
        len(weights) - kept,
    )
    profile = _profile_map(
        model, rows, weights, heads,
        "Profiles of the components",
        "The mean of a column, or the share of a category, in each component. The shade shows how "
        "far this is from the whole table.",
    )  # fmt: skip
    sentence = (
        f"It sorts the rows into {plural(len(weights), 'component')}."
        if len(weights) > 1
        else "One component is enough: no split of the rows helps."
    )
    if len(weights) > 1:
        mixed = [
            f"{heads[c]} is mostly {cut(rows.classes[int(shares[c].argmax())])} "
            f"({percent(float(shares[c].max()))})"
            for c in range(min(len(weights), 3))
        ]
        sentence += f" By class, {listed(mixed, 3, 200)}."
    return Structure(sentence, (table, profile))


def _profiles(model: Any, rows: Rows) -> Structure:
    """Models with one Gaussian or table for each class: the classes are the profiles."""
    weights = np.asarray(model.class_prior_)
    kept = min(len(weights), MOST_SIZES)
    heads = tuple(cut(name, 18) for name in rows.classes[:kept])
    profile = _profile_map(
        model, rows, weights, heads,
        "Profiles of the classes",
        "The mean of a column, or the share of a category, in each class as the model sees it. The "
        "shade shows how far this is from the whole table.",
    )  # fmt: skip
    return Structure(
        "It describes each class by the mean and spread of each number and the share of each "
        "category, column by column.",
        (profile,),
    )


def _profile_map(
    model: Any, rows: Rows, weights: FloatArray, heads: tuple[str, ...], title: str, text: str
) -> MapFinding:
    """Means and shares in each group, shaded by their distance from the whole."""
    kept = len(heads)
    names, values, spread, texts = [], [], [], []
    means, scales = np.asarray(model.means_), np.asarray(model.scales_)
    for place, j in enumerate(rows.schema.continuous):
        names.append(rows.columns[j])
        values.append(means[:, place])
        spread.append(scales[:, place] ** 2)
        digits = rows.decimals[j] + 1  # a mean has one more
        texts.append([number(float(v), digits) for v in means[:kept, place]])
    kinds = {column.name: column for column in rows.schema.columns}
    for name, table in model.probabilities_.items():
        levels = list(enumerate(kinds[name].categories))
        for level, category in levels[-1:] if len(levels) == 2 else levels:  # one share tells both
            share = np.asarray(table)[:, level]
            names.append(f"{cut(plain(name))} is {cut(plain(category))}")
            values.append(share)
            spread.append(share * (1 - share))
            texts.append([percent(float(v)) for v in share[:kept]])
    if not names:
        return MapFinding(title, text, heads, (), (), ())
    mean, variance = np.stack(values), np.stack(spread)
    overall = (mean @ weights)[:, None]
    whole = np.sqrt((variance + (mean - overall) ** 2) @ weights)[:, None]
    far = np.divide(mean - overall, whole, out=np.zeros_like(mean), where=whole > 0)
    order = np.argsort(-np.nan_to_num(np.abs(far)).max(axis=1), kind="stable")[:MOST_LINES]
    return MapFinding(
        title,
        text,
        heads,
        tuple(names[k] for k in order),
        tuple(tuple(texts[k]) for k in order),
        tuple(tuple(float(v) for v in np.clip(np.nan_to_num(far[k, :kept]), -1, 1)) for k in order),
        max(len(names) - MOST_LINES, 0),
    )


# ---------------------------------------------------------------------------- networks


def _network(model: Any, rows: Rows) -> Structure:
    arcs = [
        (plain(name), listed([plain(parent) for parent in parents], 5))
        for name, parents in model.parents_.items()
        if parents
    ]
    sentence = (
        f"{plural(len(arcs), 'column depends', 'columns depend')} on other columns in addition to "
        "the class."
        if arcs
        else "No column depends on another one, given the class."
    )
    del rows
    if not arcs:
        return Structure(sentence, ())
    table = TableFinding(
        "Which columns depend on which",
        "Given the class, a column on the left depends on those on the right.",
        ("column", "depends on"),
        ("text", "text"),
        tuple(arcs[:MOST_LINES]),
        max(len(arcs) - MOST_LINES, 0),
    )
    return Structure(sentence, (table,))
