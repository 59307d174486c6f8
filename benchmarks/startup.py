"""How long until something happens: imports beside scikit-learn's own, and a first fit.

Limit: an import within 1.3 times `import sklearn.base, scipy.special`.

Short form: the best of 3 new processes. `--full`: of 7.
"""

import subprocess
import sys

from _record import Run, best_times, make_parser

PEER = "sklearn.base, scipy.special"
IMPORTS = {
    "latentclass": "import latentclass",
    "NaiveBayes": "from latentclass.baselines import NaiveBayes",
    "load_dataset": "from latentclass.datasets import load_dataset",
}
FIRST_FITS = {
    "ours": "from latentclass.baselines import NaiveBayes as Model",
    "peer": "from sklearn.naive_bayes import GaussianNB as Model",
}
FIT = """
import time, numpy as np
rng = np.random.default_rng(0)
X, y = rng.normal(size=(150, 4)), rng.integers(0, 3, 150)
start = time.perf_counter(); Model().fit(X, y).predict(X); print(time.perf_counter() - start)
"""


def python(code: str) -> str:
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout


def main() -> None:
    options = make_parser(__doc__).parse_args()
    repeats = 7 if options.full else 3
    with Run(__file__, keep=options.full) as run:
        tasks = {"nothing": "pass", PEER: f"import {PEER}"} | IMPORTS
        times = best_times({n: lambda code=c: python(code) for n, c in tasks.items()}, repeats)
        nothing = times["nothing"]  # what Python itself takes is no merit of either side
        run.add(PEER, "import", times[PEER] - nothing, unit="s", clock="wall")
        for name in IMPORTS:
            run.add_ratio(
                name, f"import / {PEER}", times[name] - nothing, times[PEER] - nothing, limit=1.3
            )  # fmt: skip
        first = {
            who: min(float(python(code + FIT)) for _ in range(repeats))
            for who, code in FIRST_FITS.items()
        }
        run.add_ratio(
            "NaiveBayes, 150 x 4", "first fit and predict / GaussianNB", first["ours"],
            first["peer"],
        )  # fmt: skip


if __name__ == "__main__":
    main()
