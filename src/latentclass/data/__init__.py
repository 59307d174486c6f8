"""From a table in any container to coded arrays, and back: the one door in and out."""

from latentclass.data._labels import encode_labels
from latentclass.data._schema import Column, Schema, Table, learn_schema

__all__ = ["Column", "Schema", "Table", "encode_labels", "learn_schema"]
