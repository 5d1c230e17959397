"""One analyst who takes all the places at a holder's door takes its own, and nobody else's."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from answering import Answering

from understudy.federation.client import HttpLink
from understudy.federation.identity import Identity, Party
from understudy.federation.server import (
    MAX_CONNECTIONS,
    make_holder_app,
    make_server,
    open_listener,
)

HEADERS = b"POST /ask HTTP/1.1\r\nHost: north\r\nContent-Length: 1000\r\n\r\n"


class Served:
    """North, in a thread, with two analysts."""

    def __init__(self, folder: Path) -> None:
        self.known = {
            name: Identity.new(name).save(folder / f"{name}.pem", folder / f"{name}.key")
            for name in ("north", "greedy", "modest")
        }
        analysts = [self.known[name].certificate for name in ("greedy", "modest")]
        self.listener = open_listener("127.0.0.1:0")
        self.port = self.listener.getsockname()[1]
        app = make_holder_app(Answering(lambda message, asker: asker.encode()), analysts)
        self.server = make_server(app, self.known["north"], analysts)
        self.thread = threading.Thread(target=self.server.run, args=([self.listener],))
        self.thread.start()

    def stop(self) -> None:
        self.server.should_exit = self.server.force_exit = True
        self.thread.join()

    def line(self, name: str) -> ssl.SSLSocket:
        """A connection of one of the analysts."""
        context = self.known[name].tls([self.known["north"].certificate], serving=False)
        line = context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), 60.0))
        line.settimeout(60.0)
        return line

    def ask(self, name: str) -> bytes:
        north = Party(self.known["north"].certificate, f"127.0.0.1:{self.port}")
        link = HttpLink(north, self.known[name])
        try:
            return link.ask(b"hello")
        finally:
            link.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path)
    yield served
    served.stop()


def is_hung_up(line: ssl.SSLSocket) -> bool:
    line.setblocking(False)
    try:
        return line.recv(1) == b""
    except ssl.SSLWantReadError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize("sent", [b"", HEADERS[:20], HEADERS, HEADERS + b"x"])
def test_slow_posts_of_one_analyst_keep_nobody_else_out(served: Served, sent: bytes) -> None:
    with ExitStack() as open_lines:
        for _ in range(80):
            line = open_lines.enter_context(served.line("greedy"))
            try:
                line.sendall(sent)
            except OSError:
                continue  # hung up on already
        for _ in range(3):
            assert served.ask("modest") == b"modest"


def test_who_has_too_many_lines_open_is_hung_up_on(served: Served) -> None:
    with ExitStack() as open_lines:
        lines = [open_lines.enter_context(served.line("greedy")) for _ in range(80)]
        while sum(map(is_hung_up, lines)) < 80 - MAX_CONNECTIONS:
            assert served.ask("modest") == b"modest"
        assert sum(map(is_hung_up, lines)) == 80 - MAX_CONNECTIONS
    assert served.ask("greedy") == b"greedy"  # who hangs up has its places back
