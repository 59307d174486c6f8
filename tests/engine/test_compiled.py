"""Kernels as machine code."""

import errno
import os
import subprocess
import sys
import threading
from itertools import product
from pathlib import Path

import pytest

from latentclass.engine import _compiled


def test_without_a_folder_for_machine_code_it_is_made_in_every_session(monkeypatch):
    compile_ = _compiled.numba.njit

    def njit(*functions, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function")
        return compile_(*functions, **options)

    monkeypatch.setattr(_compiled.numba, "njit", njit)
    assert _compiled.compiled()(lambda x: 2 * x)(3) == 6


PROGRAM = """
from latentclass.engine._compiled import compiled

@compiled()
def inner(x):
    return x + 1

@compiled()
def outer(x):
    return 2 * inner(x)

print(outer(3))
"""


def run(folder):
    """Run two kernels whose machine code is kept below a folder, in a process of its own."""
    script = folder / "kernels.py"
    script.write_text(PROGRAM, encoding="utf-8")
    home = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=home)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def kept(folder, suffix):
    return sorted(Path(folder, "cache").rglob(f"*.{suffix}"))


def test_damaged_machine_code_is_made_again_with_one_warning(tmp_path):
    assert run(tmp_path) == ("8", "")
    for suffix, damage in product(("nbi", "nbc"), (b"", b"\x80\x05nonsense")):
        for path in kept(tmp_path, suffix):
            path.write_bytes(damage)
        answer, warning = run(tmp_path)  # which also mends them for the next round
        assert answer == "8"
        # older versions of numba pass over damaged code by themselves, but not over a damaged index
        least = 1 if suffix == "nbi" else 0
        assert least <= warning.count("UserWarning: Could not read compiled code in ") <= 1
    assert run(tmp_path) == ("8", "")


def test_a_full_disk_costs_the_machine_code_only(monkeypatch):
    class FullDisk:
        cache_path = "a full disk"

        def load_overload(self, signature, target_context):
            return None

        def save_overload(self, signature, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_compiled._TolerantCache, "warned", False)
    kernel = _compiled.compiled()(lambda x: 3 * x)
    kernel._cache = _compiled._TolerantCache(FullDisk())
    message = (
        r"^Could not write compiled code in a full disk \(OSError: .*No space left on device\)\."
    )
    with pytest.warns(UserWarning, match=message):
        assert kernel(2) == 6
    assert kernel(2.0) == 6.0  # a second warning would be an error


def wait_for_message(caplog):
    deadline = threading.Event()
    for _ in range(600):
        if caplog.messages:
            return caplog.messages
        deadline.wait(0.1)
    return []


def test_a_long_compilation_is_announced_once(caplog):
    compilation = _compiled.Compilation(patience=0.01)
    compilation.begin()
    compilation.begin()  # a kernel that the first one calls
    assert wait_for_message(caplog) == [
        "latentclass is compiling the kernels of this kind of model, once per installation. This "
        "can take a minute; latentclass.warmup does it ahead of time."
    ]
    compilation.end()
    compilation.end()
    compilation.begin()
    compilation.end()
    assert len(caplog.messages) == 1


def test_short_compilations_add_up(caplog):
    compilation = _compiled.Compilation(patience=3600.0)
    compilation.begin()
    compilation.end()
    assert 0.0 < compilation._left < 3600.0
    compilation._left = 1e-3  # nearly used up by earlier ones
    compilation.begin()
    assert wait_for_message(caplog)
    compilation.end()


def test_a_kernel_that_is_kept_is_not_announced(caplog):
    compilation = _compiled.Compilation(patience=3600.0)
    compilation.end()  # an end without a beginning does no harm
    assert not caplog.messages


def test_a_function_that_only_kernels_call_has_no_file_of_its_own(tmp_path):
    program = PROGRAM.replace("import compiled", "import compiled, inner as part")
    program = program.replace("@compiled()\ndef inner", "@part()\ndef inner")
    script = tmp_path / "kernels.py"
    script.write_text(program, encoding="utf-8")
    home = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):  # compiled, then loaded
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=home)
        assert done.stdout.strip() == "8", done.stderr
        assert [path.name.split(".")[1].split("-")[0] for path in kept(tmp_path, "nbi")] == [
            "outer"
        ]


PART = """
from latentclass.engine._compiled import inner

@inner()
def part(x):
    return x + 1
"""

CALLER = """
from part_kernels import part
from latentclass.engine._compiled import compiled

@compiled()
def outer(x):
    return 2 * part(x)

print(outer(3))
"""


def test_a_change_in_a_neighbouring_file_of_kernels_is_noticed(tmp_path):
    home = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    script = tmp_path / "caller_kernels.py"
    script.write_text(CALLER, encoding="utf-8")
    for part, answer in (PART, "8"), (PART, "8"), (PART.replace("x + 1", "x + 10"), "26"):
        (tmp_path / "part_kernels.py").write_text(part, encoding="utf-8")
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=home)
        assert done.stdout.strip() == answer, done.stderr
