"""The live page in a real browser: every part is used as a person would."""

import contextlib
import re

import numpy as np
import pandas as pd
import pytest
from hostile import HOSTILE
from pages import draw_images, draw_table

import latentclass
from browsers import serious
from latentclass import HNBClassifier, LatentTreeClassifier, LCMClassifier
from latentclass.baselines import NaiveBayes

WIDTHS = (390, 1280)
NEAR = 1.1e-3
"""The page shows tenths of a percent, and "< 0.1 %"."""

READS = "Canvas2D: Multiple readback operations"
"""What the browser says because these tests look at pixels."""


@contextlib.contextmanager
def visit(browser, served, width=1280, **options):
    """A page in the browser; it must say nothing, and ask nobody but its own server."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    page = context.new_page()
    messages, requests = [], []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("dialog", lambda dialog: messages.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(served.address)
    page.wait_for_selector("#tabs button")
    yield page
    base = served.address.partition("#")[0]
    assert all(url.startswith((base, "data:")) for url in requests)
    assert [one for one in messages if not one.startswith(READS)] == []
    context.close()


@pytest.fixture(scope="module")
def two():
    """Two models of the same rows, side by side."""
    X, y = draw_table(130)
    other = LCMClassifier(1, n_init=1, calibrate=False, random_state=0)
    other.fit(X[["weight", "height"]], y)
    with latentclass.serve(
        NaiveBayes().fit(X, y), X, y, beside=other, target="wood", block=False
    ) as served:
        yield served


@pytest.fixture(scope="module")
def images():
    X, y = draw_images()
    model, other = NaiveBayes().fit(X, y), NaiveBayes(calibrate=False).fit(X, y)
    with latentclass.serve(model, X, y, beside=other, image=(4, 4), block=False) as served:
        yield served


def shares(page, model=0):
    """Class probabilities as the page shows them."""
    cells = page.locator(".answer").nth(model).locator("td.num:not(.was)")
    return [float(re.sub("[^0-9.]", "", text)) / 100 for text in cells.all_inner_texts()]


def settled(page):
    page.wait_for_selector("#answers:not(.waiting) .answer")
    return page


# ------------------------------------------------------------------------ What if


def test_typing_into_a_cell_changes_the_answer_and_says_how(browser, two):
    X, _ = draw_table(130)
    model = two._session.asked[0].model
    with visit(browser, two) as page:
        before = shares(settled(page))
        np.testing.assert_allclose(before, model.predict_proba(X.iloc[[0]])[0], atol=NEAR)
        page.fill("#cell-0", "21,5")
        page.wait_for_selector("#change:visible")
        changed = X.iloc[[0]].assign(weight=21.5)
        np.testing.assert_allclose(
            shares(settled(page)), model.predict_proba(changed)[0], atol=NEAR
        )
        assert f"weight: {X['weight'].iloc[0]:g} → 21.5." in page.inner_text("#change")
        assert page.locator(".answer td.was").count() == 6
        page.fill("#cell-0", "twenty")
        assert page.get_attribute("#cell-0", "aria-invalid") == "true"
        page.click("#cell-back")
        page.wait_for_selector("#change", state="hidden")
        assert shares(settled(page)) == before
        assert page.input_value("#cell-0") == f"{X['weight'].iloc[0]:g}"


def test_an_emptied_cell_shows_what_is_expected_there(browser, two):
    X, _ = draw_table(130)
    model = two._session.asked[0].model
    with visit(browser, two) as page:
        settled(page)
        page.click('[aria-label="Empty colour"]')
        page.wait_for_selector("#cells .expected:text('expected')")
        row = X.iloc[[0]].assign(colour=None)
        line = page.locator("#cells tbody tr").nth(2)
        assert f"expected: {model.complete(row)['colour'].iloc[0]}" in line.inner_text()
        page.select_option("#cell-2", label="green")
        page.wait_for_selector("#change:text('→ green')")
        changed = X.iloc[[0]].assign(colour="green")
        np.testing.assert_allclose(
            shares(settled(page)), model.predict_proba(changed)[0], atol=NEAR
        )
        page.click("#row-empty")
        page.wait_for_selector("#row-name:text('An empty row')")
        np.testing.assert_allclose(shares(settled(page)), model.class_prior_, atol=NEAR)


def test_two_models_stand_side_by_side_with_their_evidence(browser, two):
    X, _ = draw_table(130)
    with visit(browser, two) as page:
        settled(page)
        titles = page.locator(".answer h3").all_inner_texts()
        assert titles == ["NaiveBayes", "LCMClassifier"]
        page.fill("#row-number", "r7")
        page.press("#row-number", "Enter")
        page.wait_for_selector("#row-name:text('Row r7')")
        for m, asked in enumerate(two._session.asked):
            own = X.iloc[[7]][asked.model.schema_.names]
            np.testing.assert_allclose(
                shares(settled(page), m), asked.model.predict_proba(own)[0], atol=NEAR
            )
        page.wait_for_selector("#cells td.weight .num")
        told = two._session.asked[1].model.explain(X.iloc[[7]][["weight", "height"]])
        shown = page.locator("#cells tbody tr").nth(0).locator("td.weight").nth(1).inner_text()
        assert float(shown.replace("\u2212", "-")) == pytest.approx(told.weights[0, 0], abs=0.006)
        colour = page.locator("#cells tbody tr").nth(2).locator("td.weight").nth(1)
        assert colour.inner_text() == ""  # the second model does not know this column


# --------------------------------------------------------------------------- Rows


def test_rows_are_sorted_searched_paged_and_opened(browser, two):
    X, _ = draw_table(130)
    with visit(browser, two) as page:
        page.click("#tab-rows")
        first = page.locator("#row-table tbody tr th")
        page.wait_for_selector("#row-table tbody tr")
        assert first.first.inner_text() == "r0"
        assert first.count() == 50
        page.click("#page-on")
        page.wait_for_selector("#page-place:text('51 to 100 of 130')")
        assert first.first.inner_text() == "r50"
        page.click("#page-last")
        page.wait_for_selector("#page-place:text('101 to 130 of 130')")
        page.click("#row-table thead button:text('weight')")
        page.wait_for_selector("#page-place:text('1 to 50 of 130')")
        heaviest = X["weight"].idxmax()
        page.wait_for_selector(f"#row-table tr:first-child .open:text-is('{heaviest}')")
        head = page.locator("#row-table thead th", has_text="weight")
        assert head.get_attribute("aria-sort") == "descending"
        page.fill("#search", "green")
        n = int((X["colour"] == "green").sum())
        page.wait_for_selector(f"#rows-found:text('{n} of 130 rows.')")
        assert set(page.locator("#row-table tbody td:text-is('green')").all_inner_texts()) == {
            "green"
        }
        name = first.first.inner_text()
        first.first.locator("button").click()
        page.wait_for_selector(f"#row-name:text('Row {name},')")
        assert page.is_visible("#ask")


# ---------------------------------------------------------------------- Structure


def test_a_latent_of_a_tree_is_opened_renamed_and_saved(browser, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    group = rng.integers(0, 2, 200)
    bits = (rng.random((200, 5)) < np.where(group, 0.85, 0.15)[:, None]) ^ (y[:, None] == 1)
    X = pd.DataFrame(bits, columns=list("abcde"))
    model = LatentTreeClassifier(n_cuts=1, calibrate=False, random_state=0).fit(X, y)
    path = str(tmp_path / "tree.lc")
    latentclass.save(model, path)
    from latentclass.page._server import LivePage, saver
    from latentclass.page._session import Session

    save = saver(model, path, {}, latentclass.describe_file(path).sha256)
    with (
        LivePage(Session(model, X, y, save=save), 0) as served,
        visit(browser, served) as page,
    ):
        page.click("#tab-structure")
        node = page.locator("#findings circle[data-latent]").first
        name = node.get_attribute("data-latent")
        wide = page.locator("#findings figure svg").first.bounding_box()["width"]
        page.click("#zoom-in")
        assert page.locator("#findings figure svg").first.bounding_box()["width"] > wide
        node.focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#latent h3:text('{name}')")
        assert page.locator("#latent tbody tr").count() >= 4
        page.fill("#new-name", "mood <i>")
        page.click("#rename")
        page.wait_for_selector("#latent h3:text('mood <i>')")
        assert page.locator('#findings circle[data-latent="mood <i>"]').count() == 1
        page.click("#save")
        page.wait_for_selector("#saved:text('Saved in tree.lc.')")
    names = latentclass.load(path).latent_names_
    assert "mood <i>" in [one for own in names.values() for one in own]


def test_a_point_of_the_latent_space_loads_its_row(browser):
    X, y = draw_table(60)
    X = X[["weight", "height"]].assign(third=np.arange(60) % 7)
    model = LCMClassifier(2, n_init=1, calibrate=False, random_state=0).fit(X, y)
    with latentclass.serve(model, X, y, block=False) as served, visit(browser, served) as page:
        page.click("#tab-structure")
        page.wait_for_selector("#findings .map")  # loadings
        page.locator('#findings circle[data-row="17"]').dispatch_event("click")
        page.wait_for_selector("#row-name:text('Row r17')", state="attached")
        assert page.is_visible("#ask")


def test_rules_that_hold_in_the_row_are_listed(browser):
    X, y = draw_table(200)
    X = X[["colour", "old"]].assign(same=X["colour"])
    model = HNBClassifier(calibrate=False, random_state=0).fit(X, y)
    with latentclass.serve(model, X, y, block=False) as served, visit(browser, served) as page:
        settled(page)
        page.click("#tab-structure")
        page.click("#which-rules")
        n = model.rules()["latent"].nunique()
        page.wait_for_selector(f"#fired p:text('{n} of {len(model.rules())} rules hold')")
        assert page.locator("#fired tbody tr").count() == n


# --------------------------------------------------------------------------- Draw


def drawn(page):
    return int(page.get_attribute("#minds", "data-answers"))


def after(page, n):
    page.wait_for_selector(f"#minds[data-answers='{n}']")


def pixel(page, k, canvas="#pad", size=24):
    """A pixel as the canvas shows it: "ink", "paper" or "unseen"."""
    read = "(pad, [x, y]) => [...pad.getContext('2d').getImageData(x, y, 1, 1).data].slice(0, 3)"
    at = [k % 4 * size + size // 2, k // 4 * size + size // 2]
    colour = page.locator(canvas).evaluate(read, at)
    return {20: "ink", 255: "paper"}.get(colour[0], "unseen")


def stroke(page, *places):
    box = page.locator("#pad").bounding_box()
    side = box["width"] / 4
    spots = [(box["x"] + (x + 0.5) * side, box["y"] + (y + 0.5) * side) for x, y in places]
    n = drawn(page)
    page.mouse.move(*spots[0])
    page.mouse.down()
    for spot in spots[1:]:
        page.mouse.move(*spot, steps=4)
    page.mouse.up()
    after(page, n + 1)


def test_a_stroke_of_the_mouse_is_seen_undone_erased_and_replayed(browser, images):
    model = images._session.asked[0].model
    with visit(browser, images) as page:
        page.wait_for_selector("#minds[data-answers='1']")
        assert page.is_visible("#draw")
        assert page.locator(".says").first.inner_text().startswith("Nothing is seen yet")
        stroke(page, (1, 0), (1, 3))
        assert [pixel(page, k) for k in (1, 5, 9, 13)] == ["ink"] * 4
        assert pixel(page, 0) == "unseen"
        row = np.full((1, 16), None, dtype=object)
        row[0, [1, 5, 9, 13]] = True
        proba = model.predict_proba(row)[0]
        best = proba.argmax()
        says = page.locator(".says").first.inner_text()
        assert says.startswith(f"{model.classes_[best]} (")
        expected = model.complete(row, how="probability")[0, 2]
        shade = page.locator(".mind canvas").first.evaluate(
            "(one) => one.getContext('2d').getImageData(2, 0, 1, 1).data[0]"
        )
        assert shade == pytest.approx(255 - 235 * float(expected), abs=1.5)
        page.click("button[data-pen='0']")
        stroke(page, (3, 0))
        assert pixel(page, 3) == "paper"
        page.click("button[data-pen='']")
        stroke(page, (1, 3))
        assert pixel(page, 13) == "unseen"
        n = drawn(page)
        page.click("#undo")
        after(page, n + 1)
        assert pixel(page, 13) == "ink"
        page.click("#rest")
        after(page, n + 2)
        assert pixel(page, 0) == "paper"
        page.click("#replay")
        page.wait_for_selector("#replay[disabled]")
        page.wait_for_selector("#replay:not([disabled])")
        assert [pixel(page, k) for k in (0, 1, 13)] == ["paper", "ink", "ink"]
        n = drawn(page)
        page.click("#clear")
        after(page, n + 1)
        assert {pixel(page, k) for k in range(16)} == {"unseen"}


def test_keys_draw_and_an_image_is_disclosed_line_by_line(browser, images):
    X, _ = draw_images()
    with visit(browser, images) as page:
        page.wait_for_selector("#minds[data-answers='1']")
        page.focus("#pad")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Space")
        after(page, 2)
        page.click("#clear")
        after(page, 3)
        page.click("#take-digit")
        page.wait_for_selector("#lines:not([disabled])")
        after(page, 4)
        seen = [pixel(page, k) for k in range(16)]
        assert seen[8:] == ["unseen"] * 8
        top = [one == "ink" for one in seen[:8]]
        assert any((image[:8] == top).all() for image in X)
        assert "of class" in page.inner_text("#digit-name")


# --------------------------------------------------------------------- all of it


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_screen(browser, two, images, width):
    for served in (two, images):
        with visit(browser, served, width) as page:
            settled(page) if served is two else page.wait_for_selector("#minds[data-answers]")
            for tab in page.locator("#tabs button").all():
                tab.click()
                part = tab.get_attribute("data-part")
                page.wait_for_selector(
                    {"rows": "#row-table tbody tr", "structure": "#findings .finding"}.get(
                        part, f"#{part}:visible"
                    )
                )
                assert page.evaluate("document.documentElement.scrollWidth") <= width, part


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser, two, images, scheme):
    for served in (two, images):
        context = browser.new_context(
            viewport={"width": 390, "height": 900}, color_scheme=scheme, bypass_csp=True
        )
        page = context.new_page()
        page.goto(served.address)
        page.wait_for_selector("#tabs button")
        for tab in page.locator("#tabs button").all():
            tab.click()
            part = tab.get_attribute("data-part")
            page.wait_for_selector(
                {"rows": "#row-table tbody tr", "structure": "#findings .finding",
                 "ask": "#answers:not(.waiting) .answer"}.get(part, f"#{part}:visible")
            )  # fmt: skip
            assert serious(page) == [], part
        context.close()


def test_nothing_hostile_runs(browser):
    n = 40
    X = pd.DataFrame(
        {
            **{name: [float((k * 7 + j) % 11) for k in range(n)] for j, name in enumerate(HOSTILE)},
            "cells <b>": [HOSTILE[k % len(HOSTILE)] for k in range(n)],
        },
        index=[f"{HOSTILE[k % len(HOSTILE)]} {k}" for k in range(n)],
    )
    y = [HOSTILE[k % 3] for k in range(n)]
    with (
        latentclass.serve(NaiveBayes().fit(X, y), X, y, target=HOSTILE[2], block=False) as served,
        visit(browser, served, 390) as page,
    ):
        settled(page)
        page.select_option("#cell-10", index=3)
        page.wait_for_selector("#change:visible")
        for part, there in (("structure", ".finding"), ("rows", "tbody tr")):
            page.click(f"#tab-{part}")
            page.wait_for_selector(f"#{part} {there}")
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate("window.hacked") is None


def test_without_the_token_the_page_says_what_to_do(browser, two):
    context = browser.new_context()
    page = context.new_page()
    page.goto(two.address.partition("#")[0])
    page.wait_for_selector("#trouble:visible")
    assert "Open the whole address that latentclass printed." in page.inner_text("#trouble")
    page.goto(two.address)  # only the part behind # is new
    page.wait_for_selector("#answers .answer")
    assert "#" not in page.url
    context.close()
