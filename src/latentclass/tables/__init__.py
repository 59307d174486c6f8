"""Read files into tables, and look at a table before a model is fitted to it.

Names load when they are first used: reading a file needs pyarrow but not scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latentclass.tables._check import ColumnCheck, RowCheck, TableCheck, TableFlag, check_table
    from latentclass.tables._files import TableFile, open_table, read_table

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

_FILES = ("TableFile", "open_table", "read_table")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'latentclass.tables' has no attribute {name!r}")
    home = "_files" if name in _FILES else "_check"
    return getattr(import_module(f"latentclass.tables.{home}"), name)
