"""Who may talk to the studio: the browser that opened the one-time link, on this machine.

Other pages in the same browser, other programs and other machines are refused: by the host that
they ask for (a name that was bound to this machine in passing is none of ours), by the origin that
sends a form, and by a cookie that one link has set, once.
"""

from __future__ import annotations

import secrets
import threading
from http.cookies import SimpleCookie
from typing import Any

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "img-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; "
    "frame-ancestors 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "same-origin",  # with none at all, a browser hides the origin of forms
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
MAX_BODY_BYTES = 8 << 20


class Door:
    """The one-time link, and the cookie that it gives."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._link = secrets.token_urlsafe(24)
        self._secret = secrets.token_urlsafe(24)
        self.csrf = secrets.token_urlsafe(24)
        self.cookie = f"studio_{port}"  # cookies are shared by all ports of a machine
        self._lock = threading.Lock()
        self._used = False

    @property
    def address(self) -> str:
        """What the person opens."""
        return f"http://127.0.0.1:{self.port}/start/{self._link}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which the studio answers."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def open(self, link: str) -> str | None:
        """The cookie's value for whoever brings the link first; None for all others."""
        with self._lock:
            if self._used or not secrets.compare_digest(link.encode(), self._link.encode()):
                return None
            self._used = True
            return self._secret

    def knows(self, cookie_header: str) -> bool:
        """Whether a request brings the cookie."""
        try:
            held = SimpleCookie(cookie_header).get(self.cookie)
        except Exception:
            return False
        return held is not None and secrets.compare_digest(
            held.value.encode(), self._secret.encode()
        )


class Guard:
    """Lets through what the door allows, and gives every answer its headers."""

    def __init__(self, app: Any, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                known = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (name.lower().encode(), value.encode())
                        for name, value in HEADERS.items()
                        if name.lower().encode() not in known
                    ),
                ]
            await send(message)

        refusal = self._refuse(scope)
        if refusal is None:
            await self._app(scope, receive, send_with_headers)
            return
        status, sentence = refusal
        body = sentence.encode()
        headers = [(b"content-type", b"text/plain; charset=utf-8")]
        headers.append((b"content-length", str(len(body)).encode()))
        await send_with_headers(
            {"type": "http.response.start", "status": status, "headers": headers}
        )
        await send_with_headers({"type": "http.response.body", "body": body})

    def _refuse(self, scope: Any) -> tuple[int, str] | None:
        """Why a request is refused; None where it is not."""
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            headers[name.decode("latin-1")] = value.decode("latin-1")
        if headers.get("host", "") not in self._door.hosts:
            return 421, "The studio answers on this machine alone."
        origin = headers.get("origin")
        ours = {f"http://{host}" for host in self._door.hosts}
        if origin is not None and origin not in ours:
            return 403, "Another page may not talk to the studio."
        if scope["method"] not in ("GET", "HEAD"):
            if origin is None and headers.get("sec-fetch-site") not in ("same-origin", None):
                return 403, "Another page may not talk to the studio."
            length = headers.get("content-length", "")
            if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
                return 413, "That is too much for a form."
        if scope["path"].startswith("/start/") or self._door.knows(headers.get("cookie", "")):
            return None
        return 403, "Open the link that the studio printed when it started; it works once."
