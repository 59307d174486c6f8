"""Take the pictures of reports, report-page.png and tutorial-report.png. Needs chromium.

They are the reports that two pages of the documentation make, photographed from the top.
"""

import contextlib
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from refresh import run_examples

HERE = Path(__file__).parent
REPORTS = {
    "report-page": ("how-to/report.md", "report.html"),
    "tutorial-report": ("tutorial/csv-to-report.md", "churn.html"),
}
"""Each picture, the page whose examples make the report, and the report's file."""


def photograph(report: Path, picture: Path) -> None:
    """Photograph the first part of a report."""
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        view = browser.new_page(viewport={"width": 1040, "height": 1330})
        view.goto(report.as_uri())
        view.screenshot(path=picture)
        browser.close()


def main() -> None:
    """Make the reports, and photograph them."""
    for name, (page, report) in REPORTS.items():
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            run_examples(HERE / page)
            photograph(Path(folder, report), HERE / "pictures" / f"{name}.png")


if __name__ == "__main__":
    main()
