"""Pages that were made before, sent again while nothing has happened at the hub.

Whatever changes what a page of the catalogue shows (data sets, roles, budgets, releases, accounts)
is an entry of the trail, so that the number of its last entry says whether a page is still right:
in every process, since it stands in the database. A page is kept for one session and one query, and
for a minute at most; that the session is still somebody's is looked up each time.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from understudy.errors import UnderstudyError
from understudy.hub import credentials, trail
from understudy.hub.accounts import User
from understudy.hub.web.rendering import VISIT_COOKIE
from understudy.hub.web.state import Site

KEPT_PAGES = frozenset({"/datasets"})
"""The pages that are kept: each shows what the trail tells of and what its viewer may see."""

MAX_PAGES = 1000
"""Some twenty megabytes."""

MAX_SECONDS = 60.0
MAX_QUERY = 300
"""Letters; longer ones are made each time."""

PageKey = tuple[str, str]


class KeptAnswer(NamedTuple):
    """A whole answer with status 200."""

    headers: list[tuple[bytes, bytes]]
    body: bytes


class _Kept(NamedTuple):
    head: int
    until: float
    answer: KeptAnswer


class KeptPages:
    """The last pages that were made, by session and query."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pages: OrderedDict[PageKey, _Kept] = OrderedDict()

    def find(self, key: PageKey, head: int) -> KeptAnswer | None:
        """A page that is still right."""
        with self._lock:
            kept = self._pages.get(key)
            if kept is None or kept.head != head or kept.until < self._clock():
                return None
            self._pages.move_to_end(key)
            return kept.answer

    def keep(self, key: PageKey, head: int, answer: KeptAnswer) -> None:
        """Remember a page; the one that was longest unused is forgotten."""
        with self._lock:
            self._pages[key] = _Kept(head, self._clock() + MAX_SECONDS, answer)
            self._pages.move_to_end(key)
            while len(self._pages) > MAX_PAGES:
                self._pages.popitem(last=False)


class SendKeptPages:
    """Answers from the pages that were made before; what is not among them is made by the rest of
    the application, and kept.

    It stands before everything else, since most of what a page costs is the way to its function.
    """

    def __init__(self, app: ASGIApp, *, hub: Site, pages: KeptPages) -> None:
        self.app = app
        self.hub = hub
        self.pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the page from before, if it is still right; else a new one."""
        if scope["type"] != "http" or scope["path"] not in KEPT_PAGES or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        session = request.cookies.get(self.hub.session_cookie, "")
        known = None
        if session and _may_keep(request):
            known = await self._look_up(session)
        if known is None:  # nobody's session, or the page says something that is said once
            await self.app(scope, receive, send)
            return
        viewer, head = known
        key = self.hub.sign("kept page", session), f"{scope['path']}?{request.url.query}"
        found = self.pages.find(key, head)
        if found is None:
            state = {**scope.get("state", {}), "viewer": viewer}  # looked up once per request
            await self._make(key, head, ({**scope, "state": state}, receive, send))
            return
        await send({"type": "http.response.start", "status": 200, "headers": found.headers})
        await send({"type": "http.response.body", "body": found.body})

    async def _look_up(self, session: str) -> tuple[User, int] | None:
        """Whose session it is and the head of the trail; none where its use is to be noted."""
        if self.hub.db.is_sqlite:  # some 0.2 ms, and it waits for no writer
            return self._read(session)
        return await run_in_threadpool(self._read, session)

    def _read(self, session: str) -> tuple[User, int] | None:
        try:
            with self.hub.db.reading() as c:
                found = credentials.find_session(c, session)
                head = trail.read_head(c).number
        except UnderstudyError:  # the database is away: the application has a sentence for it
            return None
        if found is None or found[1]:
            return None
        return found[0], head

    async def _make(self, key: PageKey, head: int, call: tuple[Scope, Receive, Send]) -> None:
        """Let the page be made, and keep it. The head was read before: where something happens
        meanwhile, the page is not found again.
        """
        scope, receive, send = call
        headers: list[tuple[bytes, bytes]] = []
        body: list[bytes] = []
        status = 0

        async def watch_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers.extend((bytes(name), bytes(value)) for name, value in message["headers"])
            elif message["type"] == "http.response.body":
                body.append(bytes(message.get("body", b"")))
                if status == 200 and not message.get("more_body") and not _sets_cookie(headers):
                    self.pages.keep(key, head, KeptAnswer(headers, b"".join(body)))
            await send(message)

        await self.app(scope, receive, watch_send)


def _may_keep(request: Request) -> bool:
    """Whether the page is the same each time: it sets no cookie and says nothing just once."""
    query = request.url.query
    return VISIT_COOKIE in request.cookies and len(query) <= MAX_QUERY and "said=" not in query


def _sets_cookie(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name.lower() == b"set-cookie" for name, _ in headers)
