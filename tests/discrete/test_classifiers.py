"""TAN, BAN, K2, AODE and hidden naive Bayes as estimators, against counting by hand and Weka."""

import re
from importlib.util import find_spec
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.naive_bayes import CategoricalNB

from latentclass.discrete import _model
from latentclass.discrete._bins import learn_bins
from latentclass.estimator._bif import BifVariable, write_bif
from plain import (
    AODE,
    BAN,
    K2,
    TAN,
    HiddenNaiveBayes,
    HNBClassifier,
    LatentTreeClassifier,
    NaiveBayes,
)

NETWORKS = [TAN(), TAN(alpha=5, smoothing="marginal"), BAN(), BAN(class_arcs="fixed"), K2()]
MODELS = [*NETWORKS, AODE(), AODE(min_frequency=20), HiddenNaiveBayes()]


def name_of(model):
    return str(model)


@pytest.fixture
def table():
    """Four text columns that lean on each other, two classes, no holes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    a = rng.integers(0, 2, 200)
    b = np.where(rng.random(200) < 0.8, a, rng.integers(0, 3, 200))
    c = np.where(rng.random(200) < 0.5, y, rng.integers(0, 2, 200))
    d = np.where(rng.random(200) < 0.6, (b + y) % 3, rng.integers(0, 3, 200))
    X = pd.DataFrame({"a": a, "b": b, "c": c, "d": d}).map(lambda v: "xyz"[v])
    return X, np.array(["no", "yes"])[y]


def matching(whole, row):
    """Which complete rows agree with the observed cells of a row."""
    agree = np.ones(len(whole), dtype=bool)
    for name, value in zip(whole, row, strict=True):
        if isinstance(value, str):
            agree &= (whole[name] == value).to_numpy()
    return agree


def every_row(fitted, with_holes=False):
    levels = [list(c.categories) + [None] * with_holes for c in fitted.schema_.columns]
    return pd.DataFrame(list(product(*levels)), columns=fitted.schema_.names)


# ------------------------------------------------------------------ the full joint


def test_hidden_naive_bayes_is_no_joint_distribution(table):
    fitted = HiddenNaiveBayes().fit(*table)
    total = np.exp(fitted.predict_joint_log_proba(every_row(fitted))).sum()
    assert abs(total - 1.0) > 0.01


@pytest.mark.parametrize("model", MODELS[:-1], ids=name_of)
def test_joint_sums_to_one_and_holes_are_sums(model, table):
    fitted = clone(model).fit(*table)
    whole = every_row(fitted)
    joint = np.exp(fitted.predict_joint_log_proba(whole))
    assert_allclose(joint.sum(), 1.0, rtol=1e-10)
    holes = every_row(fitted, with_holes=True)
    got = np.exp(fitted.predict_joint_log_proba(holes))
    for row, value in zip(holes.to_numpy(), got, strict=True):
        assert_allclose(value, joint[matching(whole, row)].sum(axis=0), rtol=1e-9)


def shares_by_hand(X, y, child, parents, label, pseudo):
    """Smoothed shares of a column's categories for each configuration of its parents."""
    here = np.ones(len(X), dtype=bool) if label is None else y == label
    levels = sorted(X[child].dropna().unique())
    out = {}
    for config in product(*(sorted(X[p].dropna().unique()) for p in parents)):
        rows = here & np.all([X[p] == v for p, v in zip(parents, config, strict=True)], axis=0)
        counts = np.array([np.sum(rows & (X[child] == v)) for v in levels]) + pseudo(child, levels)
        out[config] = dict(zip(levels, counts / counts.sum(), strict=True))
    return out


@pytest.mark.parametrize("model", NETWORKS, ids=name_of)
def test_network_is_the_product_of_smoothed_shares(model, table):
    X, y = table
    fitted = clone(model).fit(X, y)
    marginal = getattr(model, "smoothing", "laplace") == "marginal"

    def pseudo(child, levels):
        if marginal:
            return 5 * np.array([np.mean(X[child] == v) for v in levels])
        return np.ones(len(levels))

    got = fitted.predict_joint_log_proba(X)
    shares = [np.mean(y == k) for k in ("no", "yes")]
    assert_allclose(fitted.class_prior_, shares)
    expected = np.tile(np.log(shares), (len(X), 1))
    for k, label in enumerate(["no", "yes"]):
        for child, parents in fitted.parents_.items():
            given = label if fitted.depends_on_class_[child] else None
            shares = shares_by_hand(X, y, child, parents, given, pseudo)
            for i in range(len(X)):
                config = tuple(X[p].iloc[i] for p in parents)
                expected[i, k] += np.log(shares[config][X[child].iloc[i]])
    assert_allclose(got, expected, rtol=1e-9)


def test_tan_takes_the_tree_of_most_information(table):
    X, y = table
    fitted = TAN().fit(X, y)
    arcs = {frozenset((child, *ps)) for child, ps in fitted.parents_.items() if ps}
    assert frozenset("ab") in arcs
    assert frozenset("bd") in arcs
    assert sum(not ps for ps in fitted.parents_.values()) == 1


@pytest.mark.parametrize("root", ["c", 2, -2])
def test_tan_root_moves_arrows_not_edges(table, root):
    X, y = table
    fitted = TAN(root=root).fit(X, y)
    assert fitted.parents_["c"] == ()
    edges = [
        {frozenset((child, *ps)) for child, ps in f.parents_.items() if ps}
        for f in (fitted, TAN().fit(X, y))
    ]
    assert edges[0] == edges[1]
    # without smoothing all roots are the same distribution
    one, other = (TAN(alpha=0, root=r).fit(X, y) for r in ("a", "d"))
    assert_allclose(one.predict_joint_log_proba(X), other.predict_joint_log_proba(X), rtol=1e-9)


def test_tan_root_of_one_level_is_left_to_the_rest(table):
    X, y = table
    assert "e" not in TAN(root="e").fit(X.assign(e="same"), y).parents_


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (TAN(root="z"), r"root='z' is not a column of X. Columns: \['a', 'b', 'c', 'd'\]"),
        (TAN(root=9), "root=9 is not a column of X"),
        (TAN(root=1.5), "root=1.5 must be a column's name, its position, or None"),
        (TAN(smoothing="none"), "smoothing='none' must be one of 'laplace', 'marginal'"),
        (TAN(alpha=-1), "alpha=-1 must be a number of at least 0"),
        (BAN(criterion="mdl"), "criterion='mdl' must be one of 'aic', 'bic', 'k2'"),
        (BAN(criterion="k2", alpha=0), "alpha=0 must be a number above 0"),
        (BAN(max_parents=1.5), "max_parents=1.5 must be a whole number of at least 0, or None"),
        (BAN(class_arcs="no"), "class_arcs='no' must be one of 'search', 'fixed'"),
        (K2(max_parents=0), "max_parents=0 must be a whole number of at least 1"),
        (K2(order="x"), "order='x' must be one of 'information', 'columns'"),
        (AODE(min_frequency=-1), "min_frequency=-1 must be a number of at least 0"),
        (HiddenNaiveBayes(alpha=0), "alpha=0 must be a number above 0"),
        (TAN(n_init=0), "n_init=0 must be a whole number of at least 1"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value),
)
def test_impossible_parameters_are_refused(model, message, table):
    with pytest.raises(ValueError, match=message):
        model.fit(*table)


def test_without_arcs_all_networks_are_naive_bayes(table):
    X, y = table
    codes = np.stack([np.searchsorted(sorted(X[c].unique()), X[c]) for c in X], axis=1)
    peer = CategoricalNB(alpha=1.0).fit(codes, y)
    bare = peer.predict_joint_log_proba(codes) - peer.class_log_prior_
    for model in (K2(max_parents=1), BAN(max_parents=0, class_arcs="fixed")):
        fitted = model.fit(X, y)
        joint = fitted.predict_joint_log_proba(X) - np.log(fitted.class_prior_)
        assert_allclose(joint, bare, rtol=1e-9)
        assert_allclose(fitted.predict_proba(X), peer.predict_proba(codes), rtol=1e-9)
    single = X[["b"]]
    expected = CategoricalNB(alpha=1.0).fit(codes[:, [1]], y).predict_proba(codes[:, [1]])
    for model in (TAN(alpha=1.0), BAN(), K2()):
        assert_allclose(model.fit(single, y).predict_proba(single), expected, rtol=1e-9)


def test_xor_is_beyond_naive_bayes_only():
    X = pd.DataFrame(list(product("ab", "ab", "ab")) * 8, columns=list("pqr"))
    y = (X["p"] == X["q"]).to_numpy()
    for model in (TAN(), BAN(), K2(), AODE(), HiddenNaiveBayes()):
        assert np.mean(model.fit(X, y).predict(X) == y) == 1.0
    assert np.mean(NaiveBayes().fit(X, y).predict(X) == y) < 0.8


# ------------------------------------------------------------------ Weka 3.6.14

# Weka 3.6.14 trained and tested on all of scikit-learn's wine, columns cut by Fayyad and Irani's
# rule: correct predictions, and class probabilities (Weka prints three digits) of its least sure
# rows. Options: BayesNet -D -Q ...local.TAN -- -S ENTROPY; AODE; AODE -F 30; HNB;
# BayesNet -D -Q ...local.K2 -- -P 2; SimpleEstimator -A 0.5 for both networks.
WEKA = [
    (
        TAN(alpha=0.5, root=6),
        175,
        {73: [0.655, 0.344, 0.0], 68: [0.0, 0.329, 0.670], 83: [0.012, 0.271, 0.717]},
    ),
    (
        AODE(),
        177,
        {73: [0.496, 0.502, 0.002], 118: [0.125, 0.819, 0.056], 83: [0.003, 0.112, 0.886]},
    ),
    (
        AODE(min_frequency=30),
        176,
        {73: [0.516, 0.481, 0.003], 118: [0.139, 0.790, 0.072], 75: [0.041, 0.925, 0.034]},
    ),
    (
        HiddenNaiveBayes(),
        176,
        {73: [0.654, 0.345, 0.001], 83: [0.009, 0.319, 0.671], 68: [0.011, 0.804, 0.185]},
    ),
    (
        K2(alpha=0.5, order="columns"),
        177,
        {73: [0.344, 0.656, 0.0], 83: [0.0, 0.143, 0.857], 4: [0.924, 0.076, 0.0]},
    ),
]


@pytest.mark.parametrize(("model", "correct", "rows"), WEKA, ids=name_of)
def test_figures_of_weka(model, correct, rows):
    X, y = load_wine(return_X_y=True)
    fitted = clone(model).fit(X, y)
    # Weka smooths the classes too
    pseudo = 1 / 3 if isinstance(model, HiddenNaiveBayes.kind) else 0.5
    counts = np.bincount(y) + pseudo
    priors = fitted.averaged_prior_ if isinstance(model, AODE.kind) else counts / counts.sum()
    assert np.sum(fitted.predict(X, priors=priors) == y) == correct
    proba = fitted.predict_proba(X, priors=priors)
    for row, expected in rows.items():
        assert_allclose(proba[row], expected, atol=0.00051)


def test_weka_finds_the_same_tree_on_iris():
    fitted = TAN(alpha=0.5, root=2).fit(*load_iris(return_X_y=True))
    assert fitted.parents_ == {"x0": ("x2",), "x1": ("x0",), "x2": (), "x3": ("x2",)}


@pytest.mark.skipif(find_spec("skbn") is None, reason="scikit-bayes (skbn) is not installed")
def test_aode_is_that_of_scikit_bayes(table):
    from skbn import AnDE

    X, y = table
    codes = np.stack([np.searchsorted(sorted(X[c].unique()), X[c]) for c in X], axis=1)
    theirs = AnDE(n_dependence=1, alpha=1.0).fit(codes, y).predict_proba(codes)
    fitted = AODE().fit(X, y)
    ours = fitted.predict_proba(X, priors=fitted.averaged_prior_)
    assert_allclose(ours, theirs, atol=1e-6)


# ----------------------------------------------------------------------- BIF


def posteriors_by_pyagrum(path, rows, class_name):
    import pyagrum

    engine = pyagrum.LazyPropagation(pyagrum.loadBN(str(path)))
    out = []
    for row in rows:
        engine.setEvidence(row)
        engine.makeInference()
        out.append(engine.posterior(class_name).tolist())
    return np.array(out)


def posteriors_by_pgmpy(path, rows, class_name):
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    network = BIFReader(str(path)).get_model()
    assert network.check_model()
    states = network.get_cpds(class_name).state_names[class_name]
    out = []
    for row in rows:
        found = VariableElimination(network).query([class_name], row, show_progress=False)
        out.append([found.get_value(**{class_name: s}) for s in states])
    return np.array(out)


READERS = [
    pytest.param(
        function,
        marks=[
            pytest.mark.skipif(find_spec(name) is None, reason=f"{name} is not installed"),
            pytest.mark.filterwarnings("ignore"),
        ],
        id=name,
    )
    for name, function in [("pyagrum", posteriors_by_pyagrum), ("pgmpy", posteriors_by_pgmpy)]
]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("model", NETWORKS, ids=name_of)
def test_bif_gives_the_same_posteriors_elsewhere(model, read, table, tmp_path):
    X, y = table
    X = X.rename(columns={"a": "class", "b": "b b"}).replace({"d": {"x": "1.5"}})
    fitted = clone(model).fit(X, y)
    fitted.to_bif(tmp_path / "model.bif")
    rows = X.iloc[:12].copy()
    rows.iloc[::2, 0] = None
    rows.iloc[::3, 1] = None
    names = {"class": "class", "b b": "b_b", "c": "c", "d": "d"}
    evidence = [
        {names[c]: ("s1_5" if v == "1.5" else v) for c, v in row.items() if isinstance(v, str)}
        for row in rows.to_dict("records")
    ]
    got = read(tmp_path / "model.bif", evidence, "class_")
    assert_allclose(got, fitted.predict_proba(rows), rtol=1e-5, atol=1e-6)


def test_bif_text_can_be_read_by_eye():
    X = [["u", 0.1], ["v", 0.2], ["u", 5.1], ["v", 5.2]] * 10
    y = [0, 0, 1, 1] * 10
    text = TAN(alpha=0).fit(X, y).to_bif()
    assert "variable x1 {\n  type discrete [ 2 ] { bin0, bin1 };" in text
    assert "probability ( class ) {\n  table 0.5, 0.5;\n}" in text
    assert "probability ( x1 | class ) {\n  (s0) 1.0, 0.0;\n  (s1) 0.0, 1.0;\n}" in text


def test_bif_spells_names_that_every_reader_takes():
    odd = BifVariable("a b", ["1", "x;y", "é", "ö"], (), np.full(4, 0.25))
    same = BifVariable("a-b", ["x", "y"], (), np.full(2, 0.5))
    text = write_bif([odd, same])
    assert "variable a_b {\n  type discrete [ 4 ] { s1, x_y, s_, s__2 };" in text
    assert "variable a_b_2 {" in text
    assert 'property states = "1, x,y, é, ö" ;' in text


# ------------------------------------------------------- numbers, holes, completion


def test_numbers_inside_bins_have_a_density():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    X = (rng.normal(size=180) + 4 * y)[:, None]
    fitted = TAN().fit(X, y)
    cuts = fitted.cut_points_["x0"]
    assert len(cuts) == 2
    grid = np.sort(np.r_[np.linspace(-30, 40, 20001), cuts, np.nextafter(cuts, np.inf)])
    density = np.exp(fitted.score_samples(grid[:, None]))
    assert_allclose(trapezoid(density, grid), 1.0, rtol=1e-6)
    drawn, labels = fitted.sample(20_000, random_state=0)
    for label in range(3):
        middle = fitted.complete([[np.nan]])[0, 0]
        assert np.isfinite(middle)
        assert_allclose(drawn[labels == label].mean(), X[y == label].mean(), atol=0.4)
    assert_allclose(np.histogram(drawn, [-99, *cuts, 99])[0] / 20_000, [1 / 3] * 3, atol=0.02)
    best = fitted.complete([[np.nan]], how="most_probable")[0, 0]
    assert density.max() <= np.exp(fitted.score_samples([[best]]))[0] * (1 + 1e-9)
    assert np.isfinite(fitted.score_samples([[1e300]])).all()


def test_half_a_gaussian_has_the_mean_of_the_rows():
    values, cuts = np.array([0.0, 1.0, 2.0, 6.0, 8.0, 11.0, np.nan]), np.array([3.0, 7.0])
    bins = learn_bins(values, np.ones(7), cuts)
    assert_allclose(bins.mean, [1.0, 5.0, 9.5])
    drawn = bins.draw(np.repeat([0, 1, 2], 40_000).astype(np.int32), np.random.default_rng(0))
    assert bins.codes(drawn).tolist() == np.repeat([0, 1, 2], 40_000).tolist()
    assert_allclose(drawn.reshape(3, -1).mean(axis=1), bins.mean, atol=0.02)


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_most_probable_completion_is_the_best_of_all_rows(model, table, monkeypatch):
    X, y = table
    fitted = clone(model).fit(X, y)
    whole = every_row(fitted)
    best = fitted.predict_joint_log_proba(whole).max(axis=1)
    holes = every_row(fitted, with_holes=True)

    def check(filled):
        value = fitted.predict_joint_log_proba(filled).max(axis=1)
        for row, v in zip(holes.to_numpy(), value, strict=True):
            assert_allclose(v, best[matching(whole, row)].max(), rtol=1e-9)

    check(fitted.complete(holes, how="most_probable"))
    # cell by cell it can only be as good; where one cell is missing it is the best
    monkeypatch.setattr(_model, "MAX_COMPLETIONS", 0)
    holes = holes[holes.isna().sum(axis=1) <= 1]
    check(fitted.complete(holes, how="most_probable"))


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_samples_have_the_model_s_probabilities(model, table):
    X, y = table
    fitted = clone(model).fit(X, y)
    drawn, labels = fitted.sample(20_000, random_state=0)
    shares = pd.crosstab([drawn["a"], drawn["b"]], labels, normalize=True)
    expected = pd.crosstab([X["a"], X["b"]], y, normalize=True)
    assert_allclose(shares.reindex(expected.index, fill_value=0), expected, atol=0.06)


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_tables_without_any_use(model):
    fitted = clone(model).fit([["same", 1.0], ["same", 1.0], ["same", 1.0]], [0, 1, 1])
    assert_allclose(fitted.predict_proba([["same", 1.0]]), [[1 / 3, 2 / 3]])
    assert fitted.complete([[None, np.nan]])[0, 0] == "same"
    assert fitted.complete([[None, np.nan]], how="most_probable")[0, 1] == 1.0
    assert fitted.sample(3)[0][0, 0] == "same"


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_unlabelled_rows_help_where_classes_are_clear(model):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 400)
    X = np.where(rng.random((400, 8)) < 0.85, y[:, None], 1 - y[:, None])
    X = pd.DataFrame(X).map(lambda v: "ab"[v])
    X.columns = [f"c{j}" for j in range(8)]
    few = np.r_[np.flatnonzero(y == 0)[:3], np.flatnonzero(y == 1)[:3]]
    labels = np.full(400, None, dtype=object)
    labels[few] = y[few]
    fitted = clone(model).set_params(n_init=2, random_state=0, max_iter=500).fit(X, labels)
    assert fitted.converged_
    assert np.all(np.diff(fitted.history_) >= -1e-10)
    if not isinstance(model, BAN.kind):
        alone = clone(model).fit(X.iloc[few], y[few])
        assert np.mean(fitted.predict(X) == y) >= np.mean(alone.predict(X) == y) - 0.02


def test_influence_sums_to_one_over_the_other_columns(table):
    X, y = table
    influence = HiddenNaiveBayes().fit(X.assign(e="same"), y).influence_
    assert influence.shape == (5, 5)
    assert_allclose(influence.sum(axis=1), [1, 1, 1, 1, 0])
    assert np.all(np.diag(influence) == 0)


@pytest.mark.filterwarnings("ignore:y has a single class")
def test_hidden_naive_bayes_draws_columns_without_information(table):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"p": list("ab") * 50, "q": rng.choice(["u", "v"], 100)})
    drawn, _ = HiddenNaiveBayes().fit(X[["p"]], ["k"] * 100).sample(50, random_state=0)
    assert set(drawn["p"]) == {"a", "b"}


def test_sparse_tables_are_read():
    sp = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.5, (80, 5)).astype(float)
    y = dense[:, 0] + dense[:, 1] > 1
    expected = TAN().fit(dense, y).predict_proba(dense)
    assert_allclose(TAN().fit(sp.csr_array(dense), y).predict_proba(dense), expected, rtol=1e-12)


def test_log_likelihood_is_that_of_the_training_rows(table):
    X, y = table
    X = X.mask(np.random.default_rng(3).random(X.shape) < 0.1)
    for model in (TAN(), AODE()):
        fitted = model.fit(X, y)
        joint = fitted.predict_joint_log_proba(X)
        expected = joint[np.arange(200), np.searchsorted(fitted.classes_, y)].sum()
        assert_allclose(fitted.log_likelihood_, expected, rtol=1e-12)


def test_a_column_of_two_numbers_is_binary_whatever_its_type():
    """Neither column tells anything alone, so the MDL rule makes no cut."""
    a, b = np.tile([0, 0, 1, 1], 50), np.tile([0, 1, 0, 1], 50)
    y = a ^ b
    numbers = pd.DataFrame({"a": a * 5.0, "b": np.where(np.arange(200) < 4, np.nan, b), "c": 1.0})
    fitted = TAN().fit(numbers, y)
    assert {name: cuts.tolist() for name, cuts in fitted.cut_points_.items()} == {
        "a": [2.5], "b": [0.5], "c": [],
    }  # fmt: skip
    as_text = numbers.astype({"a": "str"}).assign(b=numbers["b"].map({0.0: "n", 1.0: "y"}))
    other = TAN().fit(as_text[["a", "b"]], y)
    assert_allclose(fitted.predict_proba(numbers), other.predict_proba(as_text[["a", "b"]]))
    assert fitted.score(numbers[4:], y[4:]) == 1.0


# ------------------------------------------------------------------ sizes


def test_a_tree_from_blocks_of_columns_is_the_same(table, monkeypatch):
    expected = TAN().fit(*table)
    monkeypatch.setattr("latentclass.engine._counts.WHOLE_BYTES", 0)
    monkeypatch.setattr("latentclass.engine._counts.BLOCK_BYTES", 100)
    assert TAN().fit(*table).parents_ == expected.parents_


@pytest.mark.parametrize("model", [AODE(), HiddenNaiveBayes()], ids=name_of)
def test_tables_of_pairs_that_would_fill_the_memory_are_refused(model, table, monkeypatch):
    monkeypatch.setattr("latentclass._validation.MOST_BYTES", 2**10)
    message = (
        "Tables of all pairs of the 10 levels of 4 columns (column 'b' has the most, 3) would need "
        "0.0 GiB of memory, above the limit of 0 GiB. Select the columns that say most about the "
        "class, merge categories, or use NaiveBayes or TAN."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.fit(*table)


@pytest.mark.parametrize(
    "model", [BAN(), K2(), HNBClassifier(), LatentTreeClassifier()], ids=name_of
)
def test_searches_over_too_many_columns_are_refused(model, table, monkeypatch):
    monkeypatch.setattr("latentclass.discrete._base.MOST_SEARCHED", 3)
    message = (
        f"{type(model).__name__} compares all pairs of columns in its search, and X "
        "has 4 that vary, above its limit of 3. Select the columns that say most about the class, "
        "or use NaiveBayes or TAN."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.fit(*table)
