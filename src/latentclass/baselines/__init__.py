"""Classifiers that the latent-variable models are compared with.

Ours are generative and have all the verbs of the library. Beside them stand scikit-learn's,
configured as the papers state, and Weka's where it is installed.
"""

from latentclass.baselines._sklearn import (
    BackpropagationNetwork,
    LeaveOneOutKNN,
    decision_tree,
    majority,
    multilayer_perceptron,
    nearest_neighbours,
    one_nearest_neighbour,
    ridge_logistic,
    support_vector_machine,
)
from latentclass.baselines._weka import (
    WekaClassifier,
    find_weka,
    weka_adtree,
    weka_aode,
    weka_ban,
    weka_hidden_naive_bayes,
    weka_id3,
    weka_j48,
    weka_k2,
    weka_rbf_network,
    weka_tan,
    weka_winnow,
)
from latentclass.models._aode import AODE
from latentclass.models._ban import BAN
from latentclass.models._finite_mixture_naive_bayes import FiniteMixtureNaiveBayes
from latentclass.models._hidden_naive_bayes import HiddenNaiveBayes
from latentclass.models._k2 import K2
from latentclass.models._mixture_naive_bayes import MixtureNaiveBayes
from latentclass.models._naive_bayes import NaiveBayes
from latentclass.models._projected_naive_bayes import ProjectedNaiveBayes
from latentclass.models._tan import TAN

__all__ = [
    "AODE",
    "BAN",
    "K2",
    "TAN",
    "BackpropagationNetwork",
    "FiniteMixtureNaiveBayes",
    "HiddenNaiveBayes",
    "LeaveOneOutKNN",
    "MixtureNaiveBayes",
    "NaiveBayes",
    "ProjectedNaiveBayes",
    "WekaClassifier",
    "decision_tree",
    "find_weka",
    "majority",
    "multilayer_perceptron",
    "nearest_neighbours",
    "one_nearest_neighbour",
    "ridge_logistic",
    "support_vector_machine",
    "weka_adtree",
    "weka_aode",
    "weka_ban",
    "weka_hidden_naive_bayes",
    "weka_id3",
    "weka_j48",
    "weka_k2",
    "weka_rbf_network",
    "weka_tan",
    "weka_winnow",
]
