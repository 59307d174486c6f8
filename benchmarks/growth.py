"""How fits grow: rows, columns, classes, missing cells, unlabelled rows, levels; peers beside.

Tables are drawn from three latent causes: 10,000 rows, 10 columns, 2 classes, complete and labelled
(1,000 rows for the curve of levels), but for the one thing that grows. Every fit runs alone in a
process of its own with one thread, after a fit to a few rows that loads and compiles everything. A
fit that takes more processor time than `--seconds`, or more than 12 GB, is stopped and recorded so.

Short form: one size of three curves, three models. `--full`: all of them. `--only "LCM;TAN"` and
`--curves rows,levels` choose some.
"""

import json
import os
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture

from _record import Run, make_parser
from latentclass import (
    BinaryLCMClassifier,
    HNBClassifier,
    HybridLCMClassifier,
    LatentMixture,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifier,
    LCMClassifierCV,
)
from latentclass.baselines import AODE, TAN, NaiveBayes

MEMORY = 12 * 2**30
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
N_ROWS, N_COLUMNS, N_CLASSES = 10_000, 10, 2

NUMBERS = {
    "NaiveBayes": NaiveBayes(),
    "LCM": LCMClassifier(3, random_state=0),
    "LCM, 8 components": LCMClassifier(3, 8, random_state=0),
    "LCM CV": LCMClassifierCV(random_state=0),
    "Hybrid": HybridLCMClassifier(random_state=0),
    "LatentTree, east": LatentTreeClassifier(random_state=0),
    "LatentTree, fast": LatentTreeClassifier(search="fast", random_state=0),
    "HNB": HNBClassifier(random_state=0),
    "LatentMixture": LatentMixture(4, random_state=0),
    "LatentVariable": LatentVariableClassifier(random_state=0),
    "TAN": TAN(),
    "AODE": AODE(),
}
PEERS = {
    "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
    "RandomForest": RandomForestClassifier(random_state=0),
    "LogisticRegression": LogisticRegression(max_iter=500),
    "GaussianMixture": GaussianMixture(4, covariance_type="diag", n_init=10, random_state=0),
}
LEVELS = {
    "NaiveBayes": NaiveBayes(),
    "Hybrid": HybridLCMClassifier(random_state=0),
    "BinaryLCM": BinaryLCMClassifier(random_state=0),
    "TAN": TAN(),
    "AODE": AODE(),
    "HNB": HNBClassifier(random_state=0),
    "LatentTree, fast": LatentTreeClassifier(search="fast", random_state=0),
    "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
}
COMPLETE = {"RandomForest", "LogisticRegression", "GaussianMixture"}
"""Peers that take neither missing cells nor unlabelled rows."""

CURVES = {
    "rows": [1_000, 10_000, 100_000],
    "columns": [10, 50, 200, 500, 1_000],
    "classes": [2, 10],
    "missing": [0.0, 0.1, 0.3],
    "unlabelled": [0.0, 0.5, 0.9],
    "levels": [3, 30, 300],
}
SHORT = {"rows": [2_000], "missing": [0.1], "levels": [3]}


def draw(curve: str, size: float) -> tuple[object, np.ndarray]:
    """A table whose columns three hidden causes drive, and labels."""
    rng = np.random.default_rng(0)
    n = int(size) if curve == "rows" else 1_000 if curve == "levels" else N_ROWS
    n_columns = int(size) if curve == "columns" else N_COLUMNS
    n_classes = int(size) if curve == "classes" else N_CLASSES
    if curve == "columns":
        n = min(n, 10_000)
    y = rng.integers(0, n_classes, n)
    causes = rng.normal(size=(n, 3)) + rng.normal(size=(n_classes, 3))[y]
    X = causes @ rng.normal(size=(3, n_columns)) + rng.normal(size=(n, n_columns))
    if curve == "missing":
        X[rng.random(X.shape) < size] = np.nan
    if curve == "levels":
        import pandas as pd

        ranks = X.argsort(axis=0).argsort(axis=0) * int(size) // n
        return pd.DataFrame(ranks).add_prefix("c").astype(str).astype(object), y
    labels = y.astype(float)
    if curve == "unlabelled":
        labels[rng.random(n) < size] = np.nan
    return X, labels


def fit(curve: str, size: float, name: str) -> dict[str, float]:
    """Processor seconds and memory of one fit, in this process."""
    models = LEVELS if curve == "levels" else NUMBERS | PEERS
    model = models[name]
    X, y = draw(curve, size)
    if name in PEERS and curve == "levels":
        X = X.apply(lambda column: column.astype("category").cat.codes)
    warnings.simplefilter("ignore")
    few = np.random.default_rng(1).choice(len(y), 200, replace=False)
    model.fit(X.iloc[few] if hasattr(X, "iloc") else X[few], y[few])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": seconds, "megabytes": (after - before) / 1024}


def fit_alone(curve: str, size: float, name: str, most: float) -> dict[str, float] | str:
    """`fit` in a process of its own; a word if it is stopped."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (int(most) + 20, int(most) + 25))

    command = [sys.executable, __file__, "--case", curve, str(size), name]
    done = subprocess.run(
        command, capture_output=True, text=True, preexec_fn=limit, env=os.environ | ONE_THREAD
    )
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    lines = done.stderr.strip().splitlines()
    return "memory" if lines and "Memory" in lines[-1] else f"over {most:.0f} s"


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--only", default="", help="names of models, separated by ';'")
    parser.add_argument("--curves", default="", help="names of curves, separated by ','")
    parser.add_argument("--seconds", type=float, default=60.0, help="most CPU seconds of a fit")
    parser.add_argument("--case", nargs=3, help="for the processes of the fits")
    options = parser.parse_args()
    if options.case:
        curve, size, name = options.case
        print(json.dumps(fit(curve, float(size), name)))
        return
    curves = CURVES if options.full else SHORT
    wanted = [name for name in options.only.split(";") if name]
    with Run(__file__, keep=options.full) as run:
        for curve, sizes in curves.items():
            if options.curves and curve not in options.curves.split(","):
                continue
            names = list(LEVELS if curve == "levels" else NUMBERS | PEERS)
            if not options.full:
                names = [name for name in names if name in ("NaiveBayes", "LCM", "TAN")]
            for size in sizes:
                for name in names:
                    if wanted and name not in wanted:
                        continue
                    if name in COMPLETE and curve in ("missing", "unlabelled") and size > 0:
                        continue
                    found = fit_alone(curve, size, name, options.seconds)
                    what = f"{curve} {size:,.4g}" if size < 1 else f"{curve} {size:,}"
                    if isinstance(found, str):
                        run.add(what, name, found)
                    else:
                        run.add(what, name, found["seconds"], unit="s", clock="CPU")
                        run.add(what, f"{name}, memory", found["megabytes"], unit="MB")


if __name__ == "__main__":
    main()
