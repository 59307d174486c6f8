"""What all sources share, and the two sources that need no files and no network."""

from __future__ import annotations

from dataclasses import dataclass

from latentclass.datasets._facts import Facts
from latentclass.datasets._generate import GENERATED
from latentclass.datasets._table import Table, text_array


class NotHere(LookupError):
    """A source does not have the data set. The message says why."""


@dataclass(frozen=True, eq=False)
class FoundFile:
    """A table and where it comes from."""

    table: Table
    source: str
    licence: str
    differs: str | None = None


def generated(facts: Facts) -> FoundFile:
    """Compute a data set from its definition."""
    if facts.name not in GENERATED:
        raise NotHere("it cannot be computed from a definition")
    licence = "none needed: computed by this library"
    return FoundFile(GENERATED[facts.name](), "generated", licence)


# Column names and labels as in the UCI files, so that code works with every source.
BUNDLED = {
    "iris": (
        ("sepallength", "sepalwidth", "petallength", "petalwidth"),
        ("Iris-setosa", "Iris-versicolor", "Iris-virginica"),
    ),
    "wine": (
        (
            "Alcohol",
            "Malic_acid",
            "Ash",
            "Alcalinity_of_ash",
            "Magnesium",
            "Total_phenols",
            "Flavanoids",
            "Nonflavanoid_phenols",
            "Proanthocyanins",
            "Color_intensity",
            "Hue",
            "OD280/OD315_of_diluted_wines",
            "Proline",
        ),
        ("1", "2", "3"),
    ),
}


def bundled(facts: Facts) -> FoundFile:
    """Read a data set that comes with scikit-learn."""
    if facts.name not in BUNDLED:
        raise NotHere("it does not come with scikit-learn")
    import sklearn
    from sklearn import datasets

    names, labels = BUNDLED[facts.name]
    bunch = getattr(datasets, f"load_{facts.name}")()
    columns = {name: bunch.data[:, i].astype(float) for i, name in enumerate(names)}
    y = text_array([labels[code] for code in bunch.target])
    return FoundFile(Table(columns, y), f"scikit-learn {sklearn.__version__}", facts.licence)
