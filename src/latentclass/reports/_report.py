"""`latentclass.report`: one page about a fitted model."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from latentclass._files import replacing
from latentclass._validation import check_number, check_option
from latentclass.reports._summary import ReportSummary

MOST_FOLDS = 20


@dataclass(frozen=True, eq=False)
class Report:
    """A page about a fitted model: notebooks show it, and `save` writes it to a file.

    Attributes
    ----------
    summary : ReportSummary
        What the page says, as plain values. `summary.to_dict()` is ready for JSON.
    """

    summary: ReportSummary = field(repr=False)

    @cached_property
    def html(self) -> str:
        """The whole page. It loads nothing and is the same for the same model and table."""
        from latentclass.reports._render import render

        return render(self.summary)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : str or path
            An existing file is replaced.

        Returns
        -------
        Path
        """
        target = Path(path)
        if not target.parent.is_dir():
            raise FileNotFoundError(f"The folder of {str(target)!r} does not exist. Make it first.")
        page = self.html.encode()
        with replacing(target) as file:
            file.write(page)
        return target

    def __repr__(self) -> str:
        return f"Report({self.summary.subject.title!r})"

    def _repr_html_(self) -> str:
        # a page of its own inside the notebook: its style and script cannot touch the others
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" title="Report" '
            'style="width:100%;height:44rem;border:1px solid #ccc"></iframe>'
        )


def lacking_packages() -> list[str]:
    """What a report needs and is not installed."""
    return [name for name in ("jinja2", "pandas") if importlib.util.find_spec(name) is None]


def check_classifier(model: Any, asker: str) -> None:
    """Refuse what is no fitted classifier of this library; `asker` is what needs one."""
    if not hasattr(model, "explain") or not hasattr(model, "unusual"):
        raise TypeError(
            f"model is a {type(model).__name__}, but {asker} needs a classifier of latentclass. "
            "Pass one of those."
        )
    if "schema_" not in vars(model):
        raise ValueError(f"This {type(model).__name__} is not fitted. Call its fit first.")


def report(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    title: str | None = None,
    index: Any = None,
    folds: int = 5,
    new_rows: bool = False,
    command: str | None = None,
    left_out: Sequence[str] = (),
    ids: Any = None,
) -> Report:
    """Make a page about a fitted model for readers who have never seen it.

    It says what is predicted from what and how well, compared with guessing, logistic regression
    and gradient boosting on the same folds; what the model found; which columns matter; which rows
    are hard, odd or typical; what the table holds; and how the model was made.

    Parameters
    ----------
    model : fitted classifier of this library
    X : table with the columns of `fit`
        Ideally the rows of `fit`; for rows that the model has not seen, set `new_rows`.
    y : array-like of shape (n_samples,), optional
        Class labels; None, NaN or -1 marks a row without a label. Without labels there are no
        scores.
    target : str, optional
        Name of what is predicted; by default the name of `y`, if it has one.
    title : str, optional
        Heading of the page.
    index : array-like of shape (n_samples,), optional
        Names of the rows; by default the index of the data frame, otherwise 0, 1, ...
    folds : int, default=5
        Number of parts into which the rows are split. For each, the model is fitted again to the
        other parts.
        In large tables a third of the rows is held out once instead, or the folds are made of a
        sample of the rows. The page says so.
    new_rows : bool, default=False
        Whether the rows are new to the model. It is then scored as it is, without fitting again.
    command : str, optional
        What the page shows as the way to recreate it.
    left_out : sequence of str, optional
        Columns of your table that the model was not given. The page names them.
    ids : array-like of shape (n_samples,), optional
        Identifiers of the rows, such as a column that the model was not given. The page shows them
        beside the names of the rows, and finds rows by them. A series has a name, which is shown
        too.

    Returns
    -------
    Report
        With `summary`, `save(path)` and `html`.

    Notes
    -----
    The page is the same, to the byte, for the same model, table and versions: it has no date, and
    what is drawn at random has a fixed seed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from latentclass import report
    >>> from latentclass.baselines import NaiveBayes
    >>> X, y = load_iris(return_X_y=True)
    >>> page = report(NaiveBayes().fit(X, y), X, y, target="species")
    >>> page.summary.quality.n_rows
    150
    >>> print(page.summary.words[0].split(". ")[0])
    This model (NaiveBayes) predicts species (0, 1 and 2) from 4 columns
    """
    for package in lacking_packages():
        raise ImportError(
            f"report needs {package}, which is not installed: python -m pip install "
            '"latentclass[report]".'
        )
    check_classifier(model, "report")
    check_number("folds", folds, low=2, high=MOST_FOLDS, whole=True)
    check_option("new_rows", new_rows, (True, False))
    from latentclass.reports._collect import collect

    return Report(
        collect(
            model,
            X,
            y,
            target=target,
            title=title,
            index=index,
            folds=int(folds),
            new_rows=bool(new_rows),
            command=command,
            left_out=left_out,
            ids=ids,
        )
    )
