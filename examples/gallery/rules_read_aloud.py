"""Rules that can be read aloud.

Robots are friends or foes by a secret rule: friends have a head of the same shape as the body, or a
red jacket. From 150 of 432 robots the model finds the rule, and it is right about all the others.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from latentclass import HNBClassifier
from latentclass.datasets import load_dataset

monks = load_dataset("monks-1/test", container="pandas")  # all robots of the first monk's problem
shapes = {"1": "round", "2": "square", "3": "octagon"}
colours = {"1": "red", "2": "yellow", "3": "green", "4": "blue"}
robots = monks.X.astype(str).rename(
    columns={"a1": "head", "a2": "body", "a3": "smile", "a4": "hand", "a5": "jacket", "a6": "tie"}
)
robots = robots.replace({"head": shapes, "body": shapes, "jacket": colours})
side = np.where(monks.y == "1", "friend", "foe")
train = np.random.default_rng(1).permutation(len(robots)) < 150
model = HNBClassifier(random_state=0).fit(robots[train], side[train])

rules = model.rules().drop_duplicates("rule").query("rule != 'always'").reset_index()
right = model.score(robots[~train], side[~train])
figure, axes = plt.subplots(figsize=(5.2, 3.2), layout="constrained")
axes.barh(rules.index, rules["P(friend)"], 0.4, color="#0072B2", label="friends")
axes.barh(rules.index, rules["P(foe)"], 0.4, rules["P(friend)"], color="#E69F00", label="foes")
for i, rule in rules.iterrows():
    axes.text(0, i - 0.28, f"{rule['rule']} ({rule['support']:.0f} robots)", fontsize=12)
axes.set(ylim=(len(rules) - 0.6, -0.75), xlabel="share of friends and foes", yticks=[])
axes.set_title(f"{right:.0%} of the {sum(~train)} other robots right")
axes.legend(ncols=2, frameon=False, loc="lower right", bbox_to_anchor=(1, -0.35))
axes.spines[["top", "right", "left"]].set_visible(False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "rules_read_aloud.png", dpi=150)
