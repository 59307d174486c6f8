"""Compare classifiers on the same folds: scores, significance tests, tables, and a store."""

from latentclass.evaluation._bootstrap import BootstrapResult, bootstrap
from latentclass.evaluation._compare import compare
from latentclass.evaluation._comparison import Comparison
from latentclass.evaluation._folds import LabelledKFold
from latentclass.evaluation._metrics import Metric, Predictions
from latentclass.evaluation._plots import CriticalDifferenceDisplay, ErrorScatterDisplay
from latentclass.evaluation._significance import (
    FriedmanResult,
    PairResult,
    corrected_t_test,
    friedman_test,
    kohavi_pooled_test,
    kohavi_sd,
    nemenyi_difference,
    nemenyi_p_values,
    paired_t_test,
    wilcoxon_test,
)
from latentclass.evaluation._store import Store, merge_stores
from latentclass.evaluation._table_classifier import TableClassifier
from latentclass.evaluation._tables import TextTable

__all__ = [
    "BootstrapResult",
    "Comparison",
    "CriticalDifferenceDisplay",
    "ErrorScatterDisplay",
    "FriedmanResult",
    "LabelledKFold",
    "Metric",
    "PairResult",
    "Predictions",
    "Store",
    "TableClassifier",
    "TextTable",
    "bootstrap",
    "compare",
    "corrected_t_test",
    "friedman_test",
    "kohavi_pooled_test",
    "kohavi_sd",
    "merge_stores",
    "nemenyi_difference",
    "nemenyi_p_values",
    "paired_t_test",
    "wilcoxon_test",
]
