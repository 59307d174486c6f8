"""What the first call on a machine costs: kernels are compiled, or read from numba's cache.

For each classifier four new processes, each of them given a cache folder: the first fit with an
empty cache; the same fit with the cache that the first one left; then the first prediction of the
fitted model, which was pickled, with a full and with an empty cache. The figures are the processor
seconds of the whole call. What the imports take, or reading the pickle, which imports too, is told
apart. The table has 300 rows of 8 columns and two classes, the prediction 100 of them.

Limits: 8 s for a first fit, 1 s for a first prediction.

Short form: one model. `--full`: all of them.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from _record import Run, make_parser

NUMBERS = {
    "LatentTree, EAST": "latentclass.LatentTreeClassifier(random_state=0)",
    "LatentTree, fast": "latentclass.LatentTreeClassifier(search='fast', random_state=0)",
    "LatentVariable": "latentclass.LatentVariableClassifier(random_state=0)",
    "LatentMixture, EM": "latentclass.LatentMixture(4, random_state=0)",
    "LatentMixture, ERA": "latentclass.LatentMixture(4, 'era', random_state=0)",
    "Hybrid": "latentclass.HybridLCMClassifier(random_state=0)",
    "LCM": "latentclass.LCMClassifier(3, random_state=0)",
    "HNB": "latentclass.HNBClassifier(random_state=0)",
    "NaiveBayes": "baselines.NaiveBayes()",
    "TAN": "baselines.TAN()",
    "AODE": "baselines.AODE()",
}
YES_NO = {"BinaryLCM": "latentclass.BinaryLCMClassifier(10, discriminative=False, random_state=0)"}
"""Models of columns with two values."""

TABLE = """
rng = np.random.default_rng(0)
y = rng.integers(0, 2, 300)
X = (rng.normal(size=(300, 3)) + y[:, None]) @ rng.normal(size=(3, 8)) + rng.normal(size=(300, 8))
"""
FIT = """
import json, pickle, sys, time, warnings
start = time.process_time()
import numpy as np, latentclass
from latentclass import baselines
warnings.simplefilter("ignore")
{table}
model = {model}
begin = time.process_time()
model.fit(X, y)
end = time.process_time()
pickle.dump((model, X[:100]), open({path!r}, "wb"))
print(json.dumps([begin - start, end - begin]))
"""
PREDICT = """
import json, pickle, time
start = time.process_time()
model, X = pickle.load(open({path!r}, "rb"))
begin = time.process_time()
model.predict_proba(X)
print(json.dumps([begin - start, time.process_time() - begin]))
"""


def python(code: str, cache: Path) -> list[float]:
    """Seconds of the imports and of the call, in a process of its own."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    env = os.environ | threads | {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    return json.loads(done.stdout)


def measure(run: Run, name: str, model: str) -> None:
    table = TABLE + ("X = np.where(X > 0, 'y', 'n').astype(object)" if name in YES_NO else "")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.pickle")
        full, empty = Path(folder) / "full", Path(folder) / "empty"
        fit, predict = FIT.format(table=table, model=model, path=path), PREDICT.format(path=path)
        figures = {
            "fit, empty cache": (8.0, python(fit, full)),
            "fit, full cache": (8.0, python(fit, full)),
            "prediction, full cache": (1.0, python(predict, full)),
            "prediction, empty cache": (1.0, python(predict, empty)),
        }
    for title, (limit, (_, seconds)) in figures.items():
        run.add(name, title, seconds, unit="s", clock="CPU", limit=limit)
    run.add(name, "imports of a fit", figures["fit, full cache"][1][0], unit="s", clock="CPU")
    read = figures["prediction, full cache"][1][0]
    run.add(name, "reading the pickle", read, unit="s", clock="CPU")


def main() -> None:
    options = make_parser(__doc__).parse_args()
    models = NUMBERS | YES_NO if options.full else {"LatentTree, fast": NUMBERS["LatentTree, fast"]}
    with Run(__file__, keep=options.full, packages=("numpy", "numba")) as run:
        for name, model in models.items():
            measure(run, name, model)


if __name__ == "__main__":
    main()
