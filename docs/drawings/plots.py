"""Pictures of the page of pictures. The models are those of docs/how-to/plots.md."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from latentclass import HNBClassifier
from latentclass.datasets import load_dataset


def evidence() -> Figure:
    """Show the rules that hold for one wine, and the importance of the columns over all."""
    wine = load_dataset("wine", container="pandas")
    model = HNBClassifier(random_state=0).fit(wine.X, wine.y)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.3), layout="constrained")
    model.explain(wine.X.iloc[[0]]).plot(ax=left)
    model.importance(wine.X).plot(ax=right, n_top=8)
    return figure
