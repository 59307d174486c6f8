"""Evidence that is not counted twice.

Naive Bayes counts the size of this tumour three times: as perimeter, area and radius. The latent
model knows that they repeat each other: removing one of them changes little, and it is less sure.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from latentclass import LCMClassifier
from latentclass.baselines import NaiveBayes

data = load_breast_cancer(as_frame=True)
table = data.data.filter(like="mean ").rename(columns=lambda name: name.removeprefix("mean "))
label = np.where(data.target == 1, "benign", "malignant")
tumour = table.iloc[[11]]
models = [NaiveBayes(calibrate=False), LCMClassifier(4, calibrate=False, random_state=0)]

figure, both = plt.subplots(2, 1, figsize=(5.2, 6), sharex=True, layout="constrained")
for axes, model in zip(both, models, strict=True):
    model.fit(table, label)
    model.explain(tumour).plot(ax=axes, n_top=6)
    name, sure = type(model).__name__, model.predict_proba(tumour).max()
    axes.set_title(f"{name}: {model.predict(tumour)[0]}, {sure:.1%} sure")
both[0].set_xlabel("")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "why_this_answer.png", dpi=150)
