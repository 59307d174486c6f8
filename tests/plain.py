"""The classifiers without calibration, and naive Bayes with constants as its priors.

What a model is exactly, and what EM finds, is tested with these. Defaults add what is learned on
held-out rows: it has tests of its own, and `estimators.py` has every classifier as it comes.
"""

from typing import Any

import latentclass
from latentclass import baselines


class Plain:
    """A class of estimators, made with other parameters than the defaults."""

    def __init__(self, kind: type, **params: Any) -> None:
        self.kind, self.params = kind, params

    def __call__(self, *sizes: Any, **params: Any) -> Any:
        return self.kind(*sizes, **{**self.params, **params})

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kind, name)


AODE = Plain(baselines.AODE, calibrate=False)
BAN = Plain(baselines.BAN, calibrate=False)
BinaryLCMClassifier = Plain(latentclass.BinaryLCMClassifier, calibrate=False)
BinaryLCMClassifierCV = Plain(latentclass.BinaryLCMClassifierCV, calibrate=False)
FiniteMixtureNaiveBayes = Plain(baselines.FiniteMixtureNaiveBayes, calibrate=False)
HNBClassifier = Plain(latentclass.HNBClassifier, calibrate=False)
HiddenNaiveBayes = Plain(baselines.HiddenNaiveBayes, calibrate=False)
HybridLCMClassifier = Plain(latentclass.HybridLCMClassifier, calibrate=False)
K2 = Plain(baselines.K2, calibrate=False)
LCMClassifier = Plain(latentclass.LCMClassifier, calibrate=False)
LCMClassifierCV = Plain(latentclass.LCMClassifierCV, calibrate=False)
LatentTreeClassifier = Plain(latentclass.LatentTreeClassifier, calibrate=False)
LatentVariableClassifier = Plain(latentclass.LatentVariableClassifier, calibrate=False)
MixtureNaiveBayes = Plain(baselines.MixtureNaiveBayes, calibrate=False)
NaiveBayes = Plain(baselines.NaiveBayes, alpha=1.0, prior=1.0, calibrate=False)
ProjectedNaiveBayes = Plain(baselines.ProjectedNaiveBayes, calibrate=False)
TAN = Plain(baselines.TAN, calibrate=False)
