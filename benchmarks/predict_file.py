"""`latentclass predict` on a long file: rows per second, and whether memory stays the same.

The rows have four numbers, a category and a code; the model is naive Bayes. Memory is the largest
resident size of the process. Limit: it may grow by a tenth from 200,000 rows to 2 million.

Short form: 100,000 and 400,000 rows. `--full`: 200,000 and 2 million.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from _record import Run, make_parser

MOST_GROWTH = 1.1
PART = 100_000


def write_rows(path: Path, n_rows: int) -> None:
    """Write a CSV file of drawn rows, part by part."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        file.write("a,b,c,d,colour,zone,class\n")
        for begin in range(0, n_rows, PART):
            n = min(PART, n_rows - begin)
            y = rng.integers(0, 2, n)
            numbers = rng.normal(y[:, None], 2.0, (n, 4)).round(3)
            colours = np.array(["red", "green", "blue"])[rng.integers(0, 2, n) + y]
            zones = rng.integers(1, 6, n)
            file.writelines(
                f"{a},{b},{c},{d},{colour},{zone},{label}\n"
                for (a, b, c, d), colour, zone, label in zip(
                    numbers.tolist(), colours.tolist(), zones.tolist(), y.tolist(), strict=True
                )
            )


def latentclass(*arguments: str) -> tuple[float, float]:
    """Run a command; seconds, and the largest resident size of its process in megabytes."""
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "latentclass", *arguments, "--quiet"])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def main() -> None:
    options = make_parser(__doc__).parse_args()
    sizes = (200_000, 2_000_000) if options.full else (100_000, 400_000)
    peaks = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Run(__file__, keep=options.full, packages=("numpy", "pyarrow")) as run,
    ):
        data, model, out = (str(Path(folder) / name) for name in ("d.csv", "m.lc", "out.csv"))
        write_rows(Path(data), 2000)
        latentclass("fit", data, "-t", "class", "-m", "naive-bayes", "-o", model)
        for n_rows in sizes:
            write_rows(Path(data), n_rows)
            seconds, peak = latentclass("predict", model, data, "--proba", "--force", "-o", out)
            assert count_lines(Path(out)) == n_rows + 1
            peaks.append(peak)
            run.add(f"{n_rows:,} rows", "largest resident size", peak, unit="MB")
            run.add(f"{n_rows:,} rows", "rows per second", n_rows / seconds, clock="wall")
        run.add(
            f"{sizes[1]:,} rows / {sizes[0]:,}", "largest resident size", peaks[1] / peaks[0],
            limit=MOST_GROWTH,
        )  # fmt: skip


if __name__ == "__main__":
    main()
