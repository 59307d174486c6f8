"""Makes `small_entry` importable by name."""

import sys
from pathlib import Path

import matplotlib

sys.path.insert(0, str(Path(__file__).parent))
matplotlib.use("Agg")
