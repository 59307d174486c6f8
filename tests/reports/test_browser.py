"""The page in a real browser, from a file, offline."""

import warnings

import pandas as pd
import pytest
from hostile import hostile_report, hostile_table
from sklearn.base import clone

from browsers import serious
from latentclass import (
    AutoLatentClassifier,
    HNBClassifier,
    HybridLCMClassifier,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifier,
    report,
)
from latentclass.baselines import TAN, NaiveBayes
from latentclass.datasets import load_dataset

WIDTHS = (390, 1280)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Files by name: a usual page, and one full of hostile names, whose own name is hostile too."""
    folder = tmp_path_factory.mktemp("pages")
    iris = load_dataset("iris", container="pandas")
    usual = report(NaiveBayes().fit(iris.X, iris.y), iris.X, iris.y, target="species", folds=2)
    return {
        "usual": usual.save(folder / "iris.html"),
        "hostile": hostile_report().save(folder / "<img src=x onerror=alert(1)> 'ä'.html"),
    }


QUICK = {"n_init": 1, "max_iter": 10, "tol": 0.1, "random_state": 0}
FAMILIES = {
    "auto": AutoLatentClassifier(None, families=["NaiveBayes", "TAN"], random_state=0),
    "hybrid": HybridLCMClassifier(2, 1, discriminative=False, calibrate=False, **QUICK),
    "latent tree": LatentTreeClassifier(search="fast", random_state=0),
    "hnb": HNBClassifier(random_state=0),
    "components": LatentVariableClassifier(None, 2, random_state=0),
    "lcm": LCMClassifier(n_latent=2, **QUICK),
    "network": TAN(),
}
SHOWN = {
    "auto": "Candidates and their weights",
    "hybrid": "Categories: what the latent variables stand for",
    "latent tree": "Groups within class",
    "hnb": "Rules",
    "components": "Profiles of the components",
    "lcm": "Loadings",
    "network": "Which columns depend on which",
}


@pytest.fixture(scope="module", params=FAMILIES)
def family_page(request, tmp_path_factory):
    """The page of a family on a small mixed table with holes, whose names and cells are hostile."""
    name = request.param
    X, y = hostile_table()
    if name == "lcm":
        X = X.select_dtypes("number")
    model = clone(FAMILIES[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows settle nothing
        page = report(model.fit(X, y), X, y, folds=2)
    return SHOWN[name], page.save(tmp_path_factory.mktemp("family") / "page.html")


class Visit:
    """A page in the browser, with all that it says and asks for."""

    def __init__(self, browser, path, width=1280, **options):
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, offline=True, **options
        )
        self.page = self.context.new_page()
        self.messages, self.requests = [], []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("dialog", lambda dialog: self.messages.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["usual", "hostile"])
def test_the_page_is_quiet_loads_nothing_and_fits(browser, pages, name, width):
    with Visit(browser, pages[name], width) as visit:
        assert visit.messages == []
        assert visit.requests == [pages[name].as_uri()]
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        assert visit.page.evaluate("window.hacked") is None


@pytest.mark.parametrize("width", WIDTHS)
def test_every_family_is_quiet_loads_nothing_and_fits(browser, family_page, width):
    shown, path = family_page
    with Visit(browser, path, width) as visit:
        titles = visit.page.locator("#found h3").all_inner_texts()
        assert any(shown in title for title in titles)
        for place in range(visit.page.locator("#pick option").count()):
            visit.page.select_option("#pick", index=place)
        assert visit.messages == []
        assert visit.requests == [path.as_uri()]
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        assert visit.page.evaluate("window.hacked") is None


def test_axe_finds_nothing_serious_in_any_family(browser, family_page):
    assert serious_findings(browser, family_page[1], "light") == []


def test_nothing_hostile_runs_when_the_page_is_used(browser, pages):
    with Visit(browser, pages["hostile"]) as visit:
        page = visit.page
        for place in range(page.locator("#pick option").count()):
            page.select_option("#pick", index=place)
        name = page.evaluate(
            "JSON.parse(document.getElementById('row-data').textContent).rows[1][0]"
        )
        page.fill("#find", name)
        page.press("#find", "Enter")
        assert page.locator("#found-row table.evidence tbody tr").count() == 5
        for button in page.locator("table.sortable th button").all():
            if button.is_visible():
                button.click()
        page.locator("bdi").first.hover()
        assert page.evaluate("window.hacked") is None
        assert visit.messages == []


def test_an_injected_script_does_not_run(browser, pages, tmp_path):
    text = pages["usual"].read_text(encoding="utf-8")
    evil = tmp_path / "evil.html"
    evil.write_text(text.replace("</main>", "<script>window.hacked=1</script></main>"), "utf-8")
    with Visit(browser, evil) as visit:
        assert visit.page.evaluate("window.hacked") is None
        assert any("Content Security Policy" in message for message in visit.messages)


def test_tables_sort_by_click_and_by_key(browser, pages):
    with Visit(browser, pages["usual"]) as visit:
        page = visit.page
        table = page.locator("#matters table.sortable").first
        first = table.locator("tbody tr th")
        before = first.all_inner_texts()
        head = table.locator("thead th").first
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == "ascending"
        assert first.all_inner_texts() == sorted(before)
        weight = table.locator("thead th").nth(1)
        weight.locator("button").focus()
        page.keyboard.press("Enter")
        assert weight.get_attribute("aria-sort") == "descending"
        assert head.get_attribute("aria-sort") is None
        assert first.all_inner_texts() == before  # the most weight first, as at the beginning
        page.keyboard.press("Enter")
        assert first.all_inner_texts() == before[::-1]


def test_a_column_is_picked_and_a_row_found(browser, pages):
    with Visit(browser, pages["usual"]) as visit:
        page = visit.page
        shown = page.locator("#columns .column:visible h4 bdi")
        assert shown.count() == 1
        page.select_option("#pick", index=2)
        assert shown.all_inner_texts() == [page.locator("#pick option").nth(2).inner_text()]
        page.fill("#find", "149")
        page.click("#show-row")
        assert page.locator("#found-row h4").inner_text() == "Row 149"
        assert "Iris-virginica" in page.locator("#found-row p").inner_text()
        page.fill("#find", "nobody")
        page.keyboard.press("Enter")
        assert page.locator("#found-row").inner_text() == "There is no row “nobody” here."


def test_a_row_is_found_by_its_identifier(browser, tmp_path):
    X, y = [[float(k)] for k in range(20)], ["low"] * 10 + ["high"] * 10
    ids = pd.Series([f"C-{k}" for k in range(19)] + ["0"], name="customer")
    path = report(NaiveBayes().fit(X, y), X, y, ids=ids).save(tmp_path / "page.html")
    with Visit(browser, path) as visit:
        for given, place in ("C-7", 7), ("7", 7), ("0", 0):  # a name comes before an identifier
            visit.page.fill("#find", given)
            visit.page.keyboard.press("Enter")
            title = f"Row {place} (customer C-{place})"
            assert visit.page.locator("#found-row h4").inner_text() == title
        assert visit.messages == []


def test_without_script_all_is_there(browser, pages):
    with Visit(browser, pages["usual"], java_script_enabled=False) as visit:
        page = visit.page
        assert page.locator("#columns .column:visible").count() == 4
        assert not page.locator("#pick").is_visible()
        assert not page.locator("#find").is_visible()
        assert page.locator("summary:visible").count() > 5


def test_print_shows_all_columns_and_dark_mode_is_dark(browser, pages):
    with Visit(browser, pages["usual"], color_scheme="dark") as visit:
        page = visit.page
        back = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(back) == "rgb(20, 24, 29)"
        page.emulate_media(media="print", color_scheme="light")
        assert page.evaluate(back) == "rgb(255, 255, 255)"
        assert page.locator("#columns .column:visible").count() == 4
        assert not page.locator("nav").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["usual", "hostile"])
def test_axe_finds_nothing_serious(browser, pages, name, scheme):
    assert serious_findings(browser, pages[name], scheme) == []


def serious_findings(browser, path, scheme):
    # the checker is a script of its own, which our policy would not let in
    with Visit(browser, path, 390, color_scheme=scheme, bypass_csp=True) as visit:
        return serious(visit.page)
