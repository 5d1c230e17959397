"""``understudy hub demo``: a hub to look at, with people and requests in every state."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.hub import check_packages, hub_app
from understudy.cli.root import examples
from understudy.cli.talk import Talk, grid_of, safe
from understudy.errors import InputError


@hub_app.command(epilog=examples("understudy hub demo", "understudy hub demo -o demo-hub"))
def demo(
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FOLDER", help="Keep it here; else it is gone at the end."
        ),
    ] = None,
    port: Annotated[int, typer.Option(metavar="PORT", help="Where to listen.")] = 8000,
) -> None:
    """Open a hub with two owners, three users, an administrator, and requests in every state."""
    check_packages()
    if output is not None and output.exists():
        raise InputError(f"There is something at {output} already; name a new folder.")
    with tempfile.TemporaryDirectory(prefix="understudy-hub-demo-") as name:
        run(output or Path(name), port)


def run(folder: Path, port: int) -> None:
    """Make the demo in a folder, and serve it until it is stopped."""
    from understudy.hub.demo import PEOPLE, keep_running, make_demo
    from understudy.hub.web.serving import HubServer, bind_socket
    from understudy.hub.web.state import Site
    from understudy.hub.worker import Worker

    talk = Talk(False)
    bind_socket("127.0.0.1", port).close()  # a port that is taken is told before anything is made
    made = make_demo(folder, talk.say)
    site = Site(opened=made.hub, address=f"http://127.0.0.1:{port}")
    server = HubServer(site, "127.0.0.1", port)
    over = threading.Event()
    worker = Worker(made.hub)
    threads = [
        threading.Thread(target=keep_running, args=(made, over), daemon=True),
        threading.Thread(target=worker.run, args=(over,), daemon=True),
    ]

    def begin() -> None:
        grid = grid_of("Accounts of the demo", "sign in as", "password", "who it is")
        for name, display, _ in PEOPLE:
            grid.add_row(safe(name), safe(made.passwords[name]), safe(display))
        Console(highlight=False, stderr=True).print(grid)
        talk.say(f"The demo is open at http://127.0.0.1:{port}. Ctrl-C ends it.")
        for thread in threads:
            thread.start()

    try:
        server.run(begin)
    finally:
        over.set()
        for thread in threads:
            if thread.is_alive():
                thread.join(timeout=10)
        made.hub.close()
