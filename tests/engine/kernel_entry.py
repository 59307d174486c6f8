"""A way into functions that only other kernels call."""

import functools

import numba


@functools.cache
def entry(kernel):
    """The same machine code with an entry from Python, without which a call would crash."""
    options = {k: v for k, v in kernel.targetoptions.items() if not k.endswith("_wrapper")}
    return numba.jit(**options)(kernel.py_func)
