"""How tests look at pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'-->",
    "&amp;",
    "</style><b>",
    "\x1b[31m",
]


class Tags(HTMLParser):
    """Collects tags and attributes, and checks that tags are closed in order."""

    VOID = frozenset({"meta", "br", "rect", "line", "path", "circle", "hr", "col"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.attributes.extend((name, value or "") for name, value in attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.attributes.extend((name, value or "") for name, value in attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def check_harmless(page: str) -> None:
    """Every tag is closed, nothing runs, nothing comes from outside; links stay on the page."""
    tags = Tags(page)
    assert tags.open == []
    assert not tags.tags & {"script", "link", "iframe", "img", "object", "embed", "base", "form"}
    for name, value in tags.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "xlink:href", "action")
        assert name != "href" or value.startswith("#")
        assert "javascript:" not in value
    assert not re.search(r"https?://|@import|url\(", page.replace("http://www.w3.org/2000/svg", ""))
