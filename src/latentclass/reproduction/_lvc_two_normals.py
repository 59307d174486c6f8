"""Davidson's Tables 4 and 5 and Figure 5: two normals, N(0, 1) and N(3, 1), found again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from latentclass._axes import load_pyplot
from latentclass._types import FloatArray
from latentclass.datasets import load_dataset
from latentclass.engine._mixture_rows import MixtureRows
from latentclass.engine._product_mixture import MixtureParams
from latentclass.mixture._hard_assignment import MixtureSearch
from latentclass.mixture._searches import Rule, run_search
from latentclass.reproduction._entry import Entry
from latentclass.reproduction._lvc_mixtures import (
    SEARCHES,
    Settings,
    generators,
    make_problem,
    read_rows,
    search_mixture,
)
from latentclass.reproduction._published import read_published
from latentclass.reproduction._records import Record, text_of
from latentclass.reproduction._work import Work

TRUE_MEAN, TRUE_SCALE = np.array([0.0, 3.0]), np.array([1.0, 1.0])
EDGES = (0.5, 2.5, 7.5, 10.0)
INTERVALS = {
    "lt_0.5": "< 0.5",
    "0.5_2.5": "[0.5, 2.5)",
    "2.5_7.5": "[2.5, 7.5)",
    "7.5_10": "[7.5, 10)",
    "gt_10": ">= 10",
}
ROWS = (100, 250, 500, 1000)
EXPERIMENTS, AT_ONCE = 100, 10
HIT = 0.1
"""A model is the generating one if the KL distances of both components sum to less than this."""


def component_distances(mean: FloatArray, scale: FloatArray) -> FloatArray:
    """Return KL(true component || found one) in closed form, shape (2, 2)."""
    gap = (TRUE_MEAN[:, None] - mean) ** 2
    spread = (TRUE_SCALE[:, None] ** 2 + gap) / (2 * scale**2)
    return np.asarray(np.log(scale / TRUE_SCALE[:, None]) + spread - 0.5)


def distances(mean: FloatArray, scale: FloatArray) -> tuple[float, float]:
    """Return the sum over both components: in the order found, and in the better order."""
    parts = component_distances(mean, scale)
    as_found, turned = float(np.trace(parts)), float(parts[0, 1] + parts[1, 0])
    return as_found, min(as_found, turned)


def draw_rows(n_rows: int, experiment: int) -> FloatArray:
    """Draw rows of the two normals."""
    rng = np.random.default_rng([n_rows, experiment])
    return np.asarray(rng.normal(TRUE_MEAN[rng.integers(0, 2, n_rows)], 1.0)[:, None])


def in_units(rows: MixtureRows, params: MixtureParams, s: int = 0) -> tuple[FloatArray, FloatArray]:
    """Return means and standard deviations of one start in the data's units."""
    centre, unit = rows.layout.centre[0], rows.layout.unit[0]
    return centre + unit * params.mean[s, :, 0], unit * params.scale[s, :, 0]


def table_4(work: Work) -> Iterator[Record]:
    """Yield the share of experiments in each interval of the KL distance."""
    settings = Settings(10, 200) if work.quick else Settings(50, 1000)
    published = {(one["algorithm"], int(one["n"])): one for one in _published_shares()}
    for algorithm in ("ERA", "EM", "K-Means"):
        for n_rows in ROWS:
            found: list[list[float]] = []
            for first in range(0, EXPERIMENTS, AT_ONCE):
                found += _experiments(work, algorithm, n_rows, first, settings)
            as_found, better = np.transpose(found)
            theirs = published[algorithm, n_rows]
            row = f"{algorithm}-{n_rows}"
            for (key, title), share in zip(INTERVALS.items(), _shares(as_found), strict=True):
                yield Record(
                    row, title, "experiments, %", text_of(share, 0), published=theirs[key],
                    runs=str(len(found)),
                )  # fmt: skip
            yield Record(
                row, "< 0.5 in the better order", "experiments, %", text_of(_shares(better)[0], 0)
            )


def _published_shares() -> list[dict[str, str]]:
    names = {"ERA": "ERA", "EM": "EM", "KMEANS": "K-Means"}
    lines = read_published("lvc_table4_kl_percent")
    return [{**line, "algorithm": names[line["algorithm"]]} for line in lines]


def _shares(values: FloatArray) -> FloatArray:
    """Return the percentage of the values in each interval."""
    places = np.digitize(values, EDGES)
    return np.asarray(100 * np.bincount(places, minlength=len(INTERVALS)) / len(values))


def _experiments(
    work: Work, algorithm: str, n_rows: int, first: int, settings: Settings
) -> list[list[float]]:
    """Return both distances of the best model in some experiments."""

    def compute() -> list[tuple[float, float]]:
        found = []
        for experiment in range(first, first + AT_ONCE):
            rows = read_rows(draw_rows(n_rows, experiment))
            problem = make_problem(rows, 2)
            best, _ = search_mixture(problem, SEARCHES[algorithm], settings, experiment)
            found.append(distances(*in_units(rows, best.params)))
        return found

    what = f"two normals, {n_rows} rows by {algorithm}, experiments from {first}"
    return list(work.remember(what, [algorithm, n_rows, first, AT_ONCE, *settings], compute))


def table_5(work: Work) -> Iterator[Record]:
    """Yield the best model of each algorithm that starts from the true parameters."""
    published = {line["algorithm"]: line for line in read_published("lvc_table5_generating_start")}
    columns = {
        "log_likelihood": "log-likelihood",
        "mu0": "mean 0",
        "sd0": "s.d. 0",
        "mu1": "mean 1",
        "sd1": "s.d. 1",
        "kl0": "KL 0",
        "kl1": "KL 1",
    }
    for algorithm in ("K-Means", "EM", "ERA"):
        values = _from_the_truth(work, algorithm)
        for (key, title), value in zip(columns.items(), values, strict=True):
            digits = 0 if key == "log_likelihood" else 2
            beside = published[algorithm][key]
            yield Record(algorithm, title, title, text_of(value, digits), published=beside)


def _from_the_truth(work: Work, algorithm: str) -> list[float]:
    """Return log-likelihood, means, standard deviations and distances, as Table 5 has them."""

    def compute() -> list[float]:
        rows = read_rows(load_dataset("two-normals", container="numpy").X.astype(float))
        unit, centre = rows.layout.unit[0], rows.layout.centre[0]
        params = MixtureParams(
            np.log([[0.5, 0.5]]),
            ((TRUE_MEAN - centre) / unit)[None, :, None],
            (TRUE_SCALE / unit)[None, :, None],
            np.zeros((1, 2, 0)),
        )
        each = (lambda _: True) if algorithm == "K-Means" else None
        found = run_search(
            MixtureSearch(make_problem(rows, 2)), params, Rule(SEARCHES[algorithm]), tol=1e-10,
            max_iter=1000, rngs=generators(1, 1), visit=each,
        )  # fmt: skip
        # K-Means ends where it settles, not at its best log-likelihood, which is its start
        last = found.visited[-1] if found.visited else found.best.params
        trace = found.best.histories[0]
        value = trace[-1] if algorithm == "K-Means" else max(trace)
        mean, scale = in_units(rows, last)
        parts = component_distances(mean, scale)
        both = [float(x) for pair in zip(mean, scale, strict=True) for x in pair]
        return [len(rows.weight) * value, *both, float(parts[0, 0]), float(parts[1, 1])]

    return list(work.remember(f"from the truth by {algorithm}", [algorithm], compute))


def figure_5(work: Work) -> Iterator[Record]:
    """Draw the log-likelihood by iteration of starts of ERA that hit the truth, and that do not."""
    settings = Settings(50, 200)
    found = _traces(work, settings)
    traces, hits = np.array(found["traces"]), np.array(found["distances"]) < HIT
    first = np.where(hits.any(axis=1), hits.argmax(axis=1), settings.iterations)
    order = np.argsort(first, kind="stable")
    middle = order[np.count_nonzero(hits.any(axis=1)) // 2] if hits.any() else order[0]
    series = {"Hit": middle, "slowest start": order[-1]}
    pyplot = load_pyplot()
    figure, ax = pyplot.subplots(figsize=(6.5, 3.6), layout="constrained")
    for (name, start), colour in zip(series.items(), ("#009E73", "#D55E00"), strict=True):
        ax.plot(traces[start], color=colour, linewidth=1, label=name)
        there = np.flatnonzero(hits[start])
        ax.scatter(there, traces[start, there], color=colour, s=6)
    ax.set(xlabel="iteration", ylabel="log-likelihood")
    ax.spines[["top", "right"]].set_visible(False)
    title = f"dots: both KL distances sum to less than {HIT}"
    ax.legend(frameon=False, title=title, title_fontsize=8, fontsize=8, loc="lower right")
    work.save_picture(figure)
    pyplot.close(figure)
    reached = np.asarray(hits.any(axis=1))
    yield Record("all starts", "hit the truth", "starts, %", text_of(100 * reached.mean(), 0),
                 runs=str(len(traces)))  # fmt: skip
    if reached.any():
        yield Record("all starts", "first hit, median", "iteration",
                     text_of(float(np.median(first[reached])), 0))  # fmt: skip
    for name, start in series.items():
        changes = np.diff(traces[start])
        cells: dict[str, tuple[str, Any]] = {
            "first hit": ("iteration", str(first[start]) if reached[start] else ""),
            "steps that fall": ("%", text_of(100 * float((changes < 0).mean()), 0)),
            "first log-likelihood": ("log-likelihood", text_of(traces[start, 0], 0)),
            "best log-likelihood": ("log-likelihood", text_of(traces[start].max(), 0)),
        }
        for column, (statistic, value) in cells.items():
            yield Record(name, column, statistic, value, note="" if value else "none")


def _traces(work: Work, settings: Settings) -> dict[str, Any]:
    """Return log-likelihood and distance, in the better order, at each iteration of each start."""

    def compute() -> dict[str, Any]:
        rows = read_rows(load_dataset("two-normals", container="numpy").X.astype(float))
        problem = make_problem(rows, 2)
        best, visited = search_mixture(problem, "era", settings, 5, visit=lambda _: True)
        return {
            "traces": [[len(rows.weight) * value for value in trace] for trace in best.histories],
            "distances": [
                [distances(*in_units(rows, params, s))[1] for params in visited]
                for s in range(settings.starts)
            ],
        }

    return dict(work.remember("traces of ERA on two normals", list(settings), compute))


SAME = {"quick": "The same as paper.", "paper": "1000 iterations of one start."}
ENTRIES = (
    Entry(
        paper="lvc",
        kind="table",
        number=4,
        title="KL distance of the best model from the truth",
        data=(),
        classifiers=("ERA", "EM", "K-Means"),
        protocol=(
            "100 experiments with new rows of N(0, 1) and N(3, 1), half of each on average; in "
            "each, the start with the greatest likelihood. The distance is the sum over both "
            "components of KL(true || found), with the components in the order in which they were "
            "found: the paper's intervals can hardly come from another. The last column has them "
            "in the better order."
        ),
        profiles={
            "quick": "10 starts of 200 iterations in each experiment.",
            "paper": "50 starts of 1000 iterations, as in Tables 1 to 3: the paper does not say.",
        },
        run=table_4,
        look_for=(
            "In the order found, half of the experiments are far off although the model is right: "
            "its components have changed places."
        ),
    ),
    Entry(
        paper="lvc",
        kind="table",
        number=5,
        title="the best model from the true parameters",
        data=("two-normals",),
        classifiers=("K-Means", "EM", "ERA"),
        protocol="1000 rows of N(0, 1) and N(3, 1), not the paper's, which are not known.",
        profiles=SAME,
        run=table_5,
        look_for="K-Means leaves the truth: its standard deviations are too small.",
    ),
    Entry(
        paper="lvc",
        kind="figure",
        number=5,
        title="ERA's log-likelihood by iteration",
        data=("two-normals",),
        classifiers=("ERA",),
        protocol=(
            "1000 rows of N(0, 1) and N(3, 1), 50 random starts of 200 iterations. The Hit series "
            "is the start with the median first hit of all that hit the truth."
        ),
        profiles={"quick": "The same as paper.", "paper": "50 starts of 200 iterations."},
        run=figure_5,
        look_for=(
            "The log-likelihood may rise for long, but need not: it also falls, and never settles."
        ),
    ),
)
