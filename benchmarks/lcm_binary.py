"""BinaryLCMClassifier's engine against the matrix products it cannot avoid; one thread.

Limits: an EM iteration three times three plain products, of the curvatures with the weights'
products, of these with the posterior moments, and of the curvatures with the moments (4,649 x 256,
q = 35, M = 1; 7,769 x 500 words of which 5 % occur, sparse, q = 20); predicting 4,649 rows over
10 classes ten such iterations. The rows are drawn from a model of that size, so no data is needed.
Also printed: gradient training of the conditional bound beside EM, for each class of a row.

    python benchmarks/lcm_binary.py
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp
from _timing import best_times, peak_megabytes, print_table

from latentclass import BinaryLCMClassifier
from latentclass.lcm._discriminative import ConditionalProblem
from latentclass.lcm._em import Prior
from latentclass.lcm._hybrid_em import HybridProblem
from latentclass.lcm._hybrid_posterior import raise_bounds

PRIOR = Prior(1.0, 1.0, 0.5, 1.0, 0.0, 1.0)


def draw_rows(n_rows: int, n: int, q: int, n_classes: int, level: float) -> tuple[np.ndarray, ...]:
    """Bits that a few latent variables set."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_rows)
    z = rng.normal(size=(n_classes, q))[y] + 0.7 * rng.normal(size=(n_rows, q))
    weights = rng.normal(0.0, 1.5 / np.sqrt(q), (q, n))
    return rng.random((n_rows, n)) < 1.0 / (1.0 + np.exp(-level - z @ weights)), y


def make_problem(X: object, y: np.ndarray, q: int) -> tuple[HybridProblem, BinaryLCMClassifier]:
    """The estimator's own problem, blocks and all."""
    model = BinaryLCMClassifier(q, n_init=1, random_state=0)
    training = model._read_training(X, y, None)
    from latentclass.lcm._stick_breaking import learn_stick_breaking

    model._sticks = learn_stick_breaking(model.schema_, training.table, training.weight)
    model._measure(training)
    data = model._gather_blocks(training, q, 1)
    return HybridProblem(data, 1, q, True, PRIOR), model


def products(n_rows: int, n: int, q: int) -> object:
    """The three products as plain matrices."""
    rng = np.random.default_rng(0)
    f = (q + 1) * (q + 2) // 2
    weights, rho, moments = rng.random((f, n)), rng.random((n, n_rows)), rng.random((f, n_rows))
    turned, back = np.ascontiguousarray(weights.T), np.ascontiguousarray(moments.T)

    def run() -> None:
        _ = weights @ rho
        _ = turned @ moments
        _ = rho @ back

    return run


def compare_iteration(what: str, X: object, y: np.ndarray, q: int) -> dict[str, object]:
    """One EM iteration beside the products."""
    problem, _ = make_problem(X, y, q)
    params = [problem.starts([np.random.default_rng(0)])]

    def ours() -> None:
        params[0] = problem.m_step(problem.e_step(params[0])[0])

    for _ in range(3):
        ours()
    n_rows, n = X.shape
    seconds = best_times({"peer": products(n_rows, n, q), "ours": ours})
    return {
        "what": f"EM iteration / three products, {what}",
        "ours ms": 1e3 * seconds["ours"],
        "peer ms": 1e3 * seconds["peer"],
        "ratio": seconds["ours"] / seconds["peer"],
        "limit": 3.0,
        "peak MB": peak_megabytes(ours),
    }


def compare_prediction(X: np.ndarray, y: np.ndarray, q: int) -> list[dict[str, object]]:
    """Bounds of all classes, and a gradient over all classes, beside an EM iteration."""
    problem, model = make_problem(X, y, q)
    params = problem.starts([np.random.default_rng(0)])
    for _ in range(15):
        params = problem.m_step(problem.e_step(params)[0])
    state = [params]

    def iteration() -> None:
        state[0] = problem.m_step(problem.e_step(state[0])[0])

    def predict() -> None:
        for block in problem.data.blocks:
            raise_bounds(params, block.rows)

    conditional = ConditionalProblem(problem.data, PRIOR, 0.0)
    xi = conditional.start_xi(params)
    seconds = best_times(
        {
            "iteration": iteration,
            "predict": predict,
            "gradient": lambda: conditional.gradient(params, xi),
        },
        repeats=3,
    )
    del model
    n_classes = int(y.max()) + 1
    return [
        {
            "what": what,
            "ours ms": 1e3 * seconds[name],
            "peer ms": 1e3 * seconds["iteration"],
            "ratio": seconds[name] / seconds["iteration"],
            "limit": limit,
            "peak MB": peak_megabytes(task),
        }
        for what, name, limit, task in (
            (
                f"predict {len(y):,} rows, {n_classes} classes / EM iteration",
                "predict",
                10.0,
                predict,
            ),
            (
                f"gradient of the conditional bound, {n_classes} classes / EM iteration",
                "gradient",
                "",
                lambda: conditional.gradient(params, xi),
            ),
        )
    ]


def main() -> None:
    images, digits = draw_rows(4649, 256, 35, 10, -0.5)
    words, topics = draw_rows(7769, 500, 20, 2, -4.5)
    sparse = sp.csr_array(words.astype(np.float64))
    rows = [
        compare_iteration("4,649 x 256, q = 35", images, digits, 35),
        compare_iteration(f"7,769 x 500 sparse ({words.mean():.0%}), q = 20", sparse, topics, 20),
        *compare_prediction(images, digits, 35),
    ]
    print_table("Binary LCM", rows)


if __name__ == "__main__":
    main()
