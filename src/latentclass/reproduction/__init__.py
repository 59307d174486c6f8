"""The tables and result figures of the five papers, ours beside the published values."""

from latentclass.reproduction._registry import list_entries
from latentclass.reproduction._run import reproduce

__all__ = ["list_entries", "reproduce"]
