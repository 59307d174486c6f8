"""Classifiers that the latent-variable models are compared with."""

from latentclass.models._aode import AODE
from latentclass.models._ban import BAN
from latentclass.models._hidden_naive_bayes import HiddenNaiveBayes
from latentclass.models._k2 import K2
from latentclass.models._naive_bayes import NaiveBayes
from latentclass.models._tan import TAN

__all__ = ["AODE", "BAN", "K2", "TAN", "HiddenNaiveBayes", "NaiveBayes"]
