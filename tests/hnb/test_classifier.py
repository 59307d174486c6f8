"""Hierarchical naive Bayes as an estimator: the paper's examples, rules, other programs."""

import os
import re
from importlib.util import find_spec
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold, TimeSeriesSplit
from sklearn.naive_bayes import CategoricalNB

import latentclass
from latentclass.datasets import load_dataset
from latentclass.hnb._hierarchy import Hierarchy
from latentclass.hnb._search import FoundHierarchy
from plain import TAN, HNBClassifier, NaiveBayes


def all_bits(n, times):
    frame = pd.DataFrame(list(product(["0", "1"], repeat=n)) * times)
    return frame.set_axis([f"A{j + 1}" for j in range(n)], axis=1)


@pytest.fixture(params=["all alike", "more ones"])
def two_of_three(request):
    """C = 1 exactly if two of A1, A2, A3 are 1; a fourth column tells nothing.

    If ones and zeros are as frequent, A1 and A2 say as much of C if one of them is 1 as if both
    are: of the class alone, these states are one.
    """
    X = all_bits(4, 38)
    if request.param == "more ones":
        ones = np.random.default_rng(0).random((600, 4)) < 0.65
        X = pd.DataFrame(ones, columns=list(X)).map(lambda v: "1" if v else "0")
    y = (X[["A1", "A2", "A3"]] == "1").sum(axis=1).eq(2).astype(int).to_numpy()
    return X, y


@pytest.fixture
def leaning():
    """Text columns where two lean on each other, and numbers; two classes, no holes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    a = rng.integers(0, 3, 300)
    b = np.where(rng.random(300) < 0.85, (a + y) % 3, rng.integers(0, 3, 300))
    c = np.where(rng.random(300) < 0.6, y, rng.integers(0, 2, 300))
    frame = pd.DataFrame({"a": a, "b": b, "c": c}).map(lambda v: "xyz"[v])
    frame["d"] = rng.normal(1.5 * y)
    return frame, np.array(["no", "yes"])[y]


def test_exactly_two_of_three_is_learned_and_tan_cannot(two_of_three):
    X, y = two_of_three
    fitted = HNBClassifier(random_state=0).fit(X, y)
    assert fitted.score(X, y) == 1.0
    assert TAN().fit(X, y).score(X, y) < 1.0
    below = {child for pair in fitted.latent_children_.values() for child in pair}
    assert {"A1", "A2", "A3"} <= below
    last = fitted.rules().iloc[-fitted.n_states_["L2"] :]
    by_state = last.set_index("state")
    certain = [s for s in by_state.index if by_state.loc[s, "P(1)"] in (0.0, 1.0)]
    assert len(certain) == len(by_state)


@pytest.mark.parametrize("search", ["subsets", "hill_climbing"])
@pytest.mark.parametrize("measure", ["chi2", "expected_kl"])
@pytest.mark.parametrize("collapse", ["greedy", "exact"])
def test_all_searches_learn_what_only_a_pair_says(search, measure, collapse):
    X = all_bits(3, 10)
    y = (X["A1"] == X["A2"]).to_numpy()
    model = HNBClassifier(search=search, pair_measure=measure, collapse=collapse, random_state=0)
    fitted = model.fit(X, y)
    assert fitted.score(X, y) == 1.0
    assert fitted.latent_children_ == {"L1": ("A1", "A2")} or (
        fitted.latent_children_ == {"L1": ("A2", "A1")}
    )
    assert NaiveBayes().fit(X, y).score(X, y) < 0.6
    assert fitted.cv_scores_[-1] == 1.0


def test_columns_that_were_left_out_do_not_matter():
    rng = np.random.default_rng(2)
    X = all_bits(2, 15)
    y = np.where(rng.random(len(X)) < 0.2, 0, X["A1"] == X["A2"])
    for name in ("u", "v", "w", "x"):
        X[name] = rng.choice(list("abc"), len(X))
    options = {"search": "published", "random_state": 0}
    plain = HNBClassifier(**options).fit(X, y)
    fitted = HNBClassifier(select_features=True, **options).fit(X, y)
    assert plain.selected_features_ == list(X)
    assert np.all(np.diff(fitted.cv_scores_) > 0)
    assert {"A1", "A2"} <= set(fitted.selected_features_)  # they say something together
    left_out = sorted(set(X) - set(fitted.selected_features_))
    assert left_out
    other = X.assign(**{name: X[name].sample(frac=1, random_state=0).values for name in left_out})
    assert_allclose(fitted.predict_proba(other), fitted.predict_proba(X), rtol=1e-9)
    without = X.assign(**dict.fromkeys(left_out))
    assert_allclose(fitted.predict_proba(without), fitted.predict_proba(X), rtol=1e-9)
    weights = fitted.explain(X).weights[:, [name in left_out for name in X]]
    assert_allclose(weights, 0.0, atol=1e-9)
    # still a model of all columns: their shares are those of all rows
    one = next(v for v in fitted.to_network() if v.name == left_out[0])
    shares = (X[left_out[0]].value_counts().sort_index() + 1) / (len(X) + 3)
    assert_allclose(one.table, np.tile(shares, (2, 1)), rtol=1e-9)


def test_example_2_collapses_the_copy_and_then_joins():
    """A2 and A3 agree in 99 of 100 rows, and C = 1 exactly if A1 = A2 = 1."""
    rng = np.random.default_rng(0)
    n = 4000
    a1, a2 = rng.integers(0, 2, (2, n))
    a3 = np.where(rng.random(n) < 0.99, a2, 1 - a2)
    X = pd.DataFrame({"A1": a1, "A2": a2, "A3": a3}).astype(str)
    y = a1 & a2
    # one candidate at a time, from all rows: the pair that depends most, as in Example 1
    fitted = HNBClassifier(n_candidates=1, random_state=0).fit(X, y)
    assert [set(pair) for pair in fitted.latent_children_.values()] == [
        {"A2", "A3"},
        {"A1", "L1"},
    ]
    rules = fitted.rules()
    assert sorted(rules.loc[rules["latent"] == "L1", "rule"]) == ["A2 = 0", "A2 = 1"]
    assert fitted.score(X, y) == 1.0
    target = rules[(rules["latent"] == "L2") & (rules["P(1)"] == 1.0)]
    assert sorted(target["rule"].item().split(" and ")) == ["A1 = 1", "A2 = 1"]


def test_monks_1_is_learned():
    if not os.environ.get("LATENTCLASS_DATA"):
        pytest.skip("LATENTCLASS_DATA is not set: no monks here")
    monks = load_dataset("monks-1", container="pandas")
    train = np.asarray(monks.split) == "train"
    for seed in range(5):
        fitted = HNBClassifier(random_state=seed).fit(monks.X[train], monks.y[train])
        assert fitted.score(monks.X[~train], monks.y[~train]) == 1.0
        assert "a1 = a2" in fitted.rules()["rule"].tolist()


@pytest.mark.parametrize("unlabelled", [0, 3])
def test_without_latent_variable_it_is_naive_bayes(leaning, unlabelled, monkeypatch):
    X, y = leaning
    X = X.mask(np.random.default_rng(1).random(X.shape) < 0.1)
    if unlabelled:
        y = np.where(np.arange(300) % unlabelled == 0, None, y)

    def none(rows, n_levels, *_):
        assert len(rows.y) > 0
        return FoundHierarchy(Hierarchy(n_levels), [0.5])

    monkeypatch.setattr("latentclass.hnb._learn.search_hierarchy", none)
    fitted = HNBClassifier(random_state=0, alpha=0.5).fit(X, y)
    assert fitted.latent_children_ == {}
    assert fitted.top_variables_ == ["a", "b", "c", "d"]
    assert fitted.rules().empty
    assert list(fitted.rules().columns) == ["latent", "state", "rule", "support", "P(no)", "P(yes)"]
    bins = pd.cut(X["d"], [-np.inf, *fitted.cut_points_["d"], np.inf]).astype(str)
    coded = X.assign(d=bins.where(X["d"].notna(), None))
    naive = NaiveBayes(alpha=0.5).fit(coded, y)
    assert_allclose(fitted.predict_proba(X), naive.predict_proba(coded), rtol=1e-8)
    assert_allclose(fitted.transform(X), fitted.predict_proba(X), rtol=1e-12)


def test_categorical_naive_bayes_of_scikit_learn_agrees(monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (200, 4))
    y = (codes[:, 0] + rng.integers(0, 2, 200)) % 2
    monkeypatch.setattr(
        "latentclass.hnb._learn.search_hierarchy",
        lambda rows, n_levels, *_: FoundHierarchy(Hierarchy(n_levels), [len(rows.y)]),
    )
    fitted = HNBClassifier(categorical_features=[0, 1, 2, 3]).fit(codes, y)
    theirs = CategoricalNB().fit(codes, y).predict_proba(codes)
    assert_allclose(fitted.predict_proba(codes), theirs, rtol=1e-10)


def test_joint_sums_to_one_and_holes_are_sums(leaning):
    X, y = leaning
    X = X.drop(columns="d")
    fitted = HNBClassifier(random_state=0).fit(X, y)
    assert fitted.latent_children_
    levels = [list(column.categories) for column in fitted.schema_.columns]
    whole = pd.DataFrame(list(product(*levels)), columns=list(X))
    joint = np.exp(fitted.predict_joint_log_proba(whole))
    assert_allclose(joint.sum(), 1.0, rtol=1e-10)
    holes = pd.DataFrame(list(product(*([*v, None] for v in levels))), columns=list(X))
    got = np.exp(fitted.predict_joint_log_proba(holes))
    for (_, row), value in zip(holes.iterrows(), got, strict=True):
        agree = np.ones(len(whole), dtype=bool)
        for name in X:
            if isinstance(row[name], str):
                agree &= (whole[name] == row[name]).to_numpy()
        assert_allclose(value, joint[agree].sum(axis=0), rtol=1e-9)


def test_transform_is_the_state_or_its_posterior(leaning):
    X, y = leaning
    fitted = HNBClassifier(random_state=0).fit(X, y)
    values = pd.DataFrame(fitted.transform(X), columns=fitted.get_feature_names_out())
    assert set(np.unique(values.round(12))) == {0.0, 1.0}
    assert_allclose(values.sum(axis=1), len(fitted.latent_children_))
    counts = fitted.rules()["support"]
    assert_allclose(values.sum(axis=0), counts)
    open_ = fitted.transform(X.assign(b=None))
    assert np.all(open_ >= 0)
    assert_allclose(open_.sum(axis=1), len(fitted.latent_children_))
    assert np.any((open_ > 0.01) & (open_ < 0.99))


def test_rules_are_true_of_their_rows(leaning):
    X, y = leaning
    fitted = HNBClassifier(random_state=0).fit(X, y)
    rules = fitted.rules()
    states = fitted.transform(X)
    for i, rule in enumerate(rules["rule"]):
        # the words themselves, read as Python
        spoken = rule.replace(" != ", " __ ").replace(" <= ", " ## ").replace(" = ", " == ")
        spoken = spoken.replace(" __ ", " != ").replace(" ## ", " <= ")
        spoken = spoken.replace("{", "(").replace("}", ",)")
        words = {"x": "x", "y": "y", "z": "z"}
        true = [eval(spoken, words | row) for row in X.to_dict("records")]
        assert np.array_equal(true, states[:, i] == 1.0), rule
        own = np.array(true)
        assert rules["support"][i] == own.sum()
        assert_allclose(rules["P(yes)"][i], np.mean(y[own] == "yes"), rtol=1e-12)
    assert "<table" in rules.to_html()


def test_long_rules_name_the_variables_below():
    """What a rule says of latent children's states, read as Python, is true of just its rows."""
    words = np.random.default_rng(0).choice(["x", "y", "z"], (300, 3))
    X = pd.DataFrame(words, columns=["left", "right", "coat"])
    y = np.where((X["left"] == X["right"]) | (X["coat"] == "x"), "yes", "no")
    fitted = HNBClassifier(random_state=0).fit(X, y)
    assert any(
        child in fitted.n_states_ for pair in fitted.latent_children_.values() for child in pair
    )
    short, states = fitted.rules(max_length=0), fitted.transform(X)
    assert short.drop(columns="rule").equals(fitted.rules(None).drop(columns="rule"))
    assert short["rule"].str.contains("L1").any()
    assert short["rule"].str.len().sum() < fitted.rules(None)["rule"].str.len().sum()
    rows, start = X.to_dict("records"), 0
    for name, size in fitted.n_states_.items():
        for row, state in zip(rows, states[:, start : start + size].argmax(axis=1), strict=True):
            row[name] = int(state)
        start += size
    words = {"x": "x", "y": "y", "z": "z"}
    for i, rule in enumerate(short["rule"]):
        spoken = re.sub(r"(?<![!<>])=", "==", rule).replace("{", "(").replace("}", ",)")
        true = [eval(spoken, words | row) for row in rows]
        assert np.array_equal(true, states[:, i] == 1.0), rule
    with pytest.raises(ValueError, match="max_length=-1"):
        fitted.rules(-1)


def test_labels_drawn_at_random_are_not_believed():
    """Rare combinations of many levels fit their own labels: the folds must not see that."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 12, (600, 4)).astype(str), columns=[*"abcd"])
    y = rng.integers(0, 2, 600)
    fitted = latentclass.HNBClassifier(random_state=0).fit(X[:200], y[:200])
    proba = fitted.predict_proba(X[200:])
    assert log_loss(y[200:], proba) < 0.75  # log 2 is 0.693
    assert abs(fitted.calibration_["log_loss_after"] - np.log(2)) < 0.1


def test_the_temperature_comes_from_the_folds_of_the_search(leaning, monkeypatch):
    X, y = leaning
    fits = []
    learn = latentclass.HNBClassifier._learn
    monkeypatch.setattr(
        latentclass.HNBClassifier, "_learn", lambda *args: fits.append(1) or learn(*args)
    )
    for changed, n_fits in [
        ({}, 1),
        ({"n_models": 3}, 1),
        ({"calibrate": True}, 6),
        # here the folds of the search say nothing about the model
        ({"search": "published"}, 3),
        ({"discriminative": True}, 3),
    ]:
        fits.clear()
        fitted = latentclass.HNBClassifier(random_state=0, **changed).fit(X, y)
        assert len(fits) == n_fits, changed
        assert fitted.calibration_["log_loss_before"] > 0


def test_rows_without_a_label_leave_the_temperature_to_the_folds_of_the_search(
    leaning, monkeypatch
):
    """Fits to a part of few labelled rows are too unsure of themselves."""
    monkeypatch.setattr(latentclass.HNBClassifier, "_unlabelled_errors", -np.inf)  # they count
    X, y = leaning
    known = np.arange(len(y)) % 5 == 0
    alone = latentclass.HNBClassifier(random_state=0).fit(X[known], y[known])
    model = latentclass.HNBClassifier(random_state=0).fit(X, np.where(known, y, None))
    assert model.unlabelled_weight_ > 0
    assert model.temperature_ == pytest.approx(alone.temperature_, rel=0.1)


def test_numbers_are_told_as_intervals():
    rng = np.random.default_rng(1)
    u, v = rng.uniform(0, 4, (2, 600))
    y = (np.floor(u) + np.floor(v)) % 2
    # cuts need a column that tells something by itself
    y = np.where(u < 1, 0, np.where(u > 3, 1, y))
    fitted = HNBClassifier(random_state=0).fit(pd.DataFrame({"u": u, "v": v}), y)
    shown = " ".join(fitted.rules()["rule"])
    if fitted.latent_children_:
        assert "u <= " in shown
    from latentclass.hnb._reader import write_intervals

    cuts = np.array([0.25, 1.5, 2.0])
    assert write_intervals("u", cuts, (0,)) == "u <= 0.25"
    assert write_intervals("u", cuts, (1, 2)) == "0.25 < u <= 2"
    assert write_intervals("u", cuts, (3,)) == "u > 2"
    assert write_intervals("u", cuts, (0, 2, 3)) == "u <= 0.25 or u > 1.5"


def test_explanations_speak_in_rules():
    X = all_bits(3, 10)
    y = np.where(X["A1"] == X["A2"], "same", "other")
    fitted = HNBClassifier(random_state=0).fit(X, y)
    told = fitted.explain(X.iloc[:2])
    assert sorted(told.variables) == ["A3", "L1"]
    assert "by rule: A1 = A2: +" in told.describe(0)
    # all that speaks for the class comes from the two columns together
    without = fitted.predict_proba(X.iloc[:1].assign(A1=None, A2=None))[0]
    with_all = fitted.predict_proba(X.iloc[:1])[0]
    place = fitted.classes_.tolist().index("same")
    change = np.log(with_all[place] / with_all[1 - place]) - np.log(
        without[place] / without[1 - place]
    )
    assert_allclose(told.variable_weights[0, told.variables.index("L1")], change, rtol=1e-8)
    open_ = fitted.explain(X.iloc[:1].assign(A1=None))
    assert open_.states[0, open_.variables.index("L1")] == -1
    assert open_.parts[open_.variables.index("L1")].rule(0) == "A1, A2: left open"
    assert not open_.variable_weights[0, open_.variables.index("L1")]
    assert [rule.split()[0] for rule, _ in open_.evidence()] == ["A3"]


def test_explanations_name_the_part_of_the_rule_that_holds():
    """Never the state of a latent variable, however tall the hierarchy."""
    X = all_bits(4, 6)
    y = np.where((X["A1"] == X["A2"]) | ((X["A3"] == 1) & (X["A4"] == 0)), "yes", "no")
    fitted = HNBClassifier(random_state=0).fit(X, y)
    assert len(fitted.latent_children_) >= 2
    told = fitted.explain(X)
    for row in range(0, len(X), 7):
        for rule, _ in told.evidence(row):
            for condition in rule.split(" and "):
                name, sign, value = condition.split(" ")
                assert name.startswith("A")
                right = X[value].iloc[row] if value in X else int(value)
                assert (X[name].iloc[row] == right) == (sign == "=")


# --------------------------------------------------------------------- averages


@pytest.fixture
def averaged(leaning):
    X, y = leaning
    return HNBClassifier(n_models=3, cv=2, random_state=0).fit(X.drop(columns="d"), y)


def test_an_average_is_the_mean_of_the_joint_probabilities(leaning, averaged):
    X, y = leaning
    X = X.drop(columns="d")
    assert len(averaged.models_) == 3
    assert len({str(one.rules()) for one in averaged.models_}) > 1  # or nothing is tested
    holes = X.mask(np.random.default_rng(2).random(X.shape) < 0.3)
    for rows in (X, holes):
        each = [one.predict_joint_log_proba(rows) for one in averaged.models_]
        mean = np.mean(np.exp(each), axis=0)
        assert_allclose(np.exp(averaged.predict_joint_log_proba(rows)), mean, rtol=1e-10)
    levels = [list(column.categories) for column in averaged.schema_.columns]
    whole = pd.DataFrame(list(product(*levels)), columns=list(X))
    assert_allclose(np.exp(averaged.predict_joint_log_proba(whole)).sum(), 1.0, rtol=1e-10)
    # the first is what one model would be, and one model is its own average
    alone = HNBClassifier(cv=2, random_state=0).fit(X, y)
    assert_allclose(averaged.models_[0].predict_proba(X), alone.predict_proba(X), rtol=1e-12)
    assert averaged.models_[0].log_likelihood_ == alone.log_likelihood_
    assert alone.models_ == [alone]
    joint = averaged.predict_joint_log_proba(X)
    own = joint[np.arange(len(y)), np.searchsorted(averaged.classes_, y)]
    assert_allclose(averaged.log_likelihood_, own.sum(), rtol=1e-10)


def test_an_average_samples_completes_and_transforms(leaning, averaged):
    X, _ = leaning
    X = X.drop(columns="d")
    levels = [list(column.categories) for column in averaged.schema_.columns]
    whole = pd.DataFrame(list(product(*levels)), columns=list(X))
    joint = np.exp(averaged.predict_joint_log_proba(whole))
    drawn, labels = averaged.sample(20_000, random_state=0)
    drawn = pd.DataFrame(np.asarray(drawn), columns=list(X)).assign(label=labels)
    seen = drawn.groupby([*X, "label"]).size() / len(drawn)
    for k, label in enumerate(averaged.classes_):
        for row, p in zip(whole.itertuples(index=False), joint[:, k], strict=True):
            assert abs(seen.get((*row, label), 0.0) - p) < 0.015
    # the most probable completion, by looking at all
    holes = X.iloc[:10].assign(a=None, b=None)
    filled = averaged.complete(holes, how="most_probable")
    for (_, row), (_, got) in zip(holes.iterrows(), filled.iterrows(), strict=True):
        agree = (whole["c"] == row["c"]).to_numpy()
        best = whole[agree].iloc[joint[agree].max(axis=1).argmax()]
        assert got.tolist() == best.tolist()
    values = averaged.transform(X)
    assert values.shape[1] == len(averaged.get_feature_names_out()) == len(averaged.rules())
    assert_allclose(values, np.hstack([one.transform(X) for one in averaged.models_]))


def test_an_average_tells_the_rules_of_each_model(leaning, averaged):
    X, _ = leaning
    X = X.drop(columns="d")
    rules = averaged.rules()
    assert list(rules.columns[:4]) == ["model", "latent", "state", "rule"]
    for m, one in enumerate(averaged.models_):
        part = rules[rules["model"] == m].drop(columns="model").reset_index(drop=True)
        pd.testing.assert_frame_equal(part, one.rules())
    told = averaged.explain(X.iloc[:5])
    assert len(set(told.variables)) == len(told.variables)
    assert any(name.startswith("model") for name in told.variables)
    place = next(i for i, name in enumerate(told.variables) if name.startswith("model"))
    rule = told.parts[place].condition(0)
    assert rule.endswith(f" (model {told.variables[place][5]})")
    leaves = [name for name in X if f"{name} " in rule]
    without = averaged.predict_proba(X.iloc[:5].assign(**dict.fromkeys(leaves)))
    target = np.searchsorted(averaged.classes_, told.target)
    odds = np.log(without / (1 - without))[np.arange(5), target]
    assert_allclose(told.variable_weights[:, place], told.log_odds - odds, rtol=1e-8)
    assert "by rule" in told.describe(0)
    with pytest.raises(
        AttributeError, match=r"n_models=3 averages .*models_\[0\].latent_children_"
    ):
        _ = averaged.latent_children_
    with pytest.raises(AttributeError, match=r"models_\[0\].to_network\(\)"):
        averaged.to_bif()


def test_an_average_learns_from_rows_without_label_and_given_folds(leaning):
    X, y = leaning
    hidden = np.where(np.arange(300) % 3 > 0, None, y)
    splits = (pair for pair in KFold(3).split(X))
    model = HNBClassifier(
        n_models=2, cv=splits, calibrate=True, random_state=0, unlabelled_weight=1
    ).fit(X, hidden)
    priors = [one.class_prior_ for one in model.models_]
    assert_allclose(model.class_prior_, np.mean(priors, axis=0))
    each = np.logaddexp(*(one.predict_joint_log_proba(X) for one in model.models_)) - np.log(2)
    assert_allclose(model.predict_joint_log_proba(X), each, rtol=1e-8)
    assert model.n_iter_ == max(one.n_iter_ for one in model.models_)
    assert model.set_params(n_models=1, cv=3).fit(X, y).models_ == [model]


def posteriors_by_pyagrum(path, rows):
    import pyagrum

    engine = pyagrum.LazyPropagation(pyagrum.loadBN(str(path)))
    out = []
    for row in rows:
        engine.setEvidence(row)
        engine.makeInference()
        out.append(engine.posterior("class").tolist())
    return np.array(out)


@pytest.mark.skipif(find_spec("pyagrum") is None, reason="pyagrum is not installed")
@pytest.mark.filterwarnings("ignore")
def test_the_enlarged_network_gives_the_same_posteriors(leaning, two_of_three, tmp_path):
    for X, y in (leaning, two_of_three):
        fitted = HNBClassifier(random_state=0).fit(X, y)
        assert fitted.latent_children_
        fitted.to_bif(tmp_path / "model.bif")
        rows = X.iloc[:24].astype(object)
        rows.iloc[::2, 0] = None
        rows.iloc[::3, 1] = None
        cuts = fitted.cut_points_
        evidence = []
        for row in rows.to_dict("records"):
            told = {}
            for name, value in row.items():
                if name in cuts:
                    told[name] = f"bin{np.searchsorted(cuts[name], value)}"
                elif value is not None:
                    told[name] = value if value.isalpha() else f"s{value}"
            evidence.append(told)
        got = posteriors_by_pyagrum(tmp_path / "model.bif", evidence)
        assert_allclose(got, fitted.predict_proba(rows), rtol=1e-6, atol=1e-8)


def test_the_network_is_made_of_distributions(two_of_three):
    X, y = two_of_three
    X = X.rename(columns={"A1": "class", "A4": "L1"})  # names that are asked for
    fitted = HNBClassifier(random_state=0).fit(X, y)
    network = fitted.to_network()
    names = [v.name for v in network]
    assert len(set(names)) == len(names) == 1 + 4 + 2 * len(fitted.latent_children_)
    assert names[0] == "class_"
    assert "L1_" in fitted.latent_children_
    for i, variable in enumerate(network):
        assert_allclose(variable.table.sum(axis=-1), 1.0, rtol=1e-10)
        assert all(parent in names[:i] for parent in variable.parents)


def test_given_folds_are_used(leaning):
    X, y = leaning
    splits = list(StratifiedKFold(4, shuffle=True, random_state=3).split(X, y))
    by_list = HNBClassifier(cv=splits, random_state=0).fit(X, y)
    splitter = StratifiedKFold(4, shuffle=True, random_state=3)
    by_splitter = HNBClassifier(cv=splitter, random_state=0).fit(X, y)
    assert by_list.cv_scores_ == by_splitter.cv_scores_
    # the first score is naive Bayes on these folds, the columns cut once on all rows
    coded = X.drop(columns="d").assign(
        d=np.searchsorted(by_list.cut_points_["d"], X["d"]).astype(str)
    )
    right = sum(
        np.sum(NaiveBayes().fit(coded.iloc[a], y[a]).predict(coded.iloc[b]) == y[b])
        for a, b in splits
    )
    assert_allclose(by_list.cv_scores_[0], right / len(y), rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_candidates": 0}, "n_candidates=0 must be a whole number of at least 1"),
        ({"n_models": 0}, "n_models=0 must be a whole number of at least 1"),
        ({"pair_measure": "mi"}, "pair_measure='mi' must be one of 'chi2', 'expected_kl'"),
        ({"collapse": "all"}, "collapse='all' must be one of 'greedy', 'exact'"),
        (
            {"search": "wide"},
            "search='wide' must be one of 'subsets', 'hill_climbing', 'published'",
        ),
        ({"cv": 1}, "cv=1 must be a whole number of at least 2"),
        ({"cv": "five"}, "cv='five' must be a whole number of at least 2"),
        ({"alpha": -1}, "alpha=-1 must be a number of at least 0"),
        ({"cv": [([0], [1]), ([1], [1])]}, "cv tests a row in two folds"),
        ({"cv": [([0, 1], [2])]}, "tests labelled rows in 1 fold"),
    ],
)
def test_impossible_parameters_are_refused(options, message):
    X = [["a", "b"], ["b", "a"], ["a", "a"], ["b", "b"]]
    with pytest.raises(ValueError, match=message):
        HNBClassifier(**options).fit(X, [0, 1, 0, 1])


def test_the_exact_collapse_is_for_two_classes():
    X = [["a", "b"], ["b", "a"], ["a", "a"], ["b", "b"]]
    words = r'collapse="exact" is for two classes, but y has 3: \[0, 1, 2\]. Use collapse="greedy"'
    with pytest.raises(ValueError, match=words):
        HNBClassifier(collapse="exact").fit(X, [0, 1, 2, 1])


def test_maximum_likelihood_judges_combinations_it_has_not_seen():
    X = all_bits(2, 10).iloc[:-1]
    X = X[~((X["A1"] == "1") & (X["A2"] == "1"))]
    X = pd.concat([X.assign(A3=v) for v in "01"])
    y = (X["A1"] == X["A2"]).to_numpy()
    fitted = HNBClassifier(alpha=0.0, random_state=0).fit(X, y)
    assert fitted.score(X, y) == 1.0
    proba = fitted.predict_proba(pd.DataFrame({"A1": ["1"], "A2": ["1"], "A3": ["0"]}))
    assert np.isfinite(proba).all()


def test_calibration_with_given_folds(leaning):
    X, y = leaning
    splits = list(KFold(3).split(X))
    fitted = HNBClassifier(cv=splits, calibrate=True, random_state=0).fit(X, y)
    assert np.isfinite(fitted.temperature_)


def test_rows_without_label_sharpen_the_tables(leaning):
    X, y = leaning
    hidden = np.where(np.arange(300) % 3 > 0, None, y)
    fitted = HNBClassifier(unlabelled_weight=0.1, random_state=0).fit(X, hidden)
    labelled = np.arange(300) % 3 == 0
    alone = HNBClassifier(random_state=0).fit(X[labelled], y[labelled])
    assert fitted.latent_children_ == alone.latent_children_
    assert fitted.cv_scores_ == alone.cv_scores_
    assert not np.allclose(fitted.predict_proba(X), alone.predict_proba(X))
    assert fitted.rules()["support"].sum() <= labelled.sum() * len(fitted.latent_children_)


@pytest.mark.filterwarnings("ignore:Columns .* repeat the labels")
def test_folds_that_leave_rows_out_are_refused():
    X = np.array([["a", "x"], ["b", "y"]] * 20)
    y = np.arange(40) % 2
    with pytest.raises(ValueError, match="leaves rows out of both parts of a fold"):
        HNBClassifier(cv=TimeSeriesSplit(3)).fit(X, y)


def test_rules_that_a_variable_passes_on_are_listed_once():
    a, b, c, d = np.random.default_rng(0).integers(0, 2, (4, 200))
    X = pd.DataFrame({"a": a, "b": b, "c": c, "d": d}).astype(str)
    model = HNBClassifier(random_state=0).fit(X, a ^ b)
    assert model.latent_children_ == {"L1": ("b", "a"), "L2": ("L1", "c")}  # c tells nothing
    assert model.rules()["latent"].tolist() == ["L2", "L2"]
    assert set(model.rules()["rule"]) == {"b = a", "b != a"}
