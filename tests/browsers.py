"""A real browser for tests of pages.

Without playwright or a browser these tests are skipped. Where LATENTCLASS_BROWSER=required is set,
as in CI, they fail instead.
"""

import os
import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def lacking(reason):
    if os.environ.get("LATENTCLASS_BROWSER") == "required":
        pytest.fail(f"LATENTCLASS_BROWSER=required, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        lacking("playwright is not installed: python -m pip install playwright")
    place = next(filter(None, map(shutil.which, BROWSERS)), None)
    if place is None:
        lacking("no chromium was found: apt-get install chromium")
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=place, args=["--no-sandbox"])
        yield started
        started.close()


def serious(page):
    """What the checker of accessible pages finds that is serious."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    return [
        (one["id"], one["nodes"][0]["html"][:200], one["nodes"][0].get("failureSummary", "")[:300])
        for one in axe.run(page).response["violations"]
        if one["impact"] in ("serious", "critical")
    ]
