"""The latent tree classifier as an estimator: the paper's example, identities, reading, limits."""

import re
from importlib.util import find_spec
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_score

from latentclass.datasets import load_dataset
from latentclass.latent_tree._tree import Tree
from plain import LatentTreeClassifier, NaiveBayes


@pytest.fixture(scope="module")
def corral():
    data = load_dataset("corral", container="pandas")
    return data.X, np.asarray(data.y)


@pytest.fixture(scope="module")
def fitted(corral):
    return LatentTreeClassifier(random_state=0).fit(*corral)


@pytest.fixture(scope="module")
def leaning():
    """Columns of three levels with a common cause in each class, a number, some missing cells."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 240)
    cause = rng.integers(0, 3, 240)
    columns = {
        name: np.where(rng.random(240) < 0.7, (cause + j * y) % 3, rng.integers(0, 3, 240))
        for j, name in enumerate("abcd")
    }
    frame = pd.DataFrame(columns).map(lambda v: "xyz"[v])
    frame["e"] = rng.normal(1.5 * y)
    return frame.mask(rng.random(frame.shape) < 0.05), np.array(["no", "yes"])[y]


def by_enumeration(model, label, row):
    """P(row | class) by summing over all states of all latent variables, from the network."""
    network = model.to_network(label)
    hidden = [v for v in network if v.name not in row]
    total = 0.0
    for states in product(*(range(len(v.states)) for v in hidden)):
        state = dict(zip((v.name for v in hidden), states, strict=True))
        for v in network:
            if v.name in row:
                state[v.name] = list(v.states).index(row[v.name])
        p = 1.0
        for v in network:
            table = v.table[tuple(state[parent] for parent in v.parents)]
            p *= table[state[v.name]]
        total += p
    return total


# ------------------------------------------------------------------ the paper's example


def test_corral_is_learned_in_cross_validation(corral):
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    assert cross_val_score(LatentTreeClassifier(random_state=0), *corral, cv=folds).mean() == 1.0


def test_corral_has_the_papers_trees_and_groups(fitted):
    assert fitted.trees_["1"].latent_cardinalities == (2,)
    assert fitted.trees_["0"].latent_cardinalities == (2, 2)
    groups = fitted.latent_groups("1", top=4)
    ones = groups[groups["level"] == "1"].pivot(
        index="group", columns="column", values="probability"
    )
    assert set(ones.columns) == {"A0", "A1", "B0", "B1"}
    sure = {tuple(ones.columns[row > 0.9]) for _, row in ones.iterrows()}
    assert sure == {("A0", "A1"), ("B0", "B1")}
    # in class false, one latent variable tells which of A0 and A1 is false, the other B0 and B1
    false = fitted.latent_groups("0")
    first = {frozenset(g["column"].iloc[:8:4]) for _, g in false.groupby("latent")}
    assert first == {frozenset(["A0", "A1"]), frozenset(["B0", "B1"])}
    assert_allclose(groups.drop_duplicates("group")["size"].sum(), 1.0)


def test_groups_of_all_classes_begin_with_what_says_most(fitted):
    groups = fitted.latent_groups(top=3)
    assert list(groups.columns[:2]) == ["class", "latent"]
    assert groups["class"].unique().tolist() == ["0", "1"]
    for (label, latent), part in groups.groupby(["class", "latent"]):
        information = part.drop_duplicates("column")["information"]
        assert len(information) == 3
        assert information.round(9).is_monotonic_decreasing  # several say the same
        own = fitted.latent_groups(label)
        own = own[own["latent"] == latent]
        assert_allclose(information.max(), own["information"].max())
        pd.testing.assert_frame_equal(
            part.drop(columns="class").reset_index(drop=True),
            own.iloc[: len(part)].reset_index(drop=True),
        )


# ------------------------------------------------------------------ identities


def test_without_structure_it_is_naive_bayes(leaning):
    X, y = leaning
    X = X.drop(columns="e")
    flat = LatentTreeClassifier(max_states=1, tol=0.0, max_iter=2000, random_state=0)
    naive = NaiveBayes(alpha=1.0)
    assert_allclose(
        flat.fit(X.dropna(), y[X.notna().all(axis=1)]).predict_proba(X),
        naive.fit(X.dropna(), y[X.notna().all(axis=1)]).predict_proba(X),
        rtol=1e-9,
    )
    # with missing cells, EM converges to the same shares
    assert_allclose(flat.fit(X, y).predict_proba(X), naive.fit(X, y).predict_proba(X), rtol=1e-6)
    assert {t.latent_cardinalities for t in flat.trees_.values()} == {(1,)}


def test_probabilities_are_those_of_the_enumerated_network(leaning):
    X, y = leaning
    X = X.drop(columns="e")
    model = LatentTreeClassifier(random_state=0).fit(X, y)
    assert max(max(t.latent_cardinalities) for t in model.trees_.values()) > 1
    rows = X.iloc[:25]
    joint = model.predict_joint_log_proba(rows)
    for i, (_, row) in enumerate(rows.iterrows()):
        seen = row.dropna().to_dict()
        for k, label in enumerate(model.classes_):
            p = by_enumeration(model, label, seen) * model.class_prior_[k]
            assert_allclose(joint[i, k], np.log(p), rtol=1e-9)


def test_log_likelihood_is_that_of_the_rows(leaning):
    X, y = leaning
    hidden = np.where(np.arange(240) % 3 == 0, None, y)
    model = LatentTreeClassifier(random_state=0, unlabelled_weight=1).fit(X, hidden)
    joint = model.predict_joint_log_proba(X)
    codes = np.array([model.classes_.tolist().index(v) if v is not None else -1 for v in hidden])
    own = joint[np.arange(240), codes]
    total = np.where(codes < 0, np.logaddexp.reduce(joint, axis=1), own).sum()
    assert_allclose(model.log_likelihood_, total, rtol=1e-9)


def test_the_seed_decides_and_threads_do_not(leaning):
    X, y = leaning
    one = LatentTreeClassifier(random_state=3).fit(X, y)
    two = LatentTreeClassifier(random_state=3, n_jobs=2).fit(X, y)
    assert one.predict_proba(X).tolist() == two.predict_proba(X).tolist()


def test_bic_is_smaller_and_fewer_states_can_be_asked_for(leaning):
    X, y = leaning
    sizes = {}
    for score in ("aic", "bic"):
        model = LatentTreeClassifier(criterion=score, random_state=0).fit(X, y)
        sizes[score] = sum(steps[-1].n_parameters for steps in model.search_steps_.values())
    assert sizes["bic"] <= sizes["aic"]
    model = LatentTreeClassifier(max_states=2, max_latent=1, random_state=0).fit(X, y)
    assert all(len(t.latent) == 1 for t in model.trees_.values())
    assert all(t.latent_cardinalities[0] <= 2 for t in model.trees_.values())


def test_the_fast_search_is_another_way_to_the_same_end(leaning):
    X, y = leaning
    fast = LatentTreeClassifier(search="fast", random_state=0).fit(X, y)
    again = LatentTreeClassifier(search="fast", random_state=0, n_jobs=2).fit(X, y)
    assert fast.predict_proba(X).tolist() == again.predict_proba(X).tolist()
    slow = LatentTreeClassifier(random_state=0).fit(X, y)
    assert fast.score(X, y) > slow.score(X, y) - 0.05
    for label, steps in fast.search_steps_.items():
        assert_allclose(steps[-1].score, slow.search_steps_[label][-1].score, rtol=0.03)


def test_transform_gives_class_and_state_together(fitted, corral):
    X, _ = corral
    values = fitted.transform(X)
    names = fitted.get_feature_names_out().tolist()
    assert names[0] == "latenttreeclassifier_0:Y1=0"
    proba = fitted.predict_proba(X)
    assert_allclose(values[:, :2].sum(axis=1), proba[:, 0])
    assert_allclose(values[:, 2:4].sum(axis=1), proba[:, 0])
    assert_allclose(values[:, 4:].sum(axis=1), proba[:, 1])


def test_columns_of_one_level_leave_the_prior():
    model = LatentTreeClassifier(random_state=0).fit([["a"], ["a"], ["a"]], [0, 0, 1])
    assert model.trees_ == {}
    assert_allclose(model.predict_proba([["a"]]), [[2 / 3, 1 / 3]])
    assert model.latent_groups(0).empty
    assert model.to_network(1) == []


# ------------------------------------------------------------------ limits, going on


def test_a_search_out_of_time_says_so_and_can_go_on(leaning):
    X, y = leaning
    model = LatentTreeClassifier(time_budget=0, warm_start=True, random_state=0)
    message = (
        "The search was stopped by time_budget=0 in 2 of 2 classes (['no', 'yes']), and the best "
        "trees so far are kept. To continue, fit again with warm_start=True or raise time_budget."
    )
    with pytest.warns(ConvergenceWarning, match=re.escape(message)):
        model.fit(X, y)
    assert model.search_ended_ == {"no": "time", "yes": "time"}
    assert {t.latent_cardinalities for t in model.trees_.values()} == {(1,)}
    model.set_params(time_budget=None).fit(X, y)
    assert model.search_ended_ == {"no": "done", "yes": "done"}
    assert max(max(t.latent_cardinalities) for t in model.trees_.values()) > 1
    before = {k: steps[-1].score for k, steps in model.search_steps_.items()}
    model.fit(X, y)
    for label, steps in model.search_steps_.items():
        assert steps[0].score >= before[label] - 0.1
        assert len(steps) <= 3


def test_warm_start_begins_anew_with_other_columns(leaning):
    X, y = leaning
    model = LatentTreeClassifier(warm_start=True, random_state=0).fit(X, y)
    model.fit(X.drop(columns="a"), y)
    assert model.search_steps_["no"][0].n_latent == 1
    fresh = clone(model).fit(X.drop(columns="a"), y)
    assert_allclose(model.predict_proba(X[["b", "c", "d", "e"]]),
                    fresh.predict_proba(X[["b", "c", "d", "e"]]))  # fmt: skip


@pytest.mark.parametrize("search", ["east", "fast"])
def test_a_search_out_of_work_says_what_it_left_and_can_go_on(leaning, search):
    X, y = leaning
    whole = LatentTreeClassifier(search=search, random_state=0).fit(X, y)
    assert whole.search_ended_ == {"no": "done", "yes": "done"}
    assert whole.search_left_ == {"no": 0, "yes": 0}
    model = LatentTreeClassifier(search=search, work_budget=1e-5, random_state=0)
    words = (
        r"^The search was stopped by work_budget=1e-05 in 2 of 2 classes \(\['no', 'yes'\]\), and "
        r"the best trees so far are kept\. It left moves unjudged: \{'no': (\d+), 'yes': (\d+)\}\. "
        r"To continue, fit again with warm_start=True or raise work_budget\.$"
    )
    with pytest.warns(ConvergenceWarning, match=words) as caught:
        model.fit(X, y)
    assert len(caught) == 1
    assert model.search_ended_ == {"no": "work", "yes": "work"}
    left = re.match(words, str(caught[0].message)).groups()
    assert left == tuple(str(n) for n in model.search_left_.values())
    assert all(n > 0 for n in model.search_left_.values())
    steps = {label: len(own) for label, own in model.search_steps_.items()}
    assert all(n < len(whole.search_steps_[label]) for label, n in steps.items())
    with pytest.warns(ConvergenceWarning, match="work_budget"):
        again = clone(model).set_params(n_jobs=2).fit(X, y)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    model.set_params(work_budget=None, warm_start=True).fit(X, y)
    assert model.search_ended_ == {"no": "done", "yes": "done"}


def test_an_interrupt_keeps_what_was_found(leaning, monkeypatch):
    import latentclass.latent_tree._east as east

    X, y = leaning
    seen = []

    def stop(self, touched, numbers):
        seen.append(touched)
        raise KeyboardInterrupt

    monkeypatch.setattr(east.Climb, "_remember", stop)
    with pytest.warns(ConvergenceWarning, match="The search was stopped by an interrupt in 2 of 2"):
        model = LatentTreeClassifier(random_state=0).fit(X, y)
    assert len(seen) == 1
    assert model.search_ended_ == {"no": "interrupt", "yes": "interrupt"}
    assert model.trees_["no"].latent_cardinalities == (2,)
    assert model.predict(X).shape == (240,)


@pytest.fixture
def interrupted(monkeypatch):
    """Interrupt the search of each class in its first step; return the number of searches."""
    import latentclass.latent_tree._east as east

    seen = []

    def stop(self):
        seen.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(east.Climb, "expand", stop)
    return seen


def test_after_an_interrupt_nothing_long_begins(interrupted):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(y[:, None], 1.0, (60, 3))
    message = r"\(\[0, 1\]\), and the best trees so far are kept, without calibration\. To contin"
    with pytest.warns(ConvergenceWarning, match=message) as warned:
        model = LatentTreeClassifier(n_cuts=5, calibrate=True, random_state=0).fit(X, y)
    assert len(warned) == 1
    assert len(interrupted) == 1  # neither the other class nor a fold is searched
    assert len(model._model.cut_sets) == 1
    assert model.temperature_ == 1.0
    assert model.predict_proba(X).shape == (60, 2)


def test_an_interrupt_in_a_fold_ends_the_fit(leaning, monkeypatch):
    import latentclass.latent_tree._east as east

    X, y = leaning
    real, searches = east.Climb.expand, []

    def stop_in_a_fold(self):
        if self not in searches:
            searches.append(self)
        if len(searches) > 2:  # one for each class, then those of the first fold
            raise KeyboardInterrupt
        real(self)

    monkeypatch.setattr(east.Climb, "expand", stop_in_a_fold)
    model = LatentTreeClassifier(max_latent=1, calibrate=True, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_progress_is_told(leaning, capsys):
    X, y = leaning
    LatentTreeClassifier(verbose=1, max_latent=1, random_state=0).fit(X, y)
    text = capsys.readouterr().err
    assert re.search(r"LatentTreeClassifier: class yes, state\+, score -\d+\.\d\d, 1 latent", text)


# ------------------------------------------------------------------ reading


def test_latent_variables_keep_the_names_they_are_given(corral):
    model = LatentTreeClassifier(random_state=0).fit(*corral)
    assert model.latent_names_ == {"0": ("Y1", "Y2"), "1": ("Y3",)}
    assert model.rename_latents({"Y3": "which pair"}) is model
    assert model.latent_names_["1"] == ("which pair",)
    assert set(model.latent_groups("1")["latent"]) == {"which pair"}
    assert 'property name = "which pair" ;' in model.to_bif("1")
    assert "latenttreeclassifier_1:which pair=0" in model.get_feature_names_out()
    with pytest.raises(ValueError, match="names has 'Y9', which is not a latent variable"):
        model.rename_latents({"Y9": "x"})
    with pytest.raises(ValueError, match="The name 'A0' is taken by a column or another latent"):
        model.rename_latents({"Y1": "A0"})
    with pytest.raises(ValueError, match="The name 'Y2' is taken"):
        model.rename_latents({"Y1": "Y2"})
    with pytest.raises(
        ValueError, match="must map current names of latent variables to new, non-empty"
    ):
        model.rename_latents({"Y1": " "})


def test_a_column_may_have_a_latent_variables_name(corral):
    X, y = corral
    model = LatentTreeClassifier(random_state=0).fit(X.rename(columns={"A0": "Y1"}), y)
    assert model.latent_names_["0"] == ("Y1_", "Y2")


def test_groups_have_the_networks_distributions(leaning):
    X, y = leaning
    model = LatentTreeClassifier(random_state=0).fit(X, y)
    groups = model.latent_groups("yes")
    name = groups["latent"].iloc[0]
    for (column, level), part in groups[groups["latent"] == name].groupby(["column", "level"]):
        joint = [
            by_enumeration(model, "yes", {name: f"group{g}", column: level}) for g in part["group"]
        ]
        assert_allclose(part["probability"] * part["size"], joint, rtol=1e-9)
    for _, part in groups.groupby("latent"):
        assert np.all(np.diff(part["information"]) <= 1e-12)
    for _, part in groups.groupby(["latent", "column", "group"]):
        assert_allclose(part["probability"].sum(), 1.0)
    sizes = groups.drop_duplicates(["latent", "group"]).groupby("latent")["size"]
    assert all(np.all(np.diff(s) <= 1e-9) for _, s in sizes)
    assert set(model.latent_groups("no", top=1).groupby("latent")["column"].nunique()) == {1}


@pytest.mark.skipif(find_spec("pyagrum") is None, reason="pyAgrum is not installed")
@pytest.mark.filterwarnings("ignore")
def test_another_program_reads_the_network(leaning, tmp_path):
    import pyagrum

    X, y = leaning
    X = X.drop(columns="e")
    model = LatentTreeClassifier(random_state=0).fit(X, y)
    path = tmp_path / "yes.bif"
    model.to_bif("yes", path)
    network = pyagrum.loadBN(str(path))
    assert {network.variable(i).name() for i in network.nodes()} == {
        v.name for v in model.to_network("yes")
    }
    k = model.classes_.tolist().index("yes")
    for _, row in X.dropna().iloc[:10].iterrows():
        engine = pyagrum.LazyPropagation(network)
        engine.setEvidence(row.to_dict())
        joint = model.predict_joint_log_proba(row.to_frame().T)[0, k]
        expected = np.log(engine.evidenceProbability()) + np.log(model.class_prior_[k])
        assert_allclose(joint, expected, rtol=1e-6)


def test_score_is_the_accuracy_with_weights_too(fitted, corral):
    X, y = corral
    assert fitted.score(X, y) == accuracy_score(y, fitted.predict(X))
    weight = np.where(y == "1", 2.0, 0.0)
    assert fitted.score(X, y, sample_weight=weight) == 1.0
    assert isinstance(fitted.trees_["1"], Tree)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"criterion": "mdl"}, "criterion='mdl' must be one of 'aic', 'bic'"),
        ({"criterion": 3}, "criterion=3 must be one of 'aic', 'bic'"),
        ({"search": "slow"}, "search='slow' must be one of 'east', 'fast'"),
        ({"alpha": -1}, "alpha=-1 must be"),
        ({"max_states": 0}, "max_states=0 must be a whole number of at least 1"),
        ({"max_latent": 0}, "max_latent=0 must be a whole number of at least 1"),
        ({"time_budget": -1}, "time_budget=-1 must be"),
        ({"work_budget": -1}, "work_budget=-1 must be"),
        ({"n_init": 0}, "n_init=0 must be a whole number of at least 1"),
        ({"warm_start": "yes"}, "warm_start='yes' must be one of True, False"),
    ],
)
def test_parameters_without_sense_are_refused(corral, parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        LatentTreeClassifier(**parameters).fit(*corral)


def test_unknown_classes_are_refused(fitted):
    for method in (fitted.latent_groups, fitted.to_network, fitted.to_bif):
        with pytest.raises(ValueError, match="y holds 'x', which is not a class"):
            method("x")
    with pytest.raises(ValueError, match=r"^top=0 must be a whole number of at least 1"):
        fitted.latent_groups("1", top=0)


@pytest.mark.parametrize("name", ["trees_", "latent_names_", "cut_points_"])
def test_learned_attributes_before_fit(name):
    with pytest.raises(NotFittedError, match="LatentTreeClassifier instance is not fitted yet"):
        getattr(LatentTreeClassifier(), name)


def test_a_search_over_many_columns_warns_once_unless_it_has_a_budget(monkeypatch):
    monkeypatch.setattr("latentclass.latent_tree._classifier.MANY_COLUMNS", 2)
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (40, 3)).astype(str), rng.integers(0, 2, 40)
    words = (
        r"^The search for trees of 3 columns may take hours\. Set time_budget, in seconds, or "
        r'search="fast"; verbose=1 shows the steps\.$'
    )
    with pytest.warns(UserWarning, match=words) as caught:
        LatentTreeClassifier(calibrate=True, n_init=1, work_budget=None, random_state=0).fit(X, y)
    assert len(caught) == 1
    LatentTreeClassifier(n_init=1, random_state=0).fit(X, y)
    LatentTreeClassifier(search="fast", n_init=1, random_state=0).fit(X, y)
    LatentTreeClassifier(time_budget=60.0, n_init=1, random_state=0).fit(X, y)
