"""Fits to rows in parts: memory of a table that does not fit, and what a cluster costs.

A table of 10 columns with three latent causes is written to Parquet, row group by row group. Each
fit runs in a process of its own, whose peak memory is recorded (at most 1 GB). The cluster has two
worker processes on this machine: the same fit as in one process, to the last bit, also when one
worker is killed in the middle of it.

Short form: 200,000 rows. `--full`: 20 million.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from _record import Run, make_parser
from latentclass import HybridLCMClassifier, LatentMixture, LCMClassifier, Parts
from latentclass.baselines import NaiveBayes
from latentclass.estimator._parts import PreparedParts

GROUP_ROWS = 250_000
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
MODELS = {
    "NaiveBayes": NaiveBayes(),
    "LatentMixture, 4": LatentMixture(4, random_state=0),
    "LCM, 4 components": LCMClassifier(3, 4, n_init=2, random_state=0),
    "Hybrid": HybridLCMClassifier(3, 1, random_state=0),
}
LIMIT = 1_000
"""Largest peak memory in MB."""


def write_table(path: Path, n_rows: int) -> None:
    """Seven numbers, two yes-or-no columns and one of three words, and a class."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(3, 10))
    shift = rng.normal(size=(2, 3))
    words = pa.array(["red", "green", "blue"])
    writer = None
    for start in range(0, n_rows, GROUP_ROWS):
        n = min(GROUP_ROWS, n_rows - start)
        y = rng.integers(0, 2, n)
        values = (rng.normal(size=(n, 3)) + shift[y]) @ loadings + rng.normal(size=(n, 10))
        columns = {f"x{j}": values[:, j] for j in range(7)}
        columns |= {f"b{j}": values[:, 7 + j] > 0 for j in range(2)}
        level = np.digitize(values[:, 9], [-1.0, 1.0]).astype(np.int8)
        columns["word"] = pa.DictionaryArray.from_arrays(level, words)
        table = pa.table(columns | {"y": y})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=GROUP_ROWS)
    assert writer is not None
    writer.close()


def fit(path: str, name: str) -> dict[str, float]:
    """Fit one model in this process; seconds, passes over the rows, and peak memory."""
    warnings.simplefilter("ignore")
    passes, read = 0, PreparedParts.map

    def count(parts: PreparedParts, function: Callable[[Any], Any]) -> Iterator[Any]:
        nonlocal passes
        passes += 1
        return read(parts, function)

    PreparedParts.map = count
    start, cpu = time.perf_counter(), time.process_time()
    MODELS[name].fit(Parts(path, "y"))
    return {
        "wall": time.perf_counter() - start,
        "CPU": time.process_time() - cpu,
        "passes": passes,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def fit_alone(path: Path, name: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--case", str(path), name]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | ONE_THREAD)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def compare_with_cluster(run: Run, path: Path, name: str) -> None:
    """The same fit on two worker processes; then with one of them killed."""
    from distributed import Client, LocalCluster

    warnings.simplefilter("ignore")
    start = time.perf_counter()
    local = MODELS[name].fit(Parts(str(path), "y"))
    history, alone = local.history_, time.perf_counter() - start
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        MODELS[name].fit(Parts(str(path), "y", client=client))  # loads and compiles
        start = time.perf_counter()
        found = MODELS[name].fit(Parts(str(path), "y", client=client))
        together = time.perf_counter() - start
        run.add(name, "two workers: the same bits", str(found.history_ == history))
        run.add_ratio(name, "two workers / one process", together, alone)
        victim = next(iter(client.run(os.getpid).values()))
        killer = threading.Timer(together / 2, os.kill, (victim, signal.SIGKILL))
        killer.start()
        found = MODELS[name].fit(Parts(str(path), "y", client=client))
        killer.join()
        run.add(name, "one killed: the same bits", str(found.history_ == history))
        overhead = measure_step(client, path)
    run.add(name, "overhead of a step on a cluster", overhead, unit="s")


def measure_step(client: object, path: Path) -> float:
    """Seconds of a step that does nothing to its parts."""
    parts = Parts(str(path), "y", client=client).prepare(_forget)
    list(parts.map(_nothing))
    start = time.perf_counter()
    for _ in range(5):
        list(parts.map(_nothing))
    return (time.perf_counter() - start) / 5


def _forget(part: object) -> int:
    del part
    return 0


def _nothing(part: int) -> int:
    return part


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--only", default="", help="names of models, separated by ';'")
    parser.add_argument("--rows", type=int, default=0, help="another number of rows")
    parser.add_argument("--no-cluster", action="store_true")
    parser.add_argument("--case", nargs=2, help="for the processes of the fits")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(fit(*options.case)))
        return
    n_rows = options.rows or (20_000_000 if options.full else 200_000)
    names = [name for name in options.only.split(";") if name] or list(MODELS)
    with tempfile.TemporaryDirectory() as folder, Run(__file__, keep=options.full) as run:
        path = Path(folder) / "rows.parquet"
        write_table(path, n_rows)
        run.add(f"{n_rows:,} x 10", "size of the file", path.stat().st_size / 1e6, unit="MB")
        for name in names:
            found = fit_alone(path, name)
            what = f"{name}, {n_rows:,}"
            run.add(what, "peak memory", found["peak"], unit="MB", limit=LIMIT)
            run.add(what, "fit", found["wall"], unit="s", clock="wall")
            run.add(what, "fit, CPU", found["CPU"], unit="s", clock="CPU")
            run.add(what, "passes over all rows", found["passes"])
            each = found["CPU"] / found["passes"] / n_rows * 1e6
            run.add(what, "fit, for each row and pass", each, unit="us", clock="CPU")
        if not options.no_cluster:
            small = Path(folder) / "small.parquet"
            write_table(small, min(n_rows, 2_000_000))
            for name in names[:2]:
                compare_with_cluster(run, small, name)


if __name__ == "__main__":
    main()
