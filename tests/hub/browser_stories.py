"""Pages in the real Chromium: a hub that is served, axe, screenshots."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from web_hubs import PASSWORD, WebHub, make_web_hub

from chromium import CHROMIUM, WIDTHS

__all__ = ["CHROMIUM"]

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}


@contextmanager
def serve_hub(folder: Path, *people: str) -> Iterator[tuple[WebHub, str]]:
    """A hub with pages, on a port of its own; and its address."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.bind(("127.0.0.1", 0))
    listening.listen(64)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    hub = make_web_hub(folder, address=address)
    hub.add(*people)
    config = uvicorn.Config(hub.app, log_level="error", lifespan="off", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield hub, address
    finally:
        server.should_exit = True
        thread.join(10)


def new_page(browser: Any, width: int = 1280) -> Any:
    """A page of a browser of its own, which must not complain."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, accept_downloads=True, reduced_motion="reduce"
    )
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    return page


def sign_in(page: Any, address: str, name: str) -> None:
    page.goto(f"{address}/signin")
    page.fill("input[name=name]", name)
    page.fill("input[name=password]", PASSWORD)
    page.click("main button")
    page.wait_for_load_state("load")


def look(page: Any, name: str) -> None:
    """Nothing sticks out at any width, and axe finds nothing; a screenshot for who looks."""
    from axe_playwright_python.sync_playwright import Axe

    before = page.viewport_size
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(100)
        beyond = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert beyond <= 0, f"{name} at {width} is {beyond} too wide"
        folder = os.environ.get("UNDERSTUDY_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=Path(folder) / f"{name}-{width}.png", full_page=True)
    page.set_viewport_size(before)
    found = Axe().run(page)
    assert not found.response["violations"], f"{name}: {found.generate_report()}"


def wait_for_text(
    page: Any, place: str, condition: Callable[[str], bool], seconds: float = 120
) -> str:
    """Wait until the text of an element is as it should be; scripts of ours may not be strings, so
    playwright's own function cannot be used.
    """
    end = time.monotonic() + seconds
    while True:
        text = str(page.locator(place).first.text_content() or "")
        if condition(text):
            return text
        assert time.monotonic() < end, f"{place} still says {text!r}"
        page.wait_for_timeout(50)


@dataclass
class Person:
    """Somebody at a browser."""

    page: Any
    base: str
    folder: Path
    width: int
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._listen)

    def _listen(self, message: Any) -> None:
        if message.type == "error" and "status of 4" not in message.text:
            self.complaints.append(message.text)

    def go(self, path: str) -> None:
        self.page.goto(self.base + path)

    def sign_in(self, name: str) -> None:
        self.go("/signin")
        self.page.fill("#name", name)
        self.page.fill("#password", PASSWORD)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url("**/datasets")

    def look(self, name: str) -> None:
        """A screenshot; the page fits its window, and nobody is shut out."""
        from axe_playwright_python.sync_playwright import Axe

        self.page.wait_for_load_state("load")
        self.page.screenshot(path=self.folder / f"{name}-{self.width}.png", full_page=True)
        wider = "document.documentElement.scrollWidth - window.innerWidth"
        assert self.page.evaluate(wider) <= 0, name
        found = Axe().run(self.page, options=RULES).response["violations"]
        broken = [(one["id"], [node["target"] for node in one["nodes"]]) for one in found]
        assert broken == [], (name, broken)
        assert self.complaints == [], (name, self.complaints)

    def says(self, text: str) -> None:
        from playwright.sync_api import expect

        expect(self.page.locator("main")).to_contain_text(text, timeout=60_000)
