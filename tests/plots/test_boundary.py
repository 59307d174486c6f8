"""Regions show `predict_proba` of rows with two cells."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from estimators import CLASSIFIERS
from latentclass.plots import BoundaryDisplay
from latentclass.plots._style import COLOURS
from plain import NaiveBayes


def two_cell_rows(display, table):
    """The grid as rows of the table's columns, all but two of them missing."""
    x, y = (axis.ravel() for axis in np.meshgrid(display.x, display.y))
    rows = pd.DataFrame({name: [None] * len(x) for name in table.columns})
    rows[display.names[0]], rows[display.names[1]] = x, y
    return rows


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_every_classifier_is_asked_about_two_cells(model, mixed):
    table, y = mixed
    model = clone(model).fit(table, y)
    display = BoundaryDisplay.from_estimator(
        model, table, y, features=("weight", "length"), grid_resolution=9
    )
    assert display.names == ("weight", "length")
    assert display.posterior.shape == (9, 9, 3)
    expected = model.predict_proba(two_cell_rows(display, table))
    assert_allclose(display.posterior.reshape(81, 3), expected, rtol=1e-12, atol=1e-300)


def test_naive_bayes_regions_by_hand(mixed):
    """With the other columns integrated out only two factors are left."""
    table, y = mixed
    whole = table.dropna()
    labels = y[whole.index]
    model = NaiveBayes(prior=None).fit(whole, labels)
    display = BoundaryDisplay.from_estimator(model, whole, labels, grid_resolution=7)
    peer = GaussianNB(var_smoothing=0).fit(whole[["length", "weight"]].to_numpy(), labels)
    x, y_axis = np.meshgrid(display.x, display.y)
    expected = peer.predict_proba(np.column_stack([x.ravel(), y_axis.ravel()]))
    assert_allclose(display.posterior.reshape(-1, 3), expected, rtol=1e-8)


@pytest.mark.parametrize("make", [np.asarray, pl.DataFrame], ids=["numpy", "polars"])
def test_other_containers_and_positions(make, wine):
    frame = wine.X[["Alcohol", "Ash", "Flavanoids"]]
    by_name = BoundaryDisplay.from_estimator(
        NaiveBayes().fit(frame, wine.y), frame, wine.y, ("Alcohol", "Flavanoids"), grid_resolution=5
    )
    table = make(frame)
    by_position = BoundaryDisplay.from_estimator(
        NaiveBayes().fit(table, wine.y), table, wine.y, (0, -1), grid_resolution=5
    )
    assert_allclose(by_position.posterior, by_name.posterior, rtol=1e-12)


@pytest.mark.parametrize("make", [pl.DataFrame, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_missing_text_and_categories_in_other_containers(make, mixed):
    table, y = mixed
    table = table.assign(shade=table["shade"].astype("category"))
    displays = [
        BoundaryDisplay.from_estimator(NaiveBayes().fit(X, y), X, y, grid_resolution=5)
        for X in (table, make(table))
    ]
    assert_allclose(displays[1].posterior, displays[0].posterior, rtol=1e-12)


def test_sparse_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) * (rng.random((30, 3)) < 0.7)
    y = np.arange(30) % 2
    sparse = sp.csr_array(X)
    displays = [
        BoundaryDisplay.from_estimator(NaiveBayes().fit(T, y), T, y, (0, 2), grid_resolution=5)
        for T in (X, sparse)
    ]
    assert_allclose(displays[1].posterior, displays[0].posterior, rtol=1e-9)
    assert_array_equal(displays[1].points, X[:, [0, 2]])


def test_what_is_drawn(mixed):
    table, y = mixed
    model = NaiveBayes().fit(table, y)
    labels = y.astype(object)
    labels[:10] = None
    display = BoundaryDisplay.from_estimator(model, table, labels, grid_resolution=30)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length", "weight")
    assert display.figure_ is display.ax_.figure
    # two of the first ten rows have a hole in these columns
    assert [len(points.get_offsets()) for points in display.points_] == [8, 16, 17, 17]
    numbers = table[["length", "weight"]].to_numpy()
    assert_allclose(display.points_[1].get_offsets(), numbers[labels == "a"])
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["no label", "a", "b", "c"]
    low, high = np.nanmin(numbers, axis=0), np.nanmax(numbers, axis=0)
    room = 0.08 * (high - low)
    assert_allclose(
        [display.x[[0, -1]], display.y[[0, -1]]], np.transpose([low - room, high + room])
    )
    assert display.plot(ax=display.ax_, legend=False).ax_ is display.ax_


def test_colours_are_of_the_best_class_and_paler_in_doubt():
    posterior = np.array([[[1.0, 0.0], [0.75, 0.25]], [[0.5, 0.5], [0.0, 1.0]]])
    axis = np.array([0.0, 1.0])
    display = BoundaryDisplay(
        axis, axis, posterior, np.array(["a", "b"]), ("u", "v"), np.empty((0, 2)), np.empty(0, int)
    ).plot()
    image = np.asarray(display.surface_.get_array())
    strength = 0.38 * np.array([[1.0, 0.5], [0.0, 1.0]])
    blue, orange = ([int(COLOURS[k][i : i + 2], 16) / 255 for i in (1, 3, 5)] for k in (0, 1))
    expected = 1 - strength[..., None] * (1 - np.array([[blue, blue], [blue, orange]]))
    assert_allclose(image, expected, atol=1e-12)


def test_boundary_lies_where_the_best_class_changes():
    """The boundary between a class and its mirror image is the mirror, x = 0."""
    rng = np.random.default_rng(0)
    left = rng.normal(size=(50, 2)) - [1, 0]
    X = np.concatenate([left, left * [-1, 1]])  # the right is the mirror image of the left
    model = NaiveBayes(prior=None).fit(X, np.repeat([0, 1], 50))
    display = BoundaryDisplay.from_estimator(model, X, grid_resolution=101)
    (contour,) = display.boundaries_
    points = np.concatenate([path.vertices for path in contour.get_paths()])
    assert_allclose(points[:, 0], 0.0, atol=1e-9)
    assert_array_equal([len(points.get_offsets()) for points in display.points_], [100, 0, 0])


@pytest.mark.parametrize("n_classes", [1, 2, 26])
@pytest.mark.filterwarnings("ignore:y has a single class")
def test_one_to_many_classes(n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(4 * n_classes) % n_classes
    X = rng.normal(size=(len(y), 2)) + 3.0 * np.column_stack([y % 6, y // 6])
    model = NaiveBayes().fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, grid_resolution=40)
    assert len(display.points_) == n_classes
    styles = {
        (tuple(points.get_facecolor()[0]), points.get_paths()[0].vertices.tobytes())
        for points in display.points_
    }
    assert len(styles) == n_classes
    assert len(display.boundaries_) == max(n_classes - 1, 0) or n_classes == 26
    display.figure_.canvas.draw()


def test_constant_column_has_room_to_draw():
    X = np.column_stack([np.full(8, 5.0), np.arange(8.0)])
    model = NaiveBayes().fit(X, np.arange(8) // 4)
    display = BoundaryDisplay.from_estimator(model, X, grid_resolution=3)
    assert_allclose(display.x, [2.5, 5.0, 7.5])


def test_priors_and_searches_are_passed_on(wine):
    X = wine.X[["Alcohol", "Flavanoids"]]
    search = GridSearchCV(NaiveBayes(), {"alpha": [1.0]}, cv=2).fit(X, wine.y)
    priors = [0.98, 0.01, 0.01]
    display = BoundaryDisplay.from_estimator(search, X, grid_resolution=4, priors=priors)
    expected = search.best_estimator_.predict_proba(two_cell_rows(display, X), priors)
    assert_allclose(display.posterior.reshape(-1, 3), expected, rtol=1e-12)


def test_the_first_two_continuous_columns_are_drawn_by_default(mixed):
    table, y = mixed
    table = table[["shade", *table.columns.drop("shade")]]
    model = NaiveBayes().fit(table, y)
    names = [column.name for column in model.schema_.columns if column.kind == "continuous"]
    display = BoundaryDisplay.from_estimator(model, table, y, grid_resolution=3)
    assert list(display.names) == names[:2]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            ("length", "height"),
            "features contains 'height', which is not a column. Continuous columns: "
            "['length', 'weight'].",
        ),
        (
            ("length", "shade"),
            "features contains 'shade', but that column is binary. Continuous columns: "
            "['length', 'weight'].",
        ),
        (
            (0, 4),
            "features contains 4, but the table has 4 columns. Continuous columns: "
            "['length', 'weight'].",
        ),
        (
            (0, 1.5),
            "features contains 1.5, which is neither a name nor a position. Continuous columns: "
            "['length', 'weight'].",
        ),
        (
            (1, "weight"),
            "features contains 'weight' twice; it must be two different columns, by name or "
            "position.",
        ),
        (
            (0, 1, 2),
            "features has 3 entries; it must be two different columns, by name or position.",
        ),
        ("length", "features='length' must be two different columns, by name or position."),
    ],
)
def test_wrong_features_are_refused_with_a_list_of_columns(features, message, mixed):
    table, y = mixed
    model = NaiveBayes().fit(table, y)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        BoundaryDisplay.from_estimator(model, table, y, features=features)


def test_other_mistakes_are_named(mixed):
    table, y = mixed
    model = NaiveBayes().fit(table, y)

    def refuse(message, *arguments, error=ValueError, **options):
        with pytest.raises(error, match=f"^{re.escape(message)}$"):
            BoundaryDisplay.from_estimator(*arguments, **options)

    refuse("y has 59 labels for 60 rows. Pass one label per row.", model, table, y[1:])
    other = np.where(y == "a", "z", y)
    refuse("y contains 'z', which is not a class. Classes: ['a', 'b', 'c'].", model, table, other)
    refuse(
        "grid_resolution=1 must be a whole number of at least 2.", model, table, grid_resolution=1
    )
    refuse("margin=-1 must be a number of at least 0.", model, table, margin=-1)
    refuse(
        "Column 'length' has no value in X, so there is no range to draw. Pass rows in which it is "
        "known.",
        model,
        table.assign(length=np.nan),
    )
    refuse(
        "GaussianNB has no attribute schema_, which this picture needs. Pass a fitted model "
        "of latentclass that has it.",
        GaussianNB().fit([[0.0], [1.0]], [0, 1]),
        table,
        error=TypeError,
    )
