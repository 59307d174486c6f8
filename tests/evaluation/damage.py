"""Random damage to a store: bytes that changed, and records with a right checksum that lie."""

import json
import zlib
from base64 import b64encode

from latentclass.evaluation._store import CHECK, _check, _line


def _array(dtype, shape, raw):
    return {"dtype": dtype, "shape": shape, "data": b64encode(zlib.compress(raw)).decode()}


ODD = [
    *(None, True, -1, 3, 10**400, 0.5, float("nan"), float("inf"), "", "x", [], [1], {}, {"a": 1}),
    *([[]], ["x", 3], {"dtype": "<f4", "shape": [3], "data": "!"}),
    *(_array("O", [1], bytes(8)), _array("<i4", [-1], b""), _array("<f4", [20], b"\xff" * 80)),
    _array("<i4", [20], bytes(10**6)),  # far more than it says
]
"""What may stand where something else is expected."""


def damaged(content, rng):
    """Return the content of a store with one random damage, and what the damage is."""
    lines = content.splitlines(keepends=True)
    place = int(rng.integers(len(lines)))
    how = list(DAMAGE)[rng.integers(len(DAMAGE))]
    lines[place] = DAMAGE[how](lines[place], rng)
    return b"".join(lines), f"{how} of line {place + 1}"


def _odd(rng):
    return ODD[rng.integers(len(ODD))]


def _pick(names, rng):
    return list(names)[rng.integers(len(names))]


def _change_bytes(line, rng):
    changed = bytearray(line)
    for _ in range(rng.integers(1, 4)):
        changed[rng.integers(len(line))] = rng.integers(256)
    return bytes(changed)


def _lie(change):
    def apply(line, rng):
        record = json.loads(line)
        del record[CHECK]
        return _line(change(record, rng))

    return apply


def _change_field(record, rng):
    return record | {_pick(record, rng): _odd(rng)}


def _drop_field(record, rng):
    name = _pick(record, rng)
    return {key: value for key, value in record.items() if key != name}


def _change_array(record, rng):
    name = _pick(["y", "predicted", "proba"], rng)
    array = record.get(name) or {}
    return record | {name: array | {_pick(["dtype", "shape", "data"], rng): _odd(rng)}}


def _nest(line, rng):
    """Brackets too deep for Python's parser."""
    del line
    depth = int(rng.integers(2000, 200_000))
    body = b'{"error":null,"key":' + b"[" * depth + b"]" * depth + b"}"
    return body[:-1] + f',"{CHECK}":"'.encode() + _check(body) + b'"}\n'


DAMAGE = {
    "bytes": _change_bytes,
    "end": lambda line, rng: line[: rng.integers(len(line))],
    "field": _lie(_change_field),
    "lack": _lie(_drop_field),
    "array": _lie(_change_array),
    "whole": _lie(lambda _, rng: _odd(rng)),
    "depth": _nest,
}
