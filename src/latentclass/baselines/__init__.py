"""Classifiers that the latent-variable models are compared with."""

from latentclass.models._naive_bayes import NaiveBayes

__all__ = ["NaiveBayes"]
