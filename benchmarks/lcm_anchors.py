"""LCMClassifierCV on scikit-learn's iris, wine, breast_cancer and digits: ten folds.

Accuracy (mean of folds) and log-loss (pooled, clipped at 1e-15) by the protocol of the peers'
numbers, StratifiedKFold(10, shuffle=True, random_state=0); the size is searched in every training
part. breast_cancer and digits get short lists of sizes: the default search would take hours.
Results go to a store.

    python benchmarks/lcm_anchors.py --store anchors.jsonl iris wine
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import warnings
from pathlib import Path

from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    for name in options.sets:
        X, y = SETS[name](return_X_y=True)
        sizes = SIZES.get(name, (None, None))
        models = {
            "LCMClassifierCV, tied": LCMClassifierCV(*sizes, random_state=0),
            "LCMClassifierCV, untied": LCMClassifierCV(*sizes, noise="untied", random_state=0),
        }
        print(compare(models, [(name, X, y)], cv=folds, store=options.store), flush=True)


if __name__ == "__main__":
    main()
