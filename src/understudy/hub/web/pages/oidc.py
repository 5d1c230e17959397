"""Signing in by an identity provider."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from understudy.errors import InputError
from understudy.hub import signing_in
from understudy.hub.errors import NotFound, Refused
from understudy.hub.oidc import FAILED, Flow
from understudy.hub.web.pages.signing_in import start
from understudy.hub.web.rendering import set_cookie
from understudy.hub.web.viewer import TheHub

router = APIRouter()

FLOW_COOKIE = "flow"
MINUTES = 10


@router.get("/oidc/start")
def begin(hub: TheHub) -> Response:
    """Send the browser to the provider."""
    if hub.provider is None:
        raise NotFound("This hub has accounts of its own only; sign in with a name and password.")
    flow = Flow.start()
    answer = RedirectResponse(hub.provider.address(flow, _back(hub.address)), status_code=303)
    remembered = json.dumps([flow.state, flow.nonce, flow.verifier])
    code = hub.sign("oidc flow", remembered)
    set_cookie(hub, answer, FLOW_COOKIE, f"{code}{remembered}", MINUTES * 60)
    return answer


@router.get("/oidc/back")
def end(request: Request, hub: TheHub, state: str = "", code: str = "") -> Response:
    """The browser comes back: with the code that this very browser was sent for."""
    if hub.provider is None:
        raise NotFound("This hub has accounts of its own only; sign in with a name and password.")
    cookie = request.cookies.get(FLOW_COOKIE, "")
    signature, remembered = cookie[:64], cookie[64:]
    if not hub.is_signed("oidc flow", remembered, signature):
        raise Refused(FAILED)
    flow = Flow(**dict(zip(("state", "nonce", "verifier"), json.loads(remembered), strict=True)))
    if state != flow.state or not code:
        raise Refused(FAILED)
    identity = hub.provider.identify(flow, code, _back(hub.address))
    try:
        with hub.db.transaction() as c:
            user = signing_in.sign_in_by(c, identity)
    except InputError as error:  # the name is somebody else's: a local account is never taken over
        raise Refused(f"{error} Ask an administrator of the hub.") from None
    answer = start(hub, user, "/")
    answer.delete_cookie(FLOW_COOKIE, path="/")
    return answer


def _back(address: str) -> str:
    return f"{address}/oidc/back"
