"""Read tables of any container into coded arrays, and write them back."""

from latentclass.data._labels import encode_labels
from latentclass.data._schema import Column, Schema, Table, learn_schema

__all__ = ["Column", "Schema", "Table", "encode_labels", "learn_schema"]
