"""Pictures of hierarchical naive Bayes. `benchmarks/hnb.py --full --plot` draws `hnb-cost`."""

from matplotlib.figure import Figure

from latentclass import HNBClassifier
from latentclass.datasets import load_dataset
from latentclass.plots import HierarchyDisplay


def hierarchy() -> Figure:
    """Show the columns of the wines joined by latent variables."""
    wine = load_dataset("wine", container="pandas")
    model = HNBClassifier(random_state=0).fit(wine.X, wine.y)
    return HierarchyDisplay.from_estimator(model).figure_
