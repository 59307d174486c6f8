"""What latentclass does with missing cells and missing labels: `make demo`.

Takes the wine data, removes cells and labels at random, compares three classifiers of this library
with three of scikit-learn on the same folds, and writes a report on one of them. Needs no network.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB

from latentclass import LCMClassifier, report
from latentclass.baselines import NaiveBayes
from latentclass.datasets import load_dataset
from latentclass.evaluation import TableClassifier, compare

SEED = 0


def damaged_wine() -> tuple[pd.DataFrame, np.ndarray]:
    """Return the wines with a text column, a tenth of the cells missing, a third unlabelled."""
    rng = np.random.default_rng(SEED)
    wine = load_dataset("wine", container="pandas")
    X = wine.X.rename(columns={"OD280/OD315_of_diluted_wines": "Dilution"})
    shade = pd.cut(X.pop("Color_intensity"), [0, 3.5, 6, 20], labels=["pale", "medium", "deep"])
    X["Shade"] = shade.astype(str)
    X = X.mask(rng.random(X.shape) < 0.10)
    labelled = rng.random(len(X)) >= 1 / 3
    return X, np.array(
        [f"grower {k}" if known else None for k, known in zip(wine.y, labelled, strict=True)]
    )


def contenders() -> dict[str, Any]:
    """Return the classifiers. Those of scikit-learn need an imputed and encoded table."""
    return {
        "latentclass NaiveBayes": NaiveBayes(),
        "latentclass NaiveBayes, calibrated": NaiveBayes(calibrate=True),
        "latentclass LCMClassifier": LCMClassifier(n_latent=4, random_state=SEED),
        "GaussianNB after imputing": TableClassifier(GaussianNB()),
        "LogisticRegression after imputing": TableClassifier(LogisticRegression(max_iter=1000)),
        "RandomForest after imputing": TableClassifier(RandomForestClassifier()),
    }


<<<<<<< HEAD
=======
def html_table(frame: pd.DataFrame) -> str:
    """Return a table as HTML. All text is escaped, because text from data cannot be trusted."""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in frame.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in frame.to_numpy()
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table as text, with short numbers and empty missing cells."""

    def cell(value: Any) -> str:
        if pd.isna(value):
            return ""
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    return frame.astype(object).map(cell)


def pictures(scores: dict[str, np.ndarray], explanation: Any, title: str) -> list[str]:
    """Return two pictures as HTML, or none if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure  # no pyplot: no window, no global state
    except ImportError:
        return []
    results = Figure(figsize=(8, 3), layout="constrained")
    axes = results.subplots()
    for place, losses in enumerate(scores.values()):
        axes.plot(losses, np.full(len(losses), place), "o", color="#0072B2", alpha=0.3)
        axes.plot(losses.mean(), place, "D", color="#D55E00")
    axes.set_yticks(range(len(scores)), list(scores))
    axes.invert_yaxis()
    axes.set_xlabel("log-loss of each fold, and their mean (diamond); lower is better")

    evidence = Figure(figsize=(8, 3.6), layout="constrained")
    axes = evidence.subplots()
    explanation.plot(ax=axes)
    axes.set_title(title)

    found = []
    for figure, words in ((results, "log-loss by classifier"), (evidence, title)):
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=100)
        data = base64.b64encode(buffer.getvalue()).decode()
        found.append(f'<img alt="{escape(words)}" src="data:image/png;base64,{data}">')
    return found


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>latentclass demo</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto }}
table {{ border-collapse: collapse; font-size: .85rem; display: block; overflow-x: auto }}
th, td {{ border-bottom: 1px solid #ccc; padding: .3rem .6rem; text-align: left }}
img {{ max-width: 100% }}
</style></head><body>
<h1>latentclass demo</h1>
<p>{setting}</p>
<h2>The same folds for all</h2>{scores}{score_picture}
<h2>Why this prediction?</h2><p>{explanation}</p>{evidence_picture}
<h2>Imputation</h2><p>A row of the table, and the same row as the model completes it.</p>{completed}
<h2>The most unusual rows</h2>
<p>Share: the share of rows sampled from the model, with the same cells missing, that are no
more probable.</p>{unusual}
</body></html>
"""


>>>>>>> main
def main() -> None:
    """Compare, fit, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo-report.html"))
    output = parser.parse_args().output

    X, y = damaged_wine()
    print(
        f"Wine: {len(X)} rows, {X.shape[1]} columns, one of them text; {int(X.isna().sum().sum())} "
        f"cells missing, {int(pd.isna(y).sum())} rows unlabelled; 5 stratified folds, repeated 4 "
        "times. Only latentclass learns from the unlabelled rows. All are tested on the labelled "
        "rows.\n"
    )
    models = contenders()
    result = compare(
        models,
        [("wine, damaged", X, y)],
        cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=SEED),
        random_state=SEED,
    )
    print(result.summary(), "\n")

<<<<<<< HEAD
    model = models["latentclass LCMClassifier"].fit(X, y)
    page = report(model, X, y, target="the grower of a wine")
    print(" ".join(page.summary.words), "\n")
    print(f"Report: {page.save(output).resolve()}")
=======
    model = NaiveBayes(random_state=SEED).fit(X, y)
    posterior = model.predict_proba(X)
    row = int(np.argmin(posterior.max(axis=1)))  # explain the least certain prediction
    explanation = model.explain(X.iloc[[row]])
    sentence = explanation.describe()
    print(sentence, "\n")
    emptiest = int(X.isna().sum(axis=1).to_numpy().argmax())
    both = pd.concat([X.iloc[[emptiest]], model.complete(X.iloc[[emptiest]])])
    completed = shown(both)
    completed.insert(0, f"row {emptiest}", ["in the table", "completed"])
    share = model.unusual(X)
    strange = np.argsort(share, kind="stable")[:5]
    odd = shown(X.iloc[strange])
    odd.insert(0, "share", [f"{value:.3f}" for value in share[strange]])
    odd.insert(0, "row", strange)
    print("Most unusual rows:", ", ".join(f"{r} ({share[r]:.3f})" for r in strange))

    by_fold = result.fold_scores("wine, damaged", "log_loss")
    images = pictures(
        dict(zip(result.classifiers, by_fold.T, strict=True)),
        explanation,
        f"Row {row}: why {explanation.target[0]}?",
    )
    score_picture, evidence_picture = images or ("", "")
    page = PAGE.format(
        setting=escape(setting),
        scores=html_table(shown(table.to_frame())),
        score_picture=score_picture,
        explanation=escape(sentence),
        evidence_picture=evidence_picture,
        completed=html_table(completed),
        unusual=html_table(odd),
    )
    output.write_text(page, encoding="utf-8")
    print(f"Report: {output.resolve()}" + ("" if images else " (no pictures: install matplotlib)"))
>>>>>>> main


if __name__ == "__main__":
    main()
