"""Write the golden files: one small model of each estimator, and what it predicts.

Run `python tests/files/golden_models.py` once for each format, into a folder of its own. Files of a
released format are never written again: every later version must load them.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

import latentclass
from estimators import CLASSIFIERS
from latentclass import (
    BinaryLCMClassifier,
    HNBClassifier,
    HybridLCMClassifier,
    LatentMixture,
    LatentVariableClassifier,
    MDLDiscretizer,
)
from latentclass.baselines import TAN, NaiveBayes
from latentclass.files._container import FORMAT

FOLDER = Path(__file__).parent / "golden"


def make_table(n_rows=48, seed=0):
    """Numbers, a flag, text with few and with many categories, and holes; three classes."""
    rng = np.random.default_rng(seed)
    y = np.repeat(["low", "mid", "top"], n_rows // 3)
    level = np.repeat([0, 1, 2], n_rows // 3)
    X = pd.DataFrame(
        {
            "height": rng.normal(level, 0.7),
            "weight": 1e3 * np.exp(rng.normal(0.2 * level, 0.3)),
            "happy": rng.random(n_rows) < 0.2 + 0.3 * level,
            "town": np.array(["Oslo", "Rome", "Turin"])[rng.integers(0, 2, n_rows) + (level > 1)],
            "month": np.array(list("JFMAYNLGSOVD"))[(rng.integers(0, 6, n_rows) + 3 * level) % 12],
        }
    )
    X["happy"] = X["happy"].astype(object)
    return X.mask(rng.random(X.shape) < 0.08), y


def make_wide_table(n_rows=48):
    """Numbers in ten columns: lists of so many values are stored in another form."""
    rng = np.random.default_rng(1)
    y = np.repeat(["low", "mid", "top"], n_rows // 3)
    means = np.repeat([0, 1, 2], n_rows // 3)[:, None] * np.linspace(0.0, 3.0, 10)
    return rng.normal(means, 1.0), y


def table_for(name, n_rows=48):
    """The table of a golden file; trees of few rows are small."""
    if name.endswith("_few"):
        return make_table(n_rows // 4)
    return make_wide_table(n_rows) if name.endswith("_wide") else make_table(n_rows)


def named_models():
    """Unfitted estimators by the names of their files."""
    models = {type(model).__name__: model for model in CLASSIFIERS}
    return models | {
        "BinaryLCMClassifier_bound": BinaryLCMClassifier(
            2, n_init=1, unlabelled_weight=1.0, discriminative=False, random_state=0
        ),
        "HNBClassifier_average": HNBClassifier(
            n_models=2, calibrate=False, unlabelled_weight=1.0, random_state=0
        ),
        "HybridLCMClassifier_sticks": HybridLCMClassifier(
            2,
            1,
            n_init=2,
            power_transform=False,
            discriminative=False,
            calibrate=False,
            unlabelled_weight=1.0,
            random_state=0,
        ),
        "LatentMixture": LatentMixture(2, random_state=0),
        "LatentVariableClassifier_kernel": LatentVariableClassifier(
            "kernel_logistic_regression",
            2,
            n_init=1,
            calibrate=False,
            unlabelled_weight=1.0,
            random_state=0,
        ),
        **{
            f"LatentVariableClassifier_{name}_few": LatentVariableClassifier(
                estimator, 1, calibrate=False, unlabelled_weight=1.0, random_state=0
            )
            for name, estimator in {
                "logistic": "logistic_regression",
                "trees": "extra_trees",
                "boosting": "hist_gradient_boosting",
            }.items()
        },
        "MDLDiscretizer": MDLDiscretizer(),
        "NaiveBayes_calibrated": NaiveBayes(calibrate=True, random_state=0),
        "TAN_wide": TAN(
            alpha=np.float64(1.0),
            categorical_features=range(0),
            calibrate=False,
            random_state=np.random.RandomState(0),
        ),
    }


def answers(model, X):
    """What is compared: probabilities, or codes of intervals."""
    if isinstance(model, MDLDiscretizer):
        codes = model.set_output(transform="default").transform(X)
        return [[str(cell) for cell in row] for row in codes.to_numpy().tolist()]
    return model.predict_proba(X).tolist()


def main():
    folder = FOLDER / f"format_{FORMAT}"
    folder.mkdir(parents=True, exist_ok=True)
    expected = {}
    for name, model in named_models().items():
        X, y = table_for(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        latentclass.save(model, folder / f"{name}.lc")
        expected[name] = answers(model, X[:6])
    text = json.dumps(expected, indent=None).replace("]], ", "]],\n")
    (folder / "expected.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
