"""Real interrupts at random moments: the best model so far, or a plain KeyboardInterrupt."""

import subprocess
import sys

import pytest

# In a process of its own: the runner of the tests has its own idea of what SIGINT means.
PROGRAM = """
import os, signal, sys, threading, time, warnings
import numpy as np
from latentclass import HybridLCMClassifier, LatentMixture, LatentTreeClassifier

signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
group = rng.integers(0, 3, (400, 2))
X = (rng.random((400, 12)) < 0.15 + 0.3 * group[:, [0, 1] * 6]).astype(str)
y = group[:, 0]
model = {
    "LatentTreeClassifier": LatentTreeClassifier(n_init=8, random_state=0),
    "HybridLCMClassifier": HybridLCMClassifier(3, random_state=0),
    "LatentMixture": LatentMixture(3, n_init=8, max_iter=2000, tol=0.0, random_state=0),
}[sys.argv[1]]
began = time.perf_counter()
model.fit(X, y)
whole = time.perf_counter() - began
threads = threading.active_count()
for _ in range(int(sys.argv[2])):
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
        assert done or vars(model) is before
    except BaseException as error:
        answer = f"{type(error).__name__}: {error}"
    timer.join()
    model.predict_proba(X[:2])
    print(answer)
assert threading.active_count() <= threads + 1, threading.enumerate()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for a single process")
@pytest.mark.parametrize("name", ["LatentTreeClassifier", "HybridLCMClassifier", "LatentMixture"])
def test_an_interrupt_ends_a_fit_cleanly(name):
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, name, "6"], capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stderr
    answers = run.stdout.split("\n")[:-1]
    assert len(answers) == 6
    assert set(answers) <= {"fitted", "interrupted"}
