"""The page: everything from data is escaped, nothing is loaded, and it is never half-written."""

import base64
import hashlib
import json
import re
from html import unescape
from html.parser import HTMLParser

import pytest
from hostile import HOSTILE, hostile_report

from latentclass import report
from latentclass.baselines import NaiveBayes
from latentclass.datasets import load_dataset
from latentclass.reports._charts import (
    bar,
    effect_plot,
    groups_plot,
    spark,
    spread_plot,
    tree_plot,
)
from latentclass.reports._findings import GroupProfile, LatentGroups, TreeFinding, TreeNode
from latentclass.reports._render import breakable, most_weight
from latentclass.reports._summary import Balance, Distribution, Effect, Evidence, Rows, RowView
from latentclass.reports._svg import Drawing
from latentclass.reports._text import cut, percent

ALLOWED = {
    "a article b bdi body br button caption circle code dd details div dl dt ellipse figcaption "
    "figure footer h1 h2 h3 h4 head header html input label legend li line link main meta nav ol "
    "option p path polyline pre rect script section select span style summary svg table tbody td "
    "text th thead title tr ul wbr"
}
ALLOWED = set(next(iter(ALLOWED)).split())


class Reader(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.texts, self.scripts = [], [], [], []
        self.open, self._script = [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag == "script":
            self._script = dict(attributes)

    def handle_data(self, data):
        if self._script is not None:
            self.scripts.append((self._script, data))
            self._script = None
        else:
            self.texts.append(data)


@pytest.fixture(scope="module")
def hostile():
    return hostile_report()


@pytest.fixture(scope="module")
def reader(hostile):
    return Reader(hostile.html)


def test_only_our_elements_are_there(reader):
    assert set(reader.tags) <= ALLOWED
    assert reader.tags.count("script") == 2
    assert reader.tags.count("html") == reader.tags.count("body") == 1


def test_no_element_has_a_handler_or_an_address(reader):
    for tag, name, value in reader.attributes:
        assert not name.startswith("on"), (tag, name)
        if name in ("href", "src", "action", "srcdoc", "xlink:href"):
            assert value.startswith("#") or (tag, value) == ("link", "data:,")
        if name == "style":
            assert re.fullmatch(r"--v:[\d.]+", value)
    assert "http://" not in re.sub(r'"http://www.w3.org/2000/svg"', "", " ".join(reader.texts))


def test_hostile_names_are_shown_as_text(reader):
    shown = "".join(reader.texts)
    for name in HOSTILE[:4]:
        assert name[:20] in shown
    titles = [value for _, name, value in reader.attributes if name == "title"]
    assert HOSTILE[9] in titles  # the whole of a name that is cut
    assert "49" not in [text.strip() for text in reader.texts if "7 * 7" in text]
    assert "\x00" not in shown
    assert "\x1b" not in shown


def test_the_script_is_the_one_that_the_policy_names(hostile, reader):
    data, script = reader.scripts
    assert data[0] == {"type": "application/json", "id": "row-data"}
    rows = json.loads(data[1])
    assert len(rows["rows"]) == 60
    assert not set("<>&\u2028\u2029") & set(data[1])
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    policy = next(
        value for tag, name, value in reader.attributes if value and "default-src" in value
    )
    assert policy == (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        f"form-action 'none'; script-src 'sha256-{digest}'"
    )
    assert hostile.html.encode()  # no half of a surrogate pair is left


def test_every_chart_has_its_numbers_in_a_table(hostile):
    figures = re.findall(r"<figure>.*?</figure>", hostile.html, re.S)
    assert len(figures) > 10
    scores, *others = figures
    assert "log-loss" in scores  # its table stands beside it
    assert sum("mean probability" in figure for figure in others) > 5
    assert all("<details>" in figure and "<table>" in figure for figure in others)


def test_long_names_do_not_swell_the_page(hostile):
    assert len(hostile.html.encode()) < 1_500_000


def test_the_page_of_iris_is_small():
    iris = load_dataset("iris", container="pandas")
    page = report(NaiveBayes().fit(iris.X, iris.y), iris.X, iris.y, folds=2)
    assert len(page.html.encode()) < 400_000
    shown = page._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert 'sandbox="allow-scripts"' in shown


def test_many_classes_are_capped_and_the_page_says_so():
    X = [[float(k % 20) + 0.01 * (k % 3), float(k % 7)] for k in range(200)]
    y = [f"class {k % 20:02d}" for k in range(200)]
    page = report(NaiveBayes().fit(X, y), X, y, folds=2)
    assert "Only the first 6 of 20 classes are shown." in page.html
    assert "Of the classes, the 8 largest are drawn." in page.html
    assert len(page.summary.importance.columns[0].by_label.groups) == 8


def test_drawings_escape_text():
    drawing = Drawing(10, 10, "<a>")
    drawing.text(0, 0, "<b>", title='"&')
    drawing.add("circle", "dot", "<c>", cx=1, cy=2.25, r=3)
    assert str(drawing) == (
        '<svg viewBox="0 0 10 10" width="10" height="10" role="img" aria-label="&lt;a&gt;">'
        '<text x="0" y="0"><title>&quot;&amp;</title>&lt;b&gt;</text>'
        '<circle class="dot" cx="1" cy="2.2" r="3"><title>&lt;c&gt;</title></circle></svg>'
    )


def numbers(picture, tag, name):
    """An attribute of all shapes of a kind."""
    return [float(v) for v in re.findall(rf'<{tag}[^>]* {name}="([\d.]+)"', picture)]


def test_edges_are_as_wide_as_their_information():
    shared = [None, 0.1, 0.4, 0.2]
    nodes = tuple(TreeNode(f"v{k}", min(k, 1) - 1, 0, value) for k, value in enumerate(shared))
    thin, widest, middle = numbers(tree_plot(TreeFinding("t", "", nodes)), "path", "stroke-width")
    assert thin < middle < widest
    assert (widest - middle) == pytest.approx(2 * (middle - thin), abs=0.11)  # one decimal


def test_bars_of_groups_have_the_width_of_their_shares():
    profile = GroupProfile("size", 0.2, ("at most 1", "above 1"), ((0.25, 0.75), (0.5, 0.5)))
    picture = groups_plot(LatentGroups("Y1", (0.4, 0.6), ("", ""), (profile,)))
    wide = numbers(picture, "rect", "width")
    assert wide[1] == pytest.approx(3 * wide[0], abs=0.2)
    assert wide[2] == wide[3]
    assert wide[0] + wide[1] == pytest.approx(wide[2] + wide[3], abs=0.2)
    assert "group 0: size at most 1 in 25.0 %" in picture


def test_effects_have_a_line_for_numbers_and_none_for_categories():
    effect = Effect(("a", "b"), ("x", "y", "z"), ((0.1, None, 0.4), (0.9, None, 0.6)), 10)
    line, dots = (effect_plot(effect, "c", ("b",), ordered) for ordered in (True, False))
    assert line.count("<polyline") == 1
    assert dots.count("<polyline") == 0
    assert dots.count("<circle") == 2  # one class is shown, and one bin has no answer
    high, low = numbers(dots, "circle", "cy")
    assert high < low  # 90 % stands above 60 %


def test_bars_have_one_scale_and_a_mark_where_they_are_cut():
    short, full, cut_off, against = (bar(v, 2.0, both_ways=True) for v in (0.5, 2.0, 3.0, -3.0))
    wide = [numbers(one, "rect", "width")[0] for one in (short, full, cut_off, against)]
    assert wide == [25, 100, 100, 100]
    assert ["gap" in one for one in (short, full, cut_off, against)] == [False, False, True, True]


def test_one_huge_weight_leaves_the_other_bars_visible():
    def rows(*weights):
        cells = tuple(Evidence("c", "x", weight) for weight in weights)
        view = RowView("r", "", "a", 0.9, None, None, cells, Balance(0.0, 0, 0.0, 0.0, 1.0))
        return Rows((view,), (), (), (), 1, 1)

    assert most_weight(rows(2.69, 0.96, 0.3)) == 2.69
    assert most_weight(rows(*[1.0] * 30, 50.0, float("inf"))) == 3.0
    assert most_weight(rows()) == 1.0


def test_names_break_after_underscores_and_stay_escaped():
    assert breakable("bill_length_<b>") == "bill_<wbr>length_<wbr>&lt;b&gt;"


def test_open_bins_are_marked():
    bins = ("below 1", "1 to 2", "2 to 3", "3 or more")
    spread = Distribution(("a",), bins, ((0.25, 0.25, 0.25, 0.25),), ("2",), (8,))
    words = re.findall(r">([^<>]+)</text>", spread_plot(spread, "c", True))
    assert words[-5:] == ["less", "more", "1", "2", "3"]


def test_a_card_gives_the_held_out_answer_first(hostile):
    cards = re.findall(r'<article class="row">.*?</article>', hostile.html, re.S)
    hardest = hostile.summary.rows.hardest
    assert len(cards) >= len(hardest) > 0
    for card, row in zip(cards, hardest, strict=False):
        text = unescape(re.sub(r"<[^>]+>", "", card)).replace("\u00a0", " ")
        said = row.held_out
        assert said.predicted != row.label
        assert (
            f"Held out, the model said {cut(said.predicted)} ({percent(said.probability)}): wrong."
            in text
        )
        assert text.index("Held out") < text.index("Fitted to all rows")
        assert "log-odds in all" in text


def test_small_bars_are_as_tall_as_their_shares():
    assert re.findall(r"v-([\d.]+)h", spark((0.5, 0.25, 0.0))) == ["24", "12", "0"]
