"""Damaged and malicious model files: each must be refused, or give a model that predicts.

    python tests/files/mutants.py --count 10000

A mutant is made from its number alone. Processes of their own load them, so that a crash is seen
and belongs to one mutant. A failure is an exception other than `ModelFileError`, probabilities that
are not finite or do not sum to 1, a signal, more than 2 seconds of processor time for loading or
for a prediction, or more memory than 3 times the file and 50 MB. Every fifth is asked for samples,
completions and explanations too.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import latentclass
from latentclass.data._schema import Table
from latentclass.exceptions import ModelFileError
from latentclass.files._container import DOCUMENT, FORMAT, TYPES, _header

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*/*.lc"))
MOST_SECONDS, MOST_MEMORY = 2.0, 50 * 2**20


# ------------------------------------------------------------------------ take apart


def unpack(data):
    """The document and the arrays of a file."""
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    parts = {}
    for name, about in header.items():
        if name != "__metadata__":
            begin, stop = about["data_offsets"]
            parts[name] = data[end + begin : end + stop]
    document = json.loads(parts.pop(DOCUMENT))
    return document, {name: np.frombuffer(part, TYPES[name]).copy() for name, part in parts.items()}


def pack(document, arrays):
    """A file with a right checksum, whatever it holds."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    parts = {name: arrays[name].tobytes() for name in TYPES if name in arrays} | {DOCUMENT: text}
    sha256 = hashlib.sha256(b"".join(parts.values())).hexdigest()
    sizes = {name: len(part) for name, part in parts.items()}
    header = _header(latentclass.__version__, FORMAT, sha256, sizes)
    return len(header).to_bytes(8, "little") + header + b"".join(parts.values())


def with_header(data, header, length=None):
    """A file with another header."""
    end = 8 + int.from_bytes(data[:8], "little")
    length = len(header) if length is None else length
    return (length % 2**64).to_bytes(8, "little") + header + data[end:]


# --------------------------------------------------------------------------- mutate


def flip_bits(rng, data):
    out = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        out[rng.integers(len(out))] ^= 1 << int(rng.integers(8))
    return bytes(out)


def cut_off(rng, data):
    return data[: rng.integers(len(data))]


def lengthen(rng, data):
    return data + rng.bytes(int(rng.integers(1, 100)))


def zero_range(rng, data):
    begin = int(rng.integers(len(data)))
    end = min(len(data), begin + int(rng.integers(1, 200)))
    return data[:begin] + bytes(end - begin) + data[end:]


def splice(rng, data):
    other = GOLDEN[rng.integers(len(GOLDEN))].read_bytes()
    place = int(rng.integers(min(len(data), len(other))))
    return data[:place] + other[place:]


def change_header(rng, data):
    end = 8 + int.from_bytes(data[:8], "little")
    text = data[8:end]
    which = rng.integers(12)
    if which == 0:
        return with_header(data, text.replace(b'"F64":', b'"F64":{"dtype":"F64"},"F64":', 1))
    if which == 1:
        return with_header(data, text, 2**62)
    if which == 2:
        return with_header(data, text, int(rng.integers(0, 5000)))
    if which == 3:
        return with_header(data, b'{"a":' * 20_000 + b"1" + b"}" * 20_000)
    if which == 4:
        many = {
            f"t{i}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for i in range(10**5)
        }
        return with_header(data, text.rstrip()[:-1] + b"," + json.dumps(many)[1:].encode())
    if which == 5:
        return with_header(data, text.replace(b'"dtype":"U8"', b'"dtype":"BOOL"'))
    if which == 6:
        return with_header(data, text.replace(b'"format":"1"', b'"format":"3"'))
    if which == 7:
        return with_header(data, b"\xef\xbb\xbf" + text)
    header = json.loads(text)
    name = [*TYPES, DOCUMENT][rng.integers(6)]
    about = header.get(name, {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]})
    if which == 8:
        about["shape"] = [[2**60], [-1], [], [3, 10**9], "x"][rng.integers(5)]
    elif which == 9:
        about["data_offsets"] = [[0, 2**62], [-8, 8], [8, 0], [0], [0.5, 8], None][rng.integers(6)]
    elif which == 10:
        about["data_offsets"] = [int(n) for n in rng.integers(0, len(data), 2)]
    else:
        header.pop(name, None)
        about = None
    if about is not None:
        header[name] = about
    return with_header(data, json.dumps(header, separators=(",", ":")).encode())


def change_number(rng, data):
    document, arrays = unpack(data)
    names = [name for name in arrays if arrays[name].size]
    array = arrays[names[rng.integers(len(names))]]
    place = rng.integers(array.size)
    old = array[place]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if array.dtype.kind == "f":
            odd = [
                np.nan,
                np.inf,
                -np.inf,
                0.0,
                -old,
                1e308,
                -1e308,
                5e-324,
                old * 1.01,
                old + 1,
                old * 1e6,
                -1.0,
                1.0,
                rng.normal(),
            ]
        else:
            limits = np.iinfo(array.dtype)
            odd = [
                -1,
                0,
                1,
                int(old) + 1,
                int(old) - 1,
                limits.max,
                limits.min,
                2**31,
                -(2**31),
                int(rng.integers(100)),
                255,
                256,
            ]
            odd = [value for value in odd if limits.min <= value <= limits.max]
        array[place] = odd[rng.integers(len(odd))]
    return pack(document, arrays)


def resize_arrays(rng, data):
    document, arrays = unpack(data)
    names = list(arrays)
    name = names[rng.integers(len(names))]
    array = arrays[name]
    if rng.random() < 0.5:
        arrays[name] = np.append(array, array[: rng.integers(1, 9)])
    else:
        arrays[name] = np.delete(array, rng.integers(array.size))
    if not arrays[name].size:
        del arrays[name]
    return pack(document, arrays)


def places_of(tree, path=()):
    """All paths to the parts of a document."""
    found = [path]
    entries = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    for key, part in entries:
        found += places_of(part, (*path, key))
    return found


def part_at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def replaced(tree, path, value):
    if not path:
        return value
    part_at(tree, path[:-1])[path[-1]] = value
    return tree


def change_document(rng, data):
    document, arrays = unpack(data)
    places = places_of(document)
    path = places[rng.integers(1, len(places))]
    old = part_at(document, path)
    which = rng.integers(9)
    if which <= 3:  # another value
        odd = [
            None,
            True,
            False,
            0,
            1,
            -1,
            2,
            7,
            2**31,
            2**63,
            10**30,
            1.5,
            -1e308,
            "",
            "x",
            [],
            {},
            [[]],
            {"tuple": []},
            {"float": "nan"},
            {"float": "inf"},
            {"same": 0},
            {"dict": {}},
            {"array": ["float64", [0]]},
            {"numpy": ["int64", 5]},
        ]
        if isinstance(old, int) and not isinstance(old, bool):
            odd = [old + 1, old - 1, -old, -1, 0, 2**31, 2**62, old * 1000, float(old)]
        elif isinstance(old, float):
            odd = [
                -old,
                old * 1.01,
                1e308,
                -1e308,
                0.0,
                {"float": "nan"},
                {"float": "-inf"},
                5e-324,
            ]
        elif isinstance(old, str):
            odd += [
                "Tree",
                "posteriors",
                "joints",
                "continuous",
                "binary",
                "nominal",
                "numpy",
                "sparse",
                "quadrature",
                "bound",
                "importance",
                "int32",
                "float64",
                "bool",
            ]
        document = replaced(document, path, odd[rng.integers(len(odd))])
    elif which == 4:  # a part from elsewhere
        other = document
        if rng.random() < 0.5:
            other, _ = unpack(GOLDEN[rng.integers(len(GOLDEN))].read_bytes())
        others = places_of(other)
        value = copy.deepcopy(part_at(other, others[rng.integers(len(others))]))
        document = replaced(document, path, value)
    elif which == 5:  # a part less
        parent = part_at(document, path[:-1])
        del parent[path[-1]]
    elif which == 6:  # a part twice
        parent = part_at(document, path[:-1])
        if isinstance(parent, list):
            parent.insert(path[-1], copy.deepcopy(old))
        else:
            parent[f"{path[-1]}_"] = copy.deepcopy(old)
    elif which == 7:  # two parts swapped
        parent = part_at(document, path[:-1])
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        other = keys[rng.integers(len(keys))]
        parent[path[-1]], parent[other] = parent[other], parent[path[-1]]
    else:  # another name
        parent = part_at(document, path[:-1])
        if isinstance(parent, dict):
            names = [
                "Tree",
                "Schema",
                "NaiveBayes",
                "os.system",
                "builtins.eval",
                "x",
                "foreign",
                "fit",
                "__class__",
                "__reduce__",
                "_model",
                "array",
                "Column",
                "map",
                "predict_",
            ]
            parent[names[rng.integers(len(names))]] = parent.pop(path[-1])
    return pack(document, arrays)


def change_shape(rng, data):
    document, arrays = unpack(data)
    shaped = [path for path in places_of(document) if path and path[-1] == "array"]
    if not shaped:
        return change_document(rng, data)
    node = part_at(document, shaped[rng.integers(len(shaped))])
    shape = node[1]
    which = rng.integers(6)
    if which == 0:
        node[1] = shape[::-1]
    elif which == 1:
        node[1] = [int(np.prod(shape))]
    elif which == 2:
        node[1] = [1, *shape]
    elif which == 3 and shape:
        node[1][rng.integers(len(shape))] = int(rng.choice([0, -1, 2**20, 2**33, 2**61]))
    elif which == 4:
        node[0] = str(
            rng.choice(["float32", "int64", "int32", "bool", "uint8", "object", "V8", "O"])
        )
    else:
        node[2:] = [] if node[2:] else ["F"]
    return pack(document, arrays)


def odd_document(rng, data):
    _, arrays = unpack(data)
    text = data[data.rindex(b'{"date":') :]
    which = rng.integers(10)
    n = int(rng.integers(1000, 200_000))
    if which == 9:
        notes = (b"[" * n + b"]" * n, b'"x"', b'{"a":{"same":0}}', b'{"a":"%s"}' % (b"x" * n))
        return pack(b'{"about":' + notes[n % 4] + b"," + text[1:], arrays)
    if which == 0:
        return pack(b"[" * n + b"]" * n, arrays)
    if which == 1:
        return pack(text.replace(b'"models":{', b'"models":{"a":' + b'{"tuple":[' * n, 1), arrays)
    if which == 2:
        return pack(b'{"models":[' + b"[]," * (8 * n) + b"[]]}", arrays)
    if which == 3:
        return pack(text.replace(b'"several"', b'"date":"x","several"', 1), arrays)
    if which == 4:
        return pack(text.replace(b"true", b"NaN", 1).replace(b"false", b"Infinity", 1), arrays)
    if which == 5:
        return pack(text.replace(b"0", b"9" * 5000, 1), arrays)
    if which == 6:
        bomb = b'{"text":[[%d],["%s"%s]]}' % (n + 1, b"x" * 100_000, b',""' * n)
        return pack(text.replace(b"null", bomb, 1), arrays)
    if which == 7:
        bomb = b'{"objects":[[%d,0,%d],[]]}' % (2**39, 2**39)
        return pack(text.replace(b"null", bomb, 1), arrays)
    bomb = b"[" + b",".join([b'{"same":0}'] * (n // 10)) + b"]"
    return pack(text.replace(b"null", bomb, 1), arrays)


KINDS = [
    (flip_bits, 6),
    (cut_off, 3),
    (lengthen, 1),
    (zero_range, 2),
    (splice, 3),
    (change_header, 6),
    (change_number, 40),
    (resize_arrays, 3),
    (change_document, 40),
    (change_shape, 10),
    (odd_document, 4),
]


def make_mutant(number):
    """The bytes of a mutant, and how it was made."""
    rng = np.random.default_rng([18, number])
    source = GOLDEN[rng.integers(len(GOLDEN))]
    shares = np.array([share for _, share in KINDS], dtype=float)
    kind = KINDS[rng.choice(len(KINDS), p=shares / shares.sum())][0]
    return kind(rng, source.read_bytes()), f"{source.stem} {kind.__name__}"


# ---------------------------------------------------------------------------- judge

TIMES, PEAKS = [], []
"""Processor time of each call of one mutant, and the most memory until its predictions."""


def timed(function, *arguments):
    start = time.process_time()
    try:
        return function(*arguments)
    finally:
        TIMES.append(time.process_time() - start)


def judge(path, *, thorough=False):
    """What becomes of a file: "refused", "works", or what is wrong."""
    try:
        model = timed(latentclass.load, path)
    except ModelFileError as error:
        return "refused", str(error)
    if isinstance(model, dict):
        (model,) = list(model.values())[:1]
    return examine(model, thorough=thorough)


def use_other_verbs(model, frame):
    """Ask for all else; an exception will do, a crash will not."""
    for verb, arguments in (
        ("transform", (frame[:4],)),
        ("sample", (4,)),
        ("complete", (frame[:4],)),
        ("explain", (frame[:2],)),
        ("score_samples", (frame,)),
        ("__repr__", ()),
    ):
        if hasattr(model, verb):
            with contextlib.suppress(Exception):
                timed(getattr(model, verb), *arguments)


def examine(model, *, thorough=False):
    """Whether a model gives finite probabilities that sum to 1, for all kinds of rows."""
    if "schema_" not in vars(model):
        return "works", "not fitted"
    schema, rng = model.schema_, np.random.default_rng(0)
    frame = draw_rows(schema, rng)
    if not hasattr(model, "predict_proba"):
        timed(model.transform, frame)
        return "works", ""
    table = Table(*coded_rows(schema, rng))
    if hasattr(model, "_log_posterior"):
        all_rows = [
            np.exp(timed(model._log_posterior, table, None)),
            timed(model.predict_proba, frame),
        ]
    else:
        all_rows = [timed(model.predict_proba, frame)]
    PEAKS.append(memory("VmHWM"))
    if thorough:
        use_other_verbs(model, frame)  # samples need memory of their own, whatever the file
    for proba in all_rows:
        if not np.all(np.isfinite(proba)):
            return "wrong", "probabilities are not finite"
        if not np.allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-6):
            return "wrong", f"probabilities sum to {proba.sum(axis=1)}"
    return "works", ""


def coded_rows(schema, rng, n_rows=24):
    """Rows of codes: usual, far away, with holes, empty."""
    numeric = rng.normal(size=(n_rows, len(schema.continuous)))
    numeric[8:12] *= 1e4
    numeric[12:14] *= 1e150
    numeric[14:16] *= 1e-150
    codes = np.stack(
        [rng.integers(0, n, n_rows) if n else np.full(n_rows, -1) for n in schema.n_levels]
        or [np.empty((n_rows,))],
        axis=1,
    ).astype(np.int32)[:, : len(schema.discrete)]
    hidden = rng.random((n_rows, numeric.shape[1])) < 0.3
    numeric[4:10][hidden[4:10]] = np.nan
    codes[6:20][rng.random((14, codes.shape[1])) < 0.3] = -1
    numeric[-1], codes[-1] = np.nan, -1
    return numeric, codes


def draw_rows(schema, rng):
    """The same as a table of the container of `fit`."""
    numeric, codes = coded_rows(schema, rng)
    columns = []
    for j, column in enumerate(schema.columns):
        if column.kind == "continuous":
            columns.append(numeric[:, schema.continuous.index(j)])
        else:
            levels = np.array([*column.values[: len(column.categories)], None], dtype=object)
            columns.append(levels[codes[:, schema.discrete.index(j)]])
    if schema.container in ("numpy", "sparse"):
        return np.stack(columns, axis=1).astype(object) if columns else np.empty((24, 0))
    import pandas as pd

    frame = pd.DataFrame(dict(enumerate(columns)))
    frame.columns = schema.names
    return frame


# -------------------------------------------------------------------------- processes


def memory(field):
    """Bytes of this process; 0 where the system does not tell."""
    with contextlib.suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0


def reset_peak():
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def work(first, count):
    """Judge some mutants; one line before each, and one after."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mutant.lc")
        for golden in GOLDEN:  # compiled code is loaded now, not in the time of a mutant
            examine(latentclass.load(golden), thorough=True)
        for number in range(first, first + count):
            print("begin", number, flush=True)
            data, kind = make_mutant(number)
            Path(path).write_bytes(data)
            size = len(data)
            del data
            measured = reset_peak()
            before = memory("VmRSS")
            signal.setitimer(signal.ITIMER_PROF, 20)
            TIMES.clear()
            PEAKS.clear()
            try:
                verdict, reason = judge(path, thorough=number % 5 == 0)
            except Exception as error:
                verdict, reason = "wrong", f"{type(error).__name__}: {error}"
            seconds = max(TIMES)
            signal.setitimer(signal.ITIMER_PROF, 0)
            used = (PEAKS or [memory("VmHWM")])[0] - before if measured else 0
            if seconds > MOST_SECONDS:
                verdict, reason = "wrong", f"it took {seconds:.1f} s"
            if used > 3 * size + MOST_MEMORY:
                verdict, reason = "wrong", f"it took {used / 2**20:.0f} MB"
            print(json.dumps([number, kind, verdict, reason, seconds, used]), flush=True)


def run(first, count):
    """Judge mutants in processes of their own: a list of [number, kind, verdict, reason, ...]."""
    found, end = [], first + count
    while first < end:
        command = [sys.executable, __file__, "--work", str(first), str(end - first)]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = process.stdout.splitlines()
        found += [json.loads(line) for line in lines if line.startswith("[")]
        begun = [int(line.split()[1]) for line in lines if line.startswith("begin")]
        if process.returncode == 0:
            break
        if not begun:
            raise RuntimeError(process.stderr)
        reason = f"exit code {process.returncode}: {process.stderr[-300:]}"
        found.append([begun[-1], make_mutant(begun[-1])[1], "crash", reason, 0.0, 0])
        first = begun[-1] + 1
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--work", type=int, nargs=2, metavar=("FIRST", "COUNT"))
    arguments = parser.parse_args()
    if arguments.work:
        work(*arguments.work)
        return 0
    found = run(arguments.first, arguments.count)
    print(Counter(verdict for _, _, verdict, *_ in found))
    print("most seconds:", max(found, key=lambda row: row[4]))
    print("most memory:", max(found, key=lambda row: row[5]))
    wrong = [row for row in found if row[2] not in ("refused", "works")]
    for row in wrong[:60]:
        print(row)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
