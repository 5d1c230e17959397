"""The pages, a file per subject."""

from __future__ import annotations

from fastapi import APIRouter


def routers() -> list[APIRouter]:
    """What all pages answer to."""
    from understudy.hub.web import survey_pages
    from understudy.hub.web.pages import (
        account,
        algorithms,
        api,
        asking,
        catalogue,
        mine,
        oidc,
        releases,
        requests,
        signing_in,
        trail,
        users,
    )

    # "mine" before "catalogue": /datasets/new is no data set.
    modules = (
        signing_in,
        account,
        mine,
        catalogue,
        asking,
        requests,
        oidc,
        releases,
        trail,
        algorithms,
        users,
        survey_pages,
        api,
    )
    return [module.router for module in modules]
