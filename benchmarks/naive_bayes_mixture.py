"""MixtureNaiveBayes and FiniteMixtureNaiveBayes against loops over scikit-learn's GaussianMixture.

Both sides try the same numbers of components, with as many starts, the same tolerance and one
thread, and choose by BIC; scikit-learn's starts are its own (k-means), and all of them run to the
end, while ours are halved on the way. What was found is shown by the mean log p(x, class). Run by
`make bench`.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import warnings

import numpy as np
from _timing import best_times, peak_megabytes, print_table
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from latentclass.baselines import FiniteMixtureNaiveBayes, MixtureNaiveBayes

N_COLUMNS, N_CLASSES = 10, 3


def make_table(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Each class two clusters; the even columns see them, the odd ones are bell-shaped."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLASSES, n_rows)
    cluster = rng.random(n_rows) < 0.3 + 0.1 * y
    shift = np.where(np.arange(N_COLUMNS) % 2, 0.0, 3.0)
    return rng.normal(size=(n_rows, N_COLUMNS)) + 0.5 * y[:, None] + cluster[:, None] * shift, y


def best_mixture(X: np.ndarray, max_components: int, n_init: int) -> GaussianMixture:
    tried = [
        GaussianMixture(
            k, covariance_type="diag", n_init=n_init, tol=1e-4, max_iter=200, random_state=0
        ).fit(X)
        for k in range(1, max_components + 1)
    ]
    return min(tried, key=lambda mixture: mixture.bic(X))


def peer_columns(X: np.ndarray, y: np.ndarray, max_components: int, n_init: int) -> float:
    """Fit a mixture for each column in each class; mean log p(x | class) of the rows."""
    total = 0.0
    for k in np.unique(y):
        part = X[y == k]
        for j in range(X.shape[1]):
            column = part[:, [j]]
            total += best_mixture(column, max_components, n_init).score(column) * len(part)
    return total / len(X)


def peer_classes(X: np.ndarray, y: np.ndarray, max_components: int, n_init: int) -> float:
    """Fit a mixture for each class; mean log p(x | class) of the rows."""
    total = 0.0
    for k in np.unique(y):
        part = X[y == k]
        total += best_mixture(part, max_components, n_init).score(part) * len(part)
    return total / len(X)


def compare_one(name, model, peer, n_rows: int, repeats: int) -> dict:
    X, y = make_table(n_rows)
    settings = (model.max_components, model.n_init)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        times = best_times(
            {"peer": lambda: peer(X, y, *settings), "ours": lambda: model.fit(X, y)},
            repeats=repeats,
        )
        found = peer(X, y, *settings)
    shares = np.bincount(y) / len(y)
    return {
        "model": name,
        "rows": n_rows,
        "peer s": times["peer"],
        "ours s": times["ours"],
        "ratio": times["ours"] / times["peer"],
        "log p(x, class), peer": float(found + shares @ np.log(shares)),
        "ours": model.log_likelihood_ / n_rows,
        "ours: peak MB": peak_megabytes(lambda: model.fit(X, y)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 30_000])
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    rows = []
    for n_rows in options.rows:
        for name, model, peer in (
            ("NB/M", MixtureNaiveBayes(random_state=0), peer_columns),
            ("FM-NB", FiniteMixtureNaiveBayes(random_state=0), peer_classes),
        ):
            rows.append(compare_one(name, model, peer, n_rows, options.repeats))
    print_table(
        f"Mixtures chosen by BIC, {N_COLUMNS} columns, {N_CLASSES} classes, one thread", rows
    )


if __name__ == "__main__":
    main()
