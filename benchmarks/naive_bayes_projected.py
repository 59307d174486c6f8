"""ProjectedNaiveBayes against scikit-learn's PCA + GaussianNB, QDA and GaussianMixture.

Limit: fit within 1.5 times the peer's.

Short form: 20,000 rows, and 2,000 in the mixtures. `--full`: ten times as many.
"""

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
    y = rng.integers(0, N_CLASSES, n_rows)
    noise = rng.normal(size=(n_rows, N_COLUMNS)) * (1.0 + 0.2 * y[:, None])
    mix = rng.normal(size=(N_COLUMNS, N_COLUMNS))
    return noise @ mix + y[:, None] * rng.normal(size=N_COLUMNS), y


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
        fit = best_times({who: lambda m=m: m.fit(X, y) for who, m in models.items()}, 3)
        run.add_ratio(what, f"fit / {name}", fit["ours"], fit["peer"], limit=LIMIT)
        apply = best_times({who: lambda m=m: m.predict_proba(X) for who, m in models.items()}, 3)
        run.add_ratio(what, f"predict_proba / {name}", apply["ours"], apply["peer"])
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
    run.add_ratio(
        what, "EM iteration / GaussianMixture(full)", seconds["ours"], seconds["peer"]
    )  # fmt: skip


def main() -> None:
    options = make_parser(__doc__).parse_args()
    n_rows = 200_000 if options.full else 20_000
    with Run(__file__, keep=options.full) as run:
        compare_fits(run, n_rows)
        compare_clusters(run, n_rows // 10)


if __name__ == "__main__":
    main()
