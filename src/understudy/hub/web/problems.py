"""What goes wrong, as one sentence: a page for people, a JSON document for programs."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from understudy.errors import BudgetError, UnderstudyError
from understudy.hub.errors import Conflict, NotFound, Refused, Unavailable
from understudy.hub.passwords import BusyError
from understudy.hub.web.rendering import render
from understudy.hub.web.viewer import NoToken, SignInFirstError

log = logging.getLogger("understudy.hub")

STATUS_CODES: tuple[tuple[type[UnderstudyError], int], ...] = (
    (NoToken, 401),
    (Refused, 403),
    (NotFound, 404),
    (Conflict, 409),
    (BudgetError, 409),
    (Unavailable, 503),
    (BusyError, 503),
    (UnderstudyError, 422),
)
HEADINGS = {
    401: "Sign in first",
    403: "This is not allowed",
    404: "There is nothing here",
    405: "This is not possible",
    409: "This is not possible any more",
    413: "This is too large",
    422: "Something is not right yet",
    503: "Try again in a moment",
}
PROBLEM_WORDS = {
    401: "token",
    403: "refused",
    404: "not found",
    409: "conflict",
    503: "unavailable",
}
"""One word for programs, by status; a budget that does not suffice has a word of its own."""

UNKNOWN = "Something went wrong in the hub; its operator finds the cause in the log."


def status_of(error: UnderstudyError) -> int:
    """The HTTP status of a sentence."""
    return next(status for kind, status in STATUS_CODES if isinstance(error, kind))


def status_on_page(error: UnderstudyError) -> int:
    """The HTTP status of the page that the sentence stands on; who may not see that page gets the
    error.
    """
    status = status_of(error)
    if status in (403, 404):
        raise error
    return status


def answer_problem(request: Request, status: int, sentence: str, kind: str = "") -> Response:
    """The sentence as a page or as JSON, by who asks."""
    headers = {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if request.url.path.startswith(("/api/", "/static/")):
        document = {"problem": sentence, "kind": kind or PROBLEM_WORDS.get(status, "input")}
        return JSONResponse(document, status_code=status, headers=headers)
    try:
        heading = HEADINGS.get(status, "Something went wrong")
        return render(
            request, "problem.html", status, title=heading, heading=heading, sentence=sentence
        )
    except UnderstudyError:  # the database is away: a page that needs none
        return Response(sentence, status_code=status, media_type="text/plain; charset=utf-8")


def handle_problems(app: FastAPI) -> None:
    """Let each error be answered by a sentence."""

    @app.exception_handler(UnderstudyError)
    def answer_error(request: Request, error: UnderstudyError) -> Response:
        kind = ""
        if isinstance(error, BudgetError):
            kind = "budget"
        return answer_problem(request, status_of(error), str(error), kind)

    @app.exception_handler(SignInFirstError)
    def unknown_visitor(request: Request, error: SignInFirstError) -> Response:
        back = ""
        if request.method == "GET":
            back = f"?next={quote(request.url.path, safe='/')}"
        return RedirectResponse(f"/signin{back}", status_code=303)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        errors = error.errors()
        if any(one.get("loc", ("",))[0] == "path" for one in errors):
            return answer_problem(request, 404, "There is nothing at this address.")
        return answer_problem(request, 422, describe_validation(errors))

    @app.exception_handler(HTTPException)
    def http(request: Request, error: HTTPException) -> Response:
        sentences = {
            404: "There is nothing at this address; go back to where you came from.",
            405: "This address does not take this method; see the description of the API.",
            400: "The request cannot be read; check how it was sent.",
        }
        sentence = sentences.get(error.status_code, str(error.detail))
        answer = answer_problem(request, error.status_code, sentence)
        for name, value in (error.headers or {}).items():
            answer.headers[name] = value
        return answer


class CatchFaults:
    """Answers what nobody foresaw, and logs where it happened; nothing else may log it, since an
    error's text, or the query of an address, may hold what is private.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        started = False

        async def watch_send(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, watch_send)
        except Exception as error:
            if scope["type"] != "http":
                raise
            log.error("%s: %s%s", scope["method"], type(error).__name__, _place(error))
            if not started:
                answer = JSONResponse({"problem": UNKNOWN, "kind": "fault"}, status_code=500)
                await answer(scope, receive, send)


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ""
    return f" in {frames[-1].name} ({Path(frames[-1].filename).name}:{frames[-1].lineno})"


def describe_validation(errors: Any) -> str:
    """The first thing that is wrong with a document, without citing what was sent."""
    for error in errors:
        place = ".".join(str(part) for part in error.get("loc", ()) if part != "body")
        return f"{place or 'The document'}: {error.get('msg', 'not valid')}."
    return "The document is not valid."
