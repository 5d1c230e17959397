"""The studio as a web application: its pages together, behind its door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, Response

from understudy.errors import UnderstudyError
from understudy.hub.studio.guard import Door, Guard
from understudy.hub.studio.interview_pages import add_interview_pages
from understudy.hub.studio.pages import Pages, go_to, studio_assets
from understudy.hub.studio.release_pages import add_release_pages, add_result_pages
from understudy.hub.studio.session import Studio


def make_studio_app(studio: Studio, door: Door, stop: Callable[[], None]) -> Any:
    """The studio as a web application for one browser.

    Parameters
    ----------
    studio
        What it shows.
    door
        Who may see it.
    stop
        Called when the person is done.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    pages = Pages(studio, door)
    _add_start(app, door)
    add_interview_pages(app, studio, pages)
    add_release_pages(app, studio, pages)
    add_result_pages(app, studio, pages)

    @app.post("/quit")
    async def quit_studio(request: Request) -> Response:
        await pages.form(request)
        stop()
        return PlainTextResponse("The studio has ended. You can close this page.")

    @app.exception_handler(UnderstudyError)
    async def tell(request: Request, error: UnderstudyError) -> Response:
        return pages.show("stop.html", message=str(error), remedies=(), status=400)

    return Guard(app, door)


def _add_start(app: FastAPI, door: Door) -> None:
    @app.get("/start/{link}")
    def start(link: str) -> Response:
        secret = door.open(link)
        if secret is None:
            return PlainTextResponse(
                "This link was used already, or is not the studio's. Start the studio again.", 403
            )
        answer = go_to("/")
        answer.set_cookie(door.cookie, secret, httponly=True, samesite="strict")
        return answer

    @app.get("/static/{name}")
    def static_file(name: str) -> Response:
        asset = studio_assets().get(name)
        if asset is None:
            return PlainTextResponse("There is no such file.", 404)
        return Response(asset.content, media_type=asset.kind)
