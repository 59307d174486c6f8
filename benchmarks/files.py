"""Size, saving and loading of model files beside pickle, joblib and skops, ten estimators.

The models are fitted to the iris flowers with a column of text. Files are on disk and in its cache;
ours and skops' check what they read, pickle and joblib run what they read.
Limits: loading takes at most 5 ms, and a file is at most 3 times as large as a pickle.

Short form: five repeats. `--full`: twenty.
"""

import os
import pickle
import tempfile
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import skops.io
from sklearn.datasets import load_iris

import latentclass
from _record import Run, best_times, make_parser
from latentclass import (
    BinaryLCMClassifier,
    HNBClassifier,
    HybridLCMClassifier,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifier,
)
from latentclass.baselines import AODE, TAN, FiniteMixtureNaiveBayes, NaiveBayes

MOST_MILLISECONDS, MOST_SIZE = 5.0, 3.0
MODELS = [
    NaiveBayes(),
    FiniteMixtureNaiveBayes(n_init=2, random_state=0),
    TAN(),
    AODE(),
    HNBClassifier(random_state=0),
    LatentTreeClassifier(n_cuts=2, random_state=0),
    LCMClassifier(2, 2, n_init=5, random_state=0),
    BinaryLCMClassifier(2, n_init=2, max_iter=20, discriminative=False, random_state=0),
    HybridLCMClassifier(2, 1, n_init=2, max_iter=20, power_transform=True, random_state=0),
    LatentVariableClassifier("kernel_logistic_regression", 2, n_init=1, random_state=0),
]


def write_pickle(model: Any, path: Path) -> None:
    path.write_bytes(pickle.dumps(model))


def load_skops(path: Path) -> Any:
    return skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))


WAYS = {
    "ours": (latentclass.save, latentclass.load),
    "pickle": (write_pickle, lambda path: pickle.loads(path.read_bytes())),
    "joblib": (joblib.dump, joblib.load),
    "skops": (skops.io.dump, load_skops),
}


def compare(run: Run, model: Any, folder: Path, repeats: int) -> None:
    what = type(model).__name__
    paths = {way: folder / way for way in WAYS}
    saving = {way: lambda way=way: WAYS[way][0](model, paths[way]) for way in WAYS}
    loading = {way: lambda way=way: WAYS[way][1](paths[way]) for way in WAYS}
    saved = best_times(saving, repeats, clock="CPU")
    loaded = best_times(loading, repeats, clock="CPU")
    size = {way: os.path.getsize(path) for way, path in paths.items()}
    for way in WAYS:
        limit = MOST_MILLISECONDS if way == "ours" else None
        run.add(what, f"load, {way}", 1e3 * loaded[way], unit="ms", limit=limit, clock="CPU")
    for way in WAYS:
        run.add(what, f"save, {way}", 1e3 * saved[way], unit="ms", clock="CPU")
    for way in WAYS:
        limit = MOST_SIZE * size["pickle"] if way == "ours" else None
        run.add(what, f"size, {way}", size[way], unit="bytes", limit=limit)


def main() -> None:
    options = make_parser(__doc__).parse_args()
    numbers, y = load_iris(return_X_y=True)
    X = pd.DataFrame(numbers, columns=["sepal", "width", "petal", "tip"])
    X["garden"] = np.random.default_rng(0).choice(["north", "south", "east"], len(X))
    packages = ("numpy", "scikit-learn", "joblib", "skops")
    with (
        Run(__file__, keep=options.full, packages=packages) as run,
        tempfile.TemporaryDirectory() as name,
    ):
        for model in MODELS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, np.array(["setosa", "versicolor", "virginica"])[y])
            compare(run, model, Path(name), 20 if options.full else 5)


if __name__ == "__main__":
    main()
