"""Read files into tables, and look at a table before a model is fitted to it.

Names load when they are first used: reading a file needs pyarrow but not scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latentclass.tables._check import check_table
    from latentclass.tables._files import TableFile, open_table, read_table
    from latentclass.tables._result import ColumnCheck, RowCheck, TableCheck, TableFlag

__all__ = [
    "ColumnCheck",
    "RowCheck",
    "TableCheck",
    "TableFile",
    "TableFlag",
    "check_table",
    "open_table",
    "read_table",
]

_HOMES = {
    "ColumnCheck": "_result",
    "RowCheck": "_result",
    "TableCheck": "_result",
    "TableFile": "_files",
    "TableFlag": "_result",
    "check_table": "_check",
    "open_table": "_files",
    "read_table": "_files",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"latentclass.tables.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'latentclass.tables' has no attribute {name!r}")
