"""TAN, AODE, hidden naive Bayes, K2 against Weka, scikit-bayes and pyAgrum: fit and predict.

All learn from and predict the same discretised rows (letter, kr-vs-kp, splice), one thread. Limit:
not slower than any peer. Of Weka's run counts what it reports itself: building the model and
testing it, without starting its virtual machine and reading. Peers that are not there are named.

    LATENTCLASS_DATA=folder python benchmarks/discrete.py [--peers SITE_PACKAGES]

`--peers` is the site-packages folder of an environment with scikit-bayes and pyagrum.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import importlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _timing import best_times, print_table

from latentclass.datasets import load_dataset
from latentclass.discrete._aode import AODE
from latentclass.discrete._hidden_naive_bayes import HiddenNaiveBayes
from latentclass.discrete._k2 import K2
from latentclass.discrete._tan import TAN
from latentclass.engine._mdl import bin_codes, mdl_cut_points

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


def coded(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns cut or coded from 0, constant ones and names of single rows left out."""
    data = load_dataset(name)
    _, y = np.unique(np.asarray(data.y), return_inverse=True)
    columns = []
    for column in data.X:
        values = data.X[column]
        if values.nunique() > 100 and values.dtype.kind not in "if":
            continue
        if values.dtype.kind in "if":
            numbers = values.to_numpy(dtype=float)
            cuts = mdl_cut_points(numbers, y, np.ones(len(y)), int(y.max()) + 1)
            codes = bin_codes(numbers, cuts)
        else:
            codes = np.unique(values.astype(str), return_inverse=True)[1]
        if codes.max() > 0:
            columns.append(codes)
    return np.stack(columns, axis=1).astype(np.int64), y


def write_arff(path: Path, codes: np.ndarray, y: np.ndarray) -> None:
    lines = ["@relation rows"]
    for j, column in enumerate(codes.T):
        lines.append(f"@attribute a{j} {{{','.join(map(str, range(column.max() + 1)))}}}")
    lines += [f"@attribute class {{{','.join(map(str, range(y.max() + 1)))}}}", "@data"]
    lines += [",".join(map(str, [*row, k])) for row, k in zip(codes, y, strict=True)]
    path.write_text("\n".join(lines) + "\n")


def weka_seconds(arguments: list[str], path: Path, repeats: int = 5) -> float:
    """What Weka says it took to build the model and to test it on the same rows, the best run."""
    command = ["java", "-Xmx1500m", "-cp", str(WEKA), arguments[0], "-t", str(path), "-no-cv"]
    times = []
    for _ in range(repeats):
        run = subprocess.run([*command, *arguments[1:]], check=True, capture_output=True, text=True)
        told = re.findall(r"Time taken to (?:build|test) model.*: ([\d.]+) seconds", run.stdout)
        assert len(told) == 2, run.stdout
        times.append(sum(map(float, told)))
    return min(times)


def find_peer(module: str, name: str) -> object | None:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        print(f"{name} is absent ({error}): no comparison with it.")
        return None


def time_ours(model: type, codes: np.ndarray, y: np.ndarray) -> dict[str, object]:
    X = codes.astype(float)
    ours = model(categorical_features=list(range(codes.shape[1])))
    seconds = best_times({"ours": lambda: ours.fit(X, y).predict(X)}, repeats=3)["ours"]
    return {"model": model.__name__, "ours s": seconds}


def time_scikit_bayes(module: object, codes: np.ndarray, y: np.ndarray) -> float:
    peer = module.AnDE(n_dependence=1, categorical_features=list(range(codes.shape[1])))
    return best_times({"peer": lambda: peer.fit(codes, y).predict(codes)}, repeats=1)["peer"]


def time_pyagrum(module: object, codes: np.ndarray, y: np.ndarray) -> float:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", help="site-packages folder with scikit-bayes and pyagrum")
    parser.add_argument("--sets", nargs="+", default=["kr-vs-kp", "splice", "letter"])
    options = parser.parse_args()
    if options.peers:
        sys.path.append(options.peers)
    warnings.simplefilter("ignore")
    bayes = find_peer("skbn", "scikit-bayes")
    agrum = find_peer("pyagrum.skbn", "pyAgrum")
    weka = shutil.which("java") is not None and WEKA.exists()
    if not weka:
        print(f"Weka is absent (java and {WEKA}; apt-get install weka): no comparison with it.")
    for name in options.sets:
        codes, y = coded(name)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.arff"
            if weka:
                write_arff(path, codes, y)
            rows = []
            for model in (TAN, AODE, HiddenNaiveBayes, K2):
                row = time_ours(model, codes, y)
                if weka:
                    row["Weka s"] = weka_seconds(WEKA_ARGUMENTS[model.__name__], path)
                    row["Weka / ours"] = row["Weka s"] / row["ours s"]
                if bayes and model is AODE:
                    row |= {"peer": "scikit-bayes", "peer s": time_scikit_bayes(bayes, codes, y)}
                if agrum and model is TAN:
                    row |= {"peer": "pyAgrum", "peer s": time_pyagrum(agrum, codes, y)}
                if "peer" in row:
                    row["peer / ours"] = row["peer s"] / row["ours s"]
                rows.append(row)
        columns = dict.fromkeys(key for row in rows for key in row)
        rows = [{key: row.get(key, "") for key in columns} for row in rows]
        title = f"{name}: {codes.shape[0]:,} rows x {codes.shape[1]} columns, {y.max() + 1} classes"
        print_table(f"{title}; fit and predict", rows)


if __name__ == "__main__":
    main()
