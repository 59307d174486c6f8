"""How long until something happens: imports beside scikit-learn's own, and first fits.

Limit: an import within 1.3 times `import sklearn.base, scipy.special`. Run by `make bench`.
"""

import subprocess
import sys

from _timing import best_times, print_table

LIMIT = "import sklearn.base, scipy.special"
IMPORTS = {
    "import latentclass": "import latentclass",
    "NaiveBayes": "from latentclass.baselines import NaiveBayes",
    "load_dataset": "from latentclass.datasets import load_dataset",
}
# One entry a model. None compiles anything so far: there is no cache to warm.
FIRST_FITS = {
    "NaiveBayes": (
        "from latentclass.baselines import NaiveBayes as Model",
        "from sklearn.naive_bayes import GaussianNB as Model",
    ),
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
    tasks = {"empty": "pass", LIMIT: LIMIT} | IMPORTS
    times = best_times({name: lambda code=code: python(code) for name, code in tasks.items()}, 7)
    empty = times.pop("empty")  # what Python itself takes is nobody's merit
    limit = times[LIMIT] - empty
    print_table(
        "Imports",
        [
            {"statement": name, "seconds": time - empty, "ratio": (time - empty) / limit}
            for name, time in times.items()
        ],
    )
    rows = []
    for name, (ours, peer) in FIRST_FITS.items():
        seconds = {who: min(float(python(code + FIT)) for _ in range(5))
                   for who, code in (("ours", ours), ("peer", peer))}  # fmt: skip
        rows.append({"model": name, "compiles": "no", "first fit + predict, s": seconds["ours"],
                     "scikit-learn's, s": seconds["peer"]})  # fmt: skip
    print_table("First fit and predict in a new process, 150 rows x 4 columns", rows)


if __name__ == "__main__":
    main()
