"""What a fitted model is, in a few lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from latentclass._show import html_table
from latentclass.data._schema import Schema

MANY = 6
"""Names of columns, and classes, that are listed before the rest is counted."""


@dataclass(frozen=True)
class ModelSummary:
    """What a fitted model is: `print` shows it, and so does a notebook.

    Attributes
    ----------
    model : str
        Name of the estimator.
    about : str
        What it assumes, in one sentence.
    n_rows : int or None
        Number of training rows of positive weight; None for a model from a file that does not say.
    n_unlabelled : int
        Number of them without a label.
    columns : dict of str to list of str
        Names of the columns by kind: "continuous", "binary", "nominal".
    classes : dict of label to float
        Share of each class; of a `LatentMixture`, of each component.
    structure : dict of str to int, float or str
        Size of the latent structure.
    fit : dict of str to int, float or bool
        How the fit went.
    why : str
        Why `AutoLatentClassifier` chose its members; empty for other models.
    """

    model: str
    about: str
    n_rows: int | None
    n_unlabelled: int
    columns: dict[str, list[str]]
    classes: dict[Any, float]
    structure: dict[str, Any]
    fit: dict[str, Any]
    why: str = ""

    def __str__(self) -> str:
        lines = self._lines()
        width = max(len(head) for head, _ in lines)
        return "\n".join(
            [f"{self.model}: {self.about}", *(f"  {h.ljust(width)}  {text}" for h, text in lines)]
        )

    def _repr_html_(self) -> str:
        return html_table(
            ["", self.model], [[head, text] for head, text in self._lines()], caption=self.about
        )

    def to_dict(self) -> dict[str, Any]:
        """As a plain dict that JSON can hold: labels of classes become text."""
        return {
            "model": self.model,
            "about": self.about,
            "n_rows": self.n_rows,
            "n_unlabelled": self.n_unlabelled,
            "columns": {kind: list(names) for kind, names in self.columns.items()},
            "classes": {str(label): share for label, share in self.classes.items()},
            "structure": dict(self.structure),
            "fit": dict(self.fit),
            "why": self.why,
        }

    def _lines(self) -> list[tuple[str, str]]:
        """Head and text of each line."""
        rows = "not known" if self.n_rows is None else f"{self.n_rows:,}"
        if self.n_unlabelled:
            rows += f", {self.n_unlabelled:,} of them without a label"
        kinds = [
            f"{len(names)} {kind} ({_some(names)})" for kind, names in self.columns.items() if names
        ]
        shares = [f"{label} ({100 * share:.1f} %)" for label, share in self.classes.items()]
        lines = [
            ("rows", rows),
            ("columns", ", ".join(kinds)),
            ("components" if self.model == "LatentMixture" else "classes", _some(shares)),
            ("structure", _facts(self.structure)),
            ("fit", _facts(self.fit)),
            ("why", self.why),
        ]
        return [(head, text) for head, text in lines if text]


def columns_by_kind(schema: Schema) -> dict[str, list[str]]:
    """Names of the columns by kind."""
    return {
        kind: [column.name for column in schema.columns if column.kind == kind]
        for kind in ("continuous", "binary", "nominal")
    }


def _some(texts: list[str]) -> str:
    rest = [f"and {len(texts) - MANY} more"] if len(texts) > MANY else []
    return ", ".join([*texts[:MANY], *rest])


def _facts(facts: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}: {_value(value)}" for name, value in facts.items())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) < 1e6 else f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
