"""HybridLCMClassifier and five others on tables of mixed columns, and with missing cells.

    python reproduce/lcm_hybrid_mixed.py --store hybrid.jsonl  # 3 small sets
    python reproduce/lcm_hybrid_mixed.py --store hybrid.jsonl --all  # 12 sets
    python reproduce/lcm_hybrid_mixed.py --store hybrid.jsonl --holes  # 10, 30, 50 % of the cells

No paper has this table: mixed columns are what the bLCM paper leaves for future work. Every model
has its defaults, on the same 5 folds: one-hot logistic regression, random forest,
gradient boosting, naive Bayes on mixed columns, hierarchical naive Bayes, and with `--ltc` the
latent tree classifier. Cells are removed at random, in training and test rows alike. Models that
need complete rows are wrapped in `TableClassifier`. The defaults of the hybrid model were chosen on
some of the sets, so the means over these and over the others are recorded separately.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from _beside import Run
from latentclass import HNBClassifier, HybridLCMClassifier, LatentTreeClassifier
from latentclass.baselines import NaiveBayes
from latentclass.datasets import load_dataset
from latentclass.evaluation import Comparison, TableClassifier, compare

SMALL = ("heart-c", "hepatitis", "lymph")
CHOSEN = ("heart-c", "hepatitis", "credit-a", "autos", "anneal", "australian")
OTHERS = ("lymph", "credit-g", "heart-statlog", "vote", "breast-cancer", "tae")
SHARES = (0.1, 0.3, 0.5)


def classifiers(*, ltc: bool) -> dict[str, object]:
    """The models, by name."""
    trees = {"latent trees": LatentTreeClassifier(random_state=0, calibrate=False)} if ltc else {}
    return trees | {
        "hybrid LCM": HybridLCMClassifier(random_state=0, calibrate=False),
        "naive Bayes": NaiveBayes(alpha=1.0, prior=1.0, calibrate=False),
        "HNB": HNBClassifier(random_state=0, calibrate=False),
        "logistic regression": TableClassifier(LogisticRegression(max_iter=5000)),
        "random forest": TableClassifier(RandomForestClassifier(300, random_state=0)),
        "gradient boosting": TableClassifier(HistGradientBoostingClassifier(random_state=0)),
    }


def read(name: str, share: float = 0.0) -> tuple[str, pd.DataFrame, np.ndarray]:
    """A table without classes of fewer than ten rows, some of its cells removed at random."""
    data = load_dataset(name, container="pandas")
    y = np.asarray(data.y)
    labels, counts = np.unique(y, return_counts=True)
    keep = np.isin(y, labels[counts >= 10])
    X = data.X[keep].reset_index(drop=True)
    if share:
        rng = np.random.default_rng(int(100 * share))
        X = X.mask(rng.random(X.shape) < share)
        name = f"{name}, {share:.0%} removed"
    return name, X, y[keep]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--holes", action="store_true")
    parser.add_argument("--ltc", action="store_true")
    parser.add_argument("--sets", nargs="+", choices=CHOSEN + OTHERS)
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    names = options.sets or (CHOSEN + OTHERS if options.all else SMALL)
    tables = [read(name) for name in names]
    if options.holes:
        tables = [read(name, share) for name in names for share in SHARES]
    with Run(__file__, keep=True) as run:
        result = compare(
            classifiers(ltc=options.ltc),
            tables,
            cv=5,
            scoring=("log_loss", "accuracy", "ece", "fit_seconds"),
            store=options.store,
            n_jobs=options.n_jobs,
            verbose=1,
        )
        print(result)
        report(run, result, [name for name, _, _ in tables], holes=options.holes)


def report(run: Run, result: Comparison, names: list[str], *, holes: bool) -> None:
    """Print the scores by table; record their means over groups of tables."""
    scores = {score: result.scores(score) for score in ("accuracy", "log_loss", "ece")}
    for score, values in scores.items():
        print(f"\n{score}\n{'data set':26}" + "".join(f"{c:>21}" for c in result.classifiers))
        for name, row in zip(names, values, strict=True):
            print(f"{name:26}" + "".join(f"{value:21.3f}" for value in row))
    print()
    everything = names[0] if len(names) == 1 else f"{len(names)} tables"
    places = {everything: list(range(len(names)))}
    suffix = ", cells removed" if holes else ", some sets"
    if set(names) == {*CHOSEN, *OTHERS}:
        everything, suffix = "all 12", ""
        groups = {"chosen": CHOSEN, "others": OTHERS}
        places = {g: [names.index(name) for name in members] for g, members in groups.items()}
    for place, name in enumerate(result.classifiers):
        what = name + suffix
        for group, rows in places.items():
            accuracy, loss = (scores[s][rows, place].mean() for s in ("accuracy", "log_loss"))
            run.add(what, f"accuracy, {group}", f"{100 * accuracy:.1f}", unit="%")
            run.add(what, f"log-loss, {group}", f"{loss:.3f}")
        error = scores["ece"][:, place].mean()
        run.add(what, f"calibration error, {everything}", f"{error:.3f}")


if __name__ == "__main__":
    main()
