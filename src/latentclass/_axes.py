"""Figures and axes to draw on. Matplotlib is loaded with the first picture."""

from __future__ import annotations

from typing import Any


def load_pyplot() -> Any:
    """Import matplotlib's pyplot, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('Plots need matplotlib: pip install "latentclass[plots]".') from None
    return plt


def make_axes(ax: Any, *, figsize: tuple[float, float]) -> tuple[Any, Any]:
    """Return `ax`, or new axes if it is None, together with its figure."""
    plt = load_pyplot()
    if ax is None:
        ax = plt.subplots(figsize=figsize, layout="constrained")[1]
    return ax, ax.figure
