"""Time two things against each other in one run, so that a busy machine slows both."""

import time
import tracemalloc
from collections.abc import Callable, Mapping


def best_times(tasks: Mapping[str, Callable[[], object]], repeats: int = 5) -> dict[str, float]:
    """Shortest time of each task; the tasks take turns, after one round to warm up."""
    best = dict.fromkeys(tasks, float("inf"))
    for turn in range(repeats + 1):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            if turn:
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def peak_megabytes(task: Callable[[], object]) -> float:
    """Most memory that numpy and Python held at once during the task, beyond what was there."""
    tracemalloc.start()
    task()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def print_table(title: str, rows: list[dict[str, object]]) -> None:
    """Rows as a Markdown table."""
    names = list(rows[0])
    print(f"\n### {title}\n")
    print("| " + " | ".join(names) + " |")
    print("|" + " --- |" * len(names))
    for row in rows:
        print("| " + " | ".join(_shown(row[name]) for name in names) + " |")


def _shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
