"""`explain` of one row and `predict_proba` of as many rows as there are columns, every estimator.

The weight of evidence of an attribute needs the row once more without it, so a row of n columns is
worth n predictions. Once the rows are complete, once half of their cells are missing.
Limit: explaining a row takes at most 3 times as long as one call that predicts n such rows.

Models that change only what a column touches explain a row of a wide table beside one call that
predicts 100 such rows.

Short form: 32 columns, wide 500. `--full`: 64 columns, wide 5,000.
"""

import numpy as np

from _record import Run, best_times, make_parser
from latentclass import (
    BinaryLCMClassifier,
    BinaryLCMClassifierCV,
    HNBClassifier,
    HybridLCMClassifier,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifier,
    LCMClassifierCV,
)
from latentclass.baselines import (
    AODE,
    BAN,
    K2,
    TAN,
    FiniteMixtureNaiveBayes,
    HiddenNaiveBayes,
    MixtureNaiveBayes,
    NaiveBayes,
    ProjectedNaiveBayes,
)

N_ROWS, LIMIT = 100, 3.0
LCM = {"n_init": 2, "max_iter": 10}
NUMBERS = [
    NaiveBayes(),
    MixtureNaiveBayes(random_state=0),
    ProjectedNaiveBayes(random_state=0),
    FiniteMixtureNaiveBayes(random_state=0),
    LCMClassifier(5, **LCM, random_state=0),
    LCMClassifierCV([5], [1], **LCM, random_state=0),
    HybridLCMClassifier(5, 1, **LCM, random_state=0),
    LatentVariableClassifier(None, 2, max_iter=10, random_state=0),
]
LEVELS = [
    TAN(),
    BAN(),
    K2(),
    AODE(),
    HiddenNaiveBayes(),
    HNBClassifier(random_state=0),
    LatentTreeClassifier(search="fast", n_init=2, max_iter=10, random_state=0),
    BinaryLCMClassifier(5, **LCM, discriminative=False, random_state=0),
    BinaryLCMClassifierCV([5], [1], **LCM, random_state=0),
]


def make_numbers(n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that a few hidden causes drive, and two classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_ROWS)
    causes = rng.normal(size=(N_ROWS, 5)) + 0.5 * y[:, None]
    noise = rng.normal(size=(N_ROWS, n_columns))
    return causes @ rng.normal(size=(5, n_columns)) + noise, y


def compare(run: Run, model: object, X: np.ndarray, y: np.ndarray) -> None:
    n_columns = X.shape[1]
    model.fit(X, y)
    many = np.resize(X, (n_columns, n_columns))
    holes = many.copy()
    holes[np.random.default_rng(1).random(many.shape) < 0.5] = np.nan
    for kind, rows in (("complete", many), ("half missing", holes)):
        times = best_times(
            {
                "explain": lambda rows=rows: model.explain(rows[:1]),
                "predict": lambda rows=rows: model.predict_proba(rows),
            },
            repeats=3,
            clock="CPU",
        )
        what, figure = f"{type(model).__name__}, {n_columns}", f"explain / predict, {kind}"
        run.add_ratio(
            what, figure, times["explain"], times["predict"], limit=LIMIT, clock="CPU"
        )  # fmt: skip


def compare_wide(run: Run, model: object, X: np.ndarray, y: np.ndarray, kind: str) -> None:
    model.fit(X, y)
    times = best_times(
        {"explain": lambda: model.explain(X[:1]), "predict": lambda: model.predict_proba(X)},
        repeats=3,
        clock="CPU",
    )
    what = f"{type(model).__name__}, {X.shape[1]:,} {kind}"
    figure = f"explain / predict {N_ROWS} rows"
    run.add_ratio(what, figure, times["explain"], times["predict"], clock="CPU")


def main() -> None:
    options = make_parser(__doc__).parse_args()
    n_columns = 64 if options.full else 32
    X, y = make_numbers(n_columns)
    with Run(__file__, keep=options.full) as run:
        for model in NUMBERS:
            compare(run, model, X, y)
        levels = (np.median(X, axis=0) < X).astype(float)
        for model in LEVELS:
            compare(run, model.set_params(categorical_features=range(n_columns)), levels, y)
        X, y = make_numbers(5000 if options.full else 500)
        levels, columns = (np.median(X, axis=0) < X).astype(float), range(X.shape[1])
        for model in (NaiveBayes(), FiniteMixtureNaiveBayes(random_state=0), TAN(), AODE()):
            compare_wide(run, model, X, y, "numbers")
        for model in (NaiveBayes(categorical_features=columns), TAN(categorical_features=columns)):
            compare_wide(run, model, levels, y, "levels")


if __name__ == "__main__":
    main()
