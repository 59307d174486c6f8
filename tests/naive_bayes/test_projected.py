"""Naive Bayes along axes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from plain import NaiveBayes, ProjectedNaiveBayes

AXES = ["all", "leading", "factors", "class", "clusters"]


@pytest.fixture(params=[load_iris, load_wine], ids=["iris", "wine"])
def table(request):
    return request.param(return_X_y=True)


def two_clusters(n_rows=300, seed=0):
    """Two long clouds across each other; in each, the class is a side."""
    rng = np.random.default_rng(seed)
    cluster, y = rng.integers(0, 2, n_rows), rng.integers(0, 2, n_rows)
    along, across = rng.normal(0, 3, n_rows), rng.normal(0, 0.3, n_rows) + 0.8 * (y - 0.5)
    turned = np.where(cluster[:, None], np.c_[along, across], np.c_[across, along])
    return turned + 8.0 * cluster[:, None], y


def maximum_likelihood_gaussians(X, y):
    """log p(x, class) with each class's own mean and covariance, divisor N."""
    columns = []
    for k in np.unique(y):
        rows = X[y == k]
        log_density = multivariate_normal.logpdf(X, rows.mean(axis=0), np.cov(rows.T, bias=True))
        columns.append(np.log(np.mean(y == k)) + log_density)
    return np.column_stack(columns)


def test_class_axes_are_quadratic_discriminant_analysis(table):
    X, y = table
    model = ProjectedNaiveBayes(axes="class", prior=None).fit(X, y)
    expected = maximum_likelihood_gaussians(X, y)
    assert_allclose(model.predict_joint_log_proba(X), expected, rtol=1e-7)
    assert_allclose(model.log_likelihood_, expected[np.arange(len(y)), y].sum(), rtol=1e-9)
    # scikit-learn's versions divide by N or N - 1
    peer = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    for k, covariance in enumerate(peer.covariance_):
        ours = np.linalg.inv(model.axes_[k].T @ model.axes_[k])
        ratio = np.sum(y == k) / (np.sum(y == k) - 1)
        divisor = covariance[0, 0] / ours[0, 0]
        assert np.isclose(divisor, [1.0, ratio], rtol=1e-6).any()
        assert_allclose(ours * divisor, covariance, rtol=1e-5, atol=1e-8)
    assert np.mean(peer.predict(X) == model.predict(X)) > 0.99


def test_all_axes_are_principal_components_and_naive_bayes(table):
    X, y = table
    model = ProjectedNaiveBayes(prior=None).fit(X, y)
    scores = PCA().fit_transform(StandardScaler().fit_transform(X))
    peer = GaussianNB(var_smoothing=0).fit(scores, y)
    expected = peer.predict_log_proba(scores)
    assert_allclose(model.predict_log_proba(X), expected, rtol=1e-6, atol=1e-9)
    joint = peer.predict_joint_log_proba(scores) - np.log(X.std(axis=0)).sum()
    assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-8)
    u = (X - model.centres_[0]) @ model.axes_[0].T
    assert_allclose(np.abs(u), np.abs(scores / scores.std(axis=0)), rtol=1e-6, atol=1e-8)


def test_the_prior_is_that_of_naive_bayes_on_the_coordinates(table):
    X, y = table
    scores = PCA().fit_transform(StandardScaler().fit_transform(X))
    for prior in (0.5, 3.0):
        model = ProjectedNaiveBayes(prior=prior).fit(X, y)
        peer = NaiveBayes(prior=prior).fit(scores, y)
        assert_allclose(model.predict_log_proba(X), peer.predict_log_proba(scores), rtol=1e-6)


def test_leading_axes_are_the_first_principal_components(table):
    X, y = table
    scaled = StandardScaler().fit_transform(X)
    pca = PCA().fit(scaled)
    kept = int(np.sum(pca.explained_variance_ >= pca.explained_variance_.mean()))
    model = ProjectedNaiveBayes(axes="leading", prior=None).fit(X, y)
    assert model.n_axes_ == kept < X.shape[1]
    scores = pca.transform(scaled)
    peer = GaussianNB(var_smoothing=0).fit(scores[:, :kept], y)
    expected = peer.predict_log_proba(scores[:, :kept])
    assert_allclose(model.predict_log_proba(X), expected, rtol=1e-6, atol=1e-9)
    # along the others all classes have the density of all rows
    rest = scores[:, kept:]
    alike = multivariate_normal.logpdf(rest, np.zeros(rest.shape[1]), np.cov(rest.T, bias=True))
    joint = peer.predict_joint_log_proba(scores[:, :kept]) + alike[:, None]
    joint -= np.log(X.std(axis=0)).sum()
    assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-8)


def factor_table():
    """400 rows of ten columns that show two factors, whose means depend on the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    factors = rng.normal(size=(400, 2)) + np.column_stack([y, y == 1])
    loadings = np.kron(np.eye(2), np.ones(5)) + 0.3 * rng.normal(size=(2, 10))
    return factors @ loadings + rng.normal(size=(400, 10)), y


def test_factors_are_factor_analysis_and_naive_bayes():
    X, y = factor_table()
    model = ProjectedNaiveBayes(axes="factors", prior=None, tol=1e-13, max_components=2).fit(X, y)
    assert model.n_axes_ == 2
    scaled = StandardScaler().fit_transform(X)
    peer = FactorAnalysis(2, tol=1e-8, max_iter=3000, svd_method="lapack").fit(scaled)
    loadings, noise = peer.components_.T, peer.noise_variance_
    _, rotation = np.linalg.eigh((loadings.T / noise) @ loadings)
    scores = peer.transform(scaled) @ rotation
    expected = GaussianNB(var_smoothing=0).fit(scores, y).predict_proba(scores)
    assert_allclose(model.predict_proba(X), expected, atol=1e-5)


def test_the_number_of_factors_is_that_of_highest_bic():
    X, y = factor_table()
    model = ProjectedNaiveBayes(axes="factors", max_components=3, tol=1e-10).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    assert list(model.bic_) == [1, 2, 3]
    for q in (1, 2):
        peer = FactorAnalysis(q, tol=1e-6, max_iter=3000, svd_method="lapack").fit(scaled)
        n_parameters = {1: 10 + 20, 2: 20 - 1 + 20}[q]
        expected = peer.score(scaled) * 400 - 0.5 * n_parameters * np.log(400)
        assert_allclose(model.bic_[q], expected, rtol=1e-6)
    assert model.n_axes_ == 2 == max(model.bic_, key=model.bic_.get)
    # four columns determine no more than one
    few = ProjectedNaiveBayes(axes="factors").fit(X[:, :4], y)
    assert list(few.bic_) == [1]


@pytest.mark.parametrize("prior", [None, 1.0])
def test_one_cluster_is_all_axes(table, prior):
    X, y = table
    one = ProjectedNaiveBayes(axes="clusters", max_components=1, prior=prior).fit(X, y)
    every = ProjectedNaiveBayes(prior=prior).fit(X, y)
    assert_allclose(one.predict_log_proba(X), every.predict_log_proba(X), rtol=1e-9)


def test_clusters_are_scikit_learns_mixture():
    X, y = two_clusters()
    model = ProjectedNaiveBayes(
        axes="clusters", prior=None, max_components=3, tol=1e-10, max_iter=2000, random_state=0
    ).fit(X, y)
    assert model.n_components_ == 2
    peer = GaussianMixture(
        2, reg_covar=0, tol=1e-10, max_iter=2000, means_init=model.centres_, random_state=0
    ).fit(X)
    scale = np.log(X.std(axis=0)).sum()
    assert_allclose(model.history_[-1] - scale, peer.score(X), rtol=1e-7)
    # BIC by hand, in standardised columns: 2 means, 2 * 2; covariances, 2 * 3; shares, 1
    expected = (peer.score(X) + scale) * len(X) - 0.5 * 11 * np.log(len(X))
    assert_allclose(model.bic_[2], expected, rtol=1e-7)
    assert max(model.bic_, key=model.bic_.get) == 2

    # naive Bayes along each component's axes, rows shared out by the mixture
    share = peer.predict_proba(X)
    joint = np.empty((len(X), 2, 2))
    for m in range(2):
        unit = X.std(axis=0)
        covariance = peer.covariances_[m] / unit / unit[:, None]
        vectors = np.linalg.eigh(covariance)[1]
        u = X / unit @ vectors
        for k in range(2):
            w = share[y == k, m]
            mean = w @ u[y == k] / w.sum()
            variance = w @ (u[y == k] - mean) ** 2 / w.sum()
            joint[:, k, m] = multivariate_normal.logpdf(u, mean, np.diag(variance))
            joint[:, k, m] += np.log(w.sum() / len(X)) - scale
    assert_allclose(model.predict_joint_log_proba(X), logsumexp(joint, axis=2), rtol=1e-4)


def test_clusters_tell_what_one_set_of_axes_cannot():
    X, y = two_clusters()
    test, truth = two_clusters(seed=1)
    clusters, every = (
        ProjectedNaiveBayes(axes=axes, random_state=0).fit(X, y).score(test, truth)
        for axes in ("clusters", "all")
    )
    assert clusters > 0.85
    assert every < 0.7


def test_a_number_of_clusters_with_a_singular_one_is_not_chosen():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, np.r_[np.zeros(75), np.arange(75)]])  # half of it in one value
    model = ProjectedNaiveBayes(axes="clusters", prior=None, random_state=0).fit(X, y)
    assert model.n_components_ == 1
    assert -np.inf in model.bic_.values()
    assert ProjectedNaiveBayes(axes="clusters", random_state=0).fit(X, y).n_components_ > 1


@pytest.mark.parametrize("axes", AXES)
def test_missing_cells_are_integrated_out(axes):
    rng = np.random.default_rng(2)
    X, y = two_clusters()
    X = np.column_stack([X, X.sum(axis=1) + rng.normal(size=len(X))])
    X[rng.random(X.shape) < 0.1] = np.nan
    model = ProjectedNaiveBayes(axes=axes, random_state=0).fit(X, y)
    row = np.array([2.0, np.nan, np.nan])
    components = model._model.components
    means = components.gaussians.mean[0].reshape(-1, 3)
    spread = np.sqrt(np.diagonal(components.gaussians.covariance[0], axis1=2, axis2=3)).reshape(
        -1, 3
    )
    scaling = model._model.scaling
    low = (scaling.centre + scaling.unit * (means - 7 * spread).min(axis=0))[1:]
    high = (scaling.centre + scaling.unit * (means + 7 * spread).max(axis=0))[1:]
    grid = [np.linspace(a, b, 400) for a, b in zip(low, high, strict=True)]
    first, second = np.meshgrid(*grid, indexing="ij")
    rows = np.column_stack([np.full(first.size, row[0]), first.ravel(), second.ravel()])
    density = np.exp(model.predict_joint_log_proba(rows)).sum(axis=0)
    area = (grid[0][1] - grid[0][0]) * (grid[1][1] - grid[1][0])
    expected = model.predict_joint_log_proba(row[None])[0]
    assert_allclose(np.log(density * area), expected, rtol=1e-4)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("prior", [1.0, None])
def test_the_objective_never_falls_and_weights_are_copies(axes, prior):
    rng = np.random.default_rng(3)
    X, y = two_clusters(120)
    X[rng.random(X.shape) < 0.1] = np.nan
    labels = np.where(rng.random(120) < 0.3, None, y.astype(object))
    weight = rng.integers(1, 4, 120)
    settings = {"axes": axes, "prior": prior, "max_components": 3, "random_state": 0}
    weighted = ProjectedNaiveBayes(**settings).fit(X, labels, sample_weight=weight)
    rows = np.repeat(np.arange(120), weight)
    copied = ProjectedNaiveBayes(**settings).fit(X[rows], labels[rows])
    assert np.all(np.diff(weighted.history_) >= -1e-9)
    assert_allclose(
        weighted.predict_log_proba(X), copied.predict_log_proba(X), rtol=1e-6, atol=1e-8
    )
    assert_allclose(weighted.log_likelihood_, copied.log_likelihood_, rtol=1e-9)
    assert weighted.n_components_ == copied.n_components_


@pytest.mark.parametrize("axes", AXES)
def test_the_log_likelihood_is_that_of_the_answers(axes):
    rng = np.random.default_rng(4)
    X, y = load_iris(return_X_y=True)
    X[rng.random(X.shape) < 0.05] = np.nan
    X = np.column_stack([X, np.full(150, 3.0)])
    labels = np.where(rng.random(150) < 0.2, None, y.astype(object))
    weight = rng.uniform(0.5, 2, 150)
    model = ProjectedNaiveBayes(axes=axes, random_state=0, unlabelled_weight=1).fit(
        X, labels, sample_weight=weight
    )
    joint = model.predict_joint_log_proba(X)
    known = np.array([label is not None for label in labels])
    by_row = np.where(known, joint[np.arange(150), y], logsumexp(joint, axis=1))
    assert_allclose(model.log_likelihood_, weight @ by_row, rtol=1e-9)


def test_unlabelled_rows_move_the_axes_not_the_classes():
    X, y = two_clusters()
    labels = np.where(np.arange(len(y)) % 3, None, y.astype(object))
    model = ProjectedNaiveBayes(prior=None, unlabelled_weight=1).fit(X, labels)
    scores = PCA().fit_transform(StandardScaler().fit_transform(X))
    known = np.arange(len(y)) % 3 == 0
    peer = GaussianNB(var_smoothing=0).fit(scores[known], y[known])
    assert_allclose(model.predict_log_proba(X), peer.predict_log_proba(scores), rtol=1e-6)


def test_unlabelled_rows_count_for_the_classes_own_axes():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(5)
    hidden = rng.random(150) < 0.9
    labels = np.where(hidden, None, y.astype(object))
    with_all = ProjectedNaiveBayes(axes="class", unlabelled_weight=0.1).fit(X, labels)
    alone = ProjectedNaiveBayes(axes="class").fit(X[~hidden], y[~hidden])
    assert with_all.score(X, y) > alone.score(X, y)
    assert len(with_all.history_) > 3


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("prior", [1.0, None])
def test_copies_of_columns_and_a_class_of_one_row_do_no_harm(axes, prior):
    X, y = load_iris(return_X_y=True)
    X, y = np.r_[X, [[9.0, 9.0, 9.0, 9.0]]], np.r_[y, 3]
    settings = {"axes": axes, "prior": prior, "max_components": 3, "random_state": 0}
    copies = ProjectedNaiveBayes(**settings).fit(np.column_stack([X, X, X]), y)
    joint = copies.predict_joint_log_proba(np.column_stack([X, X, X]))
    assert np.isfinite(joint).all()
    posterior = copies.predict_proba(np.column_stack([X, X, X]))
    assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-9)
    assert np.mean(posterior.argmax(axis=1) == y) > 0.8


@pytest.mark.parametrize("prior", [1.0, None])
def test_copies_of_a_column_favour_no_class(prior):
    rng = np.random.default_rng(6)
    y = np.repeat([0, 1], [180, 20])
    x = rng.normal(y, 1.0)[:, None]
    alone = ProjectedNaiveBayes(prior=prior).fit(x, y).predict_log_proba(x)
    copies = np.repeat(x, 8, axis=1)
    for axes in ("all", "leading", "class"):
        model = ProjectedNaiveBayes(axes=axes, prior=prior).fit(copies, y)
        assert_allclose(model.predict_log_proba(copies), alone, rtol=1e-3, atol=1e-3)


def test_factors_of_copies_keep_their_scale():
    # once the latent scale drifted here, and the objective fell: a warning, which is an error
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 400)
    copies = np.repeat(rng.normal(y, 1.5)[:, None], 8, axis=1)
    model = ProjectedNaiveBayes(axes="factors", calibrate=True, random_state=0).fit(copies, y)
    assert model.n_axes_ == 1


def test_discrete_columns_are_those_of_naive_bayes():
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 100)
    words = np.array(["a", "b", "c"])[rng.integers(0, 2, 100) + y][:, None]
    for axes in AXES:
        model = ProjectedNaiveBayes(axes=axes).fit(words, y)
        peer = NaiveBayes().fit(words, y)
        assert_allclose(model.predict_log_proba(words), peer.predict_log_proba(words), rtol=1e-9)
        assert_allclose(model.probabilities_["x0"], peer.probabilities_["x0"], rtol=1e-12)


@pytest.mark.parametrize("axes", AXES)
def test_an_unseen_category_may_be_impossible(axes):
    X = [[1.0, "a"], [2.0, "a"], [3.5, "b"], [4.0, "b"], [5.0, None], [None, "b"]]
    y = [0, 0, 1, 1, None, 1]
    model = ProjectedNaiveBayes(axes=axes, alpha=0, max_components=2, random_state=0).fit(X, y)
    assert model.predict_proba([[4.0, "a"], [1.0, "b"]]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert np.isfinite(model.log_likelihood_)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("axes", AXES)
def test_a_category_of_rows_without_label_only(axes):
    X = [[1.0, "a"], [2.0, "a"], [3.5, "b"], [4.0, "b"], [5.0, "c"], [1.5, "c"]]
    y = [0, 0, 1, 1, None, None]
    model = ProjectedNaiveBayes(
        axes=axes, alpha=0, max_components=2, random_state=0, unlabelled_weight=1
    ).fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X)))
    # only the classes' own axes learn of the classes from such rows
    assert np.isfinite(model.log_likelihood_) == (axes == "class")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"axes": "some"}, "axes='some' must be one of 'all', 'leading', 'factors', 'class', 'cl"),
        ({"max_components": 0}, "max_components=0 must be a whole number of at least 1"),
        ({"prior": -1}, "prior=-1 must be a number of at least 0, or None"),
        ({"alpha": None}, "alpha=None must be a number of at least 0"),
        ({"n_init": 0}, "n_init=0 must be a whole number of at least 1"),
        ({"tol": np.nan}, "tol=nan must be a number of at least 0"),
    ],
)
def test_parameters_without_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ProjectedNaiveBayes(**settings).fit([[1.0], [2.0]], [0, 1])
