"""Hubs, users and data sets for tests of the hub's services."""

from __future__ import annotations

import datetime as dt
import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from understudy.hub import datasets, jobs, requests
from understudy.hub.database import Database, Transaction
from understudy.hub.datasets import DatasetSpec
from understudy.hub.keys import make_keys
from understudy.hub.names import new_id
from understudy.hub.opening import DATABASE, Hub, open_hub
from understudy.hub.records import Dataset, Job, ReleaseFile, ReleaseRecord, Request, read_job_of
from understudy.hub.releases import ReleaseSpec
from understudy.hub.roles import RoleSpec, RuleSpec
from understudy.hub.tables import agents, users

SCHEMA = {"attributes": {"age": {"kind": "integer", "min": 0, "max": 99}}}


@dataclass
class Clock:
    """A clock that tests set."""

    now: dt.datetime = field(default_factory=lambda: dt.datetime(2026, 11, 17, 12, tzinfo=dt.UTC))

    def __call__(self) -> dt.datetime:
        return self.now

    def turn(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)


@cache
def _empty_database() -> bytes:
    """An empty database of today's layout: the way there is tested by itself, and takes a while."""
    with tempfile.TemporaryDirectory() as folder:
        hub = open_hub(folder, keys=make_keys(), create=True)
        with hub.db.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        hub.close()
        return (Path(folder) / DATABASE).read_bytes()


def prepare_folder(folder: Path) -> None:
    """Put an empty database of today's layout where a hub will look for it."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / DATABASE).exists():
        (folder / DATABASE).write_bytes(_empty_database())


def make_hub(folder: Path, database: str | None = None, clock: Clock | None = None) -> Hub:
    if database is None:
        prepare_folder(folder)
    return open_hub(
        folder, database=database, keys=make_keys(), create=True, clock=clock or Clock()
    )


def add_user(c: Transaction, name: str, **values: Any) -> str:
    user = new_id()
    c.execute(sa.insert(users).values(id=user, name=name, created_at=c.now, **values))
    return user


def add_agent(c: Transaction, owner: str) -> str:
    agent = new_id()
    values = {"name": "agent", "hash": secrets.token_hex(8), "created_at": c.now}
    c.execute(sa.insert(agents).values(id=agent, owner=owner, **values))
    return agent


def add_dataset(
    c: Transaction, owner: str, rules: Sequence[RuleSpec] = (), who: Sequence[str] = (), **spec: Any
) -> Dataset:
    """A data set with one role, R1."""
    values = {"name": "D1", "schema": SCHEMA, "epsilon": 1.0, "mode": "stored"} | spec
    role = RoleSpec(name="R1", members=list(who), rules=list(rules))
    return datasets.register(c, owner, DatasetSpec(**values, roles=[role]))


def request_synthesis(
    c: Transaction, user: str, dataset: str, epsilon: float = 0.1, key: str = "", **spec: Any
) -> Request:
    key = key or new_id()
    spec = {"epsilon": epsilon, **spec}
    return requests.submit(c, user, dataset, "synthesise", spec, "for a paper", key)


def job_of(c: Transaction, request: Request) -> Job:
    job = read_job_of(c, request.id)
    assert job is not None
    return job


def finish_job(hub: Hub, job: Job, worker: str, content: bytes = b"rows") -> ReleaseRecord:
    stored = hub.vault.put(job.dataset, "release", content)
    file = ReleaseFile(
        name="rows.csv",
        media_type="text/csv",
        size=stored.size,
        sha256=stored.sha256,
        object=stored.id,
    )
    with hub.db.transaction() as c:
        return jobs.finish(c, job.id, worker, ReleaseSpec(title="Table", files=[file]))


def open_again(hub: Hub) -> Database:
    """Another process's view of the same database."""
    url = hub.db.url.render_as_string(hide_password=False)
    return Database(url, trail_key=hub.keys.trail, clock=hub.db.clock)
