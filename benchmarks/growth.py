"""How fits grow: rows, columns, classes, missing cells, unlabelled rows, levels; peers beside.

Tables are drawn from three latent causes: 10,000 rows, 10 columns, 2 classes, complete and labelled
(3,000 rows for the curve of levels), but for the one thing that grows. Every fit runs alone in a
process of its own with one thread, after a fit to a few rows that loads and compiles everything. A
fit that takes more processor time than `--seconds`, or more than 12 GB, is stopped and recorded so.

Every figure is written when it is known. A run that was broken off is started again with the same
options: it leaves out what has a record of this day, or of the day `--since` and later. StepMix is
measured too where it is installed.

Short form: one size of three curves, three models. `--full`: all of them. `--only "LCM;TAN"` and
`--curves rows,levels` choose some.
"""

import datetime
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from _record import Run, make_parser, read_records
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
from latentclass.baselines import (
    AODE,
    TAN,
    HiddenNaiveBayes,
    MixtureNaiveBayes,
    NaiveBayes,
    ProjectedNaiveBayes,
)
from latentclass.engine._small import compiled_always

MEMORY = 12 * 2**30
WARM_UP = 180
"""Most processor seconds of the first fit to a few rows, which compiles."""

ENOUGH = 0.5
"""A fit is repeated until it has taken so many processor seconds: the clock is coarse."""

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
N_ROWS, N_COLUMNS, N_CLASSES = 10_000, 10, 2
LEVEL_ROWS = 3_000
"""Ten rows for each of 300 levels: values of fewer than five rows would share one level."""

BOTH = {
    "NaiveBayes": NaiveBayes(),
    "Hybrid": HybridLCMClassifier(random_state=0),
    "LatentTree, fast": LatentTreeClassifier(search="fast", random_state=0),
    "HNB": HNBClassifier(random_state=0),
    "LatentMixture": LatentMixture(4, random_state=0),
    "TAN": TAN(),
    "AODE": AODE(),
    "HiddenNaiveBayes": HiddenNaiveBayes(),
    "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
    "RandomForest": RandomForestClassifier(random_state=0),
}
"""Models for numbers and for categories alike; the peers take codes of these."""

NUMBERS = {
    "LCM": LCMClassifier(3, random_state=0),
    "LCM, 8 components": LCMClassifier(3, 8, random_state=0),
    "LCM CV": LCMClassifierCV(random_state=0),
    "MixtureNaiveBayes": MixtureNaiveBayes(random_state=0),
    "ProjectedNaiveBayes": ProjectedNaiveBayes(),
    "LatentTree, EAST": LatentTreeClassifier(random_state=0),
    "LatentVariable": LatentVariableClassifier(random_state=0),
    **BOTH,
    "LogisticRegression": LogisticRegression(max_iter=500),
    "GaussianMixture": GaussianMixture(4, covariance_type="diag", n_init=10, random_state=0),
}
LEVELS = {
    **BOTH,
    "BinaryLCM": BinaryLCMClassifier(10, discriminative=False, random_state=0),
    "LogisticRegression": make_pipeline(
        OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=500)
    ),
}
if importlib.util.find_spec("stepmix"):
    from stepmix.stepmix import StepMix

    def step_mix(measurement: str) -> BaseEstimator:
        return StepMix(4, measurement=measurement, n_init=10, progress_bar=0, random_state=0)

    NUMBERS["StepMix"] = step_mix("gaussian_diag_nan")
    LEVELS["StepMix"] = step_mix("categorical")

COMPLETE = {"LogisticRegression", "GaussianMixture"}
"""Peers that take no missing cells."""

CLUSTERS = {"GaussianMixture", "StepMix"}
"""Peers that learn without labels."""

# the sizes beside 10,000 rows, 10 columns, 2 classes, nothing missing
CURVES = {
    "rows": [1_000, 10_000, 100_000],
    "columns": [50, 200, 500, 1_000],
    "classes": [10],
    "missing": [0.1, 0.3],
    "unlabelled": [0.5, 0.9],
    "levels": [3, 30, 300],
}
SHORT = {"rows": [2_000], "missing": [0.1], "levels": [3]}
SHORT_MODELS = ("NaiveBayes", "LCM", "TAN")

Cell = tuple[str, float, str]
"""A curve, its size, and the name of a model."""


def draw(curve: str, size: float) -> tuple[np.ndarray, np.ndarray]:
    """A table whose columns three hidden causes drive, and labels."""
    rng = np.random.default_rng(0)
    n = int(size) if curve == "rows" else LEVEL_ROWS if curve == "levels" else N_ROWS
    n_columns = int(size) if curve == "columns" else N_COLUMNS
    n_classes = int(size) if curve == "classes" else N_CLASSES
    y = rng.integers(0, n_classes, n)
    causes = rng.normal(size=(n, 3)) + rng.normal(size=(n_classes, 3))[y]
    X = causes @ rng.normal(size=(3, n_columns)) + rng.normal(size=(n, n_columns))
    if curve == "missing":
        X[rng.random(X.shape) < size] = np.nan
    if curve == "levels":
        X = X.argsort(axis=0).argsort(axis=0) * int(size) // n
    labels = y.astype(float)
    if curve == "unlabelled":
        labels[rng.random(n) < size] = np.nan
    return X, labels


def models_of(curve: str) -> dict[str, BaseEstimator]:
    return LEVELS if curve == "levels" else NUMBERS


def is_ours(model: BaseEstimator) -> bool:
    return type(model).__module__.startswith("latentclass.")


def can_fit(curve: str, name: str) -> bool:
    """Whether a model takes the tables of a curve. Peers take no table with some labels."""
    if is_ours(models_of(curve)[name]):
        return True
    return curve != "unlabelled" and not (curve == "missing" and name in COMPLETE)


def fit(path: str, curve: str, name: str, most: float) -> dict[str, float]:
    """Processor seconds and memory of one fit, in this process."""
    warnings.simplefilter("ignore")
    model = models_of(curve)[name]
    with np.load(path) as table:
        X, y = table["X"], table["y"]
    if curve == "levels" and is_ours(model):
        X = X.astype(str).astype(object)
    few = np.random.default_rng(1).choice(len(y), 200, replace=False)
    labels = () if name in CLUSTERS else (y,)
    with compiled_always():
        model.fit(X[few], *(label[few] for label in labels))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    limit_seconds(start + most)
    seconds, n_fits = 0.0, 0
    while seconds < ENOUGH:
        model.fit(X, *labels)
        n_fits += 1
        seconds = time.process_time() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": seconds / n_fits, "megabytes": (after - before) / 1024}


def limit_seconds(most: float) -> None:
    """End this process when it has used so much processor time."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(most) + 1, resource.RLIM_INFINITY))


def fit_alone(path: str, curve: str, name: str, most: float) -> dict[str, float] | str:
    """`fit` in a process of its own; words if it has no figures."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        limit_seconds(WARM_UP)

    command = [sys.executable, __file__, "--case", path, curve, name, str(most)]
    done = subprocess.run(
        command, capture_output=True, text=True, preexec_fn=limit, env=os.environ | ONE_THREAD
    )
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    if done.returncode == -signal.SIGXCPU:
        return f"over {most:.0f} s"
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    if "MemoryError" in last or "would need" in last:
        return "out of memory"
    print(f"{curve}, {name}: {last}", file=sys.stderr)
    return "error"


def name_table(curve: str, size: float) -> str:
    return f"{curve} {size:,.4g}" if size < 1 else f"{curve} {size:,}"


def cells_to_measure(options: object) -> list[Cell]:
    """What the options ask for, but what is in the records already."""
    curves = CURVES if options.full else SHORT
    wanted = options.only.split(";") if options.only else None if options.full else SHORT_MODELS
    done = set()
    path = Run(__file__, keep=True).path
    if options.full and path.exists():
        records = read_records(path)
        done = {(record.what, record.figure) for record in records if record.date >= options.since}
    return [
        (curve, size, name)
        for curve, sizes in curves.items()
        if not options.curves or curve in options.curves.split(",")
        for size in sizes
        for name in models_of(curve)
        if can_fit(curve, name)
        and (wanted is None or name in wanted)
        and (name_table(curve, size), name) not in done
    ]


def measure(run: Run, folder: Path, cell: Cell, most: float) -> None:
    curve, size, name = cell
    what = name_table(curve, size)
    path = folder / f"{what}.npz"
    if not path.exists():
        X, y = draw(curve, size)
        np.savez(path, X=X, y=y)
    found = fit_alone(str(path), curve, name, most)
    if isinstance(found, str):
        run.add(what, name, found)
    else:
        run.add(what, name, found["seconds"], unit="s", clock="CPU")
        run.add(what, f"{name}, memory", found["megabytes"], unit="MB")


def main() -> None:
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    parser = make_parser(__doc__)
    parser.add_argument("--only", default="", help="names of models, separated by ';'")
    parser.add_argument("--curves", default="", help="names of curves, separated by ','")
    parser.add_argument("--seconds", type=float, default=60.0, help="most CPU seconds of a fit")
    parser.add_argument("--since", default=today, help="day whose records are not measured again")
    parser.add_argument("--case", nargs=4, help="for the processes of the fits")
    options = parser.parse_args()
    if options.case:
        path, curve, name, most = options.case
        print(json.dumps(fit(path, curve, name, float(most))))
        return
    cells = cells_to_measure(options)
    # what a run has measured is written at its end, so each cell has a run of its own
    groups = [[cell] for cell in cells] if options.full else [cells]
    with tempfile.TemporaryDirectory() as folder:
        for group in groups:
            with Run(__file__, keep=options.full) as run:
                for cell in group:
                    measure(run, Path(folder), cell, options.seconds)


if __name__ == "__main__":
    main()
