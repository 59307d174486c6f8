"""The latent tree classifier's Figures 3 and 4: what it finds in corral."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from latentclass._axes import load_pyplot
from latentclass.datasets import load_dataset
from latentclass.latent_tree._classifier import LatentTreeClassifier
from latentclass.plots import LatentTreeDisplay
from latentclass.reproduction._entry import Entry
from latentclass.reproduction._records import Record
from latentclass.reproduction._work import Work

CLASSES = {"1": "true", "0": "false"}
RELEVANT = ("A0", "A1", "B0", "B1")
PUBLISHED_LATENTS = {"true": 1, "false": 2}
"""Number of latent variables that the paper found in each class. All have two states."""


def corral_trees(work: Work) -> dict[str, Any]:
    """Return the edges, states and groups of both classes of corral."""
    model = LatentTreeClassifier(n_cuts=1, random_state=0, calibrate=False)
    if not work.quick:
        model = LatentTreeClassifier.as_published(random_state=0)

    def compute() -> dict[str, Any]:
        corral = load_dataset("corral", container="pandas")
        model.fit(corral.X, corral.y)
        found = {}
        for label, title in CLASSES.items():
            groups = model.latent_groups(label)
            true = groups[(groups["level"] == "1") & groups["column"].isin(RELEVANT)]
            states = model.trees_[label].latent_cardinalities
            found[title] = {
                "edges": model.tree_edges(label),
                "states": dict(zip(model.latent_names_[label], map(int, states), strict=True)),
                "groups": [
                    [one.latent, int(one.group), one.column, float(one.probability)]
                    for one in true.itertuples()
                ],
            }
        return found

    return dict(work.remember("trees of corral", model, compute))


def figure_3(work: Work) -> Iterator[Record]:
    """Draw the trees of both classes."""
    trees = corral_trees(work)
    pyplot = load_pyplot()
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for title, ax in zip(CLASSES.values(), axes, strict=True):
        tree = trees[title]
        LatentTreeDisplay(tree["edges"], tree["states"]).plot(ax)
        ax.set_title(f"class {title}")
        yield Record(
            "latent variables", title, "count", str(len(tree["states"])),
            published=str(PUBLISHED_LATENTS[title]),
        )  # fmt: skip
        yield Record(
            "states of each", title, "count", ", ".join(map(str, tree["states"].values())),
            published=", ".join(["2"] * PUBLISHED_LATENTS[title]),
        )  # fmt: skip
        for parent, child, information in tree["edges"]:
            yield Record(f"to {child}", title, f"from {parent}, nats", f"{abs(information):.3f}")
    work.save_picture(figure)
    pyplot.close(figure)


def figure_4(work: Work) -> Iterator[Record]:
    """Draw the probability that each relevant column is true in each group."""
    trees = corral_trees(work)
    found = [
        (title, latent, group, column, probability)
        for title in CLASSES.values()
        for latent, group, column, probability in trees[title]["groups"]
    ]
    bars = list(dict.fromkeys((title, latent, group) for title, latent, group, _, _ in found))
    pyplot = load_pyplot()
    n_wide = (len(bars) + 1) // 2
    figure, axes = pyplot.subplots(
        2, n_wide, figsize=(2.6 * n_wide, 4.6), sharey=True, layout="constrained"
    )
    places = axes.T.ravel()  # the groups of a latent variable above each other
    for ax in places[len(bars) :]:
        ax.axis("off")
    for (title, latent, group), ax in zip(bars, places, strict=False):
        shares = {
            column: share for *where, column, share in found if where == [title, latent, group]
        }
        ax.bar(RELEVANT, [shares[column] for column in RELEVANT], color="tab:blue")
        ax.set_title(f"class {title}, {latent}, group {group + 1}", size=9)
        ax.set_ylim(0, 1)
        for column in RELEVANT:
            row = f"class {title}, {latent}, group {group + 1}"
            yield Record(row, column, "P(true)", f"{shares[column]:.3f}")
    places[0].set_ylabel("probability of true")
    work.save_picture(figure)
    pyplot.close(figure)


PROFILES = {
    "quick": "One start of full EM.",
    "paper": "LTC as published: every candidate judged, 64 starts of full EM.",
}
PROTOCOL = "One model of all 128 rows of corral; class = (A0 and A1) or (B0 and B1)."
FIGURES = (
    Entry(
        paper="ltc",
        kind="figure",
        number=3,
        title="the trees of corral",
        data=("corral",),
        classifiers=("LTC",),
        protocol=PROTOCOL,
        profiles=PROFILES,
        run=figure_3,
        minutes={"quick": 0.1, "paper": 0.1},
        look_for=(
            "Class true has one latent variable, class false has two: one for A0 and A1, one for "
            "B0 and B1. Wide edges carry much information: Irrelevant and Correlated have almost "
            "none."
        ),
    ),
    Entry(
        paper="ltc",
        kind="figure",
        number=4,
        title="the latent groups of corral",
        data=("corral",),
        classifiers=("LTC",),
        protocol=PROTOCOL,
        profiles=PROFILES,
        run=figure_4,
        minutes={"quick": 0.1, "paper": 0.1},
        look_for=(
            "Class true: in one group A0 and A1 are always true, in the other B0 and B1. Class "
            "false: each latent variable separates the rows in which the first column of its pair "
            "is false from those in which the second is. Laplace's correction keeps the bars off "
            "0 and 1."
        ),
    ),
)
