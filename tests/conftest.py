"""Shared by all tests: `estimators` and the helpers in `core` can be imported by name."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "core")]
