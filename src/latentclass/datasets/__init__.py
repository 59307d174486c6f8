"""The data sets of the papers by name: computed, bundled, from a folder or from OpenML."""

from latentclass.datasets._facts import PaperUse
from latentclass.datasets._load import Dataset, DatasetInfo, list_datasets, load_dataset

__all__ = ["Dataset", "DatasetInfo", "PaperUse", "list_datasets", "load_dataset"]
