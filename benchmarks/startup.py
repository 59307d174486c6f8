"""How long until something happens: imports beside scikit-learn's own, and a first fit.

Limit: an import within 1.3 times `import sklearn.base, scipy.special`.

The command line, in CPU seconds of whole processes: `--help` within 0.25 of `import pandas`, `info`
within 0.5 of it, and `predict` within 1.2 of `import sklearn.base` plus its work. Its work is that
of the same prediction in a process that has loaded everything.

Short form: the best of 3 new processes. `--full`: of 7.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

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


SECOND_TIME = """
import contextlib, io, sys, time
from latentclass.cli._app import app
def predict():
    nowhere = io.TextIOWrapper(io.BytesIO())
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(nowhere):
        app(["predict", *sys.argv[1:]])
predict(); start = time.process_time(); predict(); print(time.process_time() - start)
"""


def cpu_seconds(*arguments: str) -> float:
    """CPU time of a Python process."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return usage.ru_utime + usage.ru_stime


def measure_commands(run: Run, repeats: int) -> None:
    """Start-up of the command line beside imports of other libraries, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder) / "wine.csv", Path(folder) / "wine.lc"
        ours = ("-m", "latentclass")
        cpu_seconds(*ours, "datasets", "wine", "-q", "-o", str(data))
        cpu_seconds(
            *ours, "fit", str(data), "-t", "class", "-m", "naive-bayes", "-q", "-o", str(model)
        )
        tasks = {
            "pandas": ("-c", "import pandas"),
            "sklearn.base": ("-c", "import sklearn.base"),
            "--help": (*ours, "--help"),
            "info": (*ours, "info", str(model)),
            "predict": (*ours, "predict", str(model), str(data)),
        }
        best = dict.fromkeys(tasks, float("inf"))
        for _ in range(repeats):
            for name, arguments in tasks.items():
                best[name] = min(best[name], cpu_seconds(*arguments))
        again = [sys.executable, "-c", SECOND_TIME, str(model), str(data)]
        work = min(
            float(subprocess.run(again, capture_output=True, text=True, check=True).stdout)
            for _ in range(repeats)
        )
    for name, limit in (("--help", 0.25), ("info", 0.5)):
        run.add_ratio(
            f"latentclass {name}", "process / import pandas", best[name], best["pandas"],
            limit=limit, clock="CPU",
        )  # fmt: skip
    run.add_ratio(
        "latentclass predict", "process / import sklearn.base + work", best["predict"],
        best["sklearn.base"] + work, limit=1.2, clock="CPU",
    )  # fmt: skip


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
        measure_commands(run, repeats)


if __name__ == "__main__":
    main()
