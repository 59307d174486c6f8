"""Names and cells that try to run, to break out, or to break the page."""

import numpy as np
import pandas as pd

from latentclass import report
from latentclass.baselines import NaiveBayes

HOSTILE = [
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    "\"><img src=x onerror='window.hacked=3'>",
    "' onmouseover='window.hacked=4",
    "</title></style><svg onload=window.hacked=5>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:window.hacked=6",
    "emoji 🙈👩‍🚀 and עברית ‮reversed‬",
    "\u2028\u2029\x00\x1b[31m control",
    "long " * 2000,
]


def hostile_report():
    """A report in which columns, labels, cells, rows, target and title are hostile."""
    n = 60
    X = pd.DataFrame(
        {
            **{name: [float((k * 7 + j) % 11) for k in range(n)] for j, name in enumerate(HOSTILE)},
            "cells <b>": [HOSTILE[k % len(HOSTILE)] for k in range(n)],
            "holes & co": [None if k % 3 else HOSTILE[k % 2] for k in range(n)],
        },
        index=[f"{HOSTILE[k % len(HOSTILE)]} {k}" for k in range(n)],
    )
    y = [HOSTILE[k % 3 if k % 7 else 9] for k in range(n)]
    model = NaiveBayes().fit(X, y)
    command = HOSTILE[1] + "\ud800"
    return report(model, X, y, target=HOSTILE[2], folds=2, command=command, left_out=HOSTILE)


def hostile_table():
    """A small mixed table with holes that every family finds something in, with hostile text."""
    rng = np.random.default_rng(0)
    kind, part = rng.integers(0, 2, (2, 80))
    words = np.array(HOSTILE[:2], dtype=object)
    noisy = np.where(rng.random((3, 80)) < 0.15, 1 - part, part)
    X = pd.DataFrame(
        {
            HOSTILE[2]: (2.0 * kind + rng.normal(size=80)).round(2),
            HOSTILE[3]: (kind + part + rng.normal(size=80)).round(2),
            HOSTILE[9]: words[noisy[0]],
            HOSTILE[4]: words[noisy[1]],
            "holes & co": np.where(rng.random(80) < 0.2, None, words[noisy[2]]),
        },
        index=[f"{HOSTILE[k % 5]} {k}" for k in range(80)],
    )
    X.iloc[::9, 0] = np.nan
    return X, np.array(HOSTILE[:2], dtype=object)[kind ^ (rng.random(80) < 0.2)]
