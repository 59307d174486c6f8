"""Names of array types, one per kind of number."""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

IndexArray = npt.NDArray[np.intp]
"""Row numbers, class codes, positions: everything that indexes another array."""

CodeArray = npt.NDArray[np.int32]
"""Codes of discrete columns, -1 where missing; other small whole numbers in large arrays."""
