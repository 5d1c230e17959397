"""Takes the pictures of reports in the docs, with a browser.

understudy demo -o demo-output
python tools/docs_picture.py demo-output/report.html docs/assets/report.png
python tools/docs_picture.py demo-output/owner-report.html owner-report.png "How columns"

With the beginning of a heading the picture has two halves: the top of the page, and what begins at
that heading.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

WIDTH, HEIGHT = 1000, 1010
HALF_WIDTH, HALF_HEIGHT = 899, 1260


def main(page: str, picture: str, heading: str | None = None) -> None:
    """Show the top of a page, or two parts of it, and save that in a palette."""
    width, height = WIDTH, HEIGHT
    if heading is not None:
        width, height = HALF_WIDTH, HALF_HEIGHT
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        shown = browser.new_page(viewport={"width": width, "height": height})
        shown.goto(Path(page).resolve().as_uri())
        taken = take(shown)
        if heading is not None:
            top = shown.locator("h2", has_text=heading).first.bounding_box()
            assert top is not None
            shown.evaluate(f"window.scrollTo(0, {top['y'] - 10})")
            taken = side_by_side(taken, take(shown))
        browser.close()
    taken.quantize(256).save(picture, optimize=True)


def take(shown: Page) -> Image.Image:
    """What is seen of a page."""
    return Image.open(io.BytesIO(shown.screenshot())).convert("RGB")


def side_by_side(left: Image.Image, right: Image.Image) -> Image.Image:
    """Two pictures with a line between them."""
    both = Image.new("RGB", (left.width + right.width + 2, left.height), "#dddddd")
    both.paste(left, (0, 0))
    both.paste(right, (left.width + 2, 0))
    return both


if __name__ == "__main__":
    main(*sys.argv[1:])
