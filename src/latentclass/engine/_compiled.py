"""Machine code from Python functions, one way for all kernels.

This module loads numba; import kernels only where they run.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from latentclass._warn import warn_user

F = TypeVar("F", bound=Callable[..., Any])

LOG = logging.getLogger("latentclass")


def compiled(**options: Any) -> Callable[[F], F]:
    """Compile at first use, to machine code that releases the GIL and is kept on disk.

    `options` are further ones of numba's `njit`.
    """

    def compile_one(function: F) -> F:
        try:
            kernel = numba.njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:  # no folder that may be written to: compile in every session
            return cast(F, numba.njit(nogil=True, **options)(function))
        _watch_neighbours(kernel)
        kernel._cache = _TolerantCache(kernel._cache)
        return cast(F, kernel)

    return compile_one


def inner(**options: Any) -> Callable[[F], F]:
    """Compile a function that only other kernels call, as a part of them.

    It has no entry from Python, which takes longer to compile than a short loop, and no file of its
    own on disk. `options` are further ones of numba's `njit`.
    """

    # numba's types do not know the first two
    every: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **options}

    def compile_one(function: F) -> F:
        return cast(F, numba.njit(nogil=True, **every)(function))

    return compile_one


def _watch_neighbours(kernel: Any) -> None:
    """Make the code on disk invalid when a file of kernels in the same folder has changed.

    The code of a kernel has that of the functions it calls inside, which may be in another file;
    numba looks at the kernel's own file only.
    """
    folder = Path(kernel.py_func.__code__.co_filename).parent
    files = [path.stat() for path in sorted(folder.glob("*kernels.py"))]
    stamp = [(one.st_mtime, one.st_size) for one in files]
    kernel._cache._cache_file._source_stamp = (kernel._cache._cache_file._source_stamp, stamp)


class Compilation:
    """Says once, after a second of it, that kernels are being compiled.

    The message goes to the logger "latentclass" as a warning, which Python prints to standard error
    unless logging is set up otherwise.
    """

    def __init__(self, patience: float = 1.0) -> None:
        self._left = patience
        self._lock = threading.Lock()
        self._depth = 0
        self._begun = 0.0
        self._timer: threading.Timer | None = None

    def begin(self) -> None:
        """A kernel is about to be compiled, perhaps for another one."""
        with self._lock:
            self._depth += 1
            if self._depth > 1 or self._left <= 0:
                return
            self._begun = time.monotonic()
            self._timer = threading.Timer(self._left, self._say)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        """The kernel is there."""
        with self._lock:
            self._depth = max(self._depth - 1, 0)
            if self._depth == 0 and self._timer is not None:
                self._timer.cancel()
                self._timer = None
                self._left -= time.monotonic() - self._begun

    def _say(self) -> None:
        with self._lock:
            self._left = 0.0
        LOG.warning(
            "latentclass is compiling the kernels of this kind of model, once per installation. "
            "This can take a minute; latentclass.warmup does it ahead of time."
        )


COMPILATION = Compilation()


class _TolerantCache:
    """numba's store of machine code, which may fail without harm: the code is then made anew.

    It can fail in many ways: a full disk, a file that another program damaged or removed.
    """

    warned = False

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Load machine code; None if there is none that can be used."""
        try:
            found = self._cache.load_overload(signature, target_context)
        except Exception as error:
            self._warn("read", error)
            self._forget()
            found = None
        if found is None:  # numba now compiles
            COMPILATION.begin()
        return found

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep machine code for later sessions, if that is possible."""
        COMPILATION.end()
        try:
            self._cache.save_overload(signature, data)
        except Exception as error:
            self._warn("write", error)

    def _forget(self) -> None:
        """Start an empty index in place of a damaged one."""
        try:
            self._cache.flush()
        except Exception as error:
            self._warn("write", error)

    def _warn(self, verb: str, error: Exception) -> None:
        if _TolerantCache.warned:
            return
        _TolerantCache.warned = True
        warn_user(
            f"Could not {verb} compiled code in {self._cache.cache_path} "
            f"({type(error).__name__}: {error}). It is compiled again in this session. Free some "
            "disk space, or delete the folder."
        )
