"""Read files into tables, and look at a table before a model is fitted to it."""

from latentclass.tables._files import TableFile, open_table, read_table

__all__ = ["TableFile", "open_table", "read_table"]
