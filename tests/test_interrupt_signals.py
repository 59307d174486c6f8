"""Real interrupts at random moments: the best model so far, or a plain KeyboardInterrupt.

`benchmarks/interrupts.py` sends many more, to every estimator.
"""

import subprocess
import sys
from collections import Counter

import pytest

# In a process of its own: the runner of the tests has its own idea of what SIGINT means.
PROGRAM = """
import _thread, os, signal, sys, threading, time, warnings
import numpy as np
from latentclass import (
    BinaryLCMClassifierCV,
    HybridLCMClassifier,
    LatentMixture,
    LatentTreeClassifier,
)
from latentclass.lcm import _steps

_steps.MAX_STEPS = 10  # gradient steps, 150 otherwise
signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
group = rng.integers(0, 3, (100, 2))
X = (rng.random((100, 8)) < 0.15 + 0.3 * group[:, [0, 1] * 4]).astype(str)
y = group[:, 0]
for model in (
    LatentTreeClassifier(n_init=8, random_state=0),
    HybridLCMClassifier(2, 1, n_init=4, random_state=0),
    LatentMixture(3, n_init=8, max_iter=1000, tol=0.0, random_state=0),
    BinaryLCMClassifierCV([1, 2], [1], n_init=4, n_jobs=2, random_state=0),
):
    model.fit(X, y)  # loads the compiled code
    began = time.perf_counter()
    model.fit(X, y)
    whole = time.perf_counter() - began
    threads = _thread._count()
    for _ in range(int(sys.argv[1])):
        before, done = vars(model), False
        timer = threading.Timer(rng.uniform(0, whole), os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            model.fit(X, y)
            done = True
            timer.join()
            answer = "fitted"
        except KeyboardInterrupt:
            answer = "fitted" if done else "interrupted"
            # what was learned is stored at once; the interrupt may come just after that
            assert done or vars(model) is before or vars(model).keys() == before.keys()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        timer.join()
        model.predict_proba(X[:2])
        print(type(model).__name__, answer, sep=": ")
    end = time.perf_counter() + 60
    while _thread._count() > threads and time.perf_counter() < end:
        time.sleep(0.01)  # a thread that was the last to work may not quite have ended
    assert _thread._count() <= threads, threading.enumerate()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for a single process")
def test_an_interrupt_ends_a_fit_cleanly():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, "6"], capture_output=True, text=True, timeout=1800
    )
    assert run.returncode == 0, run.stderr
    ends = Counter(tuple(line.split(": ", 1)) for line in run.stdout.splitlines())
    assert {end for _, end in ends} <= {"fitted", "interrupted"}
    models = (
        "LatentTreeClassifier",
        "HybridLCMClassifier",
        "LatentMixture",
        "BinaryLCMClassifierCV",
    )
    assert [sum(n for (model, _), n in ends.items() if model == name) for name in models] == [6] * 4
