"""ProjectedNaiveBayes against scikit-learn's PCA + GaussianNB, QDA and GaussianMixture.

Limit: fit within 1.5 times the peer's. All by CPU time.

Short form: 20,000 rows, and 2,000 in the mixtures. `--full`: 50,000 and 200,000 rows, and 2,000 to
50,000 in the mixtures.
"""

from functools import partial

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _record import Run, best_times, iteration_times, make_parser
from latentclass.baselines import ProjectedNaiveBayes

N_COLUMNS, N_CLASSES, N_COMPONENTS = 20, 5, 4
LIMIT = 1.5


def make_table(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns, whose means and spread depend on the class."""
    rng = np.random.default_rng(0)
    # no axis is so short that QDA calls a class singular, as it did with any random matrix
    axes, _ = np.linalg.qr(rng.normal(size=(N_COLUMNS, N_COLUMNS)))
    mix = axes * np.geomspace(0.1, 10.0, N_COLUMNS) @ axes.T
    shift = rng.normal(size=N_COLUMNS)
    y = rng.integers(0, N_CLASSES, n_rows)
    noise = rng.normal(size=(n_rows, N_COLUMNS)) * (1.0 + 0.2 * y[:, None])
    return noise @ mix + y[:, None] * shift, y


def compare_fits(run: Run, n_rows: int) -> None:
    """Fits in closed form: all rows complete and labelled."""
    X, y = make_table(n_rows)
    pairs = {
        "PCA + GaussianNB": (
            "all axes",
            ProjectedNaiveBayes(prior=None),
            make_pipeline(StandardScaler(), PCA(), GaussianNB(var_smoothing=0)),
        ),
        "QDA": (
            "class axes",
            ProjectedNaiveBayes(axes="class", prior=None),
            QuadraticDiscriminantAnalysis(),
        ),
    }
    for name, (axes, ours, peer) in pairs.items():
        what = f"{axes}, {n_rows:,} x {N_COLUMNS}"
        models = {"ours": ours, "peer": peer}
        for act, rows, limit in (("fit", (X, y), LIMIT), ("predict_proba", (X,), None)):
            tasks = {who: partial(getattr(m, act), *rows) for who, m in models.items()}
            found = best_times(tasks, 3, clock="CPU")
            run.add_ratio(
                what, f"{act} / {name}", found["ours"], found["peer"], limit=limit, clock="CPU"
            )  # fmt: skip
        gap = np.abs(peer.predict_proba(X) - ours.predict_proba(X)).max()
        run.add(what, "largest difference in P(class)", float(gap))


def compare_clusters(run: Run, n_rows: int) -> None:
    """One EM iteration of mixtures of full Gaussians, all numbers of components together."""
    X, y = make_table(n_rows)

    def ours(n_iter: int) -> None:
        ProjectedNaiveBayes(
            axes="clusters", max_components=N_COMPONENTS, n_init=1, max_iter=n_iter, tol=0,
            random_state=0,
        ).fit(X, y)  # fmt: skip

    def peer(n_iter: int) -> None:
        for n_components in range(2, N_COMPONENTS + 1):
            GaussianMixture(
                n_components, init_params="random", max_iter=n_iter, tol=0, random_state=0
            ).fit(X)

    seconds = iteration_times({"ours": ours, "peer": peer})
    what = f"2 to {N_COMPONENTS} clusters, {n_rows:,} x {N_COLUMNS}"
    figure = "EM iteration / GaussianMixture(full)"
    run.add_ratio(what, figure, seconds["ours"], seconds["peer"], clock="CPU")


def main() -> None:
    options = make_parser(__doc__).parse_args()
    with Run(__file__, keep=options.full) as run:
        for n_rows in (50_000, 200_000) if options.full else (20_000,):
            compare_fits(run, n_rows)
        for n_rows in (2_000, 5_000, 20_000, 50_000) if options.full else (2_000,):
            compare_clusters(run, n_rows)


if __name__ == "__main__":
    main()
