"""What a model found, for the page: pictures of the report, groups, rules that hold, new names."""

from __future__ import annotations

from typing import Any

from latentclass.page._answers import Refused
from latentclass.reports._render import render_findings
from latentclass.reports._structure import describe_structure
from latentclass.reports._table import Rows
from latentclass.reports._text import percent, plain

TOP_COLUMNS = 8
"""Columns that are shown for a latent variable."""

HOLDS = 0.5
"""A rule holds in a row if its state is more probable than this given the row's cells."""


class Shown:
    """The structure of a model, or of the best member of an average.

    Parameters
    ----------
    model : fitted classifier
    rows : Rows
    drawn : bool
        Whether the rows were drawn from the model, because there are no others.
    """

    def __init__(self, model: Any, rows: Rows, *, drawn: bool) -> None:
        self._model, self._rows, self._drawn = model, rows, drawn
        leading = getattr(model, "best_estimator_", None)
        self._part: Any = leading if hasattr(leading, "schema_") else model
        self._found: dict[str, Any] | None = None

    @property
    def can_rename(self) -> bool:
        """Whether latent variables can be chosen on the page and get other names."""
        single = len(getattr(self._part, "models_", [self._part])) == 1
        return single and any(hasattr(self._part, name) for name in ("latent_groups", "rules"))

    @property
    def has_rules(self) -> bool:
        """Whether the states of its latent variables are rules."""
        return hasattr(self._part, "rules")

    def describe(self) -> dict[str, Any]:
        """What the model found: a sentence, and HTML that escapes all that comes from data."""
        if self._found is None:
            found = describe_structure(self._model, self._rows)
            note = "The points are rows drawn from the model." if self._drawn else ""
            self._found = {
                "sentence": found.sentence,
                "note": note,
                "html": render_findings(found.findings),
            }
        return self._found

    def latent(self, name: str) -> dict[str, Any]:
        """The groups of a latent variable: their size, and what is common in each."""
        if hasattr(self._part, "latent_groups"):
            return self._tree_latent(name)
        if hasattr(self._part, "rules"):
            return self._rules_of(name)
        raise Refused(f"There is no latent variable {name!r}.")

    def _tree_latent(self, name: str) -> dict[str, Any]:
        model = self._part
        label = next((one for one, names in model.latent_names_.items() if name in names), None)
        if label is None:
            raise Refused(f"There is no latent variable {name!r}.")
        frame = model.latent_groups(label, top=TOP_COLUMNS)
        frame = frame[frame["latent"] == name]
        sizes = frame.groupby("group", sort=True)["size"].first()
        lines = []
        for (column, level), part in frame.groupby(["column", "level"], sort=False):
            shares = dict(zip(part["group"], part["probability"], strict=True))
            lines.append(
                [plain(column), plain(level), *(float(shares[group]) for group in sizes.index)]
            )
        return {
            "name": plain(name),
            "of": plain(label),
            "heads": ["column", "level", *(f"group {g} ({percent(s)})" for g, s in sizes.items())],
            "lines": lines,
            "cuts": {
                plain(column): [float(one) for one in cuts]
                for column, cuts in model.cut_points_.items()
                if column in set(frame["column"])
            },
        }

    def _rules_of(self, name: str) -> dict[str, Any]:
        frame = self._part.rules()
        mine = frame[frame["latent"] == name]
        if not len(mine):
            raise Refused(f"There is no latent variable {name!r}.")
        classes = [f"P({label})" for label in self._part.classes_.tolist()]
        lines = [
            [plain(row["rule"]), f"{row['support']:g}",
             *(None if row[one] != row[one] else float(row[one]) for one in classes)]
            for row in mine.to_dict("records")
        ]  # fmt: skip
        heads = ["when", "training rows", *(plain(one) for one in classes)]
        return {"name": plain(name), "of": "", "heads": heads, "lines": lines, "cuts": {}}

    def fires(self, X: Any) -> dict[str, Any]:
        """How probable each state of each latent variable is in a row, those that hold first."""
        model = self._part
        if not hasattr(model, "rules"):
            raise Refused("This model has no rules.")
        frame = model.rules()
        # by name: an average may have members without any latent variable
        names = [str(name).partition("_")[2] for name in model.get_feature_names_out()]
        chances = dict(zip(names, model.transform(X)[0].tolist(), strict=True))
        lines = []
        for row in frame.to_dict("records"):
            member = f"model{row['model']}_" if "model" in row else ""
            chance = chances[f"{member}{row['latent']}={row['state']}"]
            if chance > HOLDS:
                lines.append([plain(row["latent"]), plain(row["rule"]), chance])
        return {"lines": sorted(lines, key=lambda line: -line[2]), "n_rules": len(frame)}

    def rename(self, name: str, new: str) -> dict[str, Any]:
        """Give a latent variable another name."""
        if not self.can_rename:
            raise Refused("The latent variables of this model have fixed names.")
        try:
            self._part.rename_latents({name: new})
        except ValueError as error:
            raise Refused(str(error)) from None
        self._found = None
        return {"name": plain(new)}
