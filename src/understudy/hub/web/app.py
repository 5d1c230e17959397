"""The hub as an ASGI application: pages, API and static files."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

import understudy
from understudy.hub.web.assets import assets
from understudy.hub.web.headers import SafeHeaders
from understudy.hub.web.kept import KeptPages, SendKeptPages
from understudy.hub.web.limits import LimitBody
from understudy.hub.web.problems import CatchFaults, answer_problem, handle_problems
from understudy.hub.web.state import Site


def make_app(site: Site) -> FastAPI:
    """The application of a hub that is open."""
    from understudy.hub.web import agent_api
    from understudy.hub.web.api import make_router
    from understudy.hub.web.pages import routers

    app = FastAPI(
        title="Understudy hub",
        version=understudy.__version__,
        description="Ask for differentially private releases of tables that nobody may see.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # its script comes from elsewhere; /api describes the API without one
        redoc_url=None,
    )
    app.state.site = site
    app.state.hub = site.opened
    for router in routers():
        app.include_router(router, include_in_schema=False)
    app.include_router(make_router(), prefix="/api/v1")
    app.include_router(agent_api.router, include_in_schema=False)
    app.add_api_route("/static/{name}", send_asset, include_in_schema=False)
    app.add_api_route("/health", tell_health, include_in_schema=False)
    handle_problems(app)
    app.add_middleware(LimitBody)
    app.add_middleware(CatchFaults)
    app.add_middleware(SafeHeaders, https=site.https)
    app.add_middleware(SendKeptPages, hub=site, pages=KeptPages())
    return app


def send_asset(request: Request, name: str) -> Response:
    """A style sheet or a script, for good: its address has its version in it."""
    asset = assets().get(name)
    if asset is None:
        return answer_problem(request, 404, "There is no such file.")
    return Response(
        asset.content,
        media_type=asset.kind,
        headers={"cache-control": "public, max-age=31536000, immutable"},
    )


def tell_health(request: Request) -> Response:
    """Whether the hub and its database answer; for load balancers."""
    site: Site = request.app.state.site
    with site.db.reading():
        return JSONResponse({"status": "ok"})
