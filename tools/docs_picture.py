"""Takes the picture of the report on the docs' first page, with a browser.

understudy demo -o demo-output
python tools/docs_picture.py demo-output/report.html docs/assets/report.png
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

WIDTH, HEIGHT = 1000, 1010


def main(page: str, picture: str) -> None:
    """Show the top of a page, and save it in few colours."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        shown = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        shown.goto(Path(page).resolve().as_uri())
        taken = shown.screenshot()
        browser.close()
    Image.open(io.BytesIO(taken)).convert("RGB").quantize(64).save(picture, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
