"""Run commands in this process or in one of their own, and the small table that they run on."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from click.testing import CliRunner

import latentclass
from latentclass.cli._app import app

SOURCE = Path(latentclass.__file__).parents[1]


class Ended(NamedTuple):
    """How a command ended: exit code, standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """Standard output as one JSON value."""
        return json.loads(self.out)

    @property
    def rows(self):
        """Standard output as rows of CSV, the header first."""
        return list(csv.reader(self.out.splitlines()))


def run(*arguments, stdin=None):
    """Run a command; what it raises beside its exit is an error of the test.

    `fit` writes no report unless it is asked to: that takes longer than most fits.
    """
    words = [str(one) for one in arguments]
    if words[:1] == ["fit"] and "--report" not in words:
        words.append("--no-report")
    done = CliRunner().invoke(app, words, stdin, prog_name="latentclass")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ended(done.exit_code, done.stdout, done.stderr)


def start(*arguments, **more):
    """Start a real process."""
    environment = os.environ | {"PYTHONPATH": str(SOURCE), **more.pop("env", {})}
    command = [sys.executable, "-m", "latentclass", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, **more
    )


def finish(process):
    """Wait for a process: its exit code, standard output and standard error."""
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def draw_customers(n=120, seed=0):
    """Rows of customers: two numbers, a category, a code, and whether they left; some holes."""
    rng = np.random.default_rng(seed)
    left = rng.random(n) < 0.4
    columns = {
        "income": np.round(rng.normal(np.where(left, 20.0, 30.0), 5.0), 1),
        "visits": rng.poisson(np.where(left, 2.0, 6.0)),
        "plan": np.where(rng.random(n) < np.where(left, 0.8, 0.3), "basic", "plus"),
        "zone": rng.integers(1, 4, n),
        "churn": np.where(left, "yes", "no"),
    }
    rows = [list(row) for row in zip(*(one.tolist() for one in columns.values()), strict=True)]
    for row in rows[:10]:
        row[int(rng.integers(0, 3))] = ""
    return [list(columns), *rows]


def write_csv(path, rows):
    """Write rows, the header first."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return path


def read_csv(path):
    """Rows of a file, the header first."""
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.reader(lines))
