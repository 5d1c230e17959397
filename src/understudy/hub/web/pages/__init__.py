"""The pages, a file per subject."""

from __future__ import annotations

from fastapi import APIRouter


def routers() -> list[APIRouter]:
    """What all pages answer to."""
    from understudy.hub.web.pages import account, signing_in

    return [signing_in.router, account.router]
