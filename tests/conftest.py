"""Shared by all tests: `estimators` and the helpers beside the tests are imported by name."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
sys.path[:0] = [
    str(HERE),
    *(
        str(HERE / name)
        for name in (
            *(
                "cli",
                "engine",
                "files",
                "lcm",
                "hnb",
                "latent_tree",
                "mixture",
                "page",
                "reports",
                "tables",
            ),
            "common",
        )
    ),
]

from browsers import browser  # noqa: E402, F401

# Each worker of pytest-xdist is one process per core: threads of BLAS on top would only make
# them wait for each other. To be set before numpy loads; processes that tests start inherit it.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# No test may depend on how busy the machine is. A deadline and the health check `too_slow` both
# measure seconds on the clock, so neither is used; the other health checks stay.
# Every run draws other examples, so a few will do; tests/fuzz.py draws for as long as it is told.
settings.register_profile(
    "any_load", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any_load")

REPEATS = ("common", "test_sklearn.py", "test_weka.py", "test_papers.py", "test_docs.py")
"""Where tests run the same code many times, as those of hypothesis do."""


def pytest_collection_modifyitems(items):
    """Switch coverage off for `REPEATS`: it would double their time.

    What they run is covered by the tests of each module, and the report then counts only those.
    """
    for item in items:
        of_hypothesis = hasattr(getattr(item, "obj", None), "hypothesis")
        if of_hypothesis or not set(REPEATS).isdisjoint(item.path.parts):
            item.add_marker("no_cover")


@pytest.fixture
def few_steps(monkeypatch):
    """At most 10 gradient steps after EM instead of 150, where their number is not the point."""
    from latentclass.lcm import _steps

    monkeypatch.setattr(_steps, "MAX_STEPS", 10)


@pytest.fixture(scope="module", autouse=True)
def short_boosting(request):
    """Gradient boosting of 10 rounds instead of 100 beside the fits of commands and reports."""
    if request.path.parent.name not in ("cli", "page", "reports"):
        yield
        return
    from latentclass.reports._peers import PEERS

    whole = PEERS["gradient-boosting"]
    with pytest.MonkeyPatch.context() as patch:
        short = {"estimator__max_iter": 10}
        patch.setitem(PEERS, "gradient-boosting", lambda seed: whole(seed).set_params(**short))
        yield


@pytest.fixture(autouse=True)
def close_figures():
    """Close what a test has drawn: matplotlib warns of many open figures, in whichever test."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
