"""Classifiers to compare the latent variable models with.

The generative ones are our own and have all methods of the library. The others come from
scikit-learn, with the settings of the papers, and from Weka if it is installed.
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
from latentclass.discrete._aode import AODE
from latentclass.discrete._ban import BAN
from latentclass.discrete._hidden_naive_bayes import HiddenNaiveBayes
from latentclass.discrete._k2 import K2
from latentclass.discrete._tan import TAN
from latentclass.naive_bayes._finite_mixture import FiniteMixtureNaiveBayes
from latentclass.naive_bayes._mixture import MixtureNaiveBayes
from latentclass.naive_bayes._naive_bayes import NaiveBayes
from latentclass.naive_bayes._projected import ProjectedNaiveBayes

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
