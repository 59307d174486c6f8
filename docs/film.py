"""Take the moving picture of the live page, docs/pictures/live-page.gif.

Needs chromium, and USPS in the data folder.
"""

import io
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from latentclass.page._digits import digits_session
from latentclass.page._server import LivePage

PICTURE = Path(__file__).parent / "pictures" / "live-page.gif"
STROKES = (
    [(4, 3), (7, 2), (10, 3), (11, 5)],
    [(11, 5), (9, 7), (7, 7)],
    [(9, 7), (11, 9), (11, 11)],
    [(11, 11), (9, 13), (6, 13), (4, 12)],
)
"""A three, in pixels of the pad."""

WIDTH, COLOURS, PAUSE, LAST = 800, 64, 900, 2500


def main() -> None:
    """Draw a digit, and photograph the page after each stroke."""
    frames = []
    with LivePage(digits_session(print), 0) as served, sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1180, "height": 660})
        page.goto(served.address)
        for number, stroke in enumerate(([], *STROKES), start=1):
            box = page.locator("#pad").bounding_box()
            side = box["width"] / 16
            spots = [(box["x"] + (x + 0.5) * side, box["y"] + (y + 0.5) * side) for x, y in stroke]
            if spots:
                page.mouse.move(*spots[0])
                page.mouse.down()
                for spot in spots[1:]:
                    page.mouse.move(*spot, steps=4)
                page.mouse.up()
            page.wait_for_selector(f"#minds[data-answers='{number}']", timeout=60_000)
            frames.append(Image.open(io.BytesIO(page.screenshot())))
        page.click("#rest")
        page.wait_for_selector(f"#minds[data-answers='{len(STROKES) + 2}']", timeout=60_000)
        frames.append(Image.open(io.BytesIO(page.screenshot())))
        browser.close()
    height = round(WIDTH * frames[0].height / frames[0].width)
    small = [one.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS) for one in frames]
    flat = [one.quantize(COLOURS, dither=Image.Dither.NONE) for one in small]
    times = [*[PAUSE] * (len(flat) - 1), LAST]
    flat[0].save(PICTURE, save_all=True, append_images=flat[1:], duration=times, loop=0)
    print(f"{PICTURE.name}: {PICTURE.stat().st_size / 1000:.0f} KB")


if __name__ == "__main__":
    main()
