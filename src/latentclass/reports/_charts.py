"""The pictures of a report. Each is narrow enough for a phone and has its numbers in a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from latentclass.reports._findings import LatentGroups, SpaceFinding, TreeFinding
from latentclass.reports._summary import Distribution, Effect, ReliabilityBin, Score
from latentclass.reports._svg import Drawing, fixed
from latentclass.reports._text import cut, loss, number, percent, plural

WIDTH = 340.0
"""Pixels: a phone has 390."""

N_COLOURS = 8
LETTER = 6.6
"""Pixels of a letter of the pictures, roughly."""


def colour(place: int) -> str:
    """The style of a class or group."""
    return f"c{place % N_COLOURS}" if place >= 0 else "none"


def bar(value: float, most: float, *, both_ways: bool = False) -> str:
    """A bar for the cell of a table; its number stands beside it."""
    share = 0.0 if most <= 0 or math.isnan(value) else max(-1.0, min(value / most, 1.0))
    if math.isinf(value):
        share = 1.0 if value > 0 else -1.0
    low = -100 if both_ways else 0
    width = 200 if both_ways else 100
    x, w = (0.0, 100 * share) if share >= 0 else (100 * share, -100 * share)
    style = ("pos" if share >= 0 else "neg") if both_ways else "plain"
    # a gap near the end marks a bar that is too long for its cell
    gap = f'<rect class="gap" x="{x + (90 if share > 0 else 7):.1f}" y="0" width="3" height="10"/>'
    cut_off = gap if most > 0 and abs(value) > 1.0001 * most else ""
    axis = '<rect class="zero" x="-0.6" y="0" width="1.2" height="10"/>' if both_ways else ""
    return (
        f'<svg class="bar" viewBox="{low} 0 {width} 10" preserveAspectRatio="none" '
        f'aria-hidden="true"><rect class="{style}" x="{x:.1f}" y="1" width="{w:.1f}" height="8"/>'
        f"{cut_off}{axis}</svg>"
    )


def spark(shares: Sequence[float]) -> str:
    """The spread of a column as small bars for the cell of a table."""
    top = max(shares, default=0.0) or 1.0
    tall = [fixed(24 * share / top) for share in shares]
    bars = "".join(f"M{8 * k},24v-{one}h7V24z" for k, one in enumerate(tall))
    return (
        f'<svg class="spark" viewBox="0 0 {8 * len(shares)} 24" preserveAspectRatio="none" '
        f'aria-hidden="true"><path class="plain" d="{bars}"/></svg>'
    )


def score_plot(scores: Sequence[Score]) -> str:
    """Log-loss of each classifier with its interval, the best at the left."""
    row, top = 40.0, 8.0
    height = top + row * len(scores) + 34
    low = min(one.log_loss.low for one in scores)
    high = max(one.log_loss.high for one in scores)
    axis = Axis(min(low, 0.0), high, 10.0, WIDTH - 24)
    drawing = Drawing(WIDTH, height, "Log-loss of each classifier with its 95 % interval")
    bottom = top + row * len(scores)
    for value, text in axis.ticks():
        drawing.line(axis(value), top, axis(value), bottom, "grid")
        drawing.text(axis(value), bottom + 14, text, "small", "middle")
    for place, one in enumerate(scores):
        y = top + row * place + 28
        mine = "c0" if place == 0 else "grey"
        told = f"{one.name}: log-loss {loss(one.log_loss.value)}, {loss(one.log_loss.low)} to " + (
            loss(one.log_loss.high)
        )
        drawing.line(axis.start, y, axis.end, y, "grid")
        drawing.text(10, y - 10, one.name, "strong" if place == 0 else "")
        drawing.line(axis(one.log_loss.low), y, axis(one.log_loss.high), y, f"whisker {mine}")
        drawing.add("circle", f"dot {mine}", told, cx=axis(one.log_loss.value), cy=y, r=5)
    drawing.text(WIDTH / 2, height - 3, "log-loss (lower is better)", "small", "middle")
    return str(drawing)


def reliability_plot(bins: Sequence[ReliabilityBin]) -> str:
    """Share of right answers against confidence; on the diagonal both agree."""
    drawing = Drawing(WIDTH, 312, "Reliability: share of right answers against confidence")
    low = min([0.5, *(one.confidence for one in bins), *(one.accuracy.low for one in bins)])
    low = math.floor(low * 5) / 5
    x, y = Axis(low, 1.0, 46, WIDTH - 14), Axis(low, 1.0, 266, 26)
    _frame(drawing, x, y, percent_ticks=True)
    drawing.line(x(low), y(low), x(1), y(1), "ideal")
    for one in bins:
        at = x(one.confidence)
        drawing.line(at, y(one.accuracy.low), at, y(one.accuracy.high), "whisker c0")
    drawing.path([(x(one.confidence), y(one.accuracy.value)) for one in bins], "curve c0")
    for one in bins:
        told = (
            f"{plural(one.n_rows, 'row')}: {percent(one.confidence)} sure, "
            f"{percent(one.accuracy.value)} right"
        )
        drawing.add("circle", "dot c0", told, cx=x(one.confidence), cy=y(one.accuracy.value), r=4)
    drawing.text(WIDTH / 2 + 16, 302, "how sure the model is", "small", "middle")
    drawing.text(4, 10, "share that is right", "small")
    return str(drawing)


def roc_plot(points: Sequence[tuple[float, float]], name: str, place: int) -> str:
    """Share of a class that is found against the share of false alarms."""
    drawing = Drawing(WIDTH, 312, f"ROC curve of {cut(name)}")
    x, y = Axis(0, 1, 46, WIDTH - 14), Axis(0, 1, 266, 26)
    _frame(drawing, x, y, percent_ticks=True)
    drawing.line(x(0), y(0), x(1), y(1), "ideal")
    drawing.path([(x(a), y(b)) for a, b in points], f"curve {colour(place)}")
    drawing.text(WIDTH / 2 + 16, 302, "false alarms", "small", "middle")
    drawing.text(4, 10, f"{cut(name, 30)} found", "small", title=name)
    return str(drawing)


def space_plot(space: SpaceFinding, live: bool = False) -> str:
    """Rows and class ellipses in the plane of two latent variables; `live` ones can be picked."""
    xs = [p[0] for p in space.points]
    ys = [p[1] for p in space.points]
    for (a, b), (da, db) in zip(space.centres, space.deviations, strict=True):
        xs += [a - 2.1 * da, a + 2.1 * da]
        ys += [b - 2.1 * db, b + 2.1 * db]
    drawing = Drawing(WIDTH, 330, f"Rows by {space.axes[0]} and {space.axes[1]}")
    x, y = Axis(min(xs), max(xs), 34, WIDTH - 8), Axis(min(ys), max(ys), 292, 24)
    _frame(drawing, x, y)
    rows = space.rows or range(len(space.points))
    for row, (a, b, code) in sorted(
        zip(rows, space.points, strict=True), key=lambda pair: pair[1][2]
    ):
        told = space.classes[code] if code >= 0 else "without a class"
        picked = {"data_row": str(row)} if live and space.rows else {}
        drawing.add(
            "circle", f"point {colour(code)}", cut(told, 60), cx=x(a), cy=y(b), r=2.6, **picked
        )
    for k, ((a, b), (da, db)) in enumerate(zip(space.centres, space.deviations, strict=True)):
        drawing.add(
            "ellipse",
            f"ring {colour(k)}",
            f"{cut(space.classes[k], 60)}: two standard deviations",
            cx=x(a),
            cy=y(b),
            rx=abs(x(a + 2 * da) - x(a)),
            ry=abs(y(b + 2 * db) - y(b)),
        )
    drawing.text(WIDTH / 2, 324, space.axes[0], "small", "middle")
    drawing.text(4, 10, space.axes[1], "small")
    return str(drawing)


def tree_plot(tree: TreeFinding, live: bool = False) -> str:
    """A tree from left to right, one line for each column; latents of a `live` one are buttons."""
    nodes = tree.nodes
    depth = [0] * len(nodes)
    children: list[list[int]] = [[] for _ in nodes]
    for place, node in enumerate(nodes):
        if node.parent >= 0:
            depth[place] = depth[node.parent] + 1
            children[node.parent].append(place)
    step = min(56.0, (WIDTH - 150) / max(max(depth), 1))
    y_of = [0.0] * len(nodes)
    line = 0

    def place_below(place: int) -> float:
        nonlocal line
        if not children[place]:
            line += 1
            y_of[place] = 22.0 * line
        else:
            below = [place_below(child) for child in children[place]]
            y_of[place] = (below[0] + below[-1]) / 2
        return y_of[place]

    place_below(0)
    drawing = Drawing(WIDTH, 22.0 * line + 16, tree.title, "group" if live else "img")
    top = max((node.information or 0.0 for node in nodes), default=0.0)
    x_of = [18 + step * d for d in depth]
    for place, node in enumerate(nodes):
        if node.parent < 0:
            continue
        parent = node.parent
        share = (node.information or 0.0) / top if top > 0 else 0.2
        told = f"{cut(nodes[parent].name, 60)} and {cut(node.name, 60)}"
        if node.information is not None:
            told += f": {node.information:.3f} nats"
        x1, y1, x2, y2 = x_of[parent], y_of[parent], x_of[place], y_of[place]
        middle = (x1 + x2) / 2
        bend = f"M{x1:.1f},{y1:.1f}C{middle:.1f},{y1:.1f} {middle:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"
        drawing.add("path", "edge", told, d=bend, stroke_width=0.8 + 6 * share)
    for place, node in enumerate(nodes):
        x, y = x_of[place], y_of[place]
        if node.n_states:
            states = f"{node.n_states} states" if node.n_states > 0 else "what is predicted"
            told = f"{node.name}: {states}"
            picked = {"data_latent": node.name, "role": "button", "tabindex": "0"}
            picked = picked | {"aria_label": told} if live and node.n_states > 0 else {}
            drawing.add("circle", "node", told, cx=x, cy=y, r=9, **picked)
            inside = str(node.n_states) if node.n_states > 0 else "y"
            drawing.text(x, y + 4, inside, "tiny", "middle")
            drawing.text(x, y - 12, cut(node.name, 12), "tiny halo", "middle", node.name)
        else:
            drawing.add("circle", "leaf", "", cx=x, cy=y, r=3.5)
            room = max(int((WIDTH - x - 12) / LETTER), 6)
            shown = cut(node.name, room)
            drawing.text(x + 9, y + 4, shown, "", title="" if shown == node.name else node.name)
    return str(drawing)


def spread_plot(spread: Distribution, name: str, coloured: bool) -> str:
    """How a column is spread in each group: one row of bars for each group, one scale for all.

    Classes have their colours; components have none, so that they are not taken for classes.
    """
    n = len(spread.bins)
    top = max((max(row, default=0.0) for row in spread.shares), default=0.0) or 1.0
    band, x0 = 62.0, 8.0
    wide = (WIDTH - 2 * x0) / n
    height = band * len(spread.groups) + 30
    drawing = Drawing(WIDTH, height, f"{cut(name, 60)} by group")
    for g, group in enumerate(spread.groups):
        base = band * (g + 1) - 2
        about = f", median {spread.middles[g]}" if spread.middles else ""
        told = f"{cut(group, 26)} ({plural(spread.n_rows[g], 'row')}{about})"
        drawing.text(x0, base - 46, told, "small", title="" if len(group) <= 26 else group)
        for k, share in enumerate(spread.shares[g]):
            tall = 40 * share / top
            words = f"{cut(group, 40)}, {cut(spread.bins[k], 60)}: {percent(share)}"
            x, w = x0 + wide * k + 1, wide - 2
            drawing.add(
                "rect",
                colour(g) if coloured else "grey",
                words,
                x=x,
                y=base - tall,
                width=w,
                height=tall,
            )
        drawing.line(x0, base, WIDTH - x0, base)
    _bin_names(drawing, spread.bins, x0, wide, height)
    return str(drawing)


def effect_plot(effect: Effect, name: str, shown: Sequence[str], ordered: bool) -> str:
    """Mean probability of some classes for each value of a column."""
    x0, top, base = 40.0, 22.0, 170.0
    wide = (WIDTH - x0 - 8) / len(effect.bins)
    height = base + 30
    drawing = Drawing(WIDTH, height, f"Mean probability of each class by {cut(name, 60)}")
    y = Axis(0.0, 1.0, base, top)
    for value, text in y.ticks(4, percents=True):
        drawing.line(x0, y(value), WIDTH - 8, y(value), "grid")
        drawing.text(x0 - 5, y(value) + 4, text, "small", "end")
    drawing.text(4, 10, "mean probability", "small")
    for place, group in enumerate(shown):
        line = effect.probabilities[effect.classes.index(group)]
        points = [
            (x0 + wide * (k + 0.5), y(share), k)
            for k, share in enumerate(line)
            if share is not None
        ]
        if ordered:  # categories have no order, so no line joins them
            drawing.path([point[:2] for point in points], f"curve {colour(place)}")
        for at, tall, k in points:
            told = f"{cut(group, 40)}, {cut(effect.bins[k], 60)}: {percent(line[k])}"
            drawing.add("circle", f"dot {colour(place)}", told, cx=at, cy=tall, r=4)
    _bin_names(drawing, effect.bins, x0, wide, height)
    return str(drawing)


def _bin_names(
    drawing: Drawing, bins: Sequence[str], x0: float, wide: float, height: float
) -> None:
    """Names below the bars: bounds between the bars of numbers, as many categories as fit."""
    y = height - 14
    if any(" to " in name for name in bins):  # bounds of intervals
        last, end = x0, WIDTH
        if bins[0].startswith("below "):  # the outer bars are open: they hold all that is beyond
            drawing.text(x0, y, "less", "small")
            last += 4 * LETTER
        if bins[-1].endswith(" or more"):
            end = x0 + wide * len(bins) - 4 * LETTER
            drawing.text(end + 4 * LETTER, y, "more", "small", "end")
        for k, name in enumerate(bins[1:], start=1):
            at = x0 + wide * k
            text = name.split(" to ")[0].removesuffix(" or more")
            half = LETTER * len(text) / 2
            if at - half > last + 4 and at + half < end - 4:
                drawing.line(at, y - 14, at, y - 11)
                drawing.text(at, y, text, "small", "middle")
                last = at + half
        return
    room = max(int(wide / LETTER), 1)
    if room >= 3:
        for k, name in enumerate(bins):
            drawing.text(x0 + wide * (k + 0.5), y, cut(name, room), "small", "middle", name)
    else:
        drawing.text(WIDTH / 2, y, f"{len(bins)} categories: names in the table",
                     "small", "middle")  # fmt: skip


def groups_plot(latent: LatentGroups) -> str:
    """For each column, one bar of 100 % for each group of a latent variable."""
    tall, left = 17.0, 66.0
    n_groups = len(latent.sizes)
    block = 22.0 + (tall + 3) * n_groups
    drawing = Drawing(WIDTH, block * len(latent.profiles) + 4, f"Groups of {cut(latent.name, 60)}")
    for place, one in enumerate(latent.profiles):
        top = block * place
        drawing.text(left, top + 14, cut(one.column, 40), "strong small", title=one.column)
        # levels are told apart by their shade, from light to dark
        shades = [0.12 + 0.48 * k / max(len(one.levels) - 1, 1) for k in range(len(one.levels))]
        for group, shares in enumerate(one.shares):
            y, x = top + 20 + (tall + 3) * group, left
            drawing.text(0, y + 12.5, f"group {group}", "small")
            for level, share, shade in zip(one.levels, shares, shades, strict=True):
                wide = (WIDTH - left) * share
                told = f"group {group}: {cut(one.column, 40)} {cut(level, 60)} in {percent(share)}"
                drawing.add("rect", "part", told, x=x, y=y, width=wide, height=tall,
                            fill_opacity=f"{shade:.2f}")  # fmt: skip
                word = level.removeprefix("is ")
                room = int((wide - 6) / LETTER)
                if room >= min(len(word), 5):
                    drawing.text(x + 3, y + 12.5, cut(word, room), "tiny", title=told)
                x += wide
    return str(drawing)


class Axis:
    """Turns values into pixels."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        if not high > low:
            low, high = low - 0.5, high + 0.5
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 5, *, percents: bool = False) -> list[tuple[float, str]]:
        """Round values and their text."""
        width = (self.high - self.low) / most
        base = 10.0 ** math.floor(math.log10(width))
        step = next(base * one for one in (1, 2, 2.5, 5, 10) if base * one >= width * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        values = []
        while first * step <= self.high + 1e-9 * step:
            values.append(first * step)
            first += 1
        digits = max(0, math.ceil(-math.log10(step) - 1e-9))
        digits += step * 10**digits % 1 > 1e-9
        return [(v, f"{100 * v:.0f} %" if percents else number(v, digits)) for v in values]


def _frame(drawing: Drawing, x: Axis, y: Axis, *, percent_ticks: bool = False) -> None:
    """Grid lines with their values."""
    for value, text in x.ticks(percents=percent_ticks):
        drawing.line(x(value), y.start, x(value), y.end, "grid")
        drawing.text(x(value), y.start + 16, text, "small", "middle")
    for value, text in y.ticks(percents=percent_ticks):
        drawing.line(x.start, y(value), x.end, y(value), "grid")
        drawing.text(x.start - 5, y(value) + 4, text, "small", "end")
