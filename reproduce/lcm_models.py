"""The latent classification models of LCM's Table 3 beside ours, 5 stratified folds.

    python reproduce/lcm_models.py --published lcm_table3_accuracy.csv --store lcm_models.jsonl

The models are the paper's (`as_published`) but for `QUICKER`: the size is found inside each
training part by successive halving with 20 restarts instead of the semi-greedy search with 100, the
worse restarts are dropped on the way, and EM stops at a gain of 0.01 per row. `--map` takes our
prior and acceleration instead of plain EM without prior.
`average` is our default: class probabilities averaged over 10 restarts, size by held-out log-loss.
QDA, naive Bayes and random forest are there to compare the log-loss. All attributes are numbers.
sonar and vehicle try a short list of sizes (`WIDE`), because all would take hours.
"""

import argparse
from pathlib import Path

from sklearn.ensemble import RandomForestClassifier

from _beside import Run, name_sets, read_published, report_differences
from latentclass import LCMClassifierCV
from latentclass.baselines import NaiveBayes, ProjectedNaiveBayes
from latentclass.datasets import list_datasets, load_dataset
from latentclass.evaluation import compare

WIDE = {
    "sonar": {"n_latent": (2, 5, 12, 30, 60), "n_components": (1, 3, 10)},
    "vehicle": {"n_latent": (5, 10, 20, 40, 72), "n_components": (1, 3, 10)},
}
# what is not the paper's way, to save time
QUICKER = {
    "search": "stepwise",
    "n_init": 20,
    "drop_starts": True,
    "tol": 1e-2,
    "relative_tol": False,
    "random_state": 0,
}
MAP = {"prior": 1.0, "accelerate": True, "max_iter": 200}


def classifiers(sizes: dict, fitted: dict) -> dict:
    """By name; `sizes` restricts the search of the models that have one, `fitted` is how."""
    paper = {**QUICKER, **fitted}
    published = LCMClassifierCV.as_published
    linear = {**sizes, "n_components": 1}
    return {
        "LCM average;T": LCMClassifierCV(**sizes, random_state=0, calibrate=False),
        "LCM(q,m;T)": published(**sizes, **paper),
        "LCM(q)": published(**linear, **paper),
        "LCM average;U": LCMClassifierCV(**sizes, noise="untied", random_state=0, calibrate=False),
        "LCM(q,m;U)": published(**sizes, noise="untied", **paper),
        "LCM(q)/S": published(**linear, structure="learned", **paper),
        "LCM(q,m;T)/S": published(**sizes, structure="learned", **paper),
        "QDA": ProjectedNaiveBayes(axes="class", calibrate=False),
        "NB": NaiveBayes(alpha=1.0, prior=1.0, calibrate=False),
        "random forest": RandomForestClassifier(300, random_state=0),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--published", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="names of classifiers")
    parser.add_argument("--sets", nargs="*", help="names of data sets")
    parser.add_argument("--map", action="store_true", help="our prior, accelerated EM")
    options = parser.parse_args()

    published = read_published(options.published)
    infos = [i for i in list_datasets("lcm") if not options.sets or i.name in options.sets]
    for group in (
        [i for i in infos if i.name not in WIDE],
        *([i] for i in infos if i.name in WIDE),
    ):
        if not group:
            continue
        chosen = classifiers(WIDE.get(group[0].name, {}), MAP if options.map else {})
        if options.only:
            chosen = {name: chosen[name] for name in options.only}
        tables = []
        for info in group:
            data = load_dataset(info.name, container="pandas")
            tables.append((data.name, data.X.astype(float), data.y))
        with Run(__file__, keep=True) as run:
            result = compare(chosen, tables, cv=5, store=options.store, n_jobs=options.jobs)
            print(result)
            figure = "less the paper, " + ("--map" if options.map else "paper's way")
            report_differences(run, figure, result, group, published)
            accuracies, losses = (result.scores(s).mean(axis=0) for s in ("accuracy", "log_loss"))
            for name, accuracy, loss in zip(chosen, accuracies, losses, strict=True):
                what = f"{name}, {name_sets(group)}"
                run.add(what, "accuracy", f"{100 * accuracy:.1f}", unit="%")
                run.add(what, "log-loss", f"{loss:.3f}")


if __name__ == "__main__":
    main()
