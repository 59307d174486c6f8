"""TAN, AODE, hidden naive Bayes and K2 against Weka, scikit-bayes and pyAgrum: fit and predict.

All learn from and predict the same discretised rows. Limit: not slower than any peer. For Weka we
count what it reports itself: building the model and testing it, without the start of its virtual
machine and reading. Peers that are not installed are named.

Short form: kr-vs-kp. `--full`: splice and letter too. `--peers` is the site-packages folder of an
environment with scikit-bayes and pyagrum.
"""

import importlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd

from _codes import load_codes
from _record import Run, best_times, make_parser
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


if __name__ == "__main__":
    main()
