"""Who is looking: by the session's cookie on pages, by a token in the API."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from understudy.hub import accounts, credentials
from understudy.hub.accounts import User
from understudy.hub.errors import Refused
from understudy.hub.web.state import Site


class SignInFirstError(Exception):
    """The page is for those who have signed in."""


class NoToken(Refused):
    """The API needs a token."""


def get_hub(request: Request) -> Site:
    """The hub that answers."""
    hub = request.app.state.site
    assert isinstance(hub, Site)
    return hub


def find_viewer(request: Request) -> User | None:
    """Who has signed in with this browser, if anybody; looked up once per request."""
    if hasattr(request.state, "viewer"):
        known: User | None = request.state.viewer
        return known
    request.state.viewer = None
    hub = get_hub(request)
    secret = request.cookies.get(hub.session_cookie)
    if not secret:
        return None
    with hub.db.reading() as c:
        found = credentials.find_session(c, secret)
    if found is None:
        return None
    user, note = found
    if note:
        with hub.db.transaction() as c:
            credentials.note_session(c, secret)
    request.state.viewer = user
    return user


def require_user(request: Request) -> User:
    """Who looks at a page; who has not signed in is asked to."""
    user = find_viewer(request)
    if user is None:
        raise SignInFirstError
    return user


def administrator(request: Request) -> User:
    """The administrator who looks at a page; nobody else."""
    user = require_user(request)
    accounts.require_administrator(user)
    return user


def token_bearer(request: Request) -> User:
    """Whose token came with a call of the API. Cookies count for nothing there, so that no other
    site's page can make a browser call it.
    """
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        with get_hub(request).db.reading() as c:
            user = credentials.find_token(c, secret.strip())
        if user is not None:
            request.state.viewer = user
            return user
    raise NoToken("This needs a valid API token; make one on the page of your account.")


async def provide_hub(request: Request) -> Site:
    """The hub that answers; a coroutine, since a plain function would be sent to another thread."""
    return get_hub(request)


TheHub = Annotated[Site, Depends(provide_hub)]
Viewer = Annotated[User, Depends(require_user)]
Administrator = Annotated[User, Depends(administrator)]
Bearer = Annotated[User, Depends(token_bearer)]


def client_address(request: Request) -> str:
    """Where a request comes from, for limits on attempts."""
    if request.client is None:
        return ""
    return request.client.host
