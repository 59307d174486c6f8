"""The candidates of `AutoLatentClassifier`: which families suit a table, cheapest first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from latentclass.data._schema import Schema
from latentclass.discrete._aode import AODE
from latentclass.discrete._tan import TAN
from latentclass.estimator._base import GenerativeClassifier
from latentclass.estimator._fitted import Learned
from latentclass.estimator._reading import Training
from latentclass.estimator._tuning import ENOUGH_TESTED
from latentclass.estimator._unlabelled import weigh_unlabelled
from latentclass.hnb._classifier import HNBClassifier
from latentclass.latent_tree._classifier import LatentTreeClassifier
from latentclass.lcm._base_classifier import LatentClassifier
from latentclass.lcm._classifier_cv import LCMClassifierCV
from latentclass.lcm._hybrid_classifier import HybridLCMClassifier
from latentclass.mixture._classifier import LatentVariableClassifier
from latentclass.naive_bayes._naive_bayes import NaiveBayes

MANY_LABELLED = 1.25 * ENOUGH_TESTED
"""Labelled rows that are enough for a choice that the folds keep: a fold learns from 4 of 5."""

WITH_UNLABELLED = ", unlabelled rows"
"""What the name of such a candidate ends with."""


TREES = ("hist_gradient_boosting", "extra_trees", "random_forest")
TREE_SECONDS = 0.3
"""Seconds of their fits, however few the rows; scikit-learn does not look at our clock."""


@dataclass(frozen=True, eq=False)
class Family:
    """An unfitted classifier with a name."""

    name: str
    estimator: GenerativeClassifier

    @property
    def head_start(self) -> float:
        """Rows that count for it before any row was seen, when the average is weighted."""
        own = HEAD_STARTS.get(self.name.removesuffix(WITH_UNLABELLED), USUAL_HEAD_START)
        return own / 2 if self.name.endswith(WITH_UNLABELLED) else own

    @property
    def cheaper(self) -> str | None:
        """Name of a candidate with the same kernels that takes no longer."""
        own = self.name.removesuffix(WITH_UNLABELLED)
        return CHEAPER.get(own) if own == self.name else own

    @property
    def least_seconds(self) -> float:
        """What a fit takes at least, if it cannot be stopped; 0 for all that look at the clock."""
        estimator = self.estimator
        grows = isinstance(estimator, LatentVariableClassifier) and estimator.estimator in TREES
        return TREE_SECONDS if grows else 0.0

    def learn(self, training: Training) -> Learned:
        """Fit it to rows; the estimator itself does not change."""
        return self.estimator._fit_model(self._weighed(training), None)

    def chooses_once(self, training: Training) -> bool:
        """Whether the folds keep what a fit to all these rows chose, such as its size.

        That is a number or two, chosen on held-out rows. So with many rows the folds are hardly
        flattered by it.
        """
        n_labelled = float(training.weight[training.labelled].sum())
        return isinstance(self.estimator, LatentClassifier) and n_labelled >= MANY_LABELLED

    def learn_again(self, learned: Learned, part: Training) -> Learned:
        """Fit it to some of the rows with what that fit chose."""
        return self.estimator._fit_again(learned, self._weighed(part))

    def _weighed(self, training: Training) -> Training:
        factor = self.estimator.unlabelled_weight
        return training if isinstance(factor, str) else weigh_unlabelled(training, float(factor))

    def with_and_without_unlabelled(self, factor: float) -> list[Family]:
        """Two candidates, without and with the rows that have no label; one if it is decided."""
        if not isinstance(self.estimator.unlabelled_weight, str):
            return [self]
        if _answers_alone(self.estimator):
            return [Family(self.name, clone(self.estimator).set_params(unlabelled_weight=0.0))]
        named = {self.name: 0.0, f"{self.name}{WITH_UNLABELLED}": factor}
        return [
            Family(name, clone(self.estimator).set_params(unlabelled_weight=own))
            for name, own in named.items()
        ]

    def prepared(self, seed: int, n_jobs: int | None) -> Family:
        """A copy with a seed, and without the calibration that the search does better."""
        given = {"random_state": seed, "n_jobs": n_jobs, "calibrate": False}
        known = self.estimator.get_params(deep=False)
        copy = clone(self.estimator)
        return Family(self.name, copy.set_params(**{k: v for k, v in given.items() if k in known}))


def _answers_alone(estimator: GenerativeClassifier) -> bool:
    """Whether P(class | x) is one classifier of the labelled rows, whatever the others hold."""
    return (
        isinstance(estimator, LatentVariableClassifier)
        and estimator.estimator is not None
        and estimator.n_components == 1
    )


def _several_numbers(schema: Schema) -> bool:
    return len(schema.continuous) > 1


@dataclass(frozen=True)
class _Offer:
    """Classifiers of a family, and the tables that they are for; None is all of them."""

    make: Callable[[], dict[str, GenerativeClassifier]]
    suits: Callable[[Schema], bool] | None = None


OFFERS = {
    "NaiveBayes": _Offer(lambda: {"NaiveBayes": NaiveBayes()}),
    "AODE": _Offer(lambda: {"AODE": AODE()}),
    "TAN": _Offer(lambda: {"TAN": TAN()}),
    "LCMClassifierCV": _Offer(
        lambda: {
            "LCMClassifierCV, EM": LCMClassifierCV(discriminative=False, noise="tied"),
            "LCMClassifierCV": LCMClassifierCV(),
        },
        _several_numbers,
    ),
    "LatentTreeClassifier": _Offer(
        lambda: {"LatentTreeClassifier": LatentTreeClassifier(search="fast")}
    ),
    "HNBClassifier": _Offer(lambda: {"HNBClassifier": HNBClassifier(n_models=10)}),
    "LatentVariableClassifier": _Offer(
        lambda: {
            "LatentVariableClassifier": LatentVariableClassifier(None, 2, average=True),
            # for linear and curved borders and for steps; with one component this is a single
            # classifier that has p(x) too
            **{
                f"LatentVariableClassifier, {name}": LatentVariableClassifier(
                    estimator, n_components=1
                )
                for name, estimator in {
                    "logistic": "logistic_regression",
                    "free logistic": "free_logistic_regression",
                    "kernel": "kernel_logistic_regression",
                    "boosting": "hist_gradient_boosting",
                    "trees": "extra_trees",
                    "forest": "random_forest",
                }.items()
            },
        }
    ),
    "HybridLCMClassifier": _Offer(
        lambda: {
            "HybridLCMClassifier, small": HybridLCMClassifier(5, 1, n_init=2),
            "HybridLCMClassifier": HybridLCMClassifier(),
        }
    ),
}
"""The families by name."""

CHEAPEST_FIRST = (
    "NaiveBayes",
    "AODE",
    "TAN",
    "LatentVariableClassifier, logistic",
    "LatentVariableClassifier, free logistic",
    "LatentVariableClassifier, kernel",
    "LatentVariableClassifier",
    "LatentVariableClassifier, boosting",
    "LatentTreeClassifier",
    "LatentVariableClassifier, trees",
    "HybridLCMClassifier, small",
    "HybridLCMClassifier",
    "LatentVariableClassifier, forest",
    "HNBClassifier",
    "LCMClassifierCV, EM",
    "LCMClassifierCV",
)
"""The candidates in the order in which they are tried.

The forest comes late for its cost: beside the extra trees it seldom adds much.
"""

AS_COSTLY = {
    "K2": "TAN",
    "BAN": "TAN",
    "HiddenNaiveBayes": "TAN",
    "ProjectedNaiveBayes": "LatentVariableClassifier",
    "FiniteMixtureNaiveBayes": "LatentVariableClassifier",
    "MixtureNaiveBayes": "LatentVariableClassifier",
    "LCMClassifier": "HybridLCMClassifier, small",
    "BinaryLCMClassifier": "HybridLCMClassifier",
    "BinaryLCMClassifierCV": "LCMClassifierCV",
}
"""For other classifiers of this library, a candidate that costs about as much."""

CHEAPER = {
    "LatentVariableClassifier, forest": "LatentVariableClassifier, trees",
    "HybridLCMClassifier": "HybridLCMClassifier, small",
    "LCMClassifierCV": "LCMClassifierCV, EM",
}
"""For some candidates, one with the same kernels that takes no longer."""

COSTLY = ("HybridLCMClassifier", "LCMClassifierCV", "HNBClassifier")
"""What the names of costly candidates begin with."""

USUAL_HEAD_START = 0.5
HEAD_STARTS = {
    "LatentVariableClassifier, trees": 2.0,
    "LatentVariableClassifier, forest": 1.0,
    "LatentVariableClassifier, kernel": 1.0,
    "LCMClassifierCV": 1.0,
    "HybridLCMClassifier, small": 1.0,
    "HybridLCMClassifier": 1.0,
    "TAN": 0.25,
    "LatentVariableClassifier, free logistic": 0.25,
    "LatentVariableClassifier": 0.25,
    "NaiveBayes": 0.125,
}
"""Which candidates do well on other tables, in rows: few held-out rows cannot tell it.

Chosen on the papers' tables, with 15 labels a class and with all labels.
"""


def choose_families(families: Any, schema: Schema) -> list[Family]:
    """The candidates that `families` asks for, the cheapest first.

    That is "auto", names, or classifiers by name. Classifiers of equal cost keep their order.
    """
    check_families(families)
    if isinstance(families, Mapping):
        own = [Family(name, one) for name, one in families.items()]
        return sorted(own, key=lambda one: _place(one.estimator))
    if isinstance(families, str) and families == "auto":
        offers = [offer for offer in OFFERS.values() if not offer.suits or offer.suits(schema)]
    else:
        offers = [OFFERS[name] for name in _listed(families)]
    made = {name: one for offer in offers for name, one in offer.make().items()}
    return [Family(name, made[name]) for name in CHEAPEST_FIRST if name in made]


def check_families(families: Any) -> None:
    """Refuse what is neither "auto" nor names of families nor classifiers by name."""
    if isinstance(families, str) and families == "auto":
        return
    if isinstance(families, Iterable) and not isinstance(families, Collection):
        raise ValueError(f"families is {type(families).__name__}: pass a list of names, or a dict.")
    if not len(_listed(families)):
        raise ValueError("families is empty: pass 'auto' or at least one family.")
    if isinstance(families, Mapping):
        check_own("families", families)
        return
    for name in _listed(families):
        if not isinstance(name, str) or name not in OFFERS:
            raise ValueError(
                f"families has {name!r}, which is not a family. Pass 'auto', some of "
                f"{list(OFFERS)}, or a dict of names and unfitted classifiers."
            )


def check_own(where: str, classifiers: Mapping[Any, Any]) -> None:
    """Refuse what is no classifier of this library, or has wrong parameters."""
    for name, one in classifiers.items():
        if not isinstance(name, str):
            raise ValueError(f"{where} has the name {name!r}: pass names as text.")
        if isinstance(one, type) and issubclass(one, GenerativeClassifier):
            raise ValueError(
                f"{where}[{name!r}] is the class {one.__name__}: pass an unfitted classifier, such "
                f"as {one.__name__}()."
            )
        if not isinstance(one, GenerativeClassifier):
            kind = f"the class {one.__name__}" if isinstance(one, type) else type(one).__name__
            raise ValueError(
                f"{where}[{name!r}] is {kind}: pass an unfitted classifier of latentclass. Others "
                "cannot complete rows, sample them or tell how probable they are; as the estimator "
                "of a LatentVariableClassifier they can."
            )
        try:
            one._check_parameters()
        except ValueError as error:
            raise ValueError(f"{where}[{name!r}]: {error}") from error


def _listed(families: Any) -> Collection[Any]:
    """A single name is a list of one."""
    one = isinstance(families, str) or not isinstance(families, Collection)
    return [families] if one else families


def _place(estimator: GenerativeClassifier) -> int:
    """Where `CHEAPEST_FIRST` has a classifier, by its class and by the one in its components."""
    kind, inside = type(estimator), getattr(estimator, "estimator", None)
    made = {name: one for offer in OFFERS.values() for name, one in offer.make().items()}
    alike = [name for name in CHEAPEST_FIRST if type(made[name]) is kind]
    same = [name for name in alike if getattr(made[name], "estimator", None) == inside]
    found = [*same, *alike, AS_COSTLY.get(kind.__name__)][0]
    return CHEAPEST_FIRST.index(found) if found else len(CHEAPEST_FIRST)


def with_and_without_unlabelled(families: list[Family], factor: float) -> list[Family]:
    """Each candidate without and with the unlabelled rows, the costly ones with them at the end.

    `factor` is that of the weight of these rows.
    """
    every = [one for family in families for one in family.with_and_without_unlabelled(factor)]

    def is_late(one: Family) -> bool:
        return one.name.startswith(COSTLY) and one.name.endswith(WITH_UNLABELLED)

    return sorted(every, key=is_late)
