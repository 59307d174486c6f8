"""MixtureNaiveBayes and FiniteMixtureNaiveBayes against loops over scikit-learn's GaussianMixture.

Both sides try the same numbers of components with as many starts, the same tolerance and one
thread, and choose by BIC. scikit-learn has its own starts (k-means) and runs all of them to the
end, while we drop the worse half on the way. The mean log p(x, class) shows what each side found.

Short form: 1,000 rows. `--full`: 1,000 and 30,000.
"""

from collections.abc import Callable

import numpy as np
from sklearn.mixture import GaussianMixture

from _record import Run, best_times, make_parser, peak_megabytes
from latentclass.baselines import FiniteMixtureNaiveBayes, MixtureNaiveBayes

N_COLUMNS, N_CLASSES = 10, 3


def make_table(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Each class has two clusters. The even columns show them, the odd ones are bell-shaped."""
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
    """Fit a mixture to each column in each class; mean log p(x | class) of the rows."""
    total = 0.0
    for k in np.unique(y):
        part = X[y == k]
        for j in range(X.shape[1]):
            column = part[:, [j]]
            total += best_mixture(column, max_components, n_init).score(column) * len(part)
    return total / len(X)


def peer_classes(X: np.ndarray, y: np.ndarray, max_components: int, n_init: int) -> float:
    """Fit a mixture to each class; mean log p(x | class) of the rows."""
    total = 0.0
    for k in np.unique(y):
        part = X[y == k]
        total += best_mixture(part, max_components, n_init).score(part) * len(part)
    return total / len(X)


def compare_one(
    run: Run, name: str, model: MixtureNaiveBayes | FiniteMixtureNaiveBayes,
    peer_name: str, peer: Callable[..., float], n_rows: int,
) -> None:  # fmt: skip
    X, y = make_table(n_rows)
    settings = (model.max_components, model.n_init)
    times = best_times(
        {"ours": lambda: model.fit(X, y), "peer": lambda: peer(X, y, *settings)}, repeats=2
    )
    what = f"{name}, {n_rows:,} x {N_COLUMNS}"
    run.add_ratio(what, f"fit / {peer_name}", times["ours"], times["peer"], limit=1.0)
    shares = np.bincount(y) / len(y)
    theirs = peer(X, y, *settings) + shares @ np.log(shares)
    run.add(what, "mean log p(x, class), ours", model.log_likelihood_ / n_rows)
    run.add(what, "mean log p(x, class), peer", float(theirs))
    run.add(what, "peak memory of fit", peak_megabytes(lambda: model.fit(X, y)), unit="MB")


def main() -> None:
    options = make_parser(__doc__).parse_args()
    with Run(__file__, keep=options.full) as run:
        for n_rows in (1000, 30_000) if options.full else (1000,):
            by_column = MixtureNaiveBayes(random_state=0)
            compare_one(run, "NB/M", by_column, "GaussianMixture per column", peer_columns, n_rows)
            by_class = FiniteMixtureNaiveBayes(random_state=0)
            compare_one(run, "FM-NB", by_class, "GaussianMixture per class", peer_classes, n_rows)


if __name__ == "__main__":
    main()
