"""A hub with processes of its own, for benchmarks: hub, worker and agent on this machine.

Started by the benchmarks beside it as ``python benchmarks/hub_site.py hub|worker|agent ...``.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from understudy.hub import accounts, agents, credentials, datasets
from understudy.hub.datasets import DatasetSpec
from understudy.hub.opening import Hub, open_hub
from understudy.hub.roles import RoleSpec, RuleSpec

OPERATIONS = ("synthesise", "ask", "learn", "download", "query")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where everything is."""

    folder: Path
    port: int

    @property
    def url(self) -> str:
        """The hub's address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def keys(self) -> Path:
        """The file of the hub's keys."""
        return self.folder / "keys" / "hub.keys"

    def open(self, *, create: bool = False) -> Hub:
        """The hub, opened in this process."""
        return open_hub(self.folder / "hub", keys=self.keys, create=create)

    def start(self, role: str, *more: str) -> subprocess.Popen[bytes]:
        """A process of this place: "hub", "worker" or "agent"."""
        command = [sys.executable, __file__, role, str(self.folder), str(self.port), *more]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def ready_mark(self, pid: int) -> Path:
        """A file that is there once a process begins its work."""
        return self.folder / f"ready-{pid}"

    def wait_for_hub(self, seconds: float = 60.0) -> None:
        """Return when the hub answers."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/health", timeout=2.0).status_code == 200:
                    return
            time.sleep(0.02)
        raise SystemExit("the hub does not answer")


def make_place(folder: Path) -> Place:
    """A new hub, with a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = Place(folder=folder, port=port)
    place.open(create=True).close()
    return place


@dataclass(frozen=True, kw_only=True)
class People:
    """An owner, a user, and how the user's programs are known."""

    owner: str
    user: str
    token: str


def add_people(hub: Hub) -> People:
    """An owner, and a user with a token."""
    with hub.db.transaction() as c:
        made = {
            name: accounts.add_user(
                c, actor="hub", name=name, display=name, password_hash=None, administrator=False
            )
            for name in ("owner", "user")
        }
        _, token = credentials.add_token(c, made["user"], "benchmark")
    return People(owner=made["owner"].id, user=made["user"].id, token=token)


def add_dataset(
    hub: Hub, people: People, schema: Mapping[str, Any], epsilon: float, agent: str | None = None
) -> str:
    """A data set whose standing rule approves everything of the user's."""
    mode = "stored" if agent is None else "agent"
    rules = [RuleSpec(operation=name, standing=True) for name in OPERATIONS]
    spec = DatasetSpec(
        name=f"Data, {mode}",
        schema=schema,
        epsilon=epsilon,
        mode=mode,
        agent=agent,
        roles=[RoleSpec(name="everything", members=[people.user], rules=rules)],
    )
    with hub.db.transaction() as c:
        return datasets.register(c, people.owner, spec).id


def add_agent(
    place: Place, hub: Hub, people: People, rows: Path, schema: Mapping[str, Any], epsilon: float
) -> str:
    """An agent with its settings, and the id of its data set."""
    with hub.db.transaction() as c:
        agent, secret = agents.create(c, people.owner, "agent")
    dataset = add_dataset(hub, people, schema, epsilon, agent.id)
    node = place.folder / "node"
    node.mkdir()
    (node / "schema.json").write_text(json.dumps(schema))
    (node / "agent.toml").write_text(
        f"""
[hub]
url = "{place.url}"
token = "{secret}"
[data]
dataset = "{dataset}"
rows = "{rows.resolve()}"
schema = "schema.json"
[allowance]
epsilon = {epsilon}
[policy]
max_epsilon = 5.0
"""
    )
    return dataset


@contextlib.contextmanager
def ended(*processes: subprocess.Popen[bytes]) -> Iterator[None]:
    """Processes that are gone at the end."""
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


# --------------------------------------------------------------------------- in processes


def main() -> None:
    role, folder, port = sys.argv[1:4]
    place = Place(folder=Path(folder), port=int(port))
    {"hub": run_hub, "worker": run_worker, "agent": run_agent}[role](place)


def run_hub(place: Place) -> None:
    import uvicorn

    from understudy.hub.web.app import make_app
    from understudy.hub.web.state import Site

    app = make_app(Site(opened=place.open(), address=place.url))
    place.ready_mark(os.getpid()).touch()
    uvicorn.run(app, host="127.0.0.1", port=place.port, log_level="error", access_log=False)


def run_worker(place: Place) -> None:
    from understudy.hub.worker import Worker

    worker = Worker(place.open())
    place.ready_mark(os.getpid()).touch()
    worker.run(poll=0.1)


def run_agent(place: Place) -> None:
    from understudy.hub.agent import Agent
    from understudy.hub.agent_settings import load_settings

    agent = Agent(load_settings(place.folder / "node" / "agent.toml"))
    place.ready_mark(os.getpid()).touch()
    agent.run(threading.Event())


if __name__ == "__main__":
    main()
