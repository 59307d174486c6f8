"""Latent space, loadings and graph: the pictures show the numbers of the model."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from latentclass.plots import LatentSpaceDisplay, LoadingsDisplay, ModelGraphDisplay
from latentclass.plots._model import latent_questions, standardised_loadings
from plain import BinaryLCMClassifier, HybridLCMClassifier, LCMClassifier, NaiveBayes


@pytest.fixture(scope="module")
def mixed_model(mixed):
    return LCMClassifier(n_latent=3, n_init=2, random_state=0).fit(*mixed)


# ------------------------------------------------------------------- latent space


def test_points_and_ellipses(wine, wine_model):
    display = LatentSpaceDisplay.from_estimator(wine_model, wine.X, wine.y, latent=(1, 0))
    latent = wine_model.transform(wine.X)[:, [1, 0]]
    for k, label in enumerate(wine_model.classes_):
        assert_allclose(display.points_[k].get_offsets(), latent[wine.y == label])
        ellipse = display.ellipses_[k]
        assert_allclose(ellipse.center, wine_model.latent_means_[k, [1, 0]])
        deviation = np.sqrt(wine_model.latent_variances_[k, [1, 0]])
        assert_allclose([ellipse.width, ellipse.height], 4 * deviation)
        assert_allclose(ellipse.get_edgecolor(), display.points_[k].get_facecolor()[0])
    assert display.ax_.get_xlabel() == "latent variable z1"
    assert display.ax_.get_ylabel() == "latent variable z0"
    wider = display.plot(n_deviations=3.0)
    assert_allclose(wider.ellipses_[0].width, 6 * np.sqrt(wine_model.latent_variances_[0, 1]))


def test_ellipses_are_inside_the_axes(wine, wine_model):
    display = LatentSpaceDisplay.from_estimator(wine_model, wine.X.iloc[:2])
    low, high = display.ax_.viewLim.min, display.ax_.viewLim.max
    for ellipse in display.ellipses_:
        half = np.array([ellipse.width, ellipse.height]) / 2
        assert np.all(low <= ellipse.center - half)
        assert np.all(high >= ellipse.center + half)


def test_transform_may_give_a_frame(wine):
    model = LCMClassifier(n_init=1, random_state=0).fit(wine.X, wine.y)
    plain = LatentSpaceDisplay.from_estimator(model, wine.X, wine.y)
    framed = LatentSpaceDisplay.from_estimator(
        model.set_output(transform="pandas"), wine.X, wine.y, legend=False
    )
    assert_array_equal(framed.points, plain.points)
    assert framed.ax_.get_legend() is None


@pytest.mark.filterwarnings("ignore:y has a single class")
def test_one_class(wine):
    model = LCMClassifier(n_init=1, random_state=0).fit(wine.X, np.ones(len(wine.y), dtype=int))
    display = LatentSpaceDisplay.from_estimator(model, wine.X)
    assert len(display.ellipses_) == 1


@pytest.mark.parametrize("latent", [(0, 2), (0, 0), (0,), (0, 1.0), (-1, 0), 0, (True, 0)])
def test_wrong_latent_variables(latent, wine, wine_model):
    message = (
        f"latent={latent!r} must be two different latent variables out of the model's 2: [0, 1]."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        LatentSpaceDisplay.from_estimator(wine_model, wine.X, wine.y, latent=latent)


def test_a_single_latent_variable_has_no_plane(wine):
    model = LCMClassifier(n_latent=1, n_init=1, random_state=0).fit(wine.X, wine.y)
    message = (
        "latent=(0, 1) must be two different latent variables out of the model's 1: [0]. Fit with "
        "n_latent=2 or more."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        LatentSpaceDisplay.from_estimator(model, wine.X)


@pytest.mark.parametrize("display", [LoadingsDisplay, ModelGraphDisplay])
def test_models_without_latent_variables_are_refused(display, wine):
    model = NaiveBayes().fit(wine.X, wine.y)
    with pytest.raises(TypeError, match=r"^NaiveBayes has no attribute loadings_, which"):
        display.from_estimator(model)


# ----------------------------------------------------------------------- loadings


def test_standardised_loadings_by_sampling(wine_model):
    """The deviation of a column is that of rows drawn from the model's own parts."""
    rng = np.random.default_rng(0)
    n_rows = 200_000
    y = rng.choice(3, n_rows, p=wine_model.class_prior_)
    edges = np.cumsum(wine_model.component_prior_, axis=1)
    m = (rng.random((n_rows, 1)) > edges[y]).sum(axis=1)
    deviation = np.sqrt(wine_model.latent_variances_)
    z = wine_model.latent_means_[y] + rng.standard_normal((n_rows, 2)) * deviation[y]
    x = np.einsum("rnq,rq->rn", wine_model.loadings_[m], z) + wine_model.offsets_[m]
    x += rng.standard_normal(x.shape) * np.sqrt(wine_model.noise_variances_[m])
    expected = wine_model.loadings_ / x.std(axis=0)[:, None]
    assert_allclose(standardised_loadings(wine_model), expected, rtol=0.01)


def test_units_do_not_matter(wine, wine_model):
    stretched = wine.X * 10.0 ** np.arange(-6, 7)
    model = LCMClassifier(n_latent=2, n_components=2, n_init=3, random_state=0)
    other = standardised_loadings(model.fit(stretched, wine.y))
    assert_allclose(other, standardised_loadings(wine_model), rtol=1e-4, atol=1e-6)


def test_heat_map(wine, wine_model):
    display = LoadingsDisplay.from_estimator(wine_model, component=1)
    expected = standardised_loadings(wine_model)[1]
    assert_allclose(np.asarray(display.image_.get_array()).reshape(13, 2), expected)
    limit = np.abs(expected).max()
    assert_allclose(display.image_.get_clim(), [-limit, limit])
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == list(wine.X.columns)
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["z0", "z1"]
    assert display.ax_.get_xlabel() == "latent variable, component 1 of 0..1"
    written = [float(text.get_text().replace("\N{MINUS SIGN}", "-")) for text in display.texts_]
    assert_allclose(written, expected.ravel(), atol=0.005 + 1e-12)
    assert display.ax_.yaxis_inverted()
    assert len(display.figure_.axes) == 2
    assert len(display.plot(colorbar=False, numbers=False).figure_.axes) == 1
    assert display.texts_ == []


def test_absent_edges_are_hatched_and_bear_no_number():
    loadings = np.array([[0.5, -0.001], [0.0, -0.8], [0.0, 0.0]])
    edges = np.array([[True, True], [False, True], [False, False]])
    display = LoadingsDisplay(loadings, edges, ["a", "b", "c"]).plot()
    assert_array_equal(np.ma.getmaskarray(display.image_.get_array()).reshape(3, 2), ~edges)
    assert [patch.get_xy() for patch in display.hatches_] == [(0, 1), (0, 2), (1, 2)]
    texts = [text.get_text() for text in display.texts_]
    assert texts == ["0.50", "0.00", "\N{MINUS SIGN}0.80"]


def test_no_edge_at_all():
    display = LoadingsDisplay(np.zeros((2, 2)), np.zeros((2, 2), dtype=bool), ["a", "b"]).plot()
    assert display.image_.get_clim() == (-1.0, 1.0)
    assert len(display.hatches_) == 4


def test_large_tables_have_no_numbers():
    shapes = {(30, 12): True, (31, 12): False, (30, 13): False, (200, 30): False}
    for shape, written in shapes.items():
        names = [f"x{j}" for j in range(shape[0])]
        display = LoadingsDisplay(np.ones(shape), np.ones(shape, dtype=bool), names).plot()
        assert bool(display.texts_) is written


def test_discrete_and_empty_columns(mixed):
    table, y = mixed
    table = table.assign(nothing=np.nan, always=1.0)
    with pytest.warns(UserWarning, match="have no value in any row"):
        model = LCMClassifier(n_init=1, random_state=0).fit(table, y)
    display = LoadingsDisplay.from_estimator(model)
    assert display.names == ["length", "weight", "nothing", "always"]
    assert_array_equal(display.loadings[2:], 0.0)
    assert np.isfinite(display.loadings).all()
    assert_array_equal(display.edges, [[True] * 2, [True] * 2, [False] * 2, [False] * 2])


@pytest.mark.parametrize("component", [2, -1, 0.0, True])
def test_wrong_component(component, wine_model):
    message = f"component={component!r} must be one of the model's 2 components: 0 to 1."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        LoadingsDisplay.from_estimator(wine_model, component)


@pytest.mark.filterwarnings("ignore:LCMClassifier describes numbers")
def test_no_continuous_column(mixed):
    table, y = mixed
    model = LCMClassifier(n_init=1, random_state=0).fit(table[["shade", "rich"]], y)
    message = (
        "The model has no loadings: its table has no column that depends on the latent variables."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        LoadingsDisplay.from_estimator(model)
    display = ModelGraphDisplay.from_estimator(model)
    assert len(display.class_lines_.get_segments()) == 4  # two latent variables, two columns
    assert len(display.latent_lines_.get_segments()) == 0


# -------------------------------------------------------------------------- graph


def test_graph_of_two_components(wine, wine_model):
    display = ModelGraphDisplay.from_estimator(wine_model)
    assert len(display.latent_lines_.get_segments()) == 26
    assert len(display.component_lines_.get_segments()) == 13
    assert len(display.class_lines_.get_segments()) == 3  # two latent variables, the component
    share = wine_model.class_prior_ @ wine_model.component_prior_
    squares = standardised_loadings(wine_model) ** 2
    strength = np.sqrt(share[0] * squares[0] + share[1] * squares[1])
    assert_allclose(display.strengths, strength)
    widths = np.array(display.latent_lines_.get_linewidths())
    assert_allclose((widths - 0.3) / 4.2, (strength / strength.max()).ravel())
    texts = {text.get_text() for text in display.ax_.texts}
    assert {"class", "z0", "z1", "m\n0..1", *wine.X.columns} == texts


def test_graph_draws_the_edges_that_are_there_only():
    edges = np.array([[True, False], [False, True], [True, True]])
    display = ModelGraphDisplay(np.full((3, 2), 0.5), edges, ["a", "b", "c"], ["d"]).plot()
    assert display.component_lines_ is None
    segments = np.array(display.latent_lines_.get_segments())
    class_ends = np.array(display.class_lines_.get_segments())[:, 1]
    latent, discrete = class_ends[:2], class_ends[2]
    assert_allclose(segments[:, 0], latent[[0, 1, 0, 1]])  # in the order of argwhere
    columns = {text.get_text(): text.xy for text in display.ax_.texts if hasattr(text, "xy")}
    assert_allclose(segments[:, 1], [columns[name] for name in "abcc"])
    assert_allclose(discrete, columns["d"])
    assert columns["a"][1] < latent[0, 1] < display.class_lines_.get_segments()[0][0, 1]


def test_discrete_columns_hang_on_the_class(mixed_model):
    display = ModelGraphDisplay.from_estimator(mixed_model)
    assert (display.names, display.discrete) == (["length", "weight"], ["shade", "rich"])
    assert len(display.class_lines_.get_segments()) == 3 + 2
    assert len(display.latent_lines_.get_segments()) == 6


def test_learned_structure_is_drawn(wine):
    model = LCMClassifier(3, structure="learned", n_init=2, random_state=0).fit(wine.X, wine.y)
    assert not model.edges_.all()
    graph = ModelGraphDisplay.from_estimator(model)
    assert len(graph.latent_lines_.get_segments()) == model.edges_.sum()
    heat = LoadingsDisplay.from_estimator(model)
    assert len(heat.hatches_) == np.sum(~model.edges_)


# --------------------------------------------- discrete columns below latent variables


def fit_hybrid(mixed, nominal, n_components=2):
    table, y = mixed
    rng = np.random.default_rng(1)
    table = table.assign(
        town=np.array(["Oslo", "Rome", "Bonn"])[(rng.random(60) < 0.6) * (np.arange(60) % 3)],
        same="one",
    )
    model = HybridLCMClassifier(
        2, n_components, nominal=nominal, n_init=1, discriminative=False, random_state=0
    )
    return model.fit(table, y)


@pytest.fixture(scope="module", params=["stick_breaking", "softmax"])
def hybrid(request, mixed):
    return fit_hybrid(mixed, request.param)


def test_standardised_questions_by_sampling(hybrid):
    """The deviation of a question is that of its log-odds plus the noise behind the answer."""
    rng = np.random.default_rng(0)
    n_rows = 200_000
    y = rng.choice(3, n_rows, p=hybrid.class_prior_)
    m = (rng.random((n_rows, 1)) > np.cumsum(hybrid.component_prior_, axis=1)[y]).sum(axis=1)
    z = rng.standard_normal((n_rows, 2)) * np.sqrt(hybrid.latent_variances_)[y]
    z += hybrid.latent_means_[y]
    found = {question.text: question.loadings for question in latent_questions(hybrid)}
    names = [name for name, _ in hybrid.questions_]
    for i, (name, category) in enumerate(hybrid.questions_):
        weights, intercepts = hybrid.weights_[:, i], hybrid.intercepts_[:, i]
        noise = rng.logistic(size=n_rows)
        if names.count(name) == 3:  # soft-max: against the mean of the three
            mine = [j for j, other in enumerate(names) if other == name]
            weights = weights - hybrid.weights_[:, mine].mean(axis=1)
            intercepts = intercepts - hybrid.intercepts_[:, mine].mean(axis=1)
            noise = rng.gumbel(size=n_rows)
        hidden = np.einsum("rq,rq->r", weights[m], z) + intercepts[m] + noise
        assert_allclose(found[f"{name} = {category}"], weights / hidden.std(), rtol=0.02)
    assert len(found) == len(hybrid.questions_)


def test_heat_map_has_lines_for_discrete_columns(hybrid):
    display = LoadingsDisplay.from_estimator(hybrid, component=1)
    questions = latent_questions(hybrid)
    assert display.names == ["length", "weight", *(question.text for question in questions)]
    assert [name.split()[0] for name in display.names[2:]] == sorted(
        (name for name, _ in hybrid.questions_), key=["shade", "rich", "town"].index
    )
    assert_allclose(display.loadings[:2], standardised_loadings(hybrid)[1])
    assert_allclose(display.loadings[2:], [question.loadings[1] for question in questions])
    assert display.edges.all()
    assert not display.hatches_


def test_discrete_columns_hang_on_the_latent_variables(hybrid):
    display = ModelGraphDisplay.from_estimator(hybrid)
    assert (display.names, display.discrete) == (["length", "weight"], [])
    assert display.logistic == ["shade", "rich", "town", "same"]
    assert len(display.class_lines_.get_segments()) == 3  # two latent variables, the component
    assert len(display.component_lines_.get_segments()) == 6
    lines = display.latent_lines_.get_segments()
    assert len(lines) == 2 * 5  # a column with a single category depends on nothing
    share = hybrid.class_prior_ @ hybrid.component_prior_
    town = [q.loadings for q in latent_questions(hybrid) if q.column == "town"]
    squares = sum(share[m] * np.mean([one[m] ** 2 for one in town], axis=0) for m in range(2))
    assert_allclose(display.strengths[4], np.sqrt(squares))
    assert_array_equal(display.strengths[5], 0.0)
    # squares for discrete columns, at the ends of their lines
    *_, squares = display.ax_.collections
    places = {text.get_text(): text.xy for text in display.ax_.texts if hasattr(text, "xy")}
    assert_allclose(squares.get_offsets(), [places[name] for name in display.logistic])
    assert_allclose(np.array(lines)[-2:, 1], [places["town"]] * 2)


def test_binary_columns_alone_have_loadings(mixed):
    table, y = mixed
    model = BinaryLCMClassifier(2, n_init=1, discriminative=False, random_state=0).fit(
        table[["shade", "rich"]], y
    )
    heat = LoadingsDisplay.from_estimator(model)
    assert [name.split()[0] for name in heat.names] == ["shade", "rich"]
    graph = ModelGraphDisplay.from_estimator(model)
    assert graph.logistic == ["shade", "rich"]
    assert len(graph.latent_lines_.get_segments()) == 4


def test_groups_of_categories_are_named(mixed):
    table, y = mixed
    letters = np.array(list("abcdefghijkl"))[np.arange(60) % 12]
    model = HybridLCMClassifier(1, 1, n_init=1, discriminative=False, random_state=0)
    model.fit(table.assign(letter=letters), y)
    texts = [q.text for q in latent_questions(model) if q.column == "letter"]
    assert len(texts) == 11
    assert any(re.fullmatch(r"letter in \{., ., ., \.\.\.\}", text) for text in texts)
