"""The frame of every display: the numbers that were drawn, under the names that users know."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import latentclass.evaluation
import latentclass.plots
from latentclass import HNBClassifier, LatentMixture, LatentTreeClassifier
from latentclass._display import Display
from latentclass.evaluation import CriticalDifferenceDisplay, ErrorScatterDisplay
from latentclass.plots import (
    BoundaryDisplay,
    ComponentsDisplay,
    DisclosureDisplay,
    EvidenceDisplay,
    HierarchyDisplay,
    ImagesDisplay,
    ImportanceDisplay,
    LatentSpaceDisplay,
    LatentTreeDisplay,
    LoadingsDisplay,
    ModelGraphDisplay,
    RestartsDisplay,
    SearchPathDisplay,
)
from plain import NaiveBayes


def boundary(wine, wine_model):
    display = BoundaryDisplay.from_estimator(
        wine_model, wine.X, features=("Alcohol", "Hue"), grid_resolution=3
    )
    frame = display.frame
    assert list(frame) == ["Alcohol", "Hue", *(f"P({k})" for k in wine_model.classes_)]
    assert len(frame) == 9
    point = pd.DataFrame(np.nan, [0], wine.X.columns)
    point[["Alcohol", "Hue"]] = frame.loc[5, ["Alcohol", "Hue"]].to_numpy()
    assert point["Alcohol"].item() == display.x[2]
    assert point["Hue"].item() == display.y[1]
    assert_allclose(frame.iloc[5, 2:], wine_model.predict_proba(point)[0])
    return display


def components(wine, wine_model):
    model = LatentMixture(2, random_state=0).fit(wine.X).rename_latents({0: "light"})
    display = ComponentsDisplay.from_estimator(model)
    frame = display.frame
    assert list(frame) == ["column", "component", "share", "value", "deviation"]
    light = frame[frame["component"] == "light"].set_index("column")
    assert_allclose(light["value"], model.means_[0])
    assert_allclose(light["share"], model.weights_[0])
    assert_allclose(light["deviation"], display.image_.get_array()[:, 0])
    assert list(light.index) == list(wine.X.columns)
    return display


def pixels():
    """Forty images of 2 x 3 pixels in two classes."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    return rng.random((40, 6)) < 0.2 + 0.5 * y[:, None], np.array(["a", "b"])[y]


def disclosure(wine, wine_model):
    X, y = pixels()
    model = NaiveBayes().fit(X, y)
    display = DisclosureDisplay.from_estimator(model, X[1], (2, 3), lines=[1, 2])
    frame = display.frame
    assert list(frame) == ["part", "stage", "name", "value"]
    first = frame[frame["stage"] == 0].set_index(["part", "name"])["value"]
    assert_array_equal(first["seen"], [*X[1, :3].astype(float), np.nan, np.nan, np.nan])
    partly = X[[1]].astype(object)
    partly[0, 3:] = None
    assert_allclose(first["class"][["a", "b"]], model.predict_proba(partly)[0])
    assert_array_equal(first["most probable"], display.most_probable[0])
    assert_array_equal(first["expected"], display.expected[0])
    return display


def evidence(wine, wine_model):
    display = EvidenceDisplay.from_estimator(wine_model, wine.X, 4)
    named = wine_model.explain(wine.X).evidence(4)
    assert list(display.frame.itertuples(index=False, name=None)) == named
    assert list(display.frame) == ["evidence", "weight"]
    return display


def corral():
    return latentclass.datasets.load_dataset("corral", container="pandas")


def hierarchy(wine, wine_model):
    table = corral()
    model = HNBClassifier(random_state=0).fit(table.X, table.y)
    display = HierarchyDisplay.from_estimator(model)
    frame = display.frame
    assert list(frame) == ["parent", "child", "n_states"]
    assert sorted(frame["child"][frame["parent"] == "class"]) == sorted(model.top_variables_)
    assert sorted(frame["child"]) == sorted([*table.X.columns, *model.n_states_])
    sizes = frame.dropna().set_index("child")["n_states"]
    assert sizes.to_dict() == model.n_states_
    assert len(frame) == len(display.lines_.get_segments())
    return display


def images(wine, wine_model):
    X, y = pixels()
    display = ImagesDisplay.from_estimator(NaiveBayes().fit(X, y), (2, 3), n_images=2)
    frame = display.frame
    assert list(frame) == ["image", "side", "line", "column", "value"]
    third = frame[frame["image"] == 2]
    assert set(third["side"]) == {"b"}
    assert_array_equal(third.pivot(index="line", columns="column", values="value").to_numpy(),
                       display.ax_[1, 0].get_images()[0].get_array())  # fmt: skip
    titled = ImagesDisplay(np.zeros((2, 4)), (2, 2), titles=["one", "two"]).frame
    assert titled["title"].tolist() == ["one"] * 4 + ["two"] * 4
    assert ImagesDisplay(np.zeros((0, 4)), (2, 2), titles=[]).frame.empty
    return display


def importance(wine, wine_model):
    display = ImportanceDisplay.from_estimator(wine_model, wine.X)
    expected = wine_model.importance(wine.X).to_frame()["importance"]
    assert display.frame.set_index("column")["importance"].to_dict() == expected.to_dict()
    assert display.frame["importance"].is_monotonic_decreasing
    return display


def latent_space(wine, wine_model):
    y = [None, *wine.y[1:].tolist()]
    display = LatentSpaceDisplay.from_estimator(wine_model, wine.X, y)
    frame = display.frame
    spread = ["deviation of z0", "deviation of z1"]
    assert list(frame) == ["part", "class", "z0", "z1", *spread]
    rows = frame[frame["part"] == "row"]
    assert_allclose(rows[["z0", "z1"]], wine_model.transform(wine.X))
    assert rows["class"].isna()[0]
    assert rows["class"].tolist()[1:] == y[1:]
    classes = frame[frame["part"] == "class"].set_index("class")
    assert_allclose(classes[["z0", "z1"]], wine_model.latent_means_)
    assert_allclose(classes[spread] ** 2, wine_model.latent_variances_)
    return display


def latent_tree(wine, wine_model):
    table = corral()
    model = LatentTreeClassifier(random_state=0).fit(table.X, table.y)
    display = LatentTreeDisplay.from_estimator(model, "0")
    frame = display.frame
    assert list(frame) == ["parent", "child", "information", "n_states"]
    edges = list(frame[["parent", "child", "information"]].itertuples(index=False, name=None))
    assert edges == model.tree_edges("0")
    hidden = frame.dropna()
    assert set(hidden["child"]) == set(display.n_states) - {display.edges[0][0]}
    assert all(display.n_states[name] == n for name, n in hidden[["child", "n_states"]].to_numpy())
    assert LatentTreeDisplay([], {}).frame.empty
    return display


def loadings(wine, wine_model):
    display = LoadingsDisplay.from_estimator(wine_model, component=1)
    frame = display.frame.pivot(index="column", columns="latent", values="loading")
    assert_allclose(frame.loc[list(wine.X.columns), ["z0", "z1"]], display.loadings)
    cut = LoadingsDisplay(np.ones((1, 2)), np.array([[True, False]]), ["a"]).frame
    assert_array_equal(cut["loading"], [1.0, np.nan])
    return display


def model_graph(wine, wine_model):
    display = ModelGraphDisplay.from_estimator(wine_model)
    frame = display.frame
    assert list(frame) == ["parent", "child", "strength"]
    assert frame["child"][frame["parent"] == "class"].tolist() == ["z0", "z1", "m"]
    assert frame["child"][frame["parent"] == "m"].tolist() == list(wine.X.columns)
    drawn = (display.class_lines_, display.latent_lines_, display.component_lines_)
    assert len(frame) == sum(len(lines.get_segments()) for lines in drawn)
    strong = frame[(frame["parent"] == "z1") & (frame["child"] == "Hue")]["strength"].item()
    assert strong == display.strengths[list(wine.X.columns).index("Hue"), 1]
    assert frame["strength"].isna().sum() == 3 + 13
    return display


def restarts(wine, wine_model):
    display = RestartsDisplay.from_estimator(wine_model)
    frame = display.frame
    assert list(frame) == ["start", "step", "objective", "kept", "best"]
    best = frame[frame["best"]]
    assert best["objective"].tolist() == wine_model.history_
    assert best["step"].tolist() == list(range(len(best)))
    for start, line in enumerate(display.lines_):
        mine = frame[frame["start"] == start]
        assert_array_equal(mine["objective"], line.get_ydata())
        assert set(mine["kept"]) == {bool(display.kept[start])}
    return display


def search_path(wine, wine_model):
    display = SearchPathDisplay([1, 2, 2], [1, 1, 2], [0.8, 0.9, 0.7], [0.02, 0.01, 0.03], 1)
    frame = display.frame
    assert list(frame) == ["n_latent", "n_components", "mean accuracy", "std accuracy", "chosen"]
    assert frame["chosen"].tolist() == [False, True, False]
    assert frame["mean accuracy"].tolist() == [0.8, 0.9, 0.7]
    assert frame["std accuracy"].tolist() == [0.02, 0.01, 0.03]
    assert frame["n_components"].tolist() == [1, 1, 2]
    return display


def error_scatter(wine, wine_model):
    display = ErrorScatterDisplay([0.1, 0.2], [0.15, 0.3], ("LCM", "NB"), ["iris", "wine"])
    rows = display.frame.to_dict("records")
    assert rows[1] == {"dataset": "wine", "LCM": 0.2, "NB": 0.3}
    return display


def critical_difference(wine, wine_model):
    names = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]  # Demsar's example at 10 %
    display = CriticalDifferenceDisplay([3.143, 2.0, 2.893, 1.964], names, 1.12, alpha=0.1)
    frame = display.frame.set_index("classifier")
    assert frame["mean_rank"].to_dict() == dict(zip(names, display.mean_ranks, strict=True))
    assert frame["groups"].to_dict() == {
        "C4.5": "1", "C4.5+m": "0", "C4.5+cf": "0 1", "C4.5+m+cf": "0",
    }  # fmt: skip
    return display


CASES = (
    boundary, components, critical_difference, disclosure, error_scatter, evidence, hierarchy,
    images, importance, latent_space, latent_tree, loadings, model_graph, restarts, search_path,
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_frame_has_what_was_drawn(case, wine, wine_model):
    display = case(wine, wine_model)
    assert isinstance(display, Display)
    assert display.frame.columns.is_unique
    assert "frame : pandas DataFrame" in type(display).__doc__


def test_every_display_has_a_case():
    public = {
        name.removesuffix("Display")
        for module in (latentclass.plots, latentclass.evaluation)
        for name in module.__all__
        if name.endswith("Display")
    }
    assert {case.__name__.title().replace("_", "") for case in CASES} == public


def test_a_column_may_have_the_name_of_a_class():
    posterior = np.full((1, 2, 1), 1.0)
    display = BoundaryDisplay(
        np.array([0.0, 1.0]), np.zeros(1), posterior, np.array(["a"]), ("P(a)", "b"),
        np.zeros((0, 2)), np.zeros(0, dtype=np.intp),
    )  # fmt: skip
    assert list(display.frame) == ["P(a)", "b", "P(a)"]
    assert_array_equal(display.frame.to_numpy(), [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0]])
