"""Machine code from Python functions, one way for all kernels.

This module loads numba; import kernels only where they run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[F], F]:
    """Compile at first use, to machine code that releases the GIL and is kept on disk.

    `options` are further ones of numba's `njit`.
    """

    def compile_one(function: F) -> F:
        try:
            return cast(F, numba.njit(nogil=True, cache=True, **options)(function))
        except RuntimeError:  # no folder that may be written to: compile in every session
            return cast(F, numba.njit(nogil=True, **options)(function))

    return compile_one
