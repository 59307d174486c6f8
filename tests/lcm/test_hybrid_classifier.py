"""HybridLCMClassifier: what is its own."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import cross_val_score

from latentclass.data import learn_schema
from latentclass.engine._content_holdout import gather_rows, held_shares
from latentclass.exceptions import UnseenValueWarning
from latentclass.lcm._stick_breaking import StickBreaking, learn_stick_breaking, promote_binary
from plain import BinaryLCMClassifier, HybridLCMClassifier, LCMClassifier, NaiveBayes


def mixed_table(n_rows=300, seed=0):
    """Columns of all kinds made from one latent variable and the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    z = rng.normal(size=n_rows) + y
    other = rng.normal(size=n_rows) * np.where(y, 1.5, 0.5)
    logits = np.stack([z, other, -z, np.zeros(n_rows)], axis=1)
    town = np.array([rng.choice(4, p=row) for row in softmax(1.5 * logits, axis=1)])
    X = pd.DataFrame(
        {
            "length": 2 * z + rng.normal(size=n_rows),
            "width": z - other + 0.5 * rng.normal(size=n_rows),
            "smoker": rng.random(n_rows) < expit(2 * other),
            "town": pd.Categorical(np.array(["Bonn", "Oslo", "Rome", "York"])[town]),
            "flag": (rng.random(n_rows) < expit(z + other)).astype(int),
        }
    )
    return X, y


def quick(**options):
    settings = {
        "n_latent": 2,
        "n_components": 1,
        "n_init": 3,
        "power_transform": True,
        "discriminative": False,
        "random_state": 0,
    } | options
    return HybridLCMClassifier(**settings)


@pytest.mark.parametrize("n_components", [1, 2])
def test_on_continuous_columns_it_is_the_lcm(n_components):
    X, y = load_wine(return_X_y=True)
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    options = {"n_latent": 3, "n_components": n_components, "n_init": 3, "random_state": 0}
    ours = HybridLCMClassifier(**options, power_transform=False, discriminative=False).fit(X, y)
    theirs = LCMClassifier(**options, prior=1.0).fit(X, y)
    assert ours.predict_proba(X).tolist() == theirs.predict_proba(X).tolist()
    assert ours.transform(X).tolist() == theirs.transform(X).tolist()
    assert ours.loadings_.tolist() == theirs.loadings_.tolist()
    assert ours.log_likelihood_ == theirs.log_likelihood_
    assert ours.complete(X).tolist() == theirs.complete(X).tolist()
    assert ours.weights_.shape == (n_components, 0, 3)


def test_on_binary_columns_it_is_the_binary_lcm(few_steps):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 150)
    X = rng.random((150, 6)) < expit(rng.normal(size=(150, 1)) + y[:, None])
    options = {"n_latent": 2, "n_components": 2, "n_init": 2, "random_state": 0}
    for discriminative in (False, True):
        options |= {"discriminative": discriminative}
        ours = HybridLCMClassifier(**options).fit(X, y)
        theirs = BinaryLCMClassifier(**options).fit(X, y)
        assert ours.predict_proba(X).tolist() == theirs.predict_proba(X).tolist()
        assert ours.weights_.tolist() == theirs.weights_.tolist()


def test_mixed_columns_are_learned_together():
    X, y = mixed_table(600)
    model = quick(n_latent=3)
    assert (
        cross_val_score(model, X, y, cv=4).mean()
        > cross_val_score(NaiveBayes(), X, y, cv=4).mean() + 0.02
    )
    fitted = model.fit(X, y)
    assert fitted.schema_.kinds["flag"] == "binary"
    assert fitted.loadings_.shape == (1, 2, 3)
    assert fitted.weights_.shape == (1, 5, 3)  # smoker, three questions about the town, flag
    assert [name for name, _ in fitted.questions_] == ["smoker", "town", "town", "town", "flag"]
    assert fitted.noise_variances_.shape == (1, 2)
    assert fitted.edges_.shape == (2, 3)
    assert np.all(np.diff(fitted.history_) >= -1e-9)


def test_a_missing_cell_is_inferred_from_columns_of_another_kind():
    X, y = mixed_table(500)
    model = quick(n_latent=2, n_init=2).fit(X, y)
    hidden = X.assign(length=np.nan)
    filled = model.complete(hidden)["length"]
    by_class = X.groupby(y)["length"].mean()
    assert np.corrcoef(filled, X["length"])[0, 1] > np.corrcoef(by_class[y], X["length"])[0, 1]
    town = model.complete(X.assign(town=None))["town"]
    assert np.mean(town.astype(str) == X["town"].astype(str)) > 0.45


def test_samples_look_like_the_rows():
    X, y = mixed_table(1500)
    model = quick(n_latent=3, predict_method="quadrature").fit(X, y)
    drawn, labels = model.sample(5000, random_state=1)
    assert_allclose(drawn["length"].std(), X["length"].std(), rtol=0.1)
    shares = [frame["town"].value_counts(normalize=True).sort_index() for frame in (drawn, X)]
    assert_allclose(shares[0], shares[1], atol=0.05)
    for k in (0, 1):
        together = [
            np.corrcoef(frame["length"][which == k], frame["flag"][which == k])[0, 1]
            for frame, which in ((drawn, labels), (X, y))
        ]
        assert_allclose(*together, atol=0.12)


def test_the_bound_is_below_the_nearly_exact_likelihood():
    X, y = mixed_table(200)
    model = quick(n_latent=3).fit(X, y)
    bound = model.score_samples(X)
    exact = model.set_params(predict_method="quadrature").score_samples(X)
    drawn = model.set_params(predict_method="importance").score_samples(X)
    assert np.all(bound <= exact + 1e-6)
    assert_allclose(drawn, exact, atol=0.05)
    assert np.mean(exact - bound) < 0.5


def test_untied_noise_and_components():
    X, y = mixed_table(200)
    model = quick(n_components=2, noise="untied").fit(X, y)
    assert model.noise_variances_.shape == (2, 2)
    assert not np.allclose(*model.noise_variances_)
    assert model.component_prior_.shape == (2, 2)
    assert_allclose(model.component_prior_.sum(axis=1), 1.0)


def test_rows_come_without_labels():
    X, y = mixed_table(400)
    labels = np.where(np.arange(400) < 30, y, None)
    model = quick().set_params(unlabelled_weight=0.1).fit(X, labels)
    assert model.n_unlabelled_ == 370
    assert model.score(X, y) > 0.7


def test_iris_with_a_column_of_text(few_steps):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.assign(size=np.where(X["petal length (cm)"] > 4, "large", "small"))
    model = quick(n_latent=5, n_init=2, max_iter=20, discriminative=True)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.93


def test_sticks_ask_one_question_after_the_other():
    sticks = StickBreaking((np.array([2, 0, 1]), np.array([1, 0]), np.array([0])))
    codes = np.array([[2, 1, 0], [0, 0, 0], [1, -1, -1], [-1, 1, 0]], dtype=np.int32)
    assert sticks.cells(codes)[0].T.tolist() == [[1, 0, 1], [-1, 1, -1], [-1, -1, 0], [0, 0, 1]]
    assert sticks.spans == [slice(0, 2), slice(2, 3), slice(3, 3)]
    assert sticks.pseudo.tolist() == [[1, 1, 1], [2, 1, 1]]
    logits = np.array([[0.3, -1.2]])
    found = np.exp(sticks.log_probabilities(0, logits))[0]
    first, second = expit(0.3), expit(-1.2)
    expected = [(1 - first) * second, (1 - first) * (1 - second), first]
    assert_allclose(found, expected, rtol=1e-12)
    assert_allclose(found.sum(), 1.0)


def test_the_commonest_category_is_asked_for_first():
    schema, table = learn_schema([["b"], ["a"], ["b"], ["c"], ["b"], ["c"], [None]])
    assert learn_stick_breaking(schema, table, np.ones(7)).orders[0].tolist() == [1, 2, 0]
    weight = np.array([1, 9, 1, 1, 1, 1, 1.0])
    assert learn_stick_breaking(schema, table, weight).orders[0].tolist() == [0, 1, 2]


def test_bits_among_numbers_are_found():
    nan = np.nan
    table = np.array([[0, 1.5, 0, nan], [1, 2.5, 0, 1], [nan, 3.5, 0, 0]])
    schema, coded = promote_binary(*learn_schema(table))
    assert list(schema.kinds.values()) == ["binary", "continuous", "continuous", "binary"]
    assert coded.codes.tolist() == [[0, -1], [1, 1], [-1, 0]]
    assert coded.numeric[:, 0].tolist() == [1.5, 2.5, 3.5]
    again = schema.encode(table)
    assert again.codes.tolist() == coded.codes.tolist()
    pairs = np.array([[1, 0.5, 3, 1], [2, 1.5, 3, 2], [1, 0.5, 3, 3]])
    schema, coded = promote_binary(*learn_schema(pairs))
    # two whole numbers; two broken ones, one alone, and three may be anything
    assert list(schema.kinds.values()) == ["binary", "continuous", "continuous", "continuous"]
    assert schema.columns[0].categories == (1, 2)
    assert coded.codes.tolist() == [[0], [1], [0]]
    assert schema.encode(pairs).codes.tolist() == coded.codes.tolist()
    mixed = sp.csr_array([[0.0, 1.5], [1.0, 0.0]])
    assert set(promote_binary(*learn_schema(mixed))[0].kinds.values()) == {"continuous"}


def test_gradient_steps_raise_the_probability_of_the_labels():
    X, y = mixed_table(400, seed=3)
    X["length"] = X["length"] ** 3  # far from Gaussian: EM spends its strength there
    train, test = np.arange(400) < 250, np.arange(400) >= 250
    losses = []
    for discriminative in (False, True):
        model = quick(discriminative=discriminative, power_transform=False).fit(X[train], y[train])
        log_p = model.predict_log_proba(X[test])
        losses.append(-log_p[np.arange(150), y[test]].mean())
    assert model.n_steps_ > 0
    assert model.held_out_[model.n_steps_ // 5].min() == model.held_out_.min()
    assert model.temperature_ == (1.0, 1.5, 2.0, 3.0, 5.0)[model.held_out_.min(axis=0).argmin()]
    assert losses[1] < losses[0] - 0.01
    again = quick(discriminative=True, power_transform=False).fit(X[train], y[train])
    assert again.predict_log_proba(X[test]).tolist() == log_p.tolist()


@pytest.mark.filterwarnings("ignore::latentclass.exceptions.UnseenValueWarning")
def test_too_few_rows_to_hold_any_out_leave_it_at_em():
    X, y = mixed_table(8)
    model = quick(discriminative=True).fit(X.iloc[:6], [0, 0, 0, 1, 1, 1])
    assert model.n_steps_ == 0
    assert model.held_out_.size == 0
    assert np.isfinite(model.predict_proba(X)).all()
    assert len(y) == 8


def test_gradient_steps_go_with_calibration_and_missing_labels(few_steps):
    X, y = mixed_table(120, seed=4)
    labels = np.where(np.arange(120) % 4 == 0, None, y)
    model = quick(discriminative=True, calibrate=True, n_init=1, unlabelled_weight=0.1)
    model.fit(X, labels)
    assert model.calibration_
    assert np.isfinite(model.predict_proba(X)).all()


def exclusive_or(n_rows=200, n_columns=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n_rows, n_columns))
    return X, (X[:, 0] ^ X[:, 1]) ^ (rng.random(n_rows) < 0.1)


@pytest.mark.parametrize(("mixed", "n_components"), [(False, 2), (True, 1)])
def test_gradient_steps_see_weights_as_counts_and_no_order_of_rows(mixed, n_components, few_steps):
    X, y = exclusive_or(100)
    if mixed:
        X = np.column_stack([X, np.random.default_rng(1).normal(size=len(y)) + y])

    def fit(rows, weight=None):
        model = quick(n_init=2, n_components=n_components, discriminative=True)
        return model.fit(X[rows], y[rows], sample_weight=weight)

    # rows that weigh nothing, rows that weigh as their copies, in another order: all at once
    rng = np.random.default_rng(2)
    rows = np.arange(len(y))
    weight = rng.integers(0, 4, len(y))
    weighted = fit(rows, weight)
    copied = fit(rng.permutation(np.repeat(rows, weight)))
    assert weighted.n_steps_ == copied.n_steps_ > 0
    assert weighted.temperature_ == copied.temperature_
    assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-6)


def test_gradient_steps_are_the_same_for_a_sparse_table(few_steps):
    X, y = exclusive_or(n_columns=6, seed=1)
    assert len(set(X.sum(axis=0))) < 6  # some rows have one key and are told apart by levels alone
    dense = quick(n_init=2, discriminative=True).fit(X, y)
    bits = sp.csr_array(X.astype(float))
    sparse = quick(n_init=2, discriminative=True).fit(bits, y)
    assert dense.n_steps_ > 0
    assert_allclose(sparse.predict_proba(bits), dense.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_a_fifth_of_each_class_is_held_out_a_unit_of_weight_at_a_time(layout):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (100, 20)).astype(np.int32)
    y = np.repeat([0, 1, 2, -1], [50, 30, 4, 16])
    weight = np.ones(100)
    weight[0] = 50.0

    def share(rows, weight):
        nothing, n_levels = np.empty((len(rows), 0)), np.full(20, 2)
        table = nothing, layout(codes[rows]), y[rows], weight, n_levels
        return held_shares(gather_rows(*table, 0))[0]

    rows = np.arange(100)
    held = share(rows, weight)
    assert 19 <= held[:50] @ weight[:50] <= 21
    assert 5 <= held[50:80].sum() <= 7
    assert not held[80:].any()  # too small a class, and rows without a label
    assert_allclose(held[0], 0.2, atol=0.02)
    # a unit of weight is not broken but where a row of more than one ends
    assert set(held[50:80]) == {0.0, 1.0}
    order = rng.permutation(100)
    assert_allclose(share(order, weight[order]), held[order], atol=1e-12)
    copies = np.repeat(rows, weight.astype(int))
    assert_allclose(share(copies, np.ones(len(copies))), held[copies], atol=1e-12)


def test_a_class_that_a_fold_of_calibration_lacks_is_no_warning(few_steps):
    X, y = exclusive_or(30, 4)
    labels = np.r_[y[:29].astype(int), 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = HybridLCMClassifier(1, 1, n_init=1, calibrate=True, random_state=0).fit(X, labels)
    assert model.calibration_
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_fitted_model_does_not_look_at_parameters_of_fit(few_steps):
    X, y = exclusive_or()
    model = quick(discriminative=True).fit(X, y)
    expected = model.predict_proba(X)
    model.set_params(discriminative=False)
    assert model.predict_proba(X).tolist() == expected.tolist()


def test_a_long_tail_is_bent_and_outweighs_the_other_columns_no_more():
    X, y = mixed_table(400, seed=5)
    X["length"] = np.exp(X["length"])
    train, test = np.arange(400) < 200, np.arange(400) >= 200

    def loss(table, power_transform):
        model = quick(power_transform=power_transform).fit(table[train], y[train])
        return -model.predict_log_proba(table[test])[np.arange(200), y[test]].mean(), model

    straight, other = loss(X, power_transform=False)
    bent, model = loss(X, power_transform=True)
    assert bent < straight - 0.05
    by_logarithm, _ = loss(X.assign(length=np.log(X["length"])), power_transform=False)
    assert bent < by_logarithm + 0.1
    # straight, much of what is drawn is below all that was seen
    below = [
        np.mean(one.sample(4000, random_state=0)[0]["length"] < X["length"].min())
        for one in (other, model)
    ]
    assert below[1] < below[0] - 0.1


def test_a_bent_table_has_a_likelihood_in_its_own_units():
    X, y = mixed_table(150, seed=6)
    X["length"] = np.exp(X["length"])
    model = quick(n_init=1, predict_method="quadrature").fit(X, y)
    # the sum of log p(x, y) is above the bound that EM reached, in the columns' own units
    exact = model.predict_joint_log_proba(X)[np.arange(150), y].sum()
    assert 0 < exact - model.log_likelihood_ < 0.2 * 150
    row = X.iloc[[0]]
    grid = np.r_[-np.geomspace(1e-4, 500, 1500)[::-1], np.geomspace(1e-4, 1e4, 6000)]
    rows = pd.concat([row] * len(grid), ignore_index=True).assign(length=grid)
    density = np.exp(model.score_samples(rows))
    hidden = row.assign(length=np.nan)
    total = trapezoid(density, grid)
    assert_allclose(total, np.exp(model.score_samples(hidden))[0], rtol=1e-3)
    mean = trapezoid(density * grid, grid) / total
    assert_allclose(model.complete(hidden)["length"].iloc[0], mean, rtol=0.01)


def test_a_number_that_is_nearly_constant_tells_no_more_than_a_flag():
    X, y = mixed_table(150, seed=7)
    X["count"] = np.where(np.arange(150) == 3, 2, 1)
    model = quick().fit(X, y)
    assert model.schema_.kinds["count"] == "binary"
    assert model.schema_.columns[-1].categories == (1, 2)
    odd, even = (model.predict_log_proba(X.assign(count=count)) for count in (2, 1))
    assert np.abs(np.diff(odd - even, axis=1)).max() < 8
    # what was never seen is missing
    with pytest.warns(UnseenValueWarning, match="count: 150 cells hold values"):
        unseen = model.predict_proba(X.assign(count=3))
    assert_allclose(unseen, model.predict_proba(X.assign(count=np.nan)), rtol=1e-12)


def equal_counts(n_rows=120):
    """Bits of which columns 0 to 3 hold 1 in half of each class, in other rows each."""
    rng = np.random.default_rng(8)
    y = np.repeat([0, 1], n_rows // 2)
    half = np.repeat([0, 1], n_rows // 4)
    X = np.column_stack([np.r_[rng.permutation(half), rng.permutation(half)] for _ in range(4)])
    return np.column_stack([X, (X[:, 0] ^ y) & (rng.random(n_rows) < 0.8)]), y


@pytest.mark.parametrize(("layout", "n_components"), [(np.asarray, 2), (sp.csr_array, 1)])
def test_columns_of_equal_counts_may_trade_places(layout, n_components, few_steps):
    X, y = equal_counts()
    model = quick(n_init=2, n_components=n_components, discriminative=True)
    expected = model.fit(layout(X.astype(float)), y).predict_proba(layout(X.astype(float)))
    turned = layout(X[:, [3, 1, 4, 0, 2]].astype(float))
    assert_allclose(model.fit(turned, y).predict_proba(turned), expected, atol=1e-7)


def test_folds_of_calibration_do_not_hang_on_the_order_of_rows():
    X, y = mixed_table(120, seed=9)
    model = quick(n_init=2, calibrate=True).fit(X, y)
    rows = np.random.default_rng(0).permutation(120)
    turned = quick(n_init=2, calibrate=True).fit(X.iloc[rows], y[rows])
    assert model.calibration_["temperature"] != 1.0
    assert_allclose(
        turned.calibration_["temperature"], model.calibration_["temperature"], rtol=1e-6
    )
    assert_allclose(turned.predict_proba(X), model.predict_proba(X), atol=1e-6)


def test_with_gradient_steps_the_common_rules_hold_too(few_steps):
    """Those that the common tests check without the steps; samples and densities are not meant."""
    X, y = mixed_table(90, seed=10)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)

    def fit(table, labels, **options):
        return quick(n_init=2, discriminative=True, **options).fit(table, labels)

    model = fit(X, y)
    expected = model.predict_proba(X)
    assert model.n_steps_ > 0 or model.temperature_ != 1.0
    assert_allclose(fit(X, y, n_jobs=2).predict_proba(X), expected, rtol=1e-12)
    other = X.assign(length=1e3 * X["length"] + 70)
    assert_allclose(fit(other, y).predict_proba(other), expected, rtol=1e-6)
    turned = X[X.columns[::-1]]
    assert_allclose(fit(turned, y).predict_proba(turned), expected, rtol=1e-6)
    renamed = fit(X, np.array(["z", "a"])[y]).predict_proba(X)
    assert_allclose(renamed[:, ::-1], expected, rtol=1e-6)
    empty = X.iloc[:1].mask(np.ones((1, 5), dtype=bool))
    assert_allclose(model.predict_proba(empty)[0], model.class_prior_, rtol=1e-9)
    labels = np.where(np.arange(90) < 10, None, y.astype(object))
    assert np.isfinite(fit(X, labels, unlabelled_weight=0.1).predict_proba(X)).all()


def test_a_row_of_huge_weight_does_not_break_the_steps(few_steps):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = np.c_[rng.normal(size=60) + y, rng.random(60) < 0.5]
    weight = np.ones(60)
    weight[2] = 1e6
    model = HybridLCMClassifier(2, 1, n_init=2, random_state=0).fit(X, y, sample_weight=weight)
    assert np.isfinite(model.held_out_).all()
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    model.set_params(discriminative=False).fit(X, y)
    assert not hasattr(model, "held_out_")


def test_the_order_of_rows_decides_nothing_in_a_table_full_of_symmetry(few_steps):
    every = np.array(np.meshgrid(*[[0, 1]] * 5)).reshape(5, -1).T.astype(float)
    X = np.repeat(every, 3, axis=0)
    y = (X[:, 0] != X[:, 1]).astype(int)
    model = HybridLCMClassifier(2, 1, n_init=2, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    here = clone(model).fit(X, y).predict_proba(X)
    there = clone(model).fit(X[order], y[order]).predict_proba(X)
    assert_allclose(here, there, atol=1e-8)


def test_categories_that_tie_are_asked_for_in_one_order_whatever_the_rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.tile(["u", "v", "w"], 30), "b": rng.normal(size=90)})
    weight, y = np.tile(np.repeat([0.1, 0.2, 0.3], 3), 10), np.arange(90) % 2
    asked = []
    for order in (np.arange(90), rng.permutation(90), rng.permutation(90)):
        model = HybridLCMClassifier(1, 1, n_init=1, max_iter=3, tol=1.0, discriminative=False)
        model.fit(X.iloc[order], y[order], sample_weight=weight[order])
        asked.append(model.questions_)
    assert asked[0] == asked[1] == asked[2]


def test_the_grid_is_refused_by_the_size_that_was_fitted():
    X, y = mixed_table(60)
    model = HybridLCMClassifier(4, 1, n_init=1, tol=1.0, discriminative=False).fit(X, y)
    with pytest.raises(ValueError, match="n_latent of at most 3, got 4"):
        model.set_params(n_latent=2, predict_method="quadrature").predict(X)


def test_starts_that_would_fill_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr("latentclass._validation.MOST_BYTES", 2**10)
    X, y = mixed_table(60)
    message = (
        r"^3 starts with \d+ yes-or-no questions and 60 rows would need 0\.0 GiB of memory, above "
        r"the limit of 0 GiB\. Lower n_init or n_components, merge categories, or select columns "
        r"or rows\.$"
    )
    with pytest.raises(ValueError, match=message):
        HybridLCMClassifier(5, 1, n_init=3, random_state=0).fit(X, y)
