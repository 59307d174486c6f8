"""Axes to draw into; matplotlib is loaded with the first picture."""

from __future__ import annotations

from typing import Any


def make_axes(ax: Any, *, figsize: tuple[float, float]) -> tuple[Any, Any]:
    """The axes to draw into, new ones if None, and their figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('Plots need matplotlib: pip install "latentclass[plots]".') from None
    if ax is None:
        ax = plt.subplots(figsize=figsize, layout="constrained")[1]
    return ax, ax.figure
