"""The pages, a file per subject."""

from __future__ import annotations

from fastapi import APIRouter


def routers() -> list[APIRouter]:
    """What all pages answer to."""
    from understudy.hub.web import survey_answers, survey_pages
    from understudy.hub.web.pages import (
        account,
        algorithms,
        api,
        asking,
        budgets,
        catalogue,
        encrypted,
        mine,
        oidc,
        releases,
        requests,
        rows,
        signing_in,
        trail,
        users,
    )

    # "mine" before "catalogue": /datasets/new is no data set.
    modules = (
        signing_in,
        account,
        mine,
        budgets,
        rows,
        catalogue,
        encrypted,
        asking,
        requests,
        oidc,
        releases,
        trail,
        algorithms,
        users,
        survey_pages,
        survey_answers,
        api,
    )
    return [module.router for module in modules]
