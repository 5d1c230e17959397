"""Pages out of templates: everything in them is escaped."""

from __future__ import annotations

import datetime as dt
import secrets
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any
from urllib.parse import urlencode

import jinja2
from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse

import understudy
from understudy.hub.accounts import User
from understudy.hub.amounts import Price
from understudy.hub.amounts import write_amount as write_exact
from understudy.hub.requests import count_waiting
from understudy.hub.web.assets import static
from understudy.hub.web.state import Site
from understudy.hub.web.viewer import find_viewer, get_hub
from understudy.synthesizers.registry import DEFAULT

VISIT_COOKIE = "visit"

SENTENCES = {
    "in": "You are signed in.",
    "out": "You are signed out.",
    "registered": "The data set is registered.",
    "changed": "The change is saved.",
    "closed": "The data set is closed: no new request is taken, and nothing queued will start.",
    "opened": "The data set is open again.",
    "sent": "The request was sent.",
    "approved": "The request is approved.",
    "refused": "The request is refused.",
    "withdrawn": "The request is withdrawn.",
    "password": "The password is changed; other devices were signed out.",
    "revoked": "The token is revoked.",
    "offered": "The algorithm is offered; owners decide whether they allow it.",
    "role": "The role is saved.",
    "removed": "It is removed.",
    "rows": "The rows are stored, encrypted.",
    "delivered": "The upload is stored; you may go offline.",
}
"""What a page says after a form; the address names the sentence, so that nobody can put words into
the hub's mouth by a link.
"""


@dataclass(frozen=True, kw_only=True)
class NavigationLink:
    """An entry of the navigation."""

    label: str
    address: str
    current: bool = False
    count: int = 0


@cache
def environment() -> jinja2.Environment:
    """Where templates are found and what they know."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("understudy.hub.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "iso": write_iso,
        "utc": write_utc,
        "amount": write_amount,
        "exact": write_exact,
    }
    made.globals |= {
        "static": static,
        "version": understudy.__version__,
        "default_method": DEFAULT,
        "new_key": lambda: secrets.token_urlsafe(16),
    }
    return made


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page; ``problem`` among the values is shown at its top."""
    hub = get_hub(request)
    viewer = find_viewer(request)
    visit = request.cookies.get(VISIT_COOKIE) or secrets.token_urlsafe(16)
    values.setdefault("problem", "")
    values.setdefault("said", SENTENCES.get(request.query_params.get("said", ""), ""))
    content = (
        environment()
        .get_template(template)
        .render(
            request=request,
            viewer=viewer,
            navigation=_navigation(hub, viewer, values.get("chapter", request.url.path)),
            csrf=csrf_code(request, hub, visit),
            page_query=lambda number: _page_query(request, number),
            **values,
        )
    )
    answer = HTMLResponse(content, status_code=status)
    if VISIT_COOKIE not in request.cookies:
        set_cookie(hub, answer, VISIT_COOKIE, visit)
    return answer


def go_to(address: str, said: str = "") -> RedirectResponse:
    """The answer to a form: another page is fetched, so that a reload sends nothing twice."""
    if said:
        address = f"{address}{'&' if '?' in address else '?'}said={said}"
    return RedirectResponse(address, status_code=303)


def set_cookie(hub: Site, answer: Any, name: str, value: str, seconds: int | None = None) -> None:
    """A cookie that scripts cannot read and other sites cannot send along with a form."""
    answer.set_cookie(
        name, value, max_age=seconds, httponly=True, secure=hub.https, samesite="lax", path="/"
    )


def csrf_code(request: Request, hub: Site, visit: str) -> str:
    """What a form must carry: bound to the session, or, before there is one, to the visit."""
    session = request.cookies.get(hub.session_cookie)
    if session and find_viewer(request) is not None:
        return hub.sign("csrf session", session)
    return hub.sign("csrf visit", visit)


def write_iso(moment: dt.datetime) -> str:
    """A moment as programs read it."""
    return moment.astimezone(dt.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def write_utc(moment: dt.datetime) -> str:
    """A moment as people read it, before the script puts it into their own zone."""
    return f"{moment.astimezone(dt.UTC):%d %b %Y, %H:%M} UTC"


def write_amount(amount: Any) -> str:
    """An epsilon or a delta, short; a price with both where both count."""
    if isinstance(amount, Price):
        epsilon, delta = (write_amount(part) for part in (amount.epsilon, amount.delta))
        if amount.delta == 0:
            return epsilon
        return f"{epsilon} (delta {delta})"
    if isinstance(amount, Fraction):
        amount = float(amount)
    return f"{amount:.4g}"


def _page_query(request: Request, number: int) -> str:
    kept = [(k, v) for k, v in request.query_params.items() if k not in ("page", "said")]
    return urlencode([*kept, ("page", str(number))])


def _navigation(hub: Site, viewer: User | None, path: str) -> list[NavigationLink]:
    """The menu; what is marked is the entry that the path lies under."""
    if viewer is None:
        return []
    with hub.db.reading() as c:
        waiting = count_waiting(c, viewer.id)
    links = [
        ("Catalogue", "/datasets", 0),
        ("My requests", "/requests", 0),
        ("My data", "/mine", waiting),
        ("Surveys", "/surveys", 0),
        ("Algorithms", "/algorithms", 0),
    ]
    if viewer.administrator:
        links.append(("Users", "/users", 0))
    links.append(("Account", "/account", 0))
    return [
        NavigationLink(
            label=label,
            address=address,
            current=path == address or path.startswith(f"{address}/"),
            count=count,
        )
        for label, address, count in links
    ]
