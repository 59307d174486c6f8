"""The records of the scripts here."""

import importlib
import sys
from pathlib import Path

# the record module is the benchmarks' own
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
Run = importlib.import_module("_record").Run
