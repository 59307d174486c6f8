"""What the page is told is what the model's own methods say."""

import numpy as np
import pandas as pd
import pytest
from pages import draw_images, draw_table

import latentclass
from latentclass import BinaryLCMClassifier, HNBClassifier, LatentTreeClassifier, LCMClassifier
from latentclass.baselines import NaiveBayes
from latentclass.data._schema import Table
from latentclass.estimator._fitted import FittedModel
from latentclass.page._answers import Refused
from latentclass.page._images import Images, check_pixels
from latentclass.page._rows import RowTable
from latentclass.page._server import saver
from latentclass.page._session import Session


@pytest.fixture(scope="module")
def session():
    X, y = draw_table()
    return Session(NaiveBayes().fit(X, y), X, y)


def draw_groups():
    """A table with a column twice, so that a latent tree finds groups within each class."""
    X, y = draw_table()
    return X.assign(same=X["colour"]), y


@pytest.fixture(scope="module")
def tree():
    X, y = draw_groups()
    return LatentTreeClassifier(n_cuts=1, calibrate=False, random_state=0).fit(X, y)


def test_a_row_of_the_data_is_asked_as_it_stands(session):
    X, y = draw_table()
    model = session.asked[0].model
    for place in (0, 1, 2, 40):
        row = session.row({"row": place})
        assert (row["name"], row["label"]) == (f"r{place}", y[place])
        (said,) = session.ask({"cells": row["cells"]})
        part = X.iloc[[place]]
        np.testing.assert_allclose(said["proba"], model.predict_proba(part)[0], rtol=1e-12)
        assert said["unusual"] == model.unusual(part, n_draws=500)[0]
        (why,) = session.why({"cells": row["cells"]})
        told = model.explain(part)
        seen = [weight for weight in why["weights"] if weight is not None]
        known = part.notna().to_numpy()[0]
        np.testing.assert_allclose(seen, told.weights[0][known], rtol=1e-9, atol=1e-12)
        assert model.classes_[why["target"]] == told.target[0]


def test_a_row_is_found_by_its_name(session):
    assert session.row({"name": " r40 "}) == session.row({"row": 40})
    with pytest.raises(Refused, match=r"^No row has the name '40'\. One of the names is 'r0'\.$"):
        session.row({"name": 40})


def test_an_empty_row_gives_the_prior_and_what_to_expect(session):
    model = session.asked[0].model
    (said,) = session.ask({"cells": [None] * 4})
    np.testing.assert_allclose(said["proba"], model.class_prior_, rtol=1e-12)
    filled = model.complete(pd.DataFrame([dict.fromkeys(model.schema_.names)]))
    assert said["filled"][2:] == [str(filled["colour"][0]), str(filled["old"][0])]
    assert float(said["filled"][0]) == pytest.approx(float(filled["weight"][0]), abs=0.06)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (None, "cells must be a list of 4 cells, one per column."),
        ([1.0], "cells must be a list of 4 cells, one per column."),
        (["x", None, None, None], "Column 'weight': a cell is a number or null."),
        ([True, None, None, None], "Column 'weight': a cell is a number or null."),
        ([1e300, None, None, None], "Column 'weight': 1e+300 is too large a number."),
        ([None, None, 3, None], "Column 'colour' has 3 values; number 3 is not one of them."),
        ([None, None, 0.5, None], "Column 'colour' has 3 values; number 0.5 is not one of them."),
    ],
)
def test_cells_that_make_no_sense_are_refused(session, cells, message):
    with pytest.raises(Refused) as caught:
        session.ask({"cells": cells})
    assert str(caught.value) == message


def test_two_models_are_asked_about_all_their_columns():
    X, y = draw_table()
    first = NaiveBayes().fit(X[["weight", "colour"]], y)
    second = LCMClassifier(1, n_init=1, random_state=0).fit(X[["height", "weight"]], y)
    both = Session(first, X, y, beside=second)
    assert [field.name for field in both.form.fields] == ["weight", "colour", "height"]
    said = both.ask(both.row({"row": 5}))
    for one, model in zip(said, (first, second), strict=True):
        own = X.iloc[[5]][model.schema_.names]
        np.testing.assert_allclose(one["proba"], model.predict_proba(own)[0], rtol=1e-9)


def test_rows_are_sorted_searched_and_paged():
    X, y = draw_table()
    model = NaiveBayes().fit(X, y)
    table = Session(model, X, y).table
    table.rate(np.arange(len(X)))
    everything = model.predict_proba(X)
    page = table.page(10, 5, "row", False, "")
    assert (page["total"], page["rated"], [row[1] for row in page["rows"]]) == (
        90, 90, [f"r{k}" for k in range(10, 15)],
    )  # fmt: skip
    assert [row[3] for row in page["rows"]] == model.predict(X.iloc[10:15]).tolist()
    np.testing.assert_allclose(
        [row[4] for row in page["rows"]], everything[10:15].max(axis=1), rtol=1e-12
    )
    heavy = table.page(0, 200, 0, True, "")["rows"]
    order = X["weight"].reset_index(drop=True).sort_values(ascending=False, kind="stable")
    assert [row[0] for row in heavy] == order.index.tolist()  # the missing one comes last
    sure = [row[4] for row in table.page(0, 200, "probability", False, "")["rows"]]
    assert sure == sorted(sure)
    green = table.page(0, 200, "row", False, "GREE")
    assert [row[0] for row in green["rows"]] == np.flatnonzero(X["colour"] == "green").tolist()
    wanted = float(X["weight"].iloc[7])
    found = table.page(0, 200, "row", False, str(wanted))["rows"]
    near = (np.abs(X[["weight"]] - wanted) <= 0.05).any(axis=1) | X.index.str.contains(str(wanted))
    near |= (X["height"] - wanted).abs() <= 0.005
    assert [row[0] for row in found] == np.flatnonzero(near).tolist()
    for bad in ("nonsense", 99, True):
        with pytest.raises(Refused):
            table.page(0, 5, bad, False, "")


def test_rows_are_rated_in_the_background():
    X, y = draw_table()
    session = Session(NaiveBayes().fit(X, y), X, y)
    assert session.page({"start": 0, "count": 5})["rated"] >= 5
    session.table._rater.join(60)
    assert session.table.n_rated == len(X)
    assert isinstance(session.table, RowTable)


def test_images_are_completed_as_the_model_would(monkeypatch):
    X, y = draw_images()
    binary = BinaryLCMClassifier(
        2, n_init=1, discriminative=False, calibrate=False, random_state=0
    ).fit(X, y)
    naive = NaiveBayes().fit(X, y)
    session = Session(binary, X, y, beside=naive, image=(4, 4))
    pixels = [None, 1, None, None, None, 1, 0, None, *[None] * 8]
    row = np.array([[None if one is None else bool(one) for one in pixels]], dtype=object)
    for said, model in zip(session.draw({"pixels": pixels}), (binary, naive), strict=True):
        np.testing.assert_allclose(said["proba"], model.predict_proba(row)[0], rtol=1e-9)
        chances = np.asarray(model.complete(row, how="probability"), dtype=float)[0]
        np.testing.assert_allclose(said["expected"], chances, atol=6e-4)
        assert [b for b, p in zip(said["likely"], pixels, strict=True) if p is not None] == [
            1,
            1,
            0,
        ]
    best = naive.complete(row, how="most_probable")[0]
    assert said["likely"] == [int(one) for one in best]
    image = session.image({"row": 3})
    assert image == {"pixels": X[3].astype(int).tolist(), "label": y[3]}
    for bad in (None, [1], [2] * 16, [True] * 16, [0.0] * 16):
        with pytest.raises(Refused):
            session.draw({"pixels": bad})
    with pytest.raises(ValueError, match="9 pixels, but the model has 16 columns"):
        check_pixels(naive, (3, 3))
    assert isinstance(session.images, Images)


def test_naive_bayes_knows_level_chances_as_every_model_does():
    X, y = draw_table()
    model = NaiveBayes().fit(X, y)
    fitted, table = model._model, model._read(X)
    hidden = Table(table.numeric, np.full_like(table.codes, -1))
    for some in (table, hidden):
        fast = fitted.level_chances(some, model.schema_.n_levels, None)
        slow = FittedModel.level_chances(fitted, some, model.schema_.n_levels, None)
        for one, other in zip(fast, slow, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_latent_variable_is_shown_renamed_and_kept_in_the_file(tree, tmp_path):
    X, y = draw_groups()
    path = str(tmp_path / "tree.lc")
    latentclass.save(tree, path, about={"target": "wood"})
    model, about = latentclass.load(path), latentclass.describe_file(path)
    save = saver(model, path, about.about, about.sha256)
    session = Session(model, X, y, save=save)
    label, name = next(
        (y, names[0])
        for y, names in model.latent_names_.items()
        if max(model.trees_[y].latent_cardinalities, default=1) > 1
    )
    shown = session.latent({"name": name})
    groups = [head for head in shown["heads"] if head.startswith("group")]
    assert (shown["of"], len(groups)) == (label, model.trees_[label].latent_cardinalities[0])
    assert all(len(line) == 2 + len(groups) for line in shown["lines"])
    before = session.structure({})["html"]
    assert f'data-latent="{name}"' in before
    session.rename({"name": name, "new": "tall <b>ones</b>"})
    after = session.structure({})["html"]
    assert 'data-latent="tall &lt;b&gt;ones&lt;/b&gt;"' in after
    assert "<b>ones</b>" not in after
    assert session.save({}) == {"saved": "tree.lc"}
    again = latentclass.load(path)
    assert "tall <b>ones</b>" in [one for names in again.latent_names_.values() for one in names]
    assert latentclass.describe_file(path).about == {"target": "wood"}
    with pytest.raises(Refused, match="which is not a latent variable"):
        session.rename({"name": "nobody", "new": "x"})
    with pytest.raises(Refused, match="is taken by a column"):
        session.rename({"name": "tall <b>ones</b>", "new": "weight"})
    latentclass.save(tree, path)
    with pytest.raises(Refused, match="has changed since it was loaded"):
        session.save({})


def test_the_rules_that_hold_are_those_of_the_row():
    X, y = draw_table(200)
    X = X[["colour", "old"]].assign(same=X["colour"])
    model = HNBClassifier(calibrate=False, random_state=0).fit(X, y)
    session = Session(model, X, y)
    cells = session.row({"row": 4})["cells"]
    found = session.fires({"cells": cells})
    rules = model.rules()
    assert found["n_rules"] == len(rules)
    assert len(found["lines"]) == rules["latent"].nunique()
    colour = X["colour"].iloc[4]
    for _, rule, chance in found["lines"]:
        assert chance == pytest.approx(1.0)
        assert (
            f"colour = {colour}" in rule
            or "colour" not in rule
            or f"{colour}" in rule
            or "!=" in rule
        )
    for name in rules["latent"].unique():
        shown = session.latent({"name": name})
        assert [line[0] for line in shown["lines"]] == rules[rules["latent"] == name][
            "rule"
        ].tolist()


def test_without_data_there_is_an_empty_row_and_a_structure():
    X, y = draw_table()
    session = Session(NaiveBayes().fit(X, y))
    about = session.about({})
    assert (about["n_rows"], about["labelled"]) == (0, False)
    assert "Profiles of the classes" in session.structure({})["html"]
    with pytest.raises(Refused, match="No data was given"):
        session.page({"start": 0, "count": 5})
    with pytest.raises(Refused, match="row must be a whole number"):
        session.row({"row": 0})
    with pytest.raises(Refused, match="The rows of this model are not images"):
        session.draw({"pixels": []})
