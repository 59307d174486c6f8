"""Pictures of naive Bayes along other axes than the columns."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from latentclass.baselines import NaiveBayes, ProjectedNaiveBayes

from ._style import CLASS_COLOURS, MARKERS, grid_points, shade_classes


def axes() -> Figure:
    """Show what naive Bayes sees along columns, principal axes, and the axes of clusters."""
    rng = np.random.default_rng(0)
    cluster, y = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    along, across = rng.normal(0, 2, 300), rng.normal(0, 0.25, 300) + 0.8 * (y - 0.5)
    slant = np.where(cluster, 0.3, 1.2)  # radians
    X = np.column_stack(
        [
            along * np.cos(slant) - across * np.sin(slant) + 5.0 * cluster,
            along * np.sin(slant) + across * np.cos(slant) - 2.0 * cluster,
        ]
    )
    models = {
        "columns (NaiveBayes)": NaiveBayes().fit(X, y),
        'axes="all"': ProjectedNaiveBayes().fit(X, y),
        'axes="clusters"': ProjectedNaiveBayes(axes="clusters", random_state=0).fit(X, y),
    }
    grid, points = grid_points(X.min(axis=0) - 0.5, X.max(axis=0) + 0.5)

    figure, panels = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
    for axes, (title, model) in zip(panels, models.items(), strict=True):
        shade_classes(axes, grid, model.predict(points), 2)
        for k in range(2):
            axes.scatter(*X[y == k].T, s=9, marker=MARKERS[k], color=CLASS_COLOURS[k])
        if isinstance(model, ProjectedNaiveBayes):
            for centre, matrix in zip(model.centres_, model.axes_, strict=True):
                # two standard deviations along each axis
                for arm in 2.0 * np.linalg.inv(matrix).T:
                    ends = np.column_stack([centre - arm, centre + arm])
                    axes.plot(*ends, color="black", linewidth=1.6)
        axes.set_title(f"{title}: {model.score(X, y):.0%} correct", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    return figure
