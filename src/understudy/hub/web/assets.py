"""Style sheets and scripts: read once, served from memory, so that no path is ever looked up."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources

CONTENT_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, kw_only=True)
class Asset:
    """One file that pages refer to."""

    content: bytes
    kind: str
    version: str


SURVEY_SCRIPTS = ("client.js", "wording.js", "tokens.js")
"""What a person's page takes from the room of local differential privacy, as it is."""


@cache
def assets() -> dict[str, Asset]:
    """All files of the folder ``static``; the style sheet of the reports stands before our own."""
    found = {}
    local = resources.files("understudy.local")
    others = [local / name for name in SURVEY_SCRIPTS]
    for path in (*(resources.files("understudy.hub.web") / "static").iterdir(), *others):
        kind = CONTENT_TYPES.get(path.name.rpartition(".")[2])
        if kind is None:
            continue
        content = path.read_bytes()
        if path.name == "hub.css":
            content = (resources.files("understudy.reports") / "page.css").read_bytes() + content
        version = hashlib.sha256(content).hexdigest()[:12]
        found[path.name] = Asset(content=content, kind=kind, version=version)
    return found


def static(name: str) -> str:
    """The address of a file; it changes with the file, so browsers may keep it for good."""
    return f"/static/{name}?v={assets()[name].version}"
