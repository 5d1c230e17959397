"""What all pages of the studio share: templates, files beside them, forms."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader, select_autoescape

from understudy.errors import InputError
from understudy.hub.studio.guard import Door
from understudy.hub.studio.session import Studio
from understudy.hub.web.assets import CONTENT_TYPES, Asset, assets

STUDIO_STEPS = (
    ("unit", "Who is protected", "/unit"),
    ("columns", "Columns", "/columns"),
    ("budget", "Budget", "/budget"),
    ("release", "Release", "/release"),
    ("result", "Result", "/result"),
)
PostedForm = Mapping[str, list[str]]


class Pages:
    """Renders templates with what all pages share, and reads forms."""

    def __init__(self, studio: Studio, door: Door) -> None:
        self.studio = studio
        self.door = door

    def show(self, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A page."""
        from understudy import __version__

        shared = {
            "csrf": self.door.csrf,
            "version": __version__,
            "table": self.studio.places.table,
            "protected": "row" if self.studio.interview.unit.person is None else "person",
            "progress_steps": self._steps(values.get("step", "")),
        }
        text = _environment().get_template(template).render({**shared, **values})
        return HTMLResponse(text, status)

    def _steps(self, now: str) -> list[tuple[str, str, str]]:
        """The way through the studio: name, address (empty while it is not open), state."""
        studio = self.studio
        open_until = 1
        if studio.unit_known:
            open_until = 2
        if studio.described:
            open_until = 4
        if studio.released:
            open_until = 5
        names = [name for name, _, _ in STUDIO_STEPS]
        shown = []
        for place, (name, label, address) in enumerate(STUDIO_STEPS):
            state = "done" if place < open_until - 1 else ""
            if name == now:
                state = "now"
            shown.append((label, address if place < open_until else "", state))
        assert len(shown) == len(names)
        return shown

    async def form(self, request: Request) -> PostedForm:
        """What a form says, once it is known to be ours."""
        data = await request.form(max_fields=20_000)
        given: dict[str, list[str]] = {}
        for name, value in data.multi_items():
            if isinstance(value, str):
                given.setdefault(name, []).append(value)
        if given.get("csrf", [""])[0] != self.door.csrf:
            raise InputError("This form is not the studio's own; open the page again.")
        return given


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("understudy.hub.studio"), PackageLoader("understudy.hub.web")]
        ),
        autoescape=select_autoescape(default=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["static"] = lambda name: f"/static/{name}?v={studio_assets()[name].version}"
    environment.filters |= {
        "number": lambda number: f"{number:,}",
        "short": lambda number: f"{number:.3g}",
        "share": lambda number: f"{number:.1%}",
        # The hub's templates name these; the studio has no times and no budgets of others.
        "amount": lambda number: f"{number:.4g}",
        "iso": str,
        "utc": str,
    }
    return environment


@cache
def studio_assets() -> dict[str, Asset]:
    """The hub's style and scripts, and the studio's own."""
    found = dict(assets())
    for path in (resources.files("understudy.hub.studio") / "static").iterdir():
        kind = CONTENT_TYPES[path.name.rpartition(".")[2]]
        content = path.read_bytes()
        version = hashlib.sha256(content).hexdigest()[:12]
        found[path.name] = Asset(content=content, kind=kind, version=version)
    return found


def go_to(address: str) -> RedirectResponse:
    """The answer to a form: another page."""
    return RedirectResponse(address, 303)


def first_of(form: PostedForm, name: str) -> str:
    """What a field holds; empty where there is none."""
    return form.get(name, [""])[0]
