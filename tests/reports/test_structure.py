"""What a report says about the structure that a model found."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd

from latentclass import (
    AutoLatentClassifier,
    HNBClassifier,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifier,
    report,
)
from latentclass.auto._leaderboard import Leaderboard, LeaderboardRow
from latentclass.auto._search import NO_TIME
from latentclass.baselines import TAN, NaiveBayes
from latentclass.datasets import load_dataset
from latentclass.reports import _trees
from latentclass.reports._structure import (
    _rule_lines,
    _with_named,
    best_words,
    describe_structure,
    leading_name,
)
from latentclass.reports._table import read_rows
from latentclass.reports._trees import group_words


def kinds(model, X, y, **options):
    found = report(model.fit(X, y), X, y, folds=2, **options).summary.structure
    return found, [one.kind for one in found.findings]


def test_a_latent_space_has_points_ellipses_and_loadings():
    iris = load_dataset("iris", container="pandas")
    model = LCMClassifier(n_latent=2, n_init=1, max_iter=20, tol=0.1, random_state=0)
    found, shown = kinds(model, iris.X, iris.y)
    assert shown == ["space", "map"]
    space = found.findings[0]
    assert (len(space.points), space.axes, len(space.centres)) == (150, ("z0", "z1"), 3)
    np.testing.assert_allclose(space.centres, model.latent_means_, rtol=1e-12)
    np.testing.assert_allclose(
        [point[:2] for point in space.points], np.asarray(model.transform(iris.X)), atol=1e-4
    )
    means, spread = model.latent_means_, np.sqrt((model.latent_variances_).mean(axis=0))
    k = int(np.argmax(np.ptp(means, axis=0) / spread))
    line = found.findings[1].values
    strongest = max(range(4), key=lambda j: abs(float(line[j][k].replace("\u2212", "-"))))
    sign = "low" if line[strongest][k].startswith("\u2212") else "high"
    assert f"Where it is high: {sign} {found.findings[1].names[strongest]}" in found.sentence


def test_hierarchies_have_rules():
    X = [["no", "no"], ["no", "yes"], ["yes", "no"], ["yes", "yes"]] * 5
    y = [0, 1, 1, 0] * 5
    found, shown = kinds(HNBClassifier(random_state=0), X, y)
    assert shown == ["tree", "table"]
    rules = {line[0]: line[1:6] for line in found.findings[1].rows}
    assert rules["x0 = x1"] == ("0", 1.0, 0.5, 2.0, 10.0)


def test_rules_name_the_class_that_they_raise_and_those_that_tell_most_come_first():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 400))
    X = pd.DataFrame({"a": a, "b": b}).astype(str)
    y = np.where(rng.random(400) < np.where(a != b, 0.45, 0.05), "rare", "usual")
    model = HNBClassifier(random_state=0).fit(X, y)
    lines = describe_structure(model, read_rows(model, X, y, None)).findings[-1].rows
    usual = np.mean(y == "rare")
    differ = next(line for line in lines if line[1] == "rare")
    assert differ[0] in ("a != b", "b != a", "(a = 0 and b = 1) or (a = 1 and b = 0)")
    share = np.mean(y[a != b] == "rare")
    assert share < 0.5  # the class that is raised is not the most common one there
    np.testing.assert_allclose(differ[2:5], [share, usual, share / usual], atol=0.01)
    assert differ[5] == (a != b).sum()
    told = []
    for line in lines:
        inside = y[a != b] if line is differ else y[a == b]
        shares = np.array([np.mean(inside == name) for name in ("rare", "usual")])
        told.append(len(inside) * (shares * np.log(shares / [usual, 1 - usual])).sum())
    assert told == sorted(told, reverse=True)


def test_rules_that_other_rules_name_are_shown():
    def line(rule, states, *model):
        return (rule, "yes", 0.9, 0.5, 1.8, 10.0, *model, states.replace(" ", "\u00a0"))

    first, named = line("L2 != 1 and a = 0", "L3 = 0"), line("my pair = 1", "L2 = 1")
    below, other = line("b = 0", "my pair = 1"), line("c = 0", "L4 = 0")
    lines = [first, other, below, named]
    assert _with_named(lines, 1) == [first, named, below]
    assert _with_named(lines, 4) == lines
    two = [line("L2 = 1", "L3 = 0", 0), line("b = 0", "L2 = 0", 1)]
    assert _with_named(two, 1) == two[:1]


def test_a_rule_that_several_latent_variables_hold_has_one_line():
    a, b, c, d = np.random.default_rng(0).integers(0, 2, (4, 200))
    X, y = pd.DataFrame({"a": a, "b": b, "c": c, "d": d}).astype(str), a ^ b
    model = HNBClassifier(random_state=0).fit(X, y)
    frame = model.rules()
    twice = pd.concat([frame, frame.assign(latent="L9")])
    lines = _rule_lines(model, read_rows(model, X, y, None), twice, several=False)
    assert {line[0]: line[-1].replace("\u00a0", " ") for line in lines} == {
        rule: f"L2 = {state}, L9 = {state}"
        for rule, state in zip(frame["rule"], frame["state"], strict=True)
    }


def test_latent_trees_have_edges_and_groups():
    corral = load_dataset("corral", container="pandas")
    model = LatentTreeClassifier(random_state=0).fit(corral.X, corral.y)
    found = describe_structure(model, read_rows(model, corral.X, corral.y, None))
    assert [one.kind for one in found.findings] == ["tree", "groups"] * 2
    nodes = found.findings[0].nodes
    edges = {(nodes[node.parent].name, node.name): node.information for node in nodes[1:]}
    assert edges == {(a, b): value for a, b, value in model.tree_edges("0")}
    frame = model.latent_groups("0", top=4)
    for latent in found.findings[1].latents:
        mine = frame[frame["latent"] == latent.name]
        assert latent.sizes == tuple(mine.groupby("group")["size"].first())
        assert [one.column for one in latent.profiles] == mine["column"].unique().tolist()
        for one in latent.profiles:
            assert one.information == mine[mine["column"] == one.column]["information"].iloc[0]
            for group, shares in enumerate(one.shares):
                cells = mine[(mine["column"] == one.column) & (mine["group"] == group)]
                told = {
                    f"is {a}": b for a, b in zip(cells["level"], cells["probability"], strict=True)
                }
                assert dict(zip(one.levels, shares, strict=True)) == told
            assert all(one.column in words for words in latent.marks)


def test_trees_without_groups_are_no_finding():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.choice(["u", "v"], 80) for name in "abc"})
    y = np.repeat(["x", "y"], 40)
    model = LatentTreeClassifier(random_state=0).fit(X, y)
    assert set(model.latent_groups()["group"]) == {0}
    found = describe_structure(model, read_rows(model, X, y, None))
    assert found.findings == ()
    assert found.sentence.startswith("No groups were found within a class: given the class, ")
    # the same columns twice: now one class has groups
    X["d"] = np.where(y == "y", X["a"], rng.choice(["u", "v"], 80))
    model = LatentTreeClassifier(random_state=0).fit(X, y)
    found = describe_structure(model, read_rows(model, X, y, None))
    assert [one.title for one in found.findings] == ["Tree of class y", "Groups within class y"]
    assert found.sentence.endswith(" No groups were found within class x.")


def test_groups_of_classes_that_are_not_drawn_count(monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.choice(["u", "v"], 120) for name in "abc"})
    y = np.repeat(["x", "y", "z"], 40)
    X["d"] = np.where(y == "x", rng.choice(["u", "v"], 120), X["a"])
    model = LatentTreeClassifier(random_state=0).fit(X, y)
    monkeypatch.setattr(_trees, "MOST_TREES", 1)
    found = describe_structure(model, read_rows(model, X, y, None))
    # the first class has no groups, so the one tree that is drawn is that of the second
    assert [one.title for one in found.findings] == ["Tree of class y", "Groups within class y"]
    n_latent = sum(len(names) for label, names in model.latent_names_.items() if label != "x")
    assert f"a tree of latent variables, {n_latent} in all." in found.sentence
    assert " The trees of 1 of the 2 classes with groups are drawn." in found.sentence
    assert found.sentence.endswith(" No groups were found within class x.")


def test_groups_are_described_by_what_most_of_them_have():
    shares = np.array([[0.95, 0.03, 0.02], [0.55, 0.25, 0.20]])
    words = group_words(["at most 1", "1 to 2", "above 2"], shares, np.array([0.4, 0.6]))
    assert words == [
        "at most 1 (95.0 %)",
        "at most 1 (55.0 %), more often than elsewhere 1 to 2 (25.0 %, elsewhere 3.0 %)",
    ]


def test_groups_name_the_bins_of_numbers_and_join_rare_levels():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 300)
    X = pd.DataFrame(
        {
            "size": kind * 10.0 + rng.normal(size=300).round(1),
            "letter": np.array(list("abcdefgh"))[4 * kind + rng.integers(0, 4, 300)],
            "flag": np.where(rng.random(300) < 0.1, 1 - kind, kind).astype(str),
        }
    )
    y = (kind ^ (rng.random(300) < 0.3)).astype(str)
    model = LatentTreeClassifier(random_state=0).fit(X, y)
    found = describe_structure(model, read_rows(model, X, y, None))
    profiles = {one.column: one for one in found.findings[1].latents[0].profiles}
    cuts = model.cut_points_["size"]
    assert len(profiles["size"].levels) == len(cuts) + 1
    assert profiles["size"].levels[0] == f"at most {cuts[0]:.2f}".rstrip("0").rstrip(".")
    assert profiles["letter"].levels[-1] == "is one of 3 others"
    for one in profiles.values():
        np.testing.assert_allclose(np.sum(one.shares, axis=1), 1.0, rtol=1e-9)


def test_components_are_profiles():
    iris = load_dataset("iris", container="pandas")
    model = LatentVariableClassifier(None, 2, random_state=0)
    found, shown = kinds(model, iris.X, iris.y)
    assert shown == ["table", "map"]
    np.testing.assert_allclose(
        [line[1] for line in found.findings[0].rows], model.component_weights_, rtol=1e-12
    )


def test_the_average_has_a_leaderboard_and_its_leading_member():
    iris = load_dataset("iris", container="pandas")
    model = AutoLatentClassifier(None, families=["NaiveBayes", "TAN"], random_state=0)
    found, shown = kinds(model, iris.X, iris.y)
    assert shown[0] == "table"
    best = SimpleNamespace(**vars(model) | {"best_estimator_": NaiveBayes()})
    words = best_words(best, NaiveBayes._about)
    assert words.endswith(" NaiveBayes: the columns are independent given the class.")
    board = found.findings[0].rows
    assert [line[0] for line in board] == [row.family for row in model.leaderboard_]
    assert [line[1] or 0.0 for line in board] == [row.weight for row in model.leaderboard_]


def test_the_best_candidate_has_its_whole_name():
    """Several candidates can be of one class; the best one of that class is meant."""
    names = ("LatentVariableClassifier", "LatentVariableClassifier, logistic", "TAN")
    scores = ((0.5, 0.9), (0.4, 0.8), (0.3, 0.7))
    board = [
        LeaderboardRow(name, {}, loss, 0.0, right, 0.0, 0.3, 1.0, 1.0, "done", "")
        for name, (loss, right) in zip(names, scores, strict=True)
    ]
    model = SimpleNamespace(
        best_estimator_=LatentVariableClassifier(), leaderboard_=board, scoring="neg_log_loss"
    )
    assert leading_name(model) == "LatentVariableClassifier (logistic)"
    model.scoring = "accuracy"
    assert leading_name(model) == "LatentVariableClassifier"


def test_candidates_that_were_not_tried_are_told():
    """A search without time for the second candidate, as its leaderboard tells it."""
    iris = load_dataset("iris", container="pandas")
    model = AutoLatentClassifier(None, families=["NaiveBayes", "TAN"], random_state=0)
    model.fit(iris.X, iris.y)
    rows = [
        replace(row, status="not started", reason=NO_TIME, log_loss=None, accuracy=None, weight=0.0)
        if row.family == "TAN"
        else replace(row, weight=1.0)
        for row in model.leaderboard_
    ]
    rows.sort(key=lambda row: row.log_loss is None)
    model.leaderboard_ = Leaderboard(tuple(rows))
    found = report(model, iris.X, iris.y, new_rows=True).summary
    assert "1 candidate was not tried" in found.structure.sentence
    assert any("left 1 of 2 candidates untried for lack of time: TAN." in w for w in found.warnings)
    assert found.structure.findings[0].rows[1][4] is None  # no seconds


def test_networks_name_parents():
    corral = load_dataset("corral", container="pandas")
    model = TAN()
    found, _ = kinds(model, corral.X, corral.y)
    assert len(found.findings[0].rows) == sum(1 for one in model.parents_.values() if one)
