"""Pages that were made before, shown again while nothing has happened at the hub.

Whatever changes what a page of the catalogue shows (data sets, roles, budgets, releases, accounts)
is an entry of the trail, so that the number of its last entry says whether a page is still right:
in every process, since it stands in the database. A page is kept for one session and one query, and
for a minute at most.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from fastapi import Request
from fastapi.responses import HTMLResponse

from understudy.hub import trail
from understudy.hub.web.rendering import VISIT_COOKIE
from understudy.hub.web.state import Site

MAX_PAGES = 500
"""Some ten megabytes."""

MAX_SECONDS = 60.0
MAX_QUERY = 300
"""Letters; longer ones are made each time."""


class _Kept(NamedTuple):
    head: int
    until: float
    content: bytes


class KeptPages:
    """The last pages that were made, by session and query."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pages: OrderedDict[tuple[str, str], _Kept] = OrderedDict()

    def find(self, key: tuple[str, str], head: int) -> bytes | None:
        """A page that is still right."""
        with self._lock:
            kept = self._pages.get(key)
            if kept is None or kept.head != head or kept.until < self._clock():
                return None
            self._pages.move_to_end(key)
            return kept.content

    def keep(self, key: tuple[str, str], head: int, content: bytes) -> None:
        """Remember a page; the one that was longest unused is forgotten."""
        with self._lock:
            self._pages[key] = _Kept(head, self._clock() + MAX_SECONDS, content)
            self._pages.move_to_end(key)
            while len(self._pages) > MAX_PAGES:
                self._pages.popitem(last=False)


def show_kept(
    request: Request, hub: Site, pages: KeptPages, make: Callable[[], HTMLResponse]
) -> HTMLResponse:
    """The page from before, if it is still right; else a new one, which is kept."""
    session = request.cookies.get(hub.session_cookie, "")
    query = request.url.query
    if VISIT_COOKIE not in request.cookies or len(query) > MAX_QUERY or "said=" in query:
        return make()
    with hub.db.reading() as c:
        head = trail.read_head(c).number
    key = hub.sign("kept page", session), f"{request.url.path}?{query}"
    found = pages.find(key, head)
    if found is not None:
        return HTMLResponse(found)
    answer = make()
    # Read before it was made: where something happened meanwhile, it is not found again.
    pages.keep(key, head, bytes(answer.body))
    return answer
