"""A digit that is disclosed line by line.

A model of handwritten digits sees a 3 from the top down. At each stage it gives the probability of
every digit and fills in the pixels that are still hidden. After six of eight lines it is sure.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits

from latentclass import BinaryLCMClassifier
from latentclass.plots import DisclosureDisplay

images, digits = load_digits(return_X_y=True)
ink = images > 7
train = np.arange(len(digits)) % 2 == 0
model = BinaryLCMClassifier(n_latent=10, n_init=1, tol=0.05, discriminative=False, random_state=0)
model.fit(ink[train], digits[train])

three = ink[~train][np.flatnonzero(digits[~train] == 3)[0]]
display = DisclosureDisplay.from_estimator(model, three, (8, 8), lines=[0, 2, 4, 6, 8])
display.figure_.savefig(sys.argv[1] if len(sys.argv) > 1 else "digit_line_by_line.png", dpi=150)
