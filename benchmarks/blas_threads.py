"""A fit where BLAS may use two threads, beside one where it may use one, on a busy machine.

Our matrices are small. Two BLAS threads that do not get a core each wait for each other, and a fit
may take many times as long. So every public method limits BLAS to one thread. Here two new
processes fit, with environment variables that allow one and two threads, beside a third process
that is busy all the time.
Limit: what two threads allow takes at most 1.3 times as long as one.

Short form: the best of 2 fits of one process each. `--full`: of 5.
"""

import multiprocessing
import os
import subprocess
import sys

from _record import Run, make_parser

FITS = {
    "LCMClassifier, 8 components": (
        "from latentclass import LCMClassifier",
        "LCMClassifier(3, 8, random_state=0)",
    ),
    "AODE": ("from latentclass.baselines import AODE", "AODE()"),
}
PROGRAM = """
import sys, time, warnings
import numpy as np
{imports}
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
causes = rng.integers(0, 3, (10_000, 3))
X = rng.normal(size=(10_000, 10)) + causes[:, np.arange(10) % 3]
y = causes[:, 0] + rng.random(10_000) > 1.5
model = {model}.fit(X[:500], y[:500])
clocks = time.perf_counter, time.process_time
for _ in range({repeats}):
    begin = [read() for read in clocks]
    model.fit(X, y).predict_proba(X)
    print(*(read() - start for read, start in zip(clocks, begin)))
"""
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def seconds(program: str, n_threads: int) -> tuple[float, float]:
    """Shortest wall and CPU seconds in a process where BLAS may use so many threads."""
    environment = os.environ | dict.fromkeys(THREADS, str(n_threads))
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    times = [tuple(map(float, line.split())) for line in run.stdout.splitlines()]
    wall, cpu = map(min, zip(*times, strict=True))
    return wall, cpu


def stay_busy() -> None:
    while True:
        pass


def main() -> None:
    options = make_parser(__doc__).parse_args()
    busy = multiprocessing.get_context("spawn").Process(target=stay_busy, daemon=True)
    with Run(__file__, keep=options.full) as run:
        busy.start()
        try:
            for name, (imports, model) in FITS.items():
                repeats = 5 if options.full else 2
                program = PROGRAM.format(imports=imports, model=model, repeats=repeats)
                one, two = (seconds(program, n_threads) for n_threads in (1, 2))
                for clock, ours, peer in zip(("wall", "CPU"), two, one, strict=True):
                    run.add_ratio(
                        f"{name}, 10,000 x 10", "2 threads allowed / 1 allowed", ours, peer,
                        limit=1.3, clock=clock,
                    )  # fmt: skip
        finally:
            busy.kill()


if __name__ == "__main__":
    main()
