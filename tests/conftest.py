"""Shared by all tests: `estimators` and the helpers beside the tests are imported by name."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [
    str(HERE),
    *(str(HERE / name) for name in ("engine", "lcm", "latent_tree", "common")),
]
