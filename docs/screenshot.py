"""Take the picture of the page on reports, docs/pictures/report-page.png. Needs chromium."""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from latentclass import LCMClassifier, report
from latentclass.datasets import load_dataset

PICTURE = Path(__file__).parent / "pictures" / "report-page.png"


def main() -> None:
    """Make the report of the documentation, and photograph its first part."""
    wine = load_dataset("wine", container="pandas")
    model = LCMClassifier(n_latent=2, n_init=3, random_state=0).fit(wine.X, wine.y)
    page = report(model, wine.X, wine.y, target="the grower of a wine")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        path = page.save(Path(folder) / "report.html")
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        view = browser.new_page(viewport={"width": 1040, "height": 1330})
        view.goto(path.as_uri())
        view.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
