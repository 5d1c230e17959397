"""What the API can do, as a page that needs no script from elsewhere."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from understudy.hub.web.rendering import render
from understudy.hub.web.viewer import TheHub

router = APIRouter()


@router.get("/api")
def show_api(request: Request, hub: TheHub) -> Response:
    """All calls, by subject."""
    groups: dict[str, list[dict[str, str]]] = {}
    description: dict[str, Any] = request.app.openapi()
    for path, methods in description["paths"].items():
        for method, call in methods.items():
            line = {
                "method": method.upper(),
                "path": path,
                "what": call.get("description", "").replace("\n", " "),
            }
            groups.setdefault(call.get("tags", ["other"])[0], []).append(line)
    return render(request, "api.html", title="API", groups=groups, address=hub.address)
