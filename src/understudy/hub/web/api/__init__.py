"""The REST interface: what the pages can do, for programs."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from understudy.hub.web.documents import Problem

ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The request cannot be read."},
    401: {"model": Problem, "description": "A valid token is missing."},
    403: {"model": Problem, "description": "The policy does not allow it."},
    404: {"model": Problem, "description": "There is no such thing, or none for you."},
    409: {"model": Problem, "description": "The state or the budget does not allow it."},
    413: {"model": Problem, "description": "It is larger than the hub takes."},
    422: {"model": Problem, "description": "Something in it is not right."},
    503: {"model": Problem, "description": "The database does not answer."},
}


def make_router() -> APIRouter:
    """All calls."""
    from understudy.hub.web.api import asking, encrypted, owning, people, released, surveying

    router = APIRouter(responses=ERROR_RESPONSES)
    for module in (people, owning, encrypted, asking, released, surveying):
        router.include_router(module.router)
    return router
