"""Starts of EM, paths of a search, and the message without matplotlib."""

import re
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator

from latentclass import LatentMixture
from latentclass.evaluation import ErrorScatterDisplay
from latentclass.plots import RestartsDisplay, SearchPathDisplay
from plain import LCMClassifier, LCMClassifierCV, NaiveBayes

# ----------------------------------------------------------------------- restarts


@pytest.mark.parametrize("select", ["average", "accuracy", "likelihood"])
def test_every_start_is_a_line(select, wine):
    model = LCMClassifier(n_init=6, select=select, random_state=0).fit(wine.X, wine.y)
    display = RestartsDisplay.from_estimator(model)
    assert len(display.lines_) == 6
    for line, history in zip(display.lines_, model.restart_histories_, strict=True):
        assert_array_equal(line.get_xdata(), np.arange(len(history)))
        assert_array_equal(line.get_ydata(), history)
    assert display.histories[display.best] == model.history_
    widths = np.array([line.get_linewidth() for line in display.lines_])
    assert np.argmax(widths) == display.best
    assert np.sum(widths == widths.max()) == 1
    colours = np.array([line.get_color() for line in display.lines_])
    kept = model.restarts_["kept"]
    assert len(set(colours[kept])) == 1
    assert not set(colours[kept]) & set(colours[~kept])
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    others = "kept (5)" if select == "average" else "left behind (5)"
    assert legend == ["best", others]


def test_gap_to_the_highest_objective():
    display = RestartsDisplay([[-5.0, -2.0, -1.0], [-4.0, -1.5]], [True, False], 0).plot(gap=True)
    assert display.ax_.get_yscale() == "log"
    assert_allclose(display.lines_[0].get_ydata(), [4.0, 1.0, 0.25])  # 0 is drawn at half of 0.5
    assert_allclose(display.lines_[1].get_ydata(), [3.0, 0.5])


def test_axis_leaves_out_the_beginnings():
    histories = [[-100.0, -9.0, -3.0, -2.0], [-90.0, -8.0, -3.2, -2.5], [-80.0, -4.0]]
    display = RestartsDisplay(histories, [True, True, True], 0).plot()
    low, high = display.ax_.get_ylim()
    assert_allclose(low, -3.2)  # the median after two steps, or at the end if that is earlier
    assert high > -2.0


def test_a_start_that_failed_does_not_spoil_the_axis():
    display = RestartsDisplay([[-np.inf], [-9.0, -3.0, -2.0, -1.0]], [False, True], 1).plot()
    assert np.isfinite(display.ax_.get_ylim()).all()
    assert np.isfinite(display.plot(gap=True).ax_.get_ylim()).all()


def test_models_with_the_best_start_only(wine):
    labels = np.where(np.arange(len(wine.y)) % 20 == 0, wine.y, None)
    model = NaiveBayes(n_init=4, random_state=0).fit(wine.X, labels)
    display = RestartsDisplay.from_estimator(model)
    (line,) = display.lines_
    assert_array_equal(line.get_ydata(), model.history_)
    assert display.ax_.get_legend() is None
    display = RestartsDisplay.from_estimator(NaiveBayes().fit(wine.X, wine.y), gap=True)
    assert len(display.lines_) == 1


@pytest.mark.parametrize("search", ["em", "era"])
def test_searches_of_a_mixture_are_drawn_as_they_went(search, wine):
    model = LatentMixture(2, search, n_init=3, max_iter=40, random_state=0).fit(wine.X)
    display = RestartsDisplay.from_estimator(model)
    assert [line.get_ydata().tolist() for line in display.lines_] == model.traces_
    assert display.best == np.flatnonzero(model.restarts_["kept"])[0]
    assert max(display.histories[display.best]) == model.history_[-1]


# -------------------------------------------------------------------- search path


class Search(BaseEstimator):
    """A stand-in: what LCMClassifierCV has after `fit`."""

    def __init__(self, scoring="accuracy"):
        self.scoring = scoring

    def fit(self, results, best):
        self.cv_results_ = results
        self.n_latent_, self.n_components_ = best
        return self


RESULTS = {
    "n_latent": np.array([3, 1, 2, 1, 3, 2]),
    "n_components": np.array([1, 1, 1, 4, 4, 4]),
    "mean_test_score": np.array([0.7, 0.5, 0.9, 0.4, np.nan, 0.6]),
    "std_test_score": np.array([0.1, 0.2, 0.3, 0.4, np.nan, 0.6]),
}


def test_one_line_for_each_number_of_components():
    display = SearchPathDisplay.from_estimator(Search().fit(RESULTS, (2, 1)))
    one, four = display.lines_
    assert_allclose(one.get_xydata(), [[1, 0.5], [2, 0.9], [3, 0.7]])
    assert_allclose(four.get_xydata(), [[1, 0.4], [2, 0.6]])
    assert_allclose(display.chosen_.get_offsets(), [[2, 0.9]])
    assert one.get_color() != four.get_color()
    assert one.get_marker() != four.get_marker()
    assert display.ax_.get_ylabel() == "cross-validated accuracy"
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["1", "4", "chosen"]


def test_log_loss_has_its_sign_back():
    results = RESULTS | {"mean_test_score": -RESULTS["mean_test_score"]}
    search = Search("log_loss").fit(results, (1, 4))
    display = SearchPathDisplay.from_estimator(search, spread=True)
    assert_allclose(display.lines_[0].get_ydata(), [0.5, 0.9, 0.7])
    assert_allclose(display.chosen_.get_offsets(), [[1, 0.4]])
    assert display.ax_.get_ylabel() == "cross-validated log-loss"
    bands = [c for c in display.ax_.collections if c is not display.chosen_]
    low = [band.get_paths()[0].vertices[:, 1].min() for band in bands[:2]]
    assert_allclose(low, [0.5 - 0.2, 0.4 - 0.4])


def test_of_a_pair_tried_twice_the_last_score_counts():
    results = {key: np.append(values, values[[2, 5]]) for key, values in RESULTS.items()}
    results["mean_test_score"][-2:] = 0.85, 0.95
    display = SearchPathDisplay.from_estimator(Search().fit(results, (2, 4)))
    assert_allclose(display.lines_[0].get_ydata(), [0.5, 0.85, 0.7])
    assert_allclose(display.lines_[1].get_ydata(), [0.4, 0.95])
    assert_allclose(display.chosen_.get_offsets(), [[2, 0.95]])


def test_a_real_search(wine):
    search = LCMClassifierCV([1, 2], [1, 2], search="exhaustive", n_init=1, cv=2, random_state=0)
    search.fit(wine.X, wine.y)
    display = SearchPathDisplay.from_estimator(search)
    path = pd.DataFrame(search.cv_results_)
    path = path[(path["noise"] == search.noise_) | (path["n_components"] == 1)]
    path = path[path["power_transform"] == search.power_transform_]
    two = path[path["n_components"] == 2].sort_values("n_latent")
    assert_allclose(display.lines_[1].get_ydata(), -two["mean_test_score"])
    size = (search.n_latent_, search.n_components_)
    score = path.set_index(["n_latent", "n_components"])["mean_test_score"][size]
    assert_allclose(display.chosen_.get_offsets(), [[search.n_latent_, -score]])
    assert len(RestartsDisplay.from_estimator(search).lines_) == 1


def test_nothing_was_searched():
    message = (
        "Search has no cv_results_ with ['n_latent', 'n_components', 'mean_test_score', "
        "'std_test_score']. Pass a fitted LCMClassifierCV that tried more than one pair of "
        "n_latent and n_components."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        SearchPathDisplay.from_estimator(Search().fit({}, (1, 1)))


# --------------------------------------------------------------------- matplotlib


def test_the_extra_is_named_and_the_same_everywhere(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    messages = []
    for display in (
        RestartsDisplay([[0.0]], [True], 0),
        ErrorScatterDisplay([0.1], [0.1], ("A", "B"), ["iris"]),
    ):
        with pytest.raises(ImportError) as caught:
            display.plot()
        messages.append(str(caught.value))
    assert messages[0] == messages[1] == 'Plots need matplotlib: pip install "latentclass[plots]".'
