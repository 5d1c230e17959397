"""Running the studio: on this machine alone, on a port that the system chooses."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import uvicorn

from understudy.hub.studio.app import make_studio_app
from understudy.hub.studio.guard import Door
from understudy.hub.studio.session import Studio


class StudioServer:
    """A server for one browser.

    Parameters
    ----------
    studio
        What it shows.
    """

    def __init__(self, studio: Studio) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind(("127.0.0.1", 0))
        self.door = Door(self._socket.getsockname()[1])
        app = make_studio_app(studio, self.door, self.stop)
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_level="error",
                access_log=False,  # its lines would hold the one-time link
                server_header=False,
                lifespan="off",
                timeout_graceful_shutdown=2,
            )
        )

    def run(self, begin: Callable[[str], None]) -> None:
        """Serve until the person ends it.

        Parameters
        ----------
        begin
            Called with the one-time link, once the socket listens.
        """
        self._socket.listen(64)
        begin(self.door.address)
        self._server.run(sockets=[self._socket])

    def start(self) -> threading.Thread:
        """Serve in a thread, for tests."""
        self._socket.listen(64)
        thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )
        thread.start()
        return thread

    def stop(self) -> None:
        """Let the server end."""
        self._server.should_exit = True
