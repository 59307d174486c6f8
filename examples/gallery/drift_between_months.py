"""What has moved since last month.

A model of January's tumours looks at two more months. In March a new microscope makes textures 12 %
larger and rounds smoothness up. Both columns are found (orange), and February raises no alarm.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import latentclass

data = load_breast_cancer(as_frame=True)
table = data.data.filter(like="mean ").rename(columns=lambda name: name.removeprefix("mean "))
month = np.random.default_rng(0).integers(0, 3, len(table))
january, february, march = (table[month == m] for m in range(3))
march = march.assign(
    texture=1.12 * march["texture"], smoothness=np.ceil(march["smoothness"] * 100) / 100
)
model = latentclass.LCMClassifier(4, random_state=0).fit(january, data.target[month == 0])

figure, both = plt.subplots(
    1, 2, figsize=(5.2, 3.6), sharex=True, sharey=True, layout="constrained"
)
for axes, (name, rows) in zip(both, {"February": february, "March": march}.items(), strict=True):
    found = latentclass.drift(model, rows, reference=january)
    moved = found.moved()
    columns = sorted(found.columns, key=lambda column: table.columns.get_loc(column.name))
    colours = ["#D55E00" if column.name in moved else "#0072B2" for column in columns]
    axes.barh([c.name for c in columns], [c.distance for c in columns], color=colours)
    axes.set(title=name, xlabel="distance")
    axes.spines[["top", "right"]].set_visible(False)
both[0].invert_yaxis()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "drift_between_months.png", dpi=150)
