"""Several processes, killed runs, a cluster that loses a worker: the results are the same."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from evaluation_helpers import Deadly, Logged, n_fits
from sklearn.ensemble import RandomForestClassifier

from latentclass.baselines import NaiveBayes
from latentclass.engine._parallel import count_threads
from latentclass.evaluation import Store, compare

HERE = Path(__file__).parent

HUNG = 600  # seconds: a limit for runs that will never end, far above what a busy machine needs

RUN = """
import sys
import numpy as np
from evaluation_helpers import Logged
from latentclass.evaluation import compare

log, hold, store = sys.argv[1:]
X = np.random.default_rng(0).normal(size=(40, 3))
compare(
    {"a": Logged(log, 0.0, hold, n_free=3), "b": Logged(log, 0.5, hold, n_free=3)},
    ("d", X, np.arange(40) % 2), cv=5, store=store,
)
"""


def outcome(comparison):
    columns = comparison.columns()
    return {k: v for k, v in columns.items() if not k.endswith("_seconds")}


def wait_for(condition):
    end = time.monotonic() + HUNG
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def n_lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def start_run(log, hold, store):
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(log), str(hold), str(store)],
        env=os.environ | {"PYTHONPATH": path},
    )


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    log, hold, store = (tmp_path / name for name in ("fits.txt", "hold", "results.jsonl"))
    hold.touch()
    with start_run(log, hold, store) as run:
        wait_for(lambda: n_fits(log) == 4)
        run.kill()
    assert n_lines(store) == 3  # the fit that was under way is all that is lost
    hold.unlink()
    with start_run(log, hold, store) as again:
        assert again.wait(timeout=HUNG) == 0
    assert n_fits(log) == 4 + 7
    records = [json.loads(line) for line in store.read_text().splitlines()]
    assert len({record["key"] for record in records}) == len(records) == 10
    # and the results are those of a run that nobody killed
    X = np.random.default_rng(0).normal(size=(40, 3))
    models = {
        "a": Logged(str(log), 0.0, str(hold), n_free=3),
        "b": Logged(str(log), 0.5, str(hold), n_free=3),
    }
    data = ("d", X, np.arange(40) % 2)
    resumed = compare(models, data, cv=5, store=store)
    assert resumed.n_computed == 0
    assert outcome(resumed) == outcome(compare(models, data, cv=5))


def test_two_halves_of_a_run_merge(tmp_path, blobs):
    from latentclass.evaluation import merge_stores

    model, (a, b, both) = Logged(), (tmp_path / name for name in ("a", "b", "both"))
    compare(model, blobs[:1], cv=3, store=a)
    compare(model, blobs[1:], cv=3, store=b)
    merge_stores(both, a, b)
    merged = compare(model, blobs, cv=3, store=both)
    assert merged.n_computed == 0
    assert outcome(merged) == outcome(compare(model, blobs, cv=3))


MODELS = {
    "near": Logged(),
    "forest": RandomForestClassifier(n_estimators=5),
    "nb": NaiveBayes(),
}


def test_two_processes_give_what_one_gives(blobs, tmp_path):
    one = compare(MODELS, blobs, cv=3, n_jobs=1)
    two = compare(MODELS, blobs, cv=3, n_jobs=2, store=tmp_path / "s.jsonl")
    assert outcome(two) == outcome(one)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert outcome(compare(MODELS, blobs, cv=3)) == outcome(one)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_dead_worker_is_a_failure_of_its_fold_alone(blobs, tmp_path):
    name, X, y = blobs[1]
    X[0, 0] = 99.0  # in the training rows of one fold of two
    with pytest.warns(UserWarning, match=r"^1 of 2 fits failed; .*: TerminatedWorkerError: "):
        found = compare(Deadly(), [(name, X, y)], cv=2, n_jobs=2, store=tmp_path / "s.jsonl")
    (failure,) = found.failures
    assert 0 in found.folds[name][failure["fold"]].train
    assert "SIGKILL" in failure["error"]
    assert np.isfinite(found.fold_scores(name)).sum() == 1
    # it is stored as any failure is
    assert found.n_computed == len(Store(tmp_path / "s.jsonl").records) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_cluster_that_loses_a_worker_gives_the_same(blobs, tmp_path):
    """Dask, two worker processes; one is killed after the first results (about 10 seconds)."""
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    log, hold, store = (tmp_path / name for name in ("fits.txt", "hold", "results.jsonl"))
    models = MODELS | {"held": Logged(str(log), 0.2, str(hold), n_free=6)}
    expected = compare(models, blobs, cv=5)
    log.unlink()
    hold.touch()
    with (
        dask.config.set({"distributed.comm.timeouts.connect": HUNG}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = client.run(os.getpid)
        assert len(workers) == 2
        with joblib.parallel_config(backend="dask"):
            # a fit on a worker sends no blocks of rows to the others
            n_threads = joblib.Parallel()(joblib.delayed(count_threads)(None) for _ in range(2))
        assert n_threads == [1, 1]
        victim = next(iter(workers.values()))

        stored = []

        def kill_one():
            try:
                wait_for(lambda: n_lines(store) >= 4)
                os.kill(victim, signal.SIGKILL)
                stored.append(n_lines(store))
            finally:
                hold.unlink()

        killer = threading.Thread(target=kill_one)
        killer.start()
        with joblib.parallel_config(backend="dask"):
            found = compare(models, blobs, cv=5, store=store)
        killer.join()
    assert stored[0] < 40  # it was in the midst of it
    assert outcome(found) == outcome(expected)
    assert found.n_computed == len(Store(store).records) == 40
    with pytest.raises(ProcessLookupError):
        os.kill(victim, 0)
