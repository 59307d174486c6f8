"""Shared by all tests: `estimators` and the helpers beside the tests are imported by name."""

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
sys.path[:0] = [
    str(HERE),
    *(str(HERE / name) for name in ("engine", "lcm", "hnb", "latent_tree", "mixture", "common")),
]

# Each worker of pytest-xdist is one process per core: threads of BLAS on top would only make
# them wait for each other. To be set before numpy loads; processes that tests start inherit it.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# No test may depend on how busy the machine is. A deadline and the health check `too_slow` both
# measure seconds on the clock, so neither is used; the other health checks stay.
settings.register_profile("any_load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any_load")

REPEATS = {"test_scikit_learns_own_checks", "test_examples_print_what_the_page_says"}
"""Tests that run much code in many ways; tests of hypothesis count as such, too."""


def pytest_collection_modifyitems(items):
    """Switch coverage off for `REPEATS`: it would double their time.

    What they run is covered by tests of its own, and the report then counts only those.
    """
    for item in items:
        of_hypothesis = hasattr(getattr(item, "obj", None), "hypothesis")
        if of_hypothesis or getattr(item, "originalname", None) in REPEATS:
            item.add_marker("no_cover")
