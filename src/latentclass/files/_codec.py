"""From a value to a JSON tree and arrays, and back.

Numbers, text, None and lists are themselves in JSON. Everything else is an object with one entry
whose name says what it is: `{"tuple": [...]}`, `{"array": ["float64", [3, 2]]}`, or the name of a
class from the closed table with its fields, `{"Tree": {"parents": ...}}`. The numbers of an array
are the next ones of its type among the arrays of the file: a tree names no places, so arrays cannot
overlap, and all of them must be used up.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from latentclass.files._classes import is_estimator, is_known, name_of
from latentclass.files._container import TYPES, Arrays

STORED = {
    "float64": "F64",
    "float32": "F32",
    "int64": "I64",
    "uint64": "I64",
    "uint32": "I64",
    "int32": "I32",
    "int16": "I32",
    "uint16": "I32",
    "int8": "I32",
    "uint8": "U8",
    "bool": "U8",
}
"""The type in the file of each type of array."""

LONG = 8
"""Lists of at least this many numbers or texts are stored as arrays."""

MOST_DEPTH = 40
"""Deepest nesting of values."""

MOST_EACH = 10**6
"""Most values of one class in a list."""

MOST_TEXT = 2**26
"""Most bytes of an array of text, whose entries all take as much as the longest."""

SCALARS = ("float64", "float32", "int64", "int32", "bool", "str")
"""numpy's scalars that can be stored."""


ATOMS = frozenset({str, int, float, bool, type(None)})
"""What is itself in JSON."""


class Unstorable(ValueError):
    """A value that a model file cannot hold; the estimator's attribute is named around it."""


# --------------------------------------------------------------------------- encode


class Encoder:
    """Collects the arrays of trees that it makes.

    `foreign` turns an object of another library into bytes; by default all such are refused.
    Without `seconds`, what the clock said is stored as 0, so that equal fits give equal files.
    """

    def __init__(
        self, foreign: Callable[[Any], bytes] | None = None, *, seconds: bool = True
    ) -> None:
        self._parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in TYPES}
        self._seen: dict[int, tuple[int, Any]] = {}
        self._n_seen = 0
        self._foreign = foreign
        self._seconds = seconds

    @property
    def arrays(self) -> Arrays:
        """All arrays of each type, end to end."""
        return {
            name: np.concatenate([np.empty(0, dtype=TYPES[name]), *parts])
            for name, parts in self._parts.items()
        }

    def encode(self, value: Any) -> Any:
        """The tree of a value."""
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            return value if abs(value) < 2**63 else {"int": str(value)}
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return self._items(value)
        if kind is tuple:
            return {"tuple": self._items(value)}
        if kind is dict:
            if all(type(key) is str for key in value):
                return {
                    "dict": {key: self.encode(self._timeless(key, value[key])) for key in value}
                }
            return {"map": [[self.encode(key), self.encode(one)] for key, one in value.items()]}
        if kind is np.ndarray:
            return self._array(value)
        if kind is range:
            return {"range": [value.start, value.stop, value.step]}
        if isinstance(value, np.generic) and kind.__name__.rstrip("_") in SCALARS:
            return {"numpy": [kind.__name__.rstrip("_"), self.encode(value.item())]}
        if kind is np.random.RandomState:
            return {"random_state": self.encode(value.get_state(legacy=True))}
        name = name_of(kind)
        if name is not None:
            return self._object(name, value)
        return self._other(value)

    def _object(self, name: str, value: Any) -> Any:
        if is_estimator(name):
            return {name: self._estimator(value)}
        if id(value) in self._seen:
            return {"same": self._seen[id(value)][0]}
        fields = {}
        for field in stored_fields(type(value)):
            try:
                part = self._timeless(field, getattr(value, field))
                fields[field] = self.encode(_dense(part))
            except Unstorable as error:
                raise Unstorable(f"{name}.{field}: {error}") from None
        self._remember(value)
        return {name: fields}

    def _timeless(self, name: str, value: Any) -> Any:
        """A value as it is; 0 for each number of seconds if they are not to be stored."""
        if self._seconds or name not in CLOCK:
            return value
        if isinstance(value, list):
            return [0.0] * len(value)
        return np.zeros_like(value) if isinstance(value, np.ndarray) else 0.0

    def _remember(self, value: Any) -> None:
        self._seen[id(value)] = (self._n_seen, value)  # kept, so that its id stays its own
        self._n_seen += 1

    def _estimator(self, estimator: Any) -> dict[str, Any]:
        parameters = estimator.get_params(deep=False)
        learned = {
            name: value
            for name, value in vars(estimator).items()
            if name not in parameters and name not in NOT_STORED
        }
        out: dict[str, Any] = {}
        for group, values in (("parameters", parameters), ("fitted", learned)):
            out[group] = {}
            for name, value in values.items():
                try:
                    out[group][name] = self.encode(value)
                except Unstorable as error:
                    remedy = ""
                    if group == "parameters":
                        remedy = (
                            " Set it to a plain value before saving, with "
                            f"set_params({name}=...): what was learned stays as it is."
                        )
                    raise Unstorable(
                        f"{type(estimator).__name__}.{name}: {error}{remedy}"
                    ) from None
        return out

    def _other(self, value: Any) -> Any:
        kind = type(value)
        if self._foreign is None or kind.__module__.partition(".")[0] in ("builtins", "numpy"):
            library = kind.__module__.partition(".")[0]
            raise Unstorable(f"a model file cannot hold a {kind.__name__} of {library}.")
        data = np.frombuffer(self._foreign(value), dtype=np.uint8)
        return {"foreign": [kind.__name__, self._put(data)]}

    def _items(self, values: list[Any] | tuple[Any, ...]) -> Any:
        kinds = set(map(type, values)) if len(values) >= LONG else set()
        if kinds == {float}:
            return {"floats": self._put(np.array(values))}
        if kinds == {int} and max(map(abs, values)) < 2**63:
            return {"ints": self._put(np.array(values, dtype=np.int64))}
        if kinds == {str}:
            parts = [text.encode("utf-8", "surrogatepass") for text in values]
            self._put(np.frombuffer(b"".join(parts), dtype=np.uint8))
            return {"texts": self._put(np.array(list(map(len, parts)), dtype=np.int64))}
        if kinds == {np.ndarray} and _are_rows(values):
            self._put(np.array(list(map(len, values)), dtype=np.int64))
            self._put(np.concatenate(values))
            return {"arrays": [values[0].dtype.name, len(values)]}
        name = name_of(kinds.pop()) if len(kinds) == 1 else None
        fresh = name is not None and not any(id(value) in self._seen for value in values)
        if name is not None and fresh and not is_estimator(name):
            return self._each(name, values)
        return [self.encode(value) for value in values]

    def _each(self, name: str, values: list[Any] | tuple[Any, ...]) -> Any:
        """Many values of one class, field by field: a table has one column for each of its own."""
        fields = {}
        for field in stored_fields(type(values[0])):
            mine = [_dense(self._timeless(field, getattr(value, field))) for value in values]
            if _all_plain_and_equal(mine):
                fields[field] = {"repeat": self.encode(mine[0])}
            else:
                fields[field] = self._items(mine)
        for value in values:
            self._remember(value)
        return {"each": [name, len(values), fields]}

    def _array(self, array: npt.NDArray[Any]) -> Any:
        shape = list(array.shape)
        if array.dtype == object:
            return {"objects": [shape, [self.encode(value) for value in array.ravel().tolist()]]}
        if array.dtype.kind == "U":
            if array.nbytes > MOST_TEXT:
                raise Unstorable(f"an array of text of {array.nbytes:,} bytes is too large.")
            return {"text": [shape, self._items(array.ravel().tolist())]}
        if array.dtype.name not in STORED or not array.dtype.isnative:
            raise Unstorable(f"a model file cannot hold an array of type {array.dtype}.")
        in_columns = array.flags.f_contiguous and not array.flags.c_contiguous
        self._put(array.ravel(order="F" if in_columns else "C"))
        return {"array": [array.dtype.name, shape, *(["F"] if in_columns else [])]}

    def _put(self, flat: npt.NDArray[Any]) -> int:
        stored = STORED[flat.dtype.name]
        # whole numbers of 64 bits keep their bits, with or without sign
        same_size = flat.dtype.itemsize == np.dtype(TYPES[stored]).itemsize
        part = flat.view(TYPES[stored]) if same_size else flat.astype(TYPES[stored])
        self._parts[stored].append(part)
        return len(flat)


CLOCK = {"seconds", "fit_seconds", "predict_seconds"}
"""Fields and entries that say how long something took."""

NOT_STORED = {"_metadata_request", "_skl_callbacks"}
"""Settings of scikit-learn for a session, which are not part of a model."""


def _dense(value: Any) -> Any:
    """Tables without rows are stored as dense ones."""
    if hasattr(value, "toarray") and not value.shape[0]:
        return value.toarray()
    return value


def _are_rows(arrays: Any) -> bool:
    """Whether arrays are one-dimensional and of one type that can be stored."""
    kinds = {(one.dtype, one.ndim) for one in arrays}
    return len(kinds) == 1 and arrays[0].ndim == 1 and arrays[0].dtype.name in STORED


def _all_plain_and_equal(values: list[Any]) -> bool:
    """Whether values are all the same, and of types that cannot change."""
    first = values[0]
    kinds = {type(one) for one in (first if type(first) is tuple else (first,))}
    if not kinds <= ATOMS:
        return False
    return all(type(one) is type(first) and repr(one) == repr(first) for one in values)


def stored_fields(kind: Any) -> list[str]:
    """Fields of a value that its constructor takes; all others follow from them."""
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind) if field.init]
    return list(kind._fields)


# --------------------------------------------------------------------------- decode


class Decoder:
    """Builds values from trees, in the order in which they were encoded.

    `build` makes an object from its class name and its fields. `foreign` makes one of another
    library from its class name and its bytes.
    """

    def __init__(
        self,
        arrays: Arrays,
        build: Callable[[str, dict[str, Any]], Any],
        foreign: Callable[[str, bytes], Any],
    ) -> None:
        self._arrays = arrays
        self._used = dict.fromkeys(TYPES, 0)
        self._seen: list[Any] = []
        self._build = build
        self._foreign = foreign

    def finish(self) -> None:
        """Refuse numbers that no array has used."""
        for name, used in self._used.items():
            if used != len(self._arrays.get(name, ())):
                raise ValueError(f"it has more numbers of type {name} than its values use")

    def decode(self, tree: Any, depth: int = 0) -> Any:
        """The value of a tree."""
        kind = type(tree)
        if kind in ATOMS:
            return tree
        if depth > MOST_DEPTH:
            raise ValueError("its values are nested too deeply")
        if kind is list:
            below = depth + 1
            return [one if type(one) in ATOMS else self.decode(one, below) for one in tree]
        if kind is not dict or len(tree) != 1:
            raise ValueError("a value is not of a known form")
        [(name, content)] = tree.items()
        reader = self._readers.get(name)
        if reader is not None:
            return reader(self, content, depth)
        if not is_known(name):
            raise ValueError(f"it names {name[:40]!r}, which this version does not know")
        return self._object(name, content, depth)

    def _object(self, name: str, content: Any, depth: int) -> Any:
        if is_estimator(name):
            groups = self._texts(content, ("parameters", "fitted"))
            fields = {
                group: {key: self.decode(one, depth + 1) for key, one in self._dict(values).items()}
                for group, values in groups.items()
            }
            return self._build(name, fields)
        fields = {key: self.decode(one, depth + 1) for key, one in self._dict(content).items()}
        value = self._build(name, fields)
        self._seen.append(value)
        return value

    # ------------------------------------------------------------ forms

    def _tuple(self, content: Any, depth: int) -> tuple[Any, ...]:
        items = self.decode(content, depth + 1)
        if not isinstance(items, list):
            raise ValueError("a tuple has no list of items")
        return tuple(items)

    def _plain_dict(self, content: Any, depth: int) -> dict[str, Any]:
        return {key: self.decode(one, depth + 1) for key, one in self._dict(content).items()}

    def _map(self, content: Any, depth: int) -> dict[Any, Any]:
        out = {}
        for pair in self._list(content):
            key, value = self._list(pair, 2)
            key = self.decode(key, depth + 1)
            hash(key)
            out[key] = self.decode(value, depth + 1)
        if len(out) != len(content):
            raise ValueError("a key occurs twice")
        return out

    def _range(self, content: Any, depth: int) -> range:
        del depth
        ends = self._list(content, 3)
        if not all(type(end) is int for end in ends):
            raise ValueError("a range is not of a known form")
        return range(*ends)

    def _float(self, content: Any, depth: int) -> float:
        del depth
        if content not in ("nan", "inf", "-inf"):
            raise ValueError("a number is not of a known form")
        return float(content)

    def _int(self, content: Any, depth: int) -> int:
        del depth
        if not isinstance(content, str) or len(content) > 100:
            raise ValueError("a whole number is not of a known form")
        return int(content)

    def _numpy(self, content: Any, depth: int) -> Any:
        name, value = self._list(content, 2)
        value = self.decode(value, depth + 1)
        if name not in SCALARS or not isinstance(value, bool | int | float | str):
            raise ValueError("a number of numpy is not of a known form")
        return np.dtype(name).type(value)

    def _array(self, content: Any, depth: int) -> npt.NDArray[Any]:
        del depth
        if (
            not isinstance(content, list)
            or not 2 <= len(content) <= 3
            or content[2:] not in ([], ["F"])
        ):
            raise ValueError("an array is not of a known form")
        name, shape = content[:2]
        if not isinstance(name, str) or name not in STORED:
            raise ValueError(f"an array has the unknown type {str(name)[:40]!r}")
        size = _size_of(shape)
        flat = self._take(STORED[name], size)
        return _as_type(flat, name).reshape(shape, order="F" if content[2:] else "C")

    def _text(self, content: Any, depth: int) -> npt.NDArray[Any]:
        shape, items = self._list(content, 2)
        items = self.decode(items, depth + 1)
        if not isinstance(items, list) or not all(type(item) is str for item in items):
            raise ValueError("an array of text holds something else")
        width = max(map(len, items), default=0)
        if _size_of(shape) != len(items) or 4 * width * len(items) > MOST_TEXT:
            raise ValueError("an array of text has an impossible size")
        return np.array(items, dtype=f"<U{max(width, 1)}").reshape(shape)

    def _objects(self, content: Any, depth: int) -> npt.NDArray[Any]:
        shape, items = self._list(content, 2)
        items = [self.decode(item, depth + 1) for item in self._list(items)]
        if _size_of(shape) != len(items):
            raise ValueError("an array of objects has an impossible size")
        out = np.empty(len(items), dtype=object)
        out[:] = items
        return out.reshape(shape)

    def _floats(self, content: Any, depth: int) -> list[float]:
        del depth
        out: list[float] = self._take("F64", _size_of([content])).tolist()
        return out

    def _ints(self, content: Any, depth: int) -> list[int]:
        del depth
        out: list[int] = self._take("I64", _size_of([content])).tolist()
        return out

    def _text_list(self, content: Any, depth: int) -> list[str]:
        del depth
        lengths = self._take("I64", _size_of([content]))
        if len(lengths) and (lengths.min() < 0 or lengths.max() > len(self._arrays.get("U8", ()))):
            raise ValueError("a text has an impossible length")
        data = self._take("U8", int(lengths.sum())).tobytes()
        ends = np.cumsum(lengths).tolist()
        return [
            data[end - length : end].decode("utf-8", "surrogatepass")
            for end, length in zip(ends, lengths.tolist(), strict=True)
        ]

    def _array_list(self, content: Any, depth: int) -> list[npt.NDArray[Any]]:
        del depth
        name, n = self._list(content, 2)
        if not isinstance(name, str) or name not in STORED:
            raise ValueError(f"an array has the unknown type {str(name)[:40]!r}")
        lengths = self._take("I64", _size_of([n]))
        stored = STORED[name]
        limit = len(self._arrays.get(stored, ()))
        if len(lengths) and (lengths.min() < 0 or lengths.max() > limit):
            raise ValueError("an array has an impossible length")
        flat = _as_type(self._take(stored, int(lengths.sum())), name)
        ends = np.cumsum(lengths).tolist()
        return [
            flat[end - length : end].copy()
            for end, length in zip(ends, lengths.tolist(), strict=True)
        ]

    def _each(self, content: Any, depth: int) -> list[Any]:
        name, n, fields = self._list(content, 3)
        known = isinstance(name, str) and is_known(name) and not is_estimator(name)
        if not known or _size_of([n]) > MOST_EACH:
            raise ValueError("a list of values is not of a known form")
        columns = {}
        for field, tree in self._dict(fields).items():
            if isinstance(tree, dict) and list(tree) == ["repeat"]:
                columns[field] = [self.decode(tree["repeat"], depth + 1)] * n
            else:
                columns[field] = self.decode(tree, depth + 1)
            if not isinstance(columns[field], list) or len(columns[field]) != n:
                raise ValueError("a list of values lacks some of their fields")
        if not columns and n:
            raise ValueError("a list of values has no fields")
        out = [
            self._build(name, {field: column[place] for field, column in columns.items()})
            for place in range(n)
        ]
        self._seen += out
        return out

    def _random_state(self, content: Any, depth: int) -> np.random.RandomState:
        state = self.decode(content, depth + 1)
        if not isinstance(state, tuple) or len(state) != 5 or state[0] != "MT19937":
            raise ValueError("a random state is not of a known form")
        _, keys, place, has_gauss, _ = state
        fits = isinstance(keys, np.ndarray) and keys.dtype == np.uint32 and keys.shape == (624,)
        if not fits or type(place) is not int or not 0 <= place <= 624 or has_gauss not in (0, 1):
            raise ValueError("a random state is not of a known form")
        out = np.random.RandomState(0)
        out.set_state(state)
        return out

    def _foreign_object(self, content: Any, depth: int) -> Any:
        del depth
        name, size = self._list(content, 2)
        if not isinstance(name, str):
            raise ValueError("a part of another library has no name")
        return self._foreign(name[:100], self._take("U8", _size_of([size])).tobytes())

    def _same(self, content: Any, depth: int) -> Any:
        del depth
        if type(content) is not int or not 0 <= content < len(self._seen):
            raise ValueError("a value refers to one that is not there")
        return self._seen[content]

    _readers: Mapping[str, Callable[[Decoder, Any, int], Any]] = {
        "tuple": _tuple,
        "dict": _plain_dict,
        "map": _map,
        "range": _range,
        "float": _float,
        "int": _int,
        "numpy": _numpy,
        "array": _array,
        "text": _text,
        "objects": _objects,
        "floats": _floats,
        "ints": _ints,
        "texts": _text_list,
        "arrays": _array_list,
        "each": _each,
        "random_state": _random_state,
        "foreign": _foreign_object,
        "same": _same,
    }

    # ------------------------------------------------------------ helpers

    def _take(self, name: str, size: int) -> npt.NDArray[Any]:
        """The next numbers of a type."""
        begin = self._used[name]
        stored = self._arrays.get(name)
        if size and (stored is None or begin + size > len(stored)):
            raise ValueError(f"it has fewer numbers of type {name} than its arrays need")
        self._used[name] = begin + size
        if stored is None:
            return np.empty(0, dtype=TYPES[name])
        return stored[begin : begin + size].copy()

    @staticmethod
    def _dict(content: Any) -> dict[str, Any]:
        if not isinstance(content, dict):
            raise ValueError("an object has no fields")
        return content

    @staticmethod
    def _list(content: Any, length: int | None = None) -> list[Any]:
        if not isinstance(content, list) or length not in (None, len(content)):
            raise ValueError("a value is not of a known form")
        return content

    def _texts(self, content: Any, names: tuple[str, ...]) -> dict[str, Any]:
        if tuple(self._dict(content)) != names:
            raise ValueError(f"an estimator must have {' and '.join(names)}")
        found: dict[str, Any] = content
        return found


def _size_of(shape: Any) -> int:
    """Number of entries of an array."""
    fits = isinstance(shape, list) and len(shape) <= 8
    if not fits or not all(type(n) is int and 0 <= n < 2**40 for n in shape):
        raise ValueError("an array has an impossible shape")
    return math.prod(shape)


def _as_type(flat: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Numbers as they are in the file, in the type that they had."""
    kind = np.dtype(name)
    if name == "bool" and flat.max(initial=0) > 1:
        raise ValueError("a boolean array holds other numbers")
    if flat.dtype.itemsize == kind.itemsize:
        return flat.view(kind)
    out = flat.astype(kind)
    if not np.array_equal(out, flat):
        raise ValueError(f"an array of type {name} holds numbers outside its range")
    return out
