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

    model = models["latentclass LCMClassifier"].fit(X, y)
    page = report(model, X, y, target="the grower of a wine")
    print(" ".join(page.summary.words), "\n")
    print(f"Report: {page.save(output).resolve()}")


if __name__ == "__main__":
    main()
