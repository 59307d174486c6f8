"""The engine of BinaryLCMClassifier against the matrix products it cannot avoid.

An EM iteration beside three plain products: of the curvatures with the weights' products, of these
with the posterior moments, and of the curvatures with the moments. Then prediction over ten
classes, and a gradient of the conditional bound, beside an EM iteration. Limits: three times the
products; predicting, until the bounds have converged, in 25 iterations. The rows are drawn from a
model of that size, so no data are needed.

Short form: 1,000 images and 1,000 texts. `--full`: images 4,649 x 256 with q = 35, and texts of
7,769 x 500 words of which 5 % occur, sparse, with q = 20.
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from _record import CLOCKS, Run, best_times, make_parser, peak_megabytes
from latentclass.data._schema import block_spans
from latentclass.lcm._discriminative import ConditionalProblem
from latentclass.lcm._em import Prior
from latentclass.lcm._hybrid_data import gather_blocks
from latentclass.lcm._hybrid_em import HybridProblem
from latentclass.lcm._hybrid_posterior import raise_bounds
from latentclass.lcm._logistic_bound import HybridRows

PRIOR = Prior(1.0, 1.0, 0.5, 1.0, 0.0, 1.0)


def draw_rows(
    n_rows: int, n: int, q: int, n_classes: int, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Bits that a few latent variables set."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_rows)
    z = rng.normal(size=(n_classes, q))[y] + 0.7 * rng.normal(size=(n_rows, q))
    weights = rng.normal(0.0, 1.5 / np.sqrt(q), (q, n))
    return rng.random((n_rows, n)) < 1.0 / (1.0 + np.exp(-level - z @ weights)), y


def make_problem(bits: np.ndarray, y: np.ndarray, q: int, *, sparse: bool) -> HybridProblem:
    """EM with one component, on blocks of rows as the estimator makes them."""
    n_rows, n = bits.shape
    parts = []
    for span in block_spans(n_rows, (count_features(q) + 3 * n) // 8, least=16):
        signs = (2 * bits[span].astype(np.int8) - 1).T
        if sparse:
            signs = sp.csr_array(bits[span].astype(np.float64)).T.tocsr()
        rows = HybridRows(np.empty((0, signs.shape[1])), signs)
        parts.append((rows, y[span], np.ones(signs.shape[1])))
    data = gather_blocks(parts, int(y.max()) + 1, np.ones((2, n)))
    return HybridProblem(data, 1, q, True, PRIOR)


def count_features(q: int) -> int:
    """Products of two of q latent variables and 1."""
    return (q + 1) * (q + 2) // 2


def make_products(n_rows: int, n: int, q: int) -> Callable[[], None]:
    """The three products as plain matrices."""
    rng = np.random.default_rng(0)
    f = count_features(q)
    weights, rho, moments = rng.random((f, n)), rng.random((n, n_rows)), rng.random((f, n_rows))
    turned, back = np.ascontiguousarray(weights.T), np.ascontiguousarray(moments.T)

    def multiply() -> None:
        _ = weights @ rho
        _ = turned @ moments
        _ = rho @ back

    return multiply


def make_iteration(problem: HybridProblem, n_before: int) -> tuple[Callable[[], None], list]:
    """An EM iteration after some others, and the list that holds its parameters."""
    params = [problem.starts([np.random.default_rng(0)])]

    def iterate() -> None:
        params[0] = problem.m_step(problem.e_step(params[0])[0])

    for _ in range(n_before):
        iterate()
    return iterate, params


def compare_iteration(
    run: Run, what: str, bits: np.ndarray, y: np.ndarray, q: int, *, sparse: bool
) -> None:
    """One EM iteration beside the products."""
    ours, _ = make_iteration(make_problem(bits, y, q, sparse=sparse), 3)
    tasks = {"ours": ours, "peer": make_products(*bits.shape, q)}
    for clock in CLOCKS:
        seconds = best_times(tasks, clock=clock)
        run.add_ratio(
            what, "EM iteration / three products", seconds["ours"], seconds["peer"], limit=3.0,
            clock=clock,
        )  # fmt: skip
    run.add(what, "peak memory of an EM iteration", peak_megabytes(ours), unit="MB")


def compare_prediction(run: Run, what: str, bits: np.ndarray, y: np.ndarray, q: int) -> None:
    """Bounds of all classes, and a gradient over all classes, beside an EM iteration."""
    problem = make_problem(bits, y, q, sparse=False)
    iterate, params = make_iteration(problem, 15)
    learned = params[0]
    conditional = ConditionalProblem(problem.data, PRIOR, 0.0)
    xi = conditional.begin(learned)

    def predict() -> None:
        for block in problem.data.blocks:
            raise_bounds(learned, block.rows)

    tasks = {
        "iteration": iterate,
        "predict": predict,
        "gradient": lambda: conditional.gradient(learned, xi),
    }
    n_classes = int(y.max()) + 1
    for clock in CLOCKS:
        seconds = best_times(tasks, repeats=3, clock=clock)
        for name, limit in (("predict", 25.0), ("gradient", None)):
            run.add_ratio(
                what, f"{name}, {n_classes} classes / EM iteration", seconds[name],
                seconds["iteration"], limit=limit, clock=clock,
            )  # fmt: skip
    run.add(what, "peak memory of prediction", peak_megabytes(predict), unit="MB")


def main() -> None:
    options = make_parser(__doc__).parse_args()
    n_images, n_texts = (4649, 7769) if options.full else (1000, 1000)
    images = draw_rows(n_images, 256, 35, 10, -0.5)
    words = draw_rows(n_texts, 500, 20, 2, -4.5)
    shown = f"images {n_images:,} x 256, q = 35"
    with Run(__file__, keep=options.full) as run:
        compare_iteration(run, shown, *images, 35, sparse=False)
        compare_iteration(run, f"words {n_texts:,} x 500, q = 20", *words, 20, sparse=True)
        compare_prediction(run, shown, *images, 35)


if __name__ == "__main__":
    main()
