"""The scripts of the gallery draw, and the page shows them."""

import struct

import pytest

from test_docs import ROOT, load_script

gallery = load_script("gallery")


def png_size(path):
    """Return width and height in pixels."""
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:24])


@pytest.mark.parametrize("name", gallery.ORDER)
def test_a_script_draws_its_picture(name, tmp_path):
    gallery.run(name, tmp_path / "drawn.png")
    width, height = png_size(tmp_path / "drawn.png")
    kept_width, kept_height = png_size(gallery.PICTURES / f"{name}.png")
    # another version of matplotlib or of its fonts may move the edges a little
    assert width == pytest.approx(kept_width, rel=0.05)
    assert height == pytest.approx(kept_height, rel=0.05)
    assert 500 <= width <= 1000
    assert (tmp_path / "drawn.png").stat().st_size > 5_000


def test_every_script_is_on_the_page_and_every_picture_is_small():
    scripts = {path.stem for path in (ROOT / "examples" / "gallery").glob("*.py")}
    pictures = {path.stem: path.stat().st_size for path in gallery.PICTURES.iterdir()}
    assert scripts == set(gallery.ORDER) == set(pictures)
    assert max(pictures.values()) < 120_000


def test_the_page_is_up_to_date():
    assert gallery.page() == gallery.PAGE.read_text(encoding="utf-8")
