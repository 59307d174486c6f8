"""Fit drawn tables with drawn parameters until the time is over, and report what breaks.

    python tests/fuzz.py --minutes 60
    python tests/fuzz.py --seed 4711 --only TAN    # one table again

Each table is odd in some way: holes, rows without a label, constant or huge columns, labels of all
types, rows that weigh nothing. An estimator passes if it refuses the table in one sentence, or if
all its answers keep the promises below. A failure prints the command that shows it again.
"""

import argparse
import itertools
import pickle
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import has_fit_parameter

import latentclass
from estimators import CLASSIFIERS
from latentclass import LatentMixture, MDLDiscretizer
from latentclass.auto._families import OFFERS
from latentclass.baselines import BackpropagationNetwork, LeaveOneOutKNN
from latentclass.evaluation import TableClassifier
from latentclass.exceptions import ModelFileError

PACKAGE = str(Path(latentclass.__file__).parent)
MODELS = {
    **{type(model).__name__: type(model) for model in CLASSIFIERS},
    "LatentMixture": LatentMixture,
    "MDLDiscretizer": MDLDiscretizer,
    # these two read numbers only
    "LeaveOneOutKNN": lambda: TableClassifier(LeaveOneOutKNN()),
    "BackpropagationNetwork": lambda: TableClassifier(BackpropagationNetwork(n_epochs=5)),
}
"""Every public estimator that needs no other program."""

VALUES = {
    "accelerate": [False, True],
    "alpha": [1.0, 0.5, 0.0],
    "calibrate": [False, False, True],
    "discriminative": [False, True],
    "max_components": [2],
    "max_iter": [5, 50],
    "n_components": [1, 2],
    "n_cuts": [1, 2],
    "n_init": [1, 2],
    "n_latent": [1, 2],
    "noise": ["tied", "untied"],
    "prior": [1.0, None],
    "select": ["average", "accuracy", "likelihood"],
    "structure": ["full", "learned"],
}
"""Parameters that many estimators share, with values that keep a fit short."""
LISTS = {"n_latent", "n_components"}
"""Parameters that hold a list of sizes in estimators that choose one by cross-validation."""
OWN_VALUES = {
    "HNBClassifier": {"pair_measure": ["chi2", "expected_kl"], "search": ["subsets"]},
    "LatentMixture": {"search": ["em", "kmeans", "era", "anneal"]},
    "LatentTreeClassifier": {"search": ["east", "fast"]},
    "LatentVariableClassifier": {"search": ["em", "kmeans", "era", "anneal"]},
}
WORDS = [
    "a",
    "b",
    "",
    " ",
    "type",
    "naïve",
    "名前",
    "0",
    "nan",
    "=1+1",
    "a,b",
    'x"y',
    "-",
    "b ",
    "B",
]


class BrokenPromiseError(Exception):
    """An answer that is not as promised."""


def promise(kept, words):
    """Complain if a promise is not kept."""
    if not kept:
        raise BrokenPromiseError(words)


# ------------------------------------------------------------------------- drawing


def draw_numbers(rng, n, y):
    kind = rng.integers(9)
    x = rng.normal(y, 1.0)
    if kind == 0:
        x = np.exp(3 * x)
    elif kind == 1:
        x = x * 10.0 ** rng.integers(-300, 300)
    elif kind == 2:
        x = np.full(n, rng.choice([0.0, 1.0, -7.5, 1e12]))
    elif kind == 3:
        x = x.round()
    elif kind == 4:
        x = rng.standard_cauchy(n)
    elif kind == 5:
        x = 1e9 + x  # a small spread on a large number
    elif kind == 6:
        x = rng.choice([0.0, 1.0], n)
    return x


def draw_words(rng, n, y):
    levels = rng.permutation(WORDS)[: rng.integers(1, len(WORDS) + 1)]
    return levels[(y + rng.integers(0, len(levels), n)) % len(levels)].astype(object)


def draw_table(rng):
    """A frame, labels, weights or None, and what the frame is to be turned into."""
    n = int(rng.choice([1, 2, 3, 5, 12, 40]))
    y = rng.integers(0, rng.integers(1, 5), n)
    X = pd.DataFrame(index=range(n))
    for j in range(rng.integers(1, 7)):
        kind = rng.integers(4)
        if kind < 2:
            X[f"number {j}"] = draw_numbers(rng, n, y)
        elif kind == 2:
            X[f"flag {j}"] = pd.array(rng.random(n) < 0.2 + 0.2 * y, dtype="boolean")
        else:
            X[f"word {j}"] = draw_words(rng, n, y)
    X = X.mask(rng.random(X.shape) < rng.choice([0.0, 0.1, 0.5]))
    if rng.random() < 0.2:
        X[X.columns[rng.integers(X.shape[1])]] = np.nan
    labels = rng.permutation(WORDS)[y].astype(object) if rng.random() < 0.5 else y.astype(object)
    if rng.random() < 0.3:
        labels[rng.random(n) < 0.5] = None
    weight = None
    if rng.random() < 0.3:
        weight = rng.choice([0.0, 1e-3, 1.0, 1.0, 2.0, 1e6], n)
    return X, labels, weight


def contained(X, rng):
    """The frame in one of the containers that tables come in."""
    kind = rng.integers(7)
    if kind == 0:
        return X.to_numpy(dtype=object, na_value=None)
    if kind == 1:
        return X.to_numpy(dtype=object, na_value=None).tolist()
    if kind == 2:
        return X.astype(dict.fromkeys(X.select_dtypes(float), "Float64"))
    if kind == 3:
        floats = X.select_dtypes(float)
        small = floats.columns[(floats.abs() < 1e38).all()]
        return X.astype(dict.fromkeys(small, "float32"))
    if kind == 4:
        return pl.from_pandas(X)
    if kind == 5:
        return pl.from_pandas(X).to_arrow()
    return X


def draw_model(name, rng, seed):
    model = MODELS[name]()
    params = model.get_params()
    model.set_params(**{key: seed for key in params if key.endswith("random_state")})
    for key, values in (VALUES | OWN_VALUES.get(name, {})).items():
        if key in params:
            value = values[rng.integers(len(values))]
            model.set_params(**{key: [value] if params[key] is None and key in LISTS else value})
    if name == "AutoLatentClassifier":  # by default a clock decides what is tried
        families = rng.choice(list(OFFERS), 2, replace=False).tolist()
        model.set_params(time_budget=None, families=families, cv=2)
    if name.endswith("CV"):
        model.set_params(n_latent=[1, 2], n_components=[1], cv=2)
    return model


# ------------------------------------------------------------------------ promises


def check_answers(model, X, y):
    """All answers about the training table are as promised."""
    if hasattr(model, "classes_") and hasattr(model, "predict_proba"):
        check_probabilities(model, X, y)
    if hasattr(model, "score_samples"):
        check_density(model, X)
    if isinstance(model, MDLDiscretizer):
        check_intervals(model, X)


def check_density(model, X):
    """The answers of a model of the whole row."""
    density = model.score_samples(X)
    promise(density.shape == (len(X),) and not np.isnan(density).any(), "score_samples: NaN")
    promise(not (density == np.inf).any(), "score_samples: infinite density")
    if hasattr(model, "transform"):
        promise(np.isfinite(model.transform(X)).all(), "transform: not finite")
    for how in ("expected", "most_probable"):
        check_completion(model, X, how)
    check_chances(model, X)
    drawn = model.sample(5, random_state=0)
    drawn = frame(drawn[0] if isinstance(drawn, tuple) else drawn)
    promise(drawn.shape == (5, model.n_features_in_), "sample: shape")
    promise(not np.isinf(drawn.select_dtypes(float)).to_numpy().any(), "sample: inf")
    copy = pickle.loads(pickle.dumps(model))
    promise(np.array_equal(copy.score_samples(X), density), "pickle: other answers")
    again = saved_and_loaded(model)
    if again is not None:
        promise(np.array_equal(again.score_samples(X), density), "load: other answers")


def saved_and_loaded(model):
    """The model from a file; None if it has parts of other libraries, which files do not hold."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            latentclass.save(model, Path(folder) / "model.lc")
        except ModelFileError as error:
            promise("a model file cannot hold a" in str(error), f"save: {error}")
            return None
        return latentclass.load(Path(folder) / "model.lc")


def check_intervals(model, X):
    """Each number has an interval, and each hole stays one."""
    kept = pd.isna(cells(model.transform(X))) == pd.isna(cells(X))
    promise(kept.all(), "transform: a cell was lost, or a hole filled")
    promise(saved_and_loaded(model) is not None, "save: refused")


def check_probabilities(model, X, y):
    proba = model.predict_proba(X)
    promise(proba.shape == (len(X), len(model.classes_)), "predict_proba: shape")
    promise(np.all((proba >= 0) & (proba <= 1)), "predict_proba: outside 0 to 1")
    promise(np.allclose(proba.sum(axis=1), 1.0, atol=1e-9), "predict_proba: sum")
    promise(set(model.predict(X)) <= set(model.classes_), "predict: no class")
    promise({label for label in y if label is not None} >= set(model.classes_), "classes_")
    # a bound has converged up to a tolerance, and rounding decides where it stops
    promise(np.allclose(model.predict_proba(X[:1]), proba[:1], atol=1e-5), "one row alone")
    if hasattr(model, "explain"):
        promise(not np.isnan(model.explain(X[:2]).weights).any(), "explain: NaN")


def check_completion(model, X, how):
    before = cells(X)
    after = cells(model.complete(X, how=how))
    known = ~pd.isna(before)
    promise((before[known] == after[known]).all(), f"complete({how}): an observed cell changed")
    useful = [column.observed for column in model.schema_.columns]
    promise(not pd.isna(after[:, useful]).any(), f"complete({how}): a hole is left")
    numbers = pd.to_numeric(pd.Series(after[~known]), errors="coerce")
    promise(not np.isinf(numbers).any(), f"complete({how}): inf")


def check_chances(model, X):
    after = frame(model.complete(X, how="probability")).to_numpy(dtype=float)
    empty = sum(not c.observed for c in model.schema_.columns if c.kind == "continuous")
    promise(np.isnan(after).any(axis=0).sum() <= empty, "complete(probability): a hole is left")
    promise(not np.isinf(after).any(), "complete(probability): inf")


def frame(X):
    return X.to_pandas() if hasattr(X, "to_pandas") else pd.DataFrame(X)


def cells(X):
    return frame(X).astype(object).to_numpy()


def is_sentence(error):
    """Whether an error is one of ours: raised by our code, in words that end as a sentence does."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    ours = frame.filename.startswith(PACKAGE)
    return ours and isinstance(error, ValueError | TypeError) and str(error).endswith((".", "?"))


def try_one(name, seed):
    """Fit and ask one drawn model on one drawn table: "fitted", "refused" or a failure's words."""
    rng = np.random.default_rng(seed)
    table, y, weight = draw_table(rng)
    X = contained(table, rng)
    model = draw_model(name, rng, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning of numpy's is a failure
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", category=UserWarning)
        try:
            labels = [] if name == "LatentMixture" else [y]
            if has_fit_parameter(model, "sample_weight"):
                model.fit(X, *labels, sample_weight=weight)
            else:
                model.fit(X, *labels)
        except Exception as error:
            return "refused" if is_sentence(error) else describe(error)
        try:
            check_answers(model, X, y)
        except Exception as error:
            return describe(error)
    return "fitted"


def describe(error):
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return f"{type(error).__name__} at {where}: {' '.join(str(error).split())[:150]}"


# ------------------------------------------------------------------------- running


def main(arguments=None):
    """Run until the time is over; the answer is the number of failures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="how long to go on")
    parser.add_argument("--tables", type=int, help="stop after this many tables, whatever the time")
    parser.add_argument("--start", type=int, default=0, help="seed of the first table")
    parser.add_argument("--seed", type=int, help="only the table of this seed")
    parser.add_argument("--only", choices=MODELS, help="only this estimator")
    options = parser.parse_args(arguments)
    end = time.monotonic() + 60 * options.minutes
    names = [options.only] if options.only else list(MODELS)
    seeds = itertools.count(options.start) if options.seed is None else [options.seed]
    if options.tables is not None:
        seeds = itertools.islice(seeds, options.tables)
    counts = {name: Counter() for name in names}
    for seed in seeds:
        for name in names:
            outcome = try_one(name, seed)
            kind = outcome if outcome in ("fitted", "refused") else "failed"
            counts[name][kind] += 1
            if kind == "failed":
                print(
                    f"python tests/fuzz.py --seed {seed} --only {name}\n    {outcome}", flush=True
                )
        if options.tables is None and time.monotonic() > end:
            break
    for name in names:
        kinds = (f"{counts[name][kind]:6} {kind}" for kind in ("fitted", "refused", "failed"))
        print(f"{name:28}", *kinds)
    return sum(count["failed"] for count in counts.values())


if __name__ == "__main__":
    sys.exit(main() > 0)
