"""Shared by all tests: `estimators` and helpers in `core` and `common` are imported by name."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "core"), str(HERE / "common")]
