"""From the `ReportSummary` of a report to one HTML page that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

from latentclass.reports import _charts as charts
from latentclass.reports import _text as text
from latentclass.reports._findings import Finding
from latentclass.reports._summary import ReportSummary, Rows, RowView
from latentclass.reports._words import always

ROW_TEXT, CELL_TEXT = 60, 40
"""Characters of a name of a row, and of a cell, in the list that rows are looked up in."""

MOST_MISTAKES = 15

MOST_TIMES = 3.0
"""The scale of bars ends at so many times the weight that 95 % of the cells stay below."""

GROUPS = (
    (
        "The hardest rows",
        "",
    ),
    (
        "The oddest rows",
        "Rows that the model finds least probable as a whole, whatever their class.",
    ),
    ("The most typical rows", "Rows that look most like their class, one class after the other."),
)

HARDEST = {
    "wrong": "Rows the model got most badly wrong when they were held out. Wrong labels are often "
    "among them.",
    "right": "No row was wrong when it was held out. These came closest.",
    "unknown": "Rows the model is least sure of.",
}


KINDS = {"continuous": "number", "nominal": "categories", "binary": "two values"}
"""Kinds of columns in a reader's words."""


def render(summary: ReportSummary) -> str:
    """The page as text."""
    environment = page_environment()
    from markupsafe import Markup

    script = _read("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rows = summary.rows
    groups = [rows.hardest, rows.oddest, rows.typical]
    page: str = environment.from_string(_read("report.html")).render(
        s=summary,
        policy=(
            "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
            f"form-action 'none'; script-src 'sha256-{digest}'"
        ),
        css=Markup(_read("report.css")),
        js=Markup(script),
        row_data=Markup(row_data(summary)),
        row_groups=[
            (title, words or _about_hardest(rows.hardest), group)
            for (title, words), group in zip(GROUPS, groups, strict=True)
        ],
        most=most_weight(rows),
        refitted=_refitted(summary),
        always=always(summary.subject),
        mistakes=_mistakes(summary),
        kinds=KINDS,
    )
    return page


def row_data(summary: ReportSummary) -> str:
    """The rows that can be looked up, as JSON that cannot end the element it stands in."""
    columns: dict[str, int] = {}
    classes = [one.name for one in summary.subject.classes]
    place = {name: k for k, name in enumerate(classes)}

    def row(one: RowView) -> list[Any]:
        cells = [
            [
                columns.setdefault(cell.column, len(columns)),
                text.cut(cell.cell, CELL_TEXT),
                _rounded(cell.weight, 3),
            ]
            for cell in one.evidence
        ]
        return [
            text.cut(one.name, ROW_TEXT),
            place.get(one.label, -1),
            place[one.predicted],
            _rounded(one.probability, 4),
            [
                place[one.held_out.predicted],
                _rounded(one.held_out.probability, 4),
            ]
            if one.held_out is not None
            else None,
            _rounded(one.unusual, 4),
            cells,
            *([text.cut(one.id, ROW_TEXT)] if one.id else []),
        ]

    listed = [row(one) for one in summary.rows.listed]
    found = json.dumps(
        {
            "rows": listed,
            "columns": [text.cut(name, ROW_TEXT) for name in columns],
            "classes": [text.cut(name, ROW_TEXT) for name in classes],
            "n_rows": summary.rows.n_rows,
            "id_name": text.cut(summary.rows.id_name, ROW_TEXT),
            "unusual": text.UNUSUAL,
            "made_up": text.MADE_UP,
            "most": _rounded(most_weight(summary.rows), 3),
            "refitted": _refitted(summary),
        },
        ensure_ascii=False,
        separators=(",", ":"),
        allow_nan=False,
    )
    for mark in "<>&\u2028\u2029":
        found = found.replace(mark, f"\\u{ord(mark):04x}")
    return found


def most_weight(rows: Rows) -> float:
    """The weight of a cell that fills a bar: all rows of the page have one scale."""
    every = (*rows.hardest, *rows.oddest, *rows.typical)
    sizes = [abs(cell.weight) for row in every for cell in row.evidence if cell.cell]
    finite = sorted(size for size in sizes if math.isfinite(size))
    if not finite:
        return 1.0
    # one huge weight must not make all other bars invisible; a bar that is cut has a mark
    return min(finite[-1], MOST_TIMES * finite[int(0.95 * (len(finite) - 1))])


def _refitted(summary: ReportSummary) -> bool:
    """Whether held-out answers are those of another fit, and not of the model itself."""
    return summary.quality is not None and summary.quality.n_folds > 0


def _about_hardest(rows: Sequence[RowView]) -> str:
    asked = [row for row in rows if row.held_out is not None]
    if not asked:
        return HARDEST["unknown"]
    wrong = any(row.held_out and row.held_out.predicted != row.label for row in asked)
    return HARDEST["wrong" if wrong else "right"]


def breakable(name: str) -> Any:
    """A name that a line may break after an underscore, and then nowhere else if it fits."""
    from markupsafe import Markup, escape

    return Markup("_<wbr>").join(escape(part) for part in name.split("_"))


def class_name(name: str) -> Any:
    """The name of a classifier, which a line may break before each capital: AutoLatent-Classifier.

    Otherwise a long one would make the table of scores wider than its place.
    """
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(escape(part) for part in re.split(r"(?<=[a-z])(?=[A-Z])", name))


def _mistakes(summary: ReportSummary) -> list[tuple[int, str, str]]:
    """The most common mistakes: number of rows, true class, predicted class."""
    if summary.quality is None:
        return []
    names = [one.name for one in summary.subject.classes]
    found = [
        (n, names[truth], names[said])
        for truth, line in enumerate(summary.quality.confusion)
        for said, n in enumerate(line)
        if truth != said and n
    ]
    return sorted(found, key=lambda one: -one[0])[:MOST_MISTAKES]


def unbroken(sentence: str) -> str:
    """A sentence in which no line ends between a number and its sign."""
    return sentence.replace(" %", "\u00a0%").replace("> ", ">\u00a0").replace("< ", "<\u00a0")


def _rounded(value: float | None, digits: int) -> float | None:
    if value is None:
        return None
    if math.isinf(value):
        return math.copysign(1e6, value)
    return round(value, digits)


def _formatted(value: Any, kind: str) -> str:
    """A number of a table of findings."""
    if value is None:
        return text.NOTHING
    if kind in ("percent", "bar"):
        return unbroken(text.percent(value))
    if kind == "count":
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
    if kind == "times":
        return f"{value:.1f} times"
    return f"{value:.2g} s" if kind == "seconds" else text.loss(value)


def render_findings(findings: Sequence[Finding]) -> str:
    """What a model found, as a part of the live page: latent variables and points can be picked."""
    template = (
        '{% from "findings.html" import finding %}'
        "{% for one in findings %}{{ finding(one, true) }}{% endfor %}"
    )
    found: str = page_environment().from_string(template).render(findings=findings)
    return found


def page_environment() -> Any:
    """Jinja with the pictures and texts of a page; it escapes all that comes from data."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FunctionLoader(_read),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    pictures = (
        charts.score_plot,
        charts.reliability_plot,
        charts.roc_plot,
        charts.space_plot,
        charts.tree_plot,
        charts.spread_plot,
        charts.groups_plot,
        charts.effect_plot,
        charts.spark,
    )

    def picture(draw: Any) -> Any:
        # the drawing functions escape every text that they get
        return lambda value, *more: Markup(draw(value, *more))

    made.filters |= {draw.__name__: picture(draw) for draw in pictures}
    made.filters["bar"] = lambda value, most, both_ways=False: Markup(
        charts.bar(value, most, both_ways=both_ways)
    )
    made.filters |= {
        "breakable": breakable,
        "class_name": class_name,
        "calibration_words": text.calibration_words,
        "colour": charts.colour,
        "count": text.count,
        "cut": text.cut,
        "formatted": _formatted,
        "how_unusual": lambda share: unbroken(text.how_unusual(share)),
        "loss": text.loss,
        "matters": lambda value: math.isfinite(value) and abs(value) >= 0.005,
        "number": text.number,
        "percent": lambda share: unbroken(text.percent(share)),
        "unbroken": unbroken,
        "plural": text.plural,
        "signed": text.signed,
        "signed_loss": lambda value: text.signed(value, 3),
    }
    return made


def _read(name: str) -> str:
    return resources.files("latentclass.reports").joinpath(name).read_text(encoding="utf-8")
