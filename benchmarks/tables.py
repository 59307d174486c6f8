"""Reading a CSV file beside pyarrow and pandas, and looking at a table.

Limits: twice the CPU time of `pyarrow.csv.read_csv`, and 3 seconds of it for `check_table` on
100,000 x 50. Chunks are read in a process of their own, whose peak memory is shown for two lengths
of the file: it must not grow with it.

Short form: 100,000 rows. `--full`: 1,000,000.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv

from _record import Run, best_times, make_parser
from latentclass import check_table, read_table

# Linux counts the peak anew for a program that is started; getrusage would also count its parent's.
CHUNKS = """
import sys
from latentclass.tables import open_table
rows = sum(chunk.num_rows for chunk in open_table(sys.argv[1]).read_chunks())
status = dict(line.split(":") for line in open("/proc/self/status"))
print(rows, int(status["VmHWM"].split()[0]) / 1000)
"""


def make_table(n_rows: int, n_copies: int = 1) -> pd.DataFrame:
    """Ten columns: numbers with and without decimals, words, booleans, some cells missing."""
    rng = np.random.default_rng(0)
    columns: dict[str, object] = {}
    for i in range(n_copies):
        columns |= {f"number {i}{j}": rng.normal(size=n_rows).round(6) for j in range(4)}
        columns |= {f"whole {i}{j}": rng.integers(0, 10 ** (j + 2), n_rows) for j in range(3)}
        columns |= {f"word {i}{j}": rng.choice(["red", "green", "blue"], n_rows) for j in range(2)}
        columns[f"yes {i}"] = rng.choice([True, False], n_rows)
    table = pd.DataFrame(columns)
    table.loc[rng.random(n_rows) < 0.1, "number 00"] = np.nan
    return table


def main() -> None:
    options = make_parser(__doc__).parse_args()
    n_rows = 1_000_000 if options.full else 100_000
    repeats = 3
    with (
        Run(__file__, keep=options.full, packages=("numpy", "pandas", "pyarrow")) as run,
        tempfile.TemporaryDirectory() as folder,
    ):
        path, longer = Path(folder) / "table.csv", Path(folder) / "longer.csv"
        table = make_table(n_rows)
        table.to_csv(path, index=False)
        case = f"CSV, {n_rows:,} x {table.shape[1]}"
        tasks = {
            "ours": lambda: read_table(path, container="pyarrow"),
            "to pandas": lambda: read_table(path),
            "pyarrow": lambda: pyarrow.csv.read_csv(path),
            "pandas": lambda: pd.read_csv(path),
        }
        for clock in ("CPU", "wall"):
            limit = 2.0 if clock == "CPU" else None
            times = best_times(tasks, repeats, clock=clock)
            run.add_ratio(case, "read_table / pyarrow.csv.read_csv", times["ours"],
                          times["pyarrow"], limit=limit, clock=clock)  # fmt: skip
            run.add_ratio(case, "read_table / pandas.read_csv", times["to pandas"],
                          times["pandas"], clock=clock)  # fmt: skip

        with longer.open("wb") as file:
            data = path.read_bytes()
            file.write(data)
            for _ in range(3):
                file.write(data.split(b"\n", 1)[1])
        for name, file_path in ((case, path), (f"CSV, {4 * n_rows:,} x 10", longer)):
            printed = subprocess.run(
                [sys.executable, "-c", CHUNKS, file_path],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
            run.add(name, "peak memory of read_chunks", float(printed[1]), unit="MB")

        wide = make_table(100_000, 5)
        y = np.random.default_rng(1).choice(["a", "b", "c"], len(wide))
        seconds = best_times({"check": lambda: check_table(wide, y)}, repeats, clock="CPU")
        run.add(f"table, 100,000 x {wide.shape[1]}", "check_table", seconds["check"], unit="s",
                limit=3.0, clock="CPU")  # fmt: skip


if __name__ == "__main__":
    main()
