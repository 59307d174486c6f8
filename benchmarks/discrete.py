"""TAN, AODE, hidden naive Bayes and K2 against Weka, scikit-bayes and pyAgrum: fit and predict.

All learn from and predict the same discretised rows. Limit: not slower than any peer. For Weka we
count what it reports itself: building the model and testing it, without the start of its virtual
machine and reading. Peers that are not installed are named.

Columns with many levels: against scikit-learn's CategoricalNB, which counts no pairs. Text labels:
against the same fit with whole numbers as labels.

Short form: kr-vs-kp, 3,000 rows with many levels. `--full`: splice and letter too, 10,000 rows with
many levels, 300,000 with text labels. `--peers` is the site-packages folder of an
environment with scikit-bayes and pyagrum.
"""

import importlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
from sklearn.naive_bayes import CategoricalNB

from _codes import load_codes
from _record import Run, best_times, make_parser, peak_megabytes
from latentclass.baselines import AODE, K2, TAN, HiddenNaiveBayes

WEKA = Path("/usr/share/java/weka.jar")
BAYES_NET = "weka.classifiers.bayes.BayesNet"
ESTIMATOR = ["-E", "weka.classifiers.bayes.net.estimate.SimpleEstimator", "--", "-A", "0.5"]
WEKA_ARGUMENTS = {
    "TAN": [BAYES_NET, "-D", "-Q", "weka.classifiers.bayes.net.search.local.TAN", "--", *ESTIMATOR],
    "AODE": ["weka.classifiers.bayes.AODE"],
    "HiddenNaiveBayes": ["weka.classifiers.bayes.HNB"],
    "K2": [
        BAYES_NET, "-D", "-Q", "weka.classifiers.bayes.net.search.local.K2", "--", "-P", "2",
        *ESTIMATOR,
    ],
}  # fmt: skip


def write_arff(path: Path, codes: np.ndarray, y: np.ndarray) -> None:
    lines = ["@relation rows"]
    for j, column in enumerate(codes.T):
        lines.append(f"@attribute a{j} {{{','.join(map(str, range(column.max() + 1)))}}}")
    lines += [f"@attribute class {{{','.join(map(str, range(y.max() + 1)))}}}", "@data"]
    lines += [",".join(map(str, [*row, k])) for row, k in zip(codes, y, strict=True)]
    path.write_text("\n".join(lines) + "\n")


def weka_seconds(arguments: list[str], path: Path, repeats: int) -> float:
    """What Weka says it took to build the model and to test it on the same rows, the best run."""
    command = ["java", "-Xmx1500m", "-cp", str(WEKA), arguments[0], "-t", str(path), "-no-cv"]
    times = []
    for _ in range(repeats):
        run = subprocess.run([*command, *arguments[1:]], check=True, capture_output=True, text=True)
        told = re.findall(r"Time taken to (?:build|test) model.*: ([\d.]+) seconds", run.stdout)
        assert len(told) == 2, run.stdout
        times.append(sum(map(float, told)))
    return min(times)


def find_peer(module: str, name: str) -> ModuleType | None:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        print(f"{name} is not installed ({error}): no comparison with it.")
        return None


def time_scikit_bayes(module: ModuleType, codes: np.ndarray, y: np.ndarray) -> float:
    peer = module.AnDE(n_dependence=1, categorical_features=list(range(codes.shape[1])))
    return best_times({"peer": lambda: peer.fit(codes, y).predict(codes)}, repeats=1)["peer"]


def time_pyagrum(module: ModuleType, codes: np.ndarray, y: np.ndarray) -> float:
    frame = pd.DataFrame(codes.astype(str)).add_prefix("a")
    labels = y.astype(str)
    processor = importlib.import_module("pyagrum.lib.discreteTypeProcessor")
    peer = module.BNClassifier(
        type_processor=processor.DiscreteTypeProcessor(),
        learningMethod="TAN",
        prior="Smoothing",
        priorWeight=1,
    )
    return best_times({"peer": lambda: (peer.fit(frame, labels), peer.predict(frame))}, 1)["peer"]


def compare_on(
    run: Run, name: str, bayes: ModuleType | None, agrum: ModuleType | None, weka: bool
) -> None:
    repeats = 5 if run.keep else 2
    what, codes, y = load_codes(name)
    X = codes.astype(float)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.arff"
        if weka:
            write_arff(path, codes, y)
        for kind in (TAN, AODE, HiddenNaiveBayes, K2):
            model = kind(categorical_features=list(range(codes.shape[1])))
            fit = {"ours": lambda model=model: model.fit(X, y).predict(X)}
            ours = best_times(fit, repeats)["ours"]
            peers = {}
            if weka:
                peers["Weka"] = weka_seconds(WEKA_ARGUMENTS[kind.__name__], path, repeats)
            if bayes and kind is AODE:
                peers["scikit-bayes"] = time_scikit_bayes(bayes, codes, y)
            if agrum and kind is TAN:
                peers["pyAgrum"] = time_pyagrum(agrum, codes, y)
            for peer, seconds in peers.items():
                run.add_ratio(what, f"{kind.__name__} / {peer}", ours, seconds, limit=1.0)
            if not peers:
                run.add(what, f"{kind.__name__}, fit and predict", ours, unit="s", clock="wall")


def draw_codes(n_rows: int, n_levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten columns that depend on a hidden cause, and so does the class."""
    rng = np.random.default_rng(0)
    cause = rng.integers(0, 3, n_rows)
    shift = cause[:, None] * n_levels // 3
    X = (shift + rng.integers(0, n_levels, (n_rows, 10))) % n_levels
    return X.astype(float), (cause + (rng.random(n_rows) < 0.2)) % 2


def compare_levels(run: Run, n_rows: int) -> None:
    for n_levels in (30, 300):
        X, y = draw_codes(n_rows, n_levels)
        what = f"{n_rows:,} x 10, {n_levels} levels"
        for kind in (TAN, AODE, HiddenNaiveBayes):
            models = {"ours": kind(categorical_features=list(range(10))), "peer": CategoricalNB()}
            tasks = {who: partial(model.fit, X, y) for who, model in models.items()}
            found = best_times(tasks, 3, clock="CPU")
            name = f"{kind.__name__}, fit / CategoricalNB"
            run.add_ratio(what, name, found["ours"], found["peer"], clock="CPU")
            peak = peak_megabytes(tasks["ours"])
            run.add(what, f"{kind.__name__}, peak memory of fit", peak, unit="MB")


def compare_labels(run: Run, n_rows: int) -> None:
    X, y = draw_codes(n_rows, 4)
    text = np.array(["setosa", "virginica"], dtype=object)[y]
    kinds = {"objects": text, "numpy text": text.astype(str), "pandas": pd.Series(text)}
    model = TAN(categorical_features=list(range(10)))
    tasks = {
        name: partial(model.fit, X, labels) for name, labels in {"numbers": y, **kinds}.items()
    }
    found = best_times(tasks, clock="CPU")
    for name in kinds:
        what, figure = f"{n_rows:,} text labels", f"TAN, fit: {name} / numbers"
        run.add_ratio(what, figure, found[name], found["numbers"], clock="CPU")


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--peers", help="site-packages folder with scikit-bayes and pyagrum")
    options = parser.parse_args()
    if options.peers:
        sys.path.append(options.peers)
    with Run(__file__, keep=options.full) as run:
        warnings.simplefilter("ignore")  # the peers'
        bayes = find_peer("skbn", "scikit-bayes")
        agrum = find_peer("pyagrum.skbn", "pyAgrum")
        weka = shutil.which("java") is not None and WEKA.exists()
        if not weka:
            print("Weka is not installed (apt-get install weka): no comparison with it.")
        for name in ("kr-vs-kp", "splice", "letter") if options.full else ("kr-vs-kp",):
            compare_on(run, name, bayes, agrum, weka)
        compare_levels(run, 10_000 if options.full else 3_000)
        compare_labels(run, 300_000 if options.full else 30_000)


if __name__ == "__main__":
    main()
