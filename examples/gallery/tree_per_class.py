"""One latent tree for each class.

Circles are latent variables with their number of states. The wider an edge, the more information
its ends share. Radius, perimeter and area hang from one variable in both classes: the size. The
other columns are joined differently in malignant and in benign tumours.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from latentclass import LatentTreeClassifier
from latentclass.plots import LatentTreeDisplay

data = load_breast_cancer(as_frame=True)
table = data.data.filter(like="mean ").rename(columns=lambda name: name.removeprefix("mean "))
label = np.where(data.target == 1, "benign", "malignant")
model = LatentTreeClassifier(search="fast", n_cuts=1, calibrate=False, random_state=0)
model.fit(table, label)

figure, both = plt.subplots(2, 1, figsize=(5.6, 6), layout="constrained")
for axes, name in zip(both, model.classes_, strict=True):
    LatentTreeDisplay.from_estimator(model, name, ax=axes)
    axes.set_title(f"{name} tumours")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "tree_per_class.png", dpi=150)
