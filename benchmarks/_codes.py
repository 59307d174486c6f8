"""Tables of codes for the benchmarks of discrete models."""

import numpy as np

from latentclass.datasets import load_dataset
from latentclass.engine._mdl import bin_codes, mdl_cut_points
from latentclass.exceptions import DataSetUnavailableError

# rows, columns and classes of what is drawn where a data set is not to be had
SHAPES = {
    "kr-vs-kp": (3_196, 36, 2),
    "splice": (3_190, 60, 3),
    "letter": (20_000, 16, 26),
    "vowel": (990, 11, 11),
    "segment": (2_310, 19, 7),
    "satimage": (6_435, 36, 6),
}
MOST_LEVELS = 100  # a column with more names single rows


def load_codes(name: str) -> tuple[str, np.ndarray, np.ndarray]:
    """Return what the rows are, their codes from 0, and their classes.

    Numeric columns are cut, constant ones and names of single rows left out.
    """
    try:
        data = load_dataset(name, container="pandas")
    except DataSetUnavailableError:
        return (f"drawn like {name}", *draw_codes(*SHAPES[name]))
    y = np.unique(np.asarray(data.y), return_inverse=True)[1]
    columns = []
    for column in data.X:
        values = data.X[column]
        if values.dtype.kind in "if":
            numbers = values.to_numpy(dtype=float)
            cuts = mdl_cut_points(numbers, y, np.ones(len(y)), int(y.max()) + 1)
            codes = bin_codes(numbers, cuts)
        elif values.nunique() <= MOST_LEVELS:
            codes = np.unique(values.astype(str), return_inverse=True)[1]
        else:
            continue
        if codes.max() > 0:
            columns.append(codes)
    return name, np.stack(columns, axis=1).astype(np.int64), y


def draw_codes(n_rows: int, n_columns: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Draw columns of four levels; every other one leans on the one before and on the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_rows)
    codes = rng.integers(0, 4, (n_rows, n_columns))
    # only some pairs say much, so that a latent variable is worth trying but not certain
    lean = (codes[:, : n_columns // 2 * 2 : 2] + y[:, None]) % 4
    codes[:, 1::2] = np.where(rng.random(lean.shape) < 0.15, lean, codes[:, 1::2])
    return codes, y
