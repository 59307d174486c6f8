"""The public estimators, listed once: every common test runs on each of them."""

from latentclass.baselines import NaiveBayes

CLASSIFIERS = [NaiveBayes(random_state=0)]
