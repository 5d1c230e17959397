"""How large a request may be: counted as it comes in, whatever its header says."""

from __future__ import annotations

import re
from contextlib import suppress

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 2_000_000
"""Bytes of a form or of a JSON document; a schema of 1,000 columns has some 200,000."""

UPLOADS = re.compile(
    r"^/(api/agent/jobs/[^/]+/release|api/agent/relay/[^/]+/answer"
    r"|api/v1/datasets/[^/]+/(rows|uploads)|mine/[^/]+/rows)$"
)
"""Where whole tables and models come in: read piece by piece, once it is known who sends them. What
other addresses take is read whole into memory before anybody has shown a token.
"""

MAX_UPLOAD = 1_000_000_000

REQUEST_TOO_LARGE = "This request is larger than the hub takes; send less at a time."


class BodyTooLargeError(Exception):
    """More bytes came in than are allowed; no reader of the body goes on after that."""


class LimitBody:
    """Refuses a request whose body is larger than its address may take."""

    def __init__(self, app: ASGIApp, *, max_upload: int = MAX_UPLOAD) -> None:
        self.app = app
        self.max_upload = max_upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what comes in."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = MAX_BODY
        if UPLOADS.match(scope["path"]):
            limit = self.max_upload
        seen = 0
        started = False

        async def count_receive() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                raise BodyTooLargeError
            return message

        async def watch_send(message: Message) -> None:
            nonlocal started
            if seen > limit and not started:
                return  # whatever a reader made of the error, the answer is ours
            started = True
            await send(message)

        if _read_announced_size(scope) > limit:
            await _refuse(scope, receive, send)
            return
        with suppress(BodyTooLargeError):
            await self.app(scope, count_receive, watch_send)
        if seen > limit and not started:
            await _refuse(scope, receive, send)


def _read_announced_size(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value[:20])
    return 0


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    answer = JSONResponse(
        {"problem": REQUEST_TOO_LARGE, "kind": "size"},
        status_code=413,
        headers={"connection": "close"},
    )
    await answer(scope, receive, send)
