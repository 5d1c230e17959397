"""Signing in and out, and the one-time links that set a password."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from understudy.errors import InputError, UnderstudyError
from understudy.hub import accounts, credentials, signing_in
from understudy.hub.accounts import User
from understudy.hub.credentials import SESSION_LASTS
from understudy.hub.web.forms import SentForm
from understudy.hub.web.problems import status_of
from understudy.hub.web.rendering import go_to, render, set_cookie
from understudy.hub.web.state import Site
from understudy.hub.web.viewer import TheHub, client_address, find_viewer

router = APIRouter()


@router.get("/")
def show_start(request: Request) -> Response:
    """What the hub is; for who has signed in, the catalogue."""
    if find_viewer(request) is not None:
        return go_to("/datasets")
    return render(request, "welcome.html", title="Welcome")


@router.get("/help")
def show_help(request: Request) -> Response:
    """How the hub works, in plain words."""
    return render(request, "help.html", title="How it works")


@router.get("/signin")
def show_sign_in(request: Request, hub: TheHub, next: str = "") -> Response:
    """The form for name and password."""
    if find_viewer(request) is not None:
        return go_to(safe_path(next))
    return _sign_in_page(request, hub, next=next)


@router.post("/signin")
def sign_in(request: Request, hub: TheHub, form: SentForm) -> Response:
    """Check name and password, and start a session."""
    name = form.text("name", "The name", required=False, most=100)
    password = form.fields.get("password", [""])[0]
    following = form.text("next", "The page", required=False, most=300)
    user = signing_in.sign_in(hub.db, hub.passwords, name, password, client_address(request))
    if user is None:
        return _sign_in_page(request, hub, 403, name=name, next=following, problem=signing_in.WRONG)
    return start(hub, user, safe_path(following))


@router.post("/signout")
def sign_out(request: Request, hub: TheHub, form: SentForm) -> Response:
    """End the session."""
    secret = request.cookies.get(hub.session_cookie, "")
    with hub.db.transaction() as c:
        credentials.end_session(c, secret)
    answer = go_to("/signin", said="out")
    answer.delete_cookie(hub.session_cookie, path="/", secure=hub.https, httponly=True)
    return answer


@router.get("/link/{secret}")
def show_link(request: Request, hub: TheHub, secret: str) -> Response:
    """The form behind a one-time link."""
    with hub.db.reading() as c:
        user = credentials.find_link(c, secret)
    return render(request, "link.html", title="Set a password", user=user, typed={})


@router.post("/link/{secret}")
def use_link(request: Request, hub: TheHub, secret: str, form: SentForm) -> Response:
    """Set the password of an account, or make the first account of a hub."""
    with hub.db.reading() as c:
        user = credentials.find_link(c, secret)
    try:
        name, display = "", ""
        if user is None:
            name = form.text("name", "The name", most=100)
            display = form.text("display", "Your full name", required=False, most=200)
        hashed = hub.passwords.hash(_new_password(form))
        with hub.db.transaction() as c:
            user = credentials.use_link(c, secret, name, display, hashed)
    except UnderstudyError as error:
        return render(
            request,
            "link.html",
            status_of(error),
            title="Set a password",
            user=user,
            typed=form.list_typed(),
            problem=str(error),
        )
    return start(hub, user, "/")


def _new_password(form: SentForm) -> str:
    password = form.fields.get("password", [""])[0]
    if password != form.fields.get("password_again", [""])[0]:
        raise InputError("The two passwords differ; type the same one twice.")
    return password


def start(hub: Site, user: User, address: str) -> Response:
    """Start a session, with a secret that no earlier cookie had."""
    with hub.db.transaction() as c:
        secret = credentials.start_session(c, user.id)
    answer = go_to(address)
    seconds = int(SESSION_LASTS.total_seconds())
    set_cookie(hub, answer, hub.session_cookie, secret, seconds)
    return answer


def safe_path(path: str) -> str:
    """A path on this hub; whatever else was asked for, the start."""
    plain = path.isascii() and path.isprintable() and "\\" not in path
    if plain and path.startswith("/") and not path.startswith("//"):
        return path
    return "/"


def _sign_in_page(
    request: Request, hub: Site, status: int = 200, *, name: str = "", next: str, problem: str = ""
) -> Response:
    with hub.db.reading() as c:
        first = accounts.count_users(c) == 0
    provider = None
    if hub.provider is not None:
        provider = hub.provider.label
    return render(
        request,
        "signin.html",
        status,
        title="Sign in",
        name=name,
        next=next,
        first=first,
        provider=provider,
        problem=problem,
    )
