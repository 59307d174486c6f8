"""Two factors explain thirteen measurements.

Above: each wine by its two latent variables; each ellipse is a grower. Below: what the variables
are made of. The first is flavanoids and phenols; the second is alcohol, colour and proline.
"""

import sys

import matplotlib.pyplot as plt

from latentclass import LCMClassifier
from latentclass.datasets import load_dataset
from latentclass.plots import LatentSpaceDisplay, LoadingsDisplay

wine = load_dataset("wine", container="pandas")
table = wine.X.rename(columns={"OD280/OD315_of_diluted_wines": "OD280/OD315"})
model = LCMClassifier(n_latent=2, random_state=0).fit(table, wine.y)

figure, (above, below) = plt.subplots(
    2, 1, figsize=(5.2, 7.4), height_ratios=[1, 1.1], layout="constrained"
)
LatentSpaceDisplay.from_estimator(model, table, wine.y, ax=above, legend=False)
above.legend(title="grower", frameon=False)
LoadingsDisplay.from_estimator(model, ax=below)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "factors_of_wine.png", dpi=130)
