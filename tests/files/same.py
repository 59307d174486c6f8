"""Compare all that two estimators know, to the bit."""

import dataclasses

import numpy as np
import scipy.sparse as sp


def differences(one, other, path="model"):
    """Where two values differ; empty if they are the same in type and bits."""
    if type(one) is not type(other):
        return [f"{path}: {type(one).__name__} and {type(other).__name__}"]
    if isinstance(one, np.ndarray):
        return _array_differences(one, other, path)
    if sp.issparse(one):
        return differences(one.toarray(), other.toarray(), path)
    if isinstance(one, np.random.RandomState):
        return differences(one.get_state(), other.get_state(), path)
    if isinstance(one, dict):
        if list(one) != list(other):
            return [f"{path}: keys {list(one)} and {list(other)}"]
        return _each(one.items(), other.values(), path)
    if isinstance(one, list | tuple):
        if len(one) != len(other):
            return [f"{path}: {len(one)} and {len(other)} entries"]
        return _each(enumerate(one), other, path)
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        mine = {name: getattr(one, name) for name in names}
        return _each(mine.items(), [getattr(other, name) for name in names], path)
    if hasattr(one, "get_params"):
        return differences(vars(one), vars(other), path)
    same = one == other or (one != one and other != other)
    return [] if same else [f"{path}: {one!r} and {other!r}"]


def _each(named, others, path):
    return [
        found
        for (name, one), other in zip(named, others, strict=True)
        for found in differences(one, other, f"{path}.{name}")
    ]


def _array_differences(one, other, path):
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return [f"{path}: {one.dtype}{one.shape} and {other.dtype}{other.shape}"]
    if one.dtype == object:
        return differences(one.ravel().tolist(), other.ravel().tolist(), path)
    return [] if one.tobytes() == other.tobytes() else [f"{path}: other numbers"]
