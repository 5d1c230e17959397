"""Algorithms that others offer."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from understudy.errors import InputError, UnderstudyError
from understudy.hub import algorithms
from understudy.hub.pages import PageOf
from understudy.hub.web import lists
from understudy.hub.web.documents import Id
from understudy.hub.web.forms import SentForm
from understudy.hub.web.problems import status_of
from understudy.hub.web.rendering import go_to, render
from understudy.hub.web.state import Site
from understudy.hub.web.viewer import TheHub, Viewer

router = APIRouter()


@router.get("/algorithms")
def show_algorithms(request: Request, hub: TheHub, viewer: Viewer, page: int = 1) -> Response:
    """What is offered."""
    return _page(request, hub, page)


@router.post("/algorithms")
def offer(request: Request, hub: TheHub, viewer: Viewer, form: SentForm) -> Response:
    """Offer a signed package."""
    try:
        package = form.files.get("package", b"")
        if not package:
            raise InputError("The package is missing; choose its file.")
        with hub.db.transaction() as c:
            algorithms.offer(
                c,
                viewer.id,
                package,
                form.text("public_key", "The public key", most=500),
                form.text("signature", "The signature", most=500),
            )
    except UnderstudyError as error:
        return _page(request, hub, 1, status_of(error), typed=form.list_typed(), problem=str(error))
    return go_to("/algorithms", said="offered")


@router.post("/algorithms/{algorithm}/withdraw")
def withdraw(hub: TheHub, viewer: Viewer, algorithm: Id, form: SentForm) -> Response:
    """Offer it no more."""
    with hub.db.transaction() as c:
        algorithms.withdraw(c, viewer.id, algorithm)
    return go_to("/algorithms", said="removed")


def _page(
    request: Request,
    hub: Site,
    page: int,
    status: int = 200,
    typed: dict[str, str] | None = None,
    **values: Any,
) -> Response:
    with hub.db.reading() as c:
        found = algorithms.list_offered(c, PageOf(number=page, size=20))
        names = lists.user_names(c, {one.provider for one in found.items})
    return render(
        request,
        "algorithms.html",
        status,
        title="Algorithms",
        page=found,
        names=names,
        typed=typed or {},
        **values,
    )
