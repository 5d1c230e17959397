"""A hub in this process, and an agent that reaches it as it would over a network."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core_hubs import Clock, add_user, make_hub
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.testclient import TestClient

from understudy.errors import UnderstudyError
from understudy.hub import agents, datasets, requests
from understudy.hub.agent import Agent
from understudy.hub.agent_link import HubLink
from understudy.hub.agent_settings import AgentSettings, load_settings
from understudy.hub.datasets import DatasetSpec
from understudy.hub.errors import Conflict, NotFound, Refused, Unavailable
from understudy.hub.opening import Hub
from understudy.hub.records import Job, ReleaseRecord, read_job, read_job_of, read_release
from understudy.hub.roles import RoleSpec, RuleSpec
from understudy.hub.tables import releases
from understudy.hub.web.agent_api import router

SCHEMA = {
    "attributes": {
        "age": {"kind": "integer", "min": 0, "max": 99},
        "sex": {"kind": "categorical", "values": ["f", "m"]},
        "sick": {"kind": "categorical", "values": ["no", "yes"]},
    }
}

_STATUS = {Refused: 403, NotFound: 404, Conflict: 409, Unavailable: 503}


def make_app(hub: Hub) -> FastAPI:
    """The agents' part of the hub's application."""
    app = FastAPI()
    app.state.hub = hub
    app.include_router(router)

    @app.exception_handler(UnderstudyError)
    def spoken(request: Request, error: UnderstudyError) -> JSONResponse:
        status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 422)
        return JSONResponse({"problem": str(error)}, status)

    return app


def write_rows(path: Path, rows: int = 300) -> Path:
    lines = [f"{20 + i % 60},{'fm'[i % 2]},{('no', 'yes')[i % 3 == 0]}" for i in range(rows)]
    path.write_text("age,sex,sick\n" + "\n".join(lines) + "\n")
    return path


@dataclass
class Site:
    """An owner with an agent and a data set, and a user whom a standing rule serves."""

    folder: Path
    hub: Hub
    clock: Clock
    owner: str
    user: str
    dataset: str
    secret: str
    settings: AgentSettings
    client: TestClient = field(repr=False)

    def agent(self, **changes: Any) -> Agent:
        """The agent, as if it was started anew."""
        link = HubLink(self.settings.url, self.secret, transport=self.client._transport)
        return Agent(replace(self.settings, **changes), link)

    def submit(self, operation: str = "synthesise", **spec: Any) -> Job:
        """A request that the standing rule approves."""
        spec = {"epsilon": 0.5, **spec}
        if operation == "synthesise":
            spec = {"method": "independent", **spec}
        with self.hub.db.transaction() as c:
            key = secrets.token_hex(8)
            made = requests.submit(c, self.user, self.dataset, operation, spec, "a paper", key)
            job = read_job_of(c, made.id)
        assert job is not None
        return job

    def job(self, job: Job) -> Job:
        with self.hub.db.reading() as c:
            return read_job(c, job.id)

    def release(self, job: Job) -> ReleaseRecord | None:
        with self.hub.db.reading() as c:
            row = c.first(releases.select().where(releases.c.job == job.id))
            return None if row is None else read_release(c, row["id"])

    def left(self) -> float:
        with self.hub.db.reading() as c:
            return float(datasets.show(c, self.owner, self.dataset).left.epsilon)

    def events(self) -> list[str]:
        lines = self.settings.log.read_text().splitlines()
        return [json.loads(line)["event"] for line in lines]


def make_site(folder: Path, *, policy: str = "", mode: str = "agent", **spec: Any) -> Site:
    """All of it; the policy of the agent is TOML."""
    clock = Clock()
    hub = make_hub(folder / "hub", clock=clock)
    rules = [
        RuleSpec(operation=name, standing=True, max_epsilon=2.0)
        for name in ("synthesise", "ask", "learn")
    ]
    with hub.db.transaction() as c:
        owner, user = add_user(c, "olga"), add_user(c, "uma")
        agent, secret = agents.create(c, owner, "clinic")
        role = RoleSpec(name="R1", members=[user], rules=[*rules])
        values: dict[str, Any] = {"name": "Patients", "epsilon": 3.0, "schema": SCHEMA} | spec
        made = datasets.register(
            c,
            owner,
            DatasetSpec(
                **values,
                mode=mode,
                agent=agent.id if mode == "agent" else None,
                purpose="care research",
                conditions="cite us",
                contact="olga@example.org",
                roles=[role],
            ),
        )
    place = folder / "clinic"
    place.mkdir()
    write_rows(place / "rows.csv")
    (place / "schema.json").write_text(json.dumps(SCHEMA))
    (place / "agent.toml").write_text(
        f"""
[hub]
url = "https://hub.example.org"
token = "{secret}"
[data]
dataset = "{made.id}"
rows = "rows.csv"
schema = "schema.json"
[allowance]
epsilon = 3.0
[policy]
{policy or "max_epsilon = 1.0"}
"""
    )
    return Site(
        folder=place,
        hub=hub,
        clock=clock,
        owner=owner,
        user=user,
        dataset=made.id,
        secret=secret,
        settings=load_settings(place / "agent.toml"),
        client=TestClient(make_app(hub), base_url="https://hub.example.org"),
    )
