"""A leaderboard of families and the reason for the choice.

Bars are the held-out log-loss of each family on the same folds, and lines are one standard
deviation over the folds. Lower is better. The answer is a weighted average; the text says why.
"""

import sys
from textwrap import fill

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from latentclass import AutoLatentClassifier, HNBClassifier, LatentTreeClassifier, LCMClassifier
from latentclass.baselines import AODE, TAN, NaiveBayes

X, y = load_wine(return_X_y=True, as_frame=True)
families = {
    "naive Bayes": NaiveBayes(),
    "AODE": AODE(),
    "TAN": TAN(),
    "hierarchy": HNBClassifier(random_state=0),
    "latent trees": LatentTreeClassifier(search="fast", random_state=0),
    "latent variables": LCMClassifier(4, random_state=0),
}
model = AutoLatentClassifier(time_budget=None, families=families, random_state=0).fit(X, y)
board = model.leaderboard_.to_frame()[::-1]

figure, axes = plt.subplots(figsize=(5.2, 4.4), layout="constrained")
colours = ["#0072B2" if weight else "#999999" for weight in board["weight"]]
names = [f"{row.family}\nweight {row.weight:.0%}" for row in board.itertuples()]
axes.barh(names, board["log_loss"], xerr=board["log_loss_sd"], color=colours)
axes.set_xlabel("held-out log-loss")
axes.spines[["top", "right"]].set_visible(False)
figure.supxlabel(fill(model.why_, 68), fontsize=9, x=0.02, ha="left")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "auto_chooses.png", dpi=150)
