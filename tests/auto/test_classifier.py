"""The classifier that chooses: honest, repeatable, and clear about what it did."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict

from estimators import CLASSIFIERS
from latentclass import (
    AutoLatentClassifier,
    BinaryLCMClassifierCV,
    LatentTreeClassifier,
    LatentVariableClassifier,
    Parts,
    Plan,
)
from latentclass.auto._classifier import tell_why
from latentclass.auto._families import (
    AS_COSTLY,
    CHEAPEST_FIRST,
    OFFERS,
    Family,
    choose_families,
)
from latentclass.auto._leaderboard import Leaderboard, LeaderboardRow
from latentclass.baselines import AODE, K2, TAN, NaiveBayes

QUICK = ["NaiveBayes", "AODE", "TAN"]


class OwnBayes(NaiveBayes):
    """A class that the library does not know."""


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(iris):
    return AutoLatentClassifier(None, families=QUICK, random_state=0).fit(*iris)


def test_the_leaderboard_says_what_became_of_each(fitted):
    board = fitted.leaderboard_
    assert {row.family for row in board} == {*QUICK}
    losses = [row.log_loss for row in board]
    assert losses == sorted(losses)
    assert_allclose(sum(row.weight for row in board), 1.0)
    assert fitted.weights_ == {row.family: row.weight for row in board if row.weight}
    frame = board.to_frame()
    assert frame["family"].tolist() == [row.family for row in board]
    titles, *lines = str(board).splitlines()
    assert titles.split("  ")[0] == "family"
    assert titles.endswith("predict s  status")
    for row, line in zip(board, lines, strict=True):
        assert f"{100 * row.accuracy:.1f} ± {100 * row.accuracy_sd:.1f} %" in line
        assert f"{row.fit_seconds:.2f}   {row.predict_seconds:.3f}" in line
    assert board[0].family in board._repr_html_()
    assert len(board) == 3


def test_names_of_candidates_read_well_in_sentences():
    def row(name, loss, weight, reason=""):
        return LeaderboardRow(name, {}, loss, 0.0, 0.9, 0.0, weight, 1.0, 1.0, "done", reason)

    rows = (
        row("HybridLCMClassifier, small", 0.25, 0.7),
        row("TAN, unlabelled rows", 0.5, 0.3),
        row("LatentVariableClassifier, trees, unlabelled rows", None, 0.0, "there was no time"),
    )
    search = SimpleNamespace(folds=SimpleNamespace(n_folds=5), log_loss=0.2, interrupted=False)
    assert tell_why(Leaderboard(rows), search, "neg_log_loss") == (
        "2 of 3 candidates were compared on the same 5 folds. By their held-out log-loss, the "
        "weights of the average are: HybridLCMClassifier (small) 70 %, TAN (unlabelled rows) 30 %. "
        "The lowest log-loss of a single candidate is that of HybridLCMClassifier (small), 0.2500; "
        "the average has 0.2000. Left out: LatentVariableClassifier (trees, unlabelled rows): "
        "there was no time."
    )


def test_held_out_scores_are_those_of_its_own_folds(iris):
    """Slow twin: the folds as a list of row numbers, and each fold fitted by hand."""
    X, y = iris
    parts = np.arange(150) % 3
    cv = [(np.flatnonzero(parts != k), np.flatnonzero(parts == k)) for k in range(3)]
    model = AutoLatentClassifier(None, families=["NaiveBayes"], cv=cv, random_state=0).fit(X, y)
    row = model.leaderboard_[0]
    hits = [np.mean(NaiveBayes().fit(X[a], y[a]).predict(X[b]) == y[b]) for a, b in cv]
    assert_allclose(row.accuracy, np.mean(hits))
    assert_allclose(row.accuracy_sd, np.std(hits))


def test_why_is_said_in_plain_words(fitted):
    assert fitted.why_.startswith("3 of 3 candidates were compared on the same 5 folds. ")
    for name in fitted.weights_:
        assert name in fitted.why_
    assert fitted.why_ in fitted._repr_mimebundle_()["text/html"]
    assert "leaderboard" not in clone(fitted)._repr_html_()


def test_a_plan_repeats_the_result_to_the_bit(fitted, iris):
    X, y = iris
    again = AutoLatentClassifier(1e-9, plan=fitted.plan_, families="auto").fit(X, y)
    assert again.predict_proba(X).tolist() == fitted.predict_proba(X).tolist()
    assert again.weights_ == fitted.weights_
    assert repr(again.plan_) == repr(fitted.plan_)


def test_the_best_one_is_an_estimator_of_its_own(fitted, iris):
    X, y = iris
    best = fitted.best_estimator_
    assert type(best).__name__ == fitted.leaderboard_[0].family
    alone = AutoLatentClassifier(None, families=QUICK, combine="best", random_state=0).fit(X, y)
    assert [*alone.weights_.values()] == [1.0]
    alone.temperature_ = 1.0
    assert_allclose(best.predict_proba(X), alone.predict_proba(X), rtol=1e-9)
    assert best.score_samples(X).shape == (150,)


def test_random_labels_are_predicted_no_better_than_by_chance():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 6)), rng.integers(0, 3, 150)
    model = AutoLatentClassifier(None, families=QUICK, random_state=0)
    p = cross_val_predict(model, X, y, cv=3, method="predict_proba")
    assert log_loss(y, p) > log_loss(y, np.full((150, 3), 1 / 3)) - 0.02
    assert np.mean(p.argmax(axis=1) == y) < 0.42  # two standard deviations


def test_accuracy_can_decide(iris):
    X, y = iris
    model = AutoLatentClassifier(None, families=QUICK, scoring="accuracy", random_state=0)
    assert "accuracy" in model.fit(X, y).why_


def test_an_interrupt_leaves_the_models_of_the_folds(iris, monkeypatch):
    X, y = iris
    tried = []

    def learn(self, training, progress):
        tried.append(len(training.y))
        raise KeyboardInterrupt

    monkeypatch.setattr("latentclass.baselines.AODE._fit_model", learn)
    model = AutoLatentClassifier(None, families=QUICK, random_state=0)
    with pytest.warns(UserWarning, match="The search was interrupted"):
        model.fit(X, y)
    assert len(tried) == 1
    assert model.interrupted_
    assert not model.converged_
    assert len(model._model.members) == 5
    assert model.score(X, y) > 0.9
    assert [row.status for row in model.leaderboard_] == ["done", "interrupted", "not started"]
    assert type(model.best_estimator_) is NaiveBayes
    assert model.best_estimator_._model is model._model.members[0].model  # of the first fold
    assert "A fit with plan=plan_ has the same weights" in model.why_


def test_a_plan_after_an_interrupt_has_the_weights_with_members_fitted_to_all_rows(
    iris, fitted, monkeypatch
):
    X, y = iris
    whole = AODE._fit_model

    def learn(self, training, progress):
        if tan:
            raise KeyboardInterrupt
        return whole(self, training, progress)

    def stop(self, training, progress):
        tan.append(training)
        raise KeyboardInterrupt

    tan = []
    with monkeypatch.context() as patched:
        patched.setattr(AODE, "_fit_model", learn)
        patched.setattr(TAN, "_fit_model", stop)
        model = AutoLatentClassifier(None, families=QUICK, random_state=0)
        with pytest.warns(UserWarning, match="those not yet fitted to all rows answer by their"):
            model.fit(X, y)
    again = AutoLatentClassifier(plan=model.plan_).fit(X, y)
    assert list(model.plan_.families) == ["NaiveBayes", "AODE"]
    assert again.weights_ == model.weights_
    assert len(again._model.members) == len(again.weights_)
    assert len(model._model.members) == 5 * len(model.weights_)
    assert not again.interrupted_


def test_numbers_of_two_values_are_flags_for_all():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = pd.DataFrame({"flag": (rng.random(100) < 0.2 + 0.5 * y) * 1.0, "size": rng.normal(y)})
    model = AutoLatentClassifier(None, families=QUICK, random_state=0).fit(X, y)
    assert [column.kind for column in model.schema_.columns] == ["binary", "continuous"]
    parted = clone(model).fit(Parts([(X[:50], y[:50]), (X[50:], y[50:])]))
    assert parted.predict_proba(X).tolist() == model.predict_proba(X).tolist()
    assert model.sample(5, random_state=0)[0]["flag"].isin([0, 1]).all()


@pytest.mark.filterwarnings("ignore:y has a single class")
def test_with_one_labelled_row_the_first_family_is_used_as_it_is():
    model = AutoLatentClassifier(families=QUICK).fit([[1.0], [2.0]], ["a", None])
    assert model.why_ == (
        "NaiveBayes is used as it is: there are too few labelled rows to compare."
    )
    assert model.predict([[1.0]]).tolist() == ["a"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"families": ["NaiveBayes", "Forest"]}, "families has 'Forest', which is not a family"),
        ({"families": []}, "families is empty"),
        ({"families": {}}, "families is empty: pass 'auto' or at least one family"),
        ({"families": [["NaiveBayes"]]}, r"families has \['NaiveBayes'\], which is not a family"),
        ({"families": None}, "families has None, which is not a family"),
        ({"families": iter(["TAN"])}, "families is list_iterator: pass a list of names, or a dict"),
        (
            {"families": {"nb": NaiveBayes}},
            r"families\['nb'\] is the class NaiveBayes: pass an unfitted classifier, such as "
            r"NaiveBayes\(\)\.",
        ),
        ({"families": {"lr": LogisticRegression}}, r"is the class LogisticRegression: pass an unf"),
        ({"families": {1: NaiveBayes()}}, "families has the name 1: pass names as text"),
        ({"plan": Plan({}, 0)}, "plan is empty: pass `plan_`"),
        ({"plan": Plan({"nb": 3}, 0)}, r"plan.families\['nb'\] is int: pass an unfitted"),
        ({"random_state": "a"}, "random_state='a' must be a whole number from 0 to 4294967295"),
        ({"random_state": -1}, "random_state=-1 must be a whole number"),
        ({"calibrate": "yes"}, "calibrate='yes' must be one of"),
        ({"families": {"lr": LogisticRegression()}}, r"families\['lr'\] is LogisticRegression"),
        ({"plan": "mine"}, "plan is str: pass `plan_`"),
        ({"scoring": "f1"}, "scoring='f1'"),
        ({"combine": "all"}, "combine='all'"),
        ({"time_budget": -1}, "time_budget=-1"),
        ({"cv": 1}, "cv=1"),
        ({"families": {"nb": NaiveBayes(alpha=-1)}}, r"families\['nb'\]: alpha=-1"),
    ],
)
def test_wrong_parameters_are_refused_before_the_table_is_read(given, message):
    with pytest.raises(ValueError, match=message):
        AutoLatentClassifier(**given).fit("no table", "no labels")


def test_calibrate_auto_is_true(iris):
    X, y = iris
    model = AutoLatentClassifier(None, families=QUICK, random_state=0)
    found = [
        clone(model).set_params(calibrate=given).fit(X, y).predict_proba(X).tolist()
        for given in (True, "auto")
    ]
    assert found[0] == found[1]


def test_families_are_tried_cheapest_first(iris, fitted):
    X, y = iris
    turned = AutoLatentClassifier(None, families=QUICK[::-1], random_state=0).fit(X, y)
    assert list(turned.plan_.families) == QUICK
    assert turned.predict_proba(X).tolist() == fitted.predict_proba(X).tolist()
    own = {
        "tree": LatentTreeClassifier(),
        "unknown": OwnBayes(),
        "classes": BinaryLCMClassifierCV(),
        "trees": LatentVariableClassifier("extra_trees"),
        "logistic": LatentVariableClassifier("logistic_regression"),
        "b": K2(),
        "a": TAN(),
        "naive": NaiveBayes(),
    }
    names = [family.name for family in choose_families(own, fitted.schema_)]
    assert names == ["naive", "b", "a", "logistic", "tree", "trees", "classes", "unknown"]


def test_every_classifier_has_its_place():
    offered = {type(one).__name__ for offer in OFFERS.values() for one in offer.make().values()}
    others = {type(model).__name__ for model in CLASSIFIERS} - offered
    assert set(AS_COSTLY) | {"AutoLatentClassifier"} == others
    assert set(AS_COSTLY.values()) <= set(CHEAPEST_FIRST)


def test_only_trees_cannot_be_stopped():
    every = {name: one for offer in OFFERS.values() for name, one in offer.make().items()}
    kinds = ("boosting", "trees", "forest")
    assert {name for name, one in every.items() if Family(name, one).least_seconds} == {
        f"LatentVariableClassifier, {kind}" for kind in kinds
    }


@pytest.mark.filterwarnings("ignore:y has a single class")
def test_with_one_class_no_loss_is_below_zero(iris):
    X, _ = iris
    model = AutoLatentClassifier(None, families=QUICK, random_state=0).fit(X, np.zeros(150))
    assert "the average has 0.0000." in model.why_
    assert "-0.0000" not in str(model.leaderboard_)


def test_if_nothing_can_be_fitted_all_reasons_are_told(iris, monkeypatch):
    def learn(self, training, progress):
        raise ValueError("no luck")

    monkeypatch.setattr(NaiveBayes, "_fit_model", learn)
    with pytest.raises(ValueError, match=r"No candidate .* NaiveBayes: ValueError: no luck"):
        AutoLatentClassifier(families=["NaiveBayes"]).fit(*iris)


def test_families_suit_the_table(fitted):
    names = [family.name for family in choose_families("auto", fitted.schema_)]
    assert names == list(CHEAPEST_FIRST)
    flags = NaiveBayes().fit(pd.DataFrame({"a": ["x", "y"] * 3}), [0, 1] * 3).schema_
    few = [family.name for family in choose_families("auto", flags)]
    assert few == [name for name in CHEAPEST_FIRST if not name.startswith("LCMClassifierCV")]


def test_every_candidate_has_its_place():
    made = [name for offer in OFFERS.values() for name in offer.make()]
    assert sorted(made) == sorted(CHEAPEST_FIRST)


def test_rows_without_label_double_only_candidates_that_learn_from_them():
    made = {
        name: Family(name, one).with_and_without_unlabelled(0.1)
        for offer in OFFERS.values()
        for name, one in offer.make().items()
    }
    single = {name for name, candidates in made.items() if len(candidates) == 1}
    # one classifier of the labelled rows in one component
    assert single == {name for name in made if name.startswith("LatentVariableClassifier, ")}
    weights = {name: [c.estimator.unlabelled_weight for c in made[name]] for name in made}
    assert all(weights[name] == ([0.0] if name in single else [0.0, 0.1]) for name in made)


def test_progress_is_printed(iris, capsys):
    AutoLatentClassifier(9, families=["NaiveBayes"], verbose=1, random_state=0).fit(*iris)
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("AutoLatentClassifier: NaiveBayes: held-out log-loss")
    assert last.startswith("AutoLatentClassifier: average of 1 of 1: held-out log-loss")
    assert "s in all" in last
