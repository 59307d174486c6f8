"""The search for a size, with candidates whose scores are known."""

import numpy as np
from numpy.testing import assert_allclose

from latentclass.estimator._inner_folds import InnerFolds
from latentclass.lcm._size_search import (
    PATIENCE,
    FoundSize,
    SizeSearch,
    fit_each_fold,
    rows_to_search,
)
from plain import BinaryLCMClassifier, LCMClassifier

Y = np.array([0, 1] * 10 + [0, 1])


def folds_of(weight):
    return InnerFolds(np.arange(22), np.arange(22) % 2, weight, 2)


def training():
    return LCMClassifier()._read_training(np.arange(22.0)[:, None], Y, None)


def search_over(pairs, score, *, scoring="log_loss", n_init=4, max_iter=100):
    """A search in which the probability of every row's class is given by the pair."""
    calls = []

    def held_out(pair, n_init, max_iter):
        calls.append((pair, n_init, max_iter))
        right = np.log(score(pair))
        wrong = np.log1p(-score(pair))
        return np.where(Y[:, None] == [0, 1], right, wrong)

    folds = folds_of(np.ones(22))
    search = SizeSearch(pairs, held_out, training(), folds, scoring, n_init, max_iter, None, None)
    return search, calls


def test_exhaustive_search_takes_the_best_and_of_equals_the_first():
    pairs = [(1, 1), (1, 2), (2, 1), (2, 2)]
    search, calls = search_over(pairs, lambda pair: 0.7 if pair[0] == 2 else 0.6)
    found = search.run("exhaustive")
    assert found.pair == (2, 1)
    assert_allclose(found.score, np.log(0.7))
    assert calls == [(pair, 4, 100) for pair in pairs]
    attributes = found.attributes
    assert (attributes["n_latent_"], attributes["n_components_"]) == (2, 1)
    assert attributes["n_candidates_"] == 4
    assert attributes["cv_results_"]["n_latent"].tolist() == [1, 1, 2, 2]
    assert attributes["cv_results_"]["std_test_score"].tolist() == [0.0] * 4


def test_scores_that_differ_by_rounding_are_equal():
    pairs = [(1, 1), (2, 1), (3, 1)]
    for how in ("exhaustive", "semi_greedy", "stepwise"):
        search, _ = search_over(pairs, lambda pair: 0.7 + 1e-14 * pair[0])
        assert search.run(how).pair == (1, 1)


def test_semi_greedy_search_ends_when_more_latent_variables_do_not_help():
    pairs = [(q, m) for q in (1, 2, 3, 4, 5, 6, 7) for m in (1, 2)]
    search, calls = search_over(pairs, lambda pair: 0.9 if pair == (2, 2) else 0.8)
    found = search.run("semi_greedy")
    assert found.pair == (2, 2)
    assert len(calls) == 2 * (2 + PATIENCE)


def test_stepwise_search_walks_to_the_best_neighbour_with_short_fits():
    """Probability 0.9 at (8, 5), less by 0.05 with every step away; numbers in any order."""
    latent, components = [8, 1, 4, 2, 16, 32], [5, 2, 1, 10, 20]
    place = {q: i for i, q in enumerate(sorted(latent))}
    place_m = {m: i for i, m in enumerate(sorted(components))}

    def score(pair):
        return 0.9 - 0.05 * (abs(place[pair[0]] - 3) + abs(place_m[pair[1]] - 2))

    search, calls = search_over([(q, m) for q in latent for m in components], score)
    found = search.run("stepwise")
    assert found.pair == (8, 5)
    steps = [
        {(2, 2)},
        {(1, 2), (4, 2), (2, 1), (2, 5)},
        {(1, 5), (4, 5), (2, 10)},  # around (2, 5), which is as good as (4, 2) and smaller
        {(8, 5), (4, 10)},
        {(16, 5), (8, 2), (8, 10)},
    ]
    for number, pairs in enumerate(steps):
        rows = [row for row in found.path if row["round"] == number]
        assert {(row["n_latent"], row["n_components"]) for row in rows} == pairs
    assert {call[1:] for call in calls} == {(2, 20)}
    assert len(calls) == len(found.path) == sum(map(len, steps))


def test_stepwise_search_begins_at_the_smallest_pair_if_the_second_is_too_large():
    search, calls = search_over([(1, 1), (1, 2), (2, 1)], lambda _: 0.5)
    assert search.run("stepwise").pair == (1, 1)
    assert calls[0][0] == (1, 1)


def test_only_the_stepwise_search_with_our_folds_is_on_a_sample(monkeypatch):
    monkeypatch.setattr("latentclass.lcm._size_search.SEARCH_ROWS", 10)
    rows = training()
    given = [(np.arange(11, 22), np.arange(11)), (np.arange(11), np.arange(11, 22))]
    for cv, search, n_rows in (
        (2, "stepwise", 22),  # a class of few rows keeps all
        (2, "exhaustive", 22),
        (given, "stepwise", 22),
    ):
        joined, part, folds = rows_to_search(rows, cv, 0, search)
        assert len(joined.y) == 22
        assert len(part.y) == n_rows
        assert folds.row.max() < n_rows
    monkeypatch.setattr("latentclass.estimator._inner_folds.LEAST_OF_CLASS", 1)
    joined, part, folds = rows_to_search(rows, 2, 0, "stepwise")
    assert len(joined.y) == 22
    assert 6 <= len(part.y) <= 10
    assert folds.row.max() < len(part.y)


def test_accuracy_is_weighted_and_log_loss_is_bounded():
    weight = np.arange(1.0, 23.0)

    def held_out(pair, n_init, max_iter):
        with np.errstate(divide="ignore"):
            return np.log(np.tile([1.0, 0.0], (22, 1)))  # always class 0

    for scoring, expected in (
        ("accuracy", [weight[0::2].sum() / weight[0::2].sum(), 0.0]),
        ("log_loss", [0.0, np.log(np.finfo(float).eps)]),
    ):
        folds = folds_of(weight)
        search = SizeSearch([(1, 1)], held_out, training(), folds, scoring, 1, 1, None, None)
        row = search.run("exhaustive").path[0]
        assert_allclose(row["mean_test_score"], np.mean(expected))
        assert_allclose(row["std_test_score"], np.std(expected))


def test_candidates_are_printed_on_request(capsys):
    search, _ = search_over([(3, 2)], lambda _: 0.5)
    search.run("exhaustive")
    assert capsys.readouterr().err == ""
    SizeSearch(**{**vars(search), "owner": "Searcher"}).run("exhaustive")
    assert capsys.readouterr().err.startswith("Searcher: n_latent=3, n_components=2: -0.6931 (")


def test_without_a_search_there_is_no_score():
    attributes = FoundSize((4, 2)).attributes
    assert np.isnan(attributes.pop("best_score_"))
    expected = {"n_latent_": 4, "n_components_": 2, "n_candidates_": 0, "cv_results_": {}}
    assert attributes == expected


def test_each_fold_is_tested_by_a_fit_to_the_other_rows():
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 5)) < 0.5, np.arange(60) % 2
    estimator = BinaryLCMClassifier(1, n_init=1, discriminative=True, random_state=0)
    rows = estimator._read_training(X, y, None)
    folds = InnerFolds(np.arange(60), np.arange(60) % 3, np.ones(60), 3)
    seen = []

    def fit_part(part, pair, n_init, max_iter):
        assert (pair, n_init, max_iter) == ((1, 1), 7, 8)
        seen.append(part.row_numbers)
        return estimator._fit_model(part, None)

    posterior = fit_each_fold(fit_part, rows, folds)((1, 1), 7, 8)
    for number in range(3):
        test = np.arange(60) % 3 == number
        assert seen[number].tolist() == np.flatnonzero(~test).tolist()
        # of `fit` come the same parameters and the same temperature
        fitted = BinaryLCMClassifier(1, n_init=1, discriminative=True, random_state=0)
        fitted.fit(X[~test], y[~test])
        assert_allclose(posterior[test], fitted.predict_log_proba(X[test]), rtol=1e-9)
