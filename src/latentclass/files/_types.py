"""Check values against the annotations of the fields that will hold them."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ForwardRef, Literal, Union, get_args, get_origin

import numpy as np

from latentclass.files._classes import KnownClasses, name_of


@cache
def field_types(kind: Any) -> Mapping[str, Any]:
    """The annotations of a class and its bases, as types.

    Names that a module imports for type checkers only are looked up in the closed table.
    """
    out: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        names = KnownClasses(vars(sys.modules[base.__module__]))
        for field, hint in inspect.get_annotations(base).items():
            if isinstance(hint, ForwardRef):
                hint = hint.__forward_arg__
            # our own source, never anything from a file
            out[field] = eval(hint, {}, names) if isinstance(hint, str) else hint
    return out


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type."""
    return _checker(hint)(value)


@cache
def _checker(hint: Any) -> Callable[[Any], bool]:
    """What tells whether a value is of a type."""
    if hint is Any:
        return lambda value: True  # noqa: ARG005
    if hint is None or hint is type(None):
        return lambda value: value is None
    origin, args = get_origin(hint), get_args(hint)
    if hasattr(origin, "__value__"):  # an alias with a name, as NDArray is from numpy 2.5 on
        return _checker(origin.__value__[args])
    if origin in (Union, types.UnionType):
        options = [_checker(one) for one in args]
        return lambda value: any(option(value) for option in options)
    if origin is Literal:
        return lambda value: type(value) is str and value in args
    if origin is np.ndarray:
        return _array_checker(get_args(args[1])[0])
    if origin is tuple:
        return _tuple_checker(args)
    if origin is list:
        item = _checker(args[0])
        return lambda value: type(value) is list and all(map(item, value))
    if origin in (dict, Mapping):
        key, item = map(_checker, args)
        return lambda value: (
            type(value) is dict and all(map(key, value)) and all(map(item, value.values()))
        )
    if hint in SCALARS:
        plain, similar = SCALARS[hint]
        return lambda value: type(value) in plain or isinstance(value, similar)
    if getattr(hint, "_is_protocol", False):
        return lambda value: name_of(type(value)) is not None
    return lambda value: isinstance(value, hint)


SCALARS: dict[Any, Any] = {
    float: ((float, int), np.floating | np.integer),
    int: ((int,), np.integer),
    bool: ((bool,), np.bool_),
    str: ((str,), np.str_),
}
"""Python's types that a number or a text may have, and those of numpy."""


def _array_checker(wanted: Any) -> Callable[[Any], bool]:
    if wanted is Any:
        return lambda value: type(value) is np.ndarray
    dtype = np.dtype(wanted)
    return lambda value: type(value) is np.ndarray and value.dtype == dtype


def _tuple_checker(args: tuple[Any, ...]) -> Callable[[Any], bool]:
    items = [_checker(one) for one in args if one is not ...]
    if args[1:] == (...,):
        return lambda value: type(value) is tuple and all(map(items[0], value))
    return lambda value: (
        type(value) is tuple
        and len(value) == len(items)
        and all(item(one) for item, one in zip(items, value, strict=True))
    )
