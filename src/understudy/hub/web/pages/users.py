"""The administrator's page: accounts and roles of the site."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from understudy.errors import InputError, UnderstudyError
from understudy.hub import accounts, credentials
from understudy.hub.accounts import User
from understudy.hub.pages import ListPage
from understudy.hub.web.documents import Id
from understudy.hub.web.forms import SentForm
from understudy.hub.web.problems import status_of
from understudy.hub.web.rendering import go_to, render
from understudy.hub.web.state import Site
from understudy.hub.web.viewer import Administrator, TheHub

router = APIRouter()

PAGE_SIZE = 50


@router.get("/users")
def show_users(request: Request, hub: TheHub, viewer: Administrator, page: int = 1) -> Response:
    """All accounts."""
    return _page(request, hub, viewer, page)


@router.post("/users")
def add_user(request: Request, hub: TheHub, viewer: Administrator, form: SentForm) -> Response:
    """Add an account, and show the link that sets its password."""
    try:
        name = form.text("name", "The name", most=100)
        display = form.text("display", "The full name", required=False, most=200)
        with hub.db.transaction() as c:
            made = accounts.add_user(
                c,
                actor=viewer.id,
                name=name,
                display=display,
                administrator=form.is_checked("administrator"),
            )
            secret = credentials.make_link(c, actor=viewer.id, user=made.id)
    except UnderstudyError as error:
        return _page(
            request, hub, viewer, 1, status_of(error), typed=form.list_typed(), problem=str(error)
        )
    return _page(request, hub, viewer, 1, link=secret, link_for=made.name)


@router.post("/users/{user}/link")
def make_link(
    request: Request, hub: TheHub, viewer: Administrator, user: Id, form: SentForm
) -> Response:
    """A new one-time link for somebody who lost a password; the old password stays until then."""
    with hub.db.transaction() as c:
        found = accounts.find_user(c, user)
        secret = credentials.make_link(c, actor=viewer.id, user=user)
    return _page(request, hub, viewer, 1, link=secret, link_for=found.name)


@router.post("/users/{user}")
def change_user(hub: TheHub, viewer: Administrator, user: Id, form: SentForm) -> Response:
    """Close or open an account, give or take the role of administrator."""
    options = ("administrator", "user", "close", "open")
    change = form.choice("change", "The change", options)
    with hub.db.transaction() as c:
        if change in ("close", "open"):
            accounts.change_user(c, viewer, user, active=change == "open")
        else:
            accounts.change_user(c, viewer, user, administrator=change == "administrator")
    return go_to("/users", said="changed")


@router.post("/users/{user}/attributes")
def set_attributes(
    request: Request, hub: TheHub, viewer: Administrator, user: Id, form: SentForm
) -> Response:
    """Say what is vouched for about an account."""
    try:
        typed = form.text("attributes", "The attributes", required=False)
        with hub.db.transaction() as c:
            accounts.change_user(c, viewer, user, attributes=_read_attributes(typed))
    except InputError as error:
        return _page(request, hub, viewer, 1, status_of(error), problem=str(error))
    return go_to("/users", said="changed")


def _read_attributes(typed: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in typed.splitlines():
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not line.strip():
            continue
        if not colon or name in found:
            raise InputError("Write each attribute once, in a line such as institution: Uni A.")
        found[name] = value
    return found


def _page(
    request: Request,
    hub: Site,
    viewer: User,
    page: int,
    status: int = 200,
    *,
    link: str = "",
    link_for: str = "",
    typed: dict[str, str] | None = None,
    **values: Any,
) -> Response:
    page = min(max(page, 1), 1_000_000)
    with hub.db.reading() as c:
        found, total = accounts.list_users(c, page, PAGE_SIZE)
    if link:
        link = f"{hub.address}/link/{link}"
    return render(
        request,
        "users.html",
        status,
        title="Users",
        page=ListPage(items=tuple(found), number=page, size=PAGE_SIZE, total=total),
        link=link,
        link_for=link_for,
        typed=typed or {},
        open=typed is not None or total <= 1,
        **values,
    )
