"""Groups that nobody labelled, with a classifier in each.

The labels say only whether a digit is odd. Naive Bayes is right about 52 % of the held-out images.
Twenty groups with a naive Bayes in each are right about 93 %. The pictures are the means of the
groups: most are one way to write one digit. (The default, one kernel classifier for all images, is
right about 96 %, but it has no groups to look at.)
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from latentclass import LatentVariableClassifier
from latentclass.baselines import NaiveBayes

images, digits = load_digits(return_X_y=True)
parity = np.where(digits % 2 == 1, "odd", "even")
train = np.arange(len(digits)) % 2 == 0
model = LatentVariableClassifier(None, 20, random_state=0).fit(images[train], parity[train])
naive = NaiveBayes().fit(images[train], parity[train])
right = [m.score(images[~train], parity[~train]) for m in (naive, model)]

group = model.transform(images[train])
figure, cells = plt.subplots(4, 5, figsize=(5.2, 5.1), layout="constrained")
figure.suptitle("naive Bayes {:.0%} right, twenty groups {:.0%} right".format(*right))
for k, axes in enumerate(cells.flat):
    odd = np.average(digits[train] % 2, weights=group[:, k])
    axes.imshow(model.means_[k].reshape(8, 8), cmap="Greys")
    axes.set_title(f"{odd:.0%} odd", color="#D55E00" if odd > 0.5 else "#0072B2", fontsize=11)
    axes.axis("off")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "groups_with_own_classifier.png", dpi=150)
