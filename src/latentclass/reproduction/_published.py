"""The papers' numbers as they print them, one CSV file per table.

The name of a file says paper and table: `ltc_table1_accuracy.csv` holds the accuracies in Table 1
of the paper "ltc". Only facts are copied: the numbers, with the names of rows and columns.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

PAPERS = MappingProxyType(
    {
        "lcm": "Langseth and Nielsen (2005). Latent classification models.",
        "blcm": "Langseth and Nielsen (2009). Latent classification models for binary data.",
        "hnb": "Langseth and Nielsen (2006). Classification using hierarchical naive Bayes models.",
        "ltc": "Wang, Zhang, Chen and Poon (2011). Latent tree classifier.",
        "lvc": "Davidson (2004). Combining probabilistic search, latent variable analysis and "
        "classification models.",
    }
)
"""The papers, by the short names that `load_dataset` and the files have too."""


@cache
def read_published(name: str) -> tuple[Mapping[str, str], ...]:
    """Return the lines of one table, such as "ltc_table1_accuracy"."""
    path = files("latentclass.reproduction").joinpath("published", f"{name}.csv")
    lines = path.read_text("utf-8").splitlines()
    return tuple(MappingProxyType(row) for row in csv.DictReader(lines))


def published_cells(name: str, row: str, column: str) -> dict[tuple[str, str], Mapping[str, str]]:
    """Return the lines of a table by what they say in two columns."""
    return {(line[row], line[column]): line for line in read_published(name)}
