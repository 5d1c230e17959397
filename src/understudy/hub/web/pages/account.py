"""The page of one's own account: password and API tokens."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from understudy.errors import InputError, UnderstudyError
from understudy.hub import credentials, signing_in
from understudy.hub.accounts import User
from understudy.hub.web.documents import Id
from understudy.hub.web.forms import SentForm
from understudy.hub.web.pages.signing_in import start
from understudy.hub.web.problems import status_of
from understudy.hub.web.rendering import go_to, render
from understudy.hub.web.state import Site
from understudy.hub.web.viewer import TheHub, Viewer, client_address

router = APIRouter()


@router.get("/account")
def show_account(request: Request, hub: TheHub, viewer: Viewer) -> Response:
    """What one can change about one's own account."""
    return _page(request, hub, viewer)


@router.post("/account/password")
def change_password(request: Request, hub: TheHub, viewer: Viewer, form: SentForm) -> Response:
    """Change the password; every other session ends."""
    old, new, again = (
        form.fields.get(name, [""])[0] for name in ("old_password", "password", "password_again")
    )
    try:
        if new != again:
            raise InputError("The two new passwords differ; type the same one twice.")
        signing_in.change_password(hub.db, hub.passwords, viewer, old, new, client_address(request))
    except UnderstudyError as error:
        return _page(request, hub, viewer, status_of(error), problem=str(error))
    return start(hub, viewer, "/account?said=password")


@router.post("/account/tokens")
def add_token(request: Request, hub: TheHub, viewer: Viewer, form: SentForm) -> Response:
    """A new API token; its secret is in this one answer and nowhere else."""
    try:
        label = form.text("label", "What the token is for", most=100)
        days = form.whole("days", "The number of days", 90)
        with hub.db.transaction() as c:
            _, secret = credentials.add_token(c, viewer, label, days)
    except UnderstudyError as error:
        return _page(request, hub, viewer, status_of(error), problem=str(error))
    return _page(request, hub, viewer, secret=secret)


@router.post("/account/tokens/{token}/revoke")
def revoke_token(hub: TheHub, viewer: Viewer, token: Id, form: SentForm) -> Response:
    """Make a token useless."""
    with hub.db.transaction() as c:
        credentials.revoke_token(c, viewer, token)
    return go_to("/account", said="revoked")


def _page(
    request: Request, hub: Site, viewer: User, status: int = 200, secret: str = "", **values: Any
) -> Response:
    with hub.db.reading() as c:
        tokens = credentials.list_tokens(c, viewer.id)
    return render(
        request, "account.html", status, title="Account", tokens=tokens, secret=secret, **values
    )
