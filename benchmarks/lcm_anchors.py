"""LCMClassifierCV on scikit-learn's iris, wine, breast_cancer and digits: accuracy and log-loss.

Accuracy (mean of folds) and log-loss (pooled, clipped at 1e-15) by the protocol of the peers'
numbers, StratifiedKFold(10, shuffle=True, random_state=0). The size is searched in every training
part. breast_cancer and digits get short lists of sizes: the default search would take hours. Every
fold of a full run goes to a store, so a run that was stopped continues where it was.

Short form: iris, 3 folds, a short list of sizes. `--full`: all, or those of `--sets`.
"""

from sklearn import datasets
from sklearn.model_selection import StratifiedKFold

from _record import ROOT, Run, make_parser
from latentclass import LCMClassifierCV
from latentclass.evaluation import compare

SETS = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast_cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
SIZES = {
    "breast_cancer": ([1, 2, 4, 8, 16], [1, 2, 4]),
    "digits": ([16, 32], [1, 2]),
}
STORE = ROOT / "build" / "lcm_anchors.jsonl"


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sets", nargs="+", choices=list(SETS))
    options = parser.parse_args()
    n_folds = 10 if options.full else 3
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    STORE.parent.mkdir(exist_ok=True)
    for name in options.sets or (SETS if options.full else ["iris"]):
        X, y = SETS[name](return_X_y=True)
        sizes = SIZES.get(name, (None, None)) if options.full else ([1, 2], [1, 2])
        models = {
            noise: LCMClassifierCV(*sizes, noise=noise, random_state=0)
            for noise in ("tied", "untied")
        }
        with Run(__file__, keep=options.full) as run:  # one per data set: they take long
            result = compare(
                models, [(name, X, y)], cv=folds, store=STORE if options.full else None
            )
            for noise, accuracy, loss in zip(
                models, result.scores("accuracy")[0], result.scores("log_loss")[0], strict=True
            ):
                what = f"{name}, {noise}" + ("" if options.full else f", {n_folds} folds")
                run.add(what, "accuracy", 100 * accuracy, unit="%")
                run.add(what, "log-loss", loss)


if __name__ == "__main__":
    main()
