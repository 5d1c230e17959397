"""Running a hub: one process that answers, and what it does by itself now and then."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from understudy.errors import InputError, UnderstudyError
from understudy.hub import accounts, credentials, jobs
from understudy.hub.opening import Hub
from understudy.hub.web.app import make_app
from understudy.hub.web.state import Site

log = logging.getLogger("understudy.hub")

EXPIRE_EVERY = 10.0
"""Seconds between looks for jobs whose worker is gone."""

SWEEP_EVERY = 360
"""Of these looks, how many to one that removes what broken uploads left."""


class HubServer:
    """A hub that listens.

    Parameters
    ----------
    site
        The hub, and how people reach it.
    host, port
        Where it listens; port 0: one that the system chooses.
    proxies
        Addresses of proxies whose word on a caller's address counts.
    """

    def __init__(self, site: Site, host: str, port: int, proxies: tuple[str, ...] = ()) -> None:
        self.site = site
        self._socket = bind_socket(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._server = uvicorn.Server(
            uvicorn.Config(
                make_app(site),
                log_level="error",
                access_log=False,  # its lines would hold one-time links
                server_header=False,
                lifespan="off",
                proxy_headers=bool(proxies),
                forwarded_allow_ips=list(proxies),
                timeout_graceful_shutdown=5,
            )
        )

    def run(self, begin: Callable[[], None] = lambda: None) -> None:
        """Serve until it is stopped; ``begin`` is called once the socket listens."""
        self._socket.listen(512)
        with keep_house(self.site.opened):
            begin()
            self._server.run(sockets=[self._socket])

    @contextmanager
    def running(self) -> Iterator[str]:
        """Serve in a thread, and give the address."""
        self._socket.listen(512)
        thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )
        thread.start()
        try:
            with keep_house(self.site.opened):
                yield f"http://127.0.0.1:{self.port}"
        finally:
            self.stop()
            thread.join(timeout=10)

    def stop(self) -> None:
        """Let the server end."""
        self._server.should_exit = True


def bind_socket(host: str, port: int) -> socket.socket:
    """A socket for this place, which does not listen yet."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except (OSError, OverflowError) as error:
        bound.close()
        why = getattr(error, "strerror", None) or "there is no such place"
        raise InputError(
            f"The hub cannot listen at {host}:{port} ({why}); choose another --port."
        ) from None
    return bound


@contextmanager
def keep_house(hub: Hub) -> Iterator[None]:
    """End jobs whose worker is gone, and remove what broken uploads left, as long as this runs."""
    over = threading.Event()

    def work() -> None:
        looks = 0
        while not over.wait(EXPIRE_EVERY):
            looks += 1
            try:
                with hub.db.transaction() as c:
                    jobs.expire(c)
                if looks % SWEEP_EVERY == 0:
                    hub.vault.sweep()
            except UnderstudyError as error:
                log.error("%s", error)  # the database is away; the next look may find it

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=5)


def make_first_link(site: Site) -> str | None:
    """The one-time link for the first administrator; none where there are accounts."""
    with site.db.transaction() as c:
        if accounts.count_users(c):
            return None
        secret = credentials.make_link(c, actor="hub", user=None)
    return f"{site.address}/link/{secret}"
