"""The public estimators, listed once: every common test runs on each of them."""

import inspect

import latentclass
from latentclass import (
    AutoLatentClassifier,
    BinaryLCMClassifier,
    BinaryLCMClassifierCV,
    HNBClassifier,
    HybridLCMClassifier,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifier,
    LCMClassifierCV,
    baselines,
    evaluation,
)
from latentclass.baselines import (
    AODE,
    BAN,
    K2,
    TAN,
    FiniteMixtureNaiveBayes,
    HiddenNaiveBayes,
    MixtureNaiveBayes,
    NaiveBayes,
    ProjectedNaiveBayes,
)

ESTIMATORS = {
    name: thing
    for module in (latentclass, baselines, evaluation)
    for name in module.__all__
    if hasattr(thing := getattr(module, name), "get_params") and inspect.isclass(thing)
}
"""All public estimator classes by name."""

CLASSIFIERS = [
    NaiveBayes(random_state=0),
    TAN(random_state=0),
    BAN(random_state=0),
    K2(random_state=0),
    AODE(random_state=0),
    HiddenNaiveBayes(random_state=0),
    HNBClassifier(random_state=0),
    LatentTreeClassifier(n_cuts=2, random_state=0),
    LCMClassifier(random_state=0),
    # with one size to try no fold sees rows; gradient steps take too long here
    LCMClassifierCV([2], [1], power_transform=True, discriminative=False, random_state=0),
    # by quadrature all verbs are exact; by the bound they are approximations
    BinaryLCMClassifier(
        2, n_init=1, predict_method="quadrature", discriminative=False, random_state=0
    ),
    BinaryLCMClassifierCV([2], [1], n_init=1, predict_method="quadrature", random_state=0),
    # gradient steps are for the labels alone: samples are not theirs; see also its own tests
    # the one above has stick breaking
    HybridLCMClassifier(
        2,
        1,
        n_init=1,
        predict_method="quadrature",
        nominal="softmax",
        power_transform=True,
        discriminative=False,
        random_state=0,
    ),
    # a classifier by name fills missing cells with the mean; see its own tests
    LatentVariableClassifier(None, 2, max_iter=20, random_state=0),
    MixtureNaiveBayes(max_components=2, random_state=0),
    FiniteMixtureNaiveBayes(max_components=2, n_init=2, random_state=0),
    ProjectedNaiveBayes(random_state=0),
    AutoLatentClassifier(
        None,
        families={
            "NaiveBayes": NaiveBayes(),
            "FiniteMixtureNaiveBayes": FiniteMixtureNaiveBayes(max_components=2, n_init=2),
        },
        cv=3,
        calibrate=False,
        random_state=0,
    ),
]
for _model in CLASSIFIERS:
    # what "auto" decides on held-out rows is a test of its own; here it would repeat every fit
    _model.set_params(calibrate=False, unlabelled_weight=1.0)

IMPROPER = {"HiddenNaiveBayes": "its product of averages does not sum to 1 over x, as published"}
"""Classifiers whose joint distribution is not one, and why."""

SEE_COPIES = {
    "AutoLatentClassifier",
    "BinaryLCMClassifier",
    "BinaryLCMClassifierCV",
    "HNBClassifier",
    "HybridLCMClassifier",
    "LCMClassifier",
    "LCMClassifierCV",
    "LatentTreeClassifier",
    "ProjectedNaiveBayes",
}
"""Classifiers that are not too sure where one attribute comes several times over."""
