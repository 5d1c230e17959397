"""Names and states that lists show, in one statement each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from understudy.hub.access import check
from understudy.hub.database import Transaction
from understudy.hub.jobs import AGENT
from understudy.hub.names import MANAGE
from understudy.hub.policy import Operation
from understudy.hub.records import ReleaseRecord, read_release_rows
from understudy.hub.tables import agents, datasets, holders, jobs, releases, roles, surveys, users


def dataset_names(c: Transaction, ids: Iterable[str]) -> dict[str, str]:
    """What data sets are called."""
    query = sa.select(datasets.c.id, datasets.c.name).where(datasets.c.id.in_(list(ids)))
    return {row["id"]: row["name"] for row in c.rows(query)}


def survey_names(c: Transaction, ids: Iterable[str]) -> dict[str, str]:
    """What surveys are called."""
    query = sa.select(surveys.c.id, surveys.c.title).where(surveys.c.id.in_(list(ids)))
    return {row["id"]: row["title"] for row in c.rows(query)}


def user_names(c: Transaction, ids: Iterable[str]) -> dict[str, str]:
    """How accounts are shown."""
    columns = users.c.id, users.c.name, users.c.display_name
    query = sa.select(*columns).where(users.c.id.in_(list(ids)))
    return {row["id"]: row["display_name"] or row["name"] for row in c.rows(query)}


def actor_names(c: Transaction, actors: Iterable[str]) -> dict[str, str]:
    """Who did something, in words: a person, an agent, a worker, a standing rule."""
    actors = set(actors)
    named = user_names(c, actors)
    ids = [one.removeprefix(AGENT) for one in actors if one.startswith(AGENT)]
    named |= {f"{AGENT}{agent}": name for agent, name in agent_names(c, ids).items()}
    for one in actors - set(named):
        kind = one.partition(":")[0]
        words = {"worker": "a worker of the hub", "rule": "a standing rule", "hub": "the hub"}
        named[one] = words.get(kind, one)
    return named


def agent_names(c: Transaction, ids: Iterable[str]) -> dict[str, str]:
    """What agents are called."""
    query = sa.select(agents.c.id, agents.c.name).where(agents.c.id.in_(list(ids)))
    return {row["id"]: f"{row['name']} (agent)" for row in c.rows(query)}


def role_names(c: Transaction, ids: Iterable[str]) -> dict[str, str]:
    """What roles are called."""
    query = sa.select(roles.c.id, roles.c.name).where(roles.c.id.in_(list(ids)))
    return {row["id"]: row["name"] for row in c.rows(query)}


def job_states(c: Transaction, ids: Sequence[str]) -> dict[str, str]:
    """The states of the jobs of some requests."""
    query = sa.select(jobs.c.request, jobs.c.state).where(jobs.c.request.in_(list(ids)))
    return {row["request"]: row["state"] for row in c.rows(query)}


def requests_of_jobs(c: Transaction, ids: Iterable[str]) -> dict[str, str]:
    """The requests that jobs are for."""
    query = sa.select(jobs.c.id, jobs.c.request).where(jobs.c.id.in_(list(ids)))
    return {row["id"]: row["request"] for row in c.rows(query)}


def release_of_job(c: Transaction, job: str) -> ReleaseRecord | None:
    """What came of a job."""
    row = c.first(sa.select(releases).where(releases.c.job == job))
    if row is None:
        return None
    return read_release_rows(c, [row])[0]


@dataclass(frozen=True, kw_only=True)
class HolderLine:
    """An agent that was asked to hold a part of a federated data set."""

    agent: str
    name: str
    owner: str
    agreed_at: dt.datetime | None


def holders_of(c: Transaction, actor: str, dataset: str) -> list[HolderLine]:
    """Who was asked to hold parts of a data set, and who agreed; for its owner."""
    check(c, actor, Operation(name=MANAGE), dataset)
    query = (
        sa.select(agents.c.id, agents.c.name, agents.c.owner, holders.c.agreed_at)
        .join(agents, agents.c.id == holders.c.agent)
        .where(holders.c.dataset == dataset)
        .order_by(agents.c.name, agents.c.id)
    )
    rows = c.rows(query)
    names = user_names(c, {row["owner"] for row in rows})
    return [
        HolderLine(
            agent=row["id"],
            name=row["name"],
            owner=names[row["owner"]],
            agreed_at=row["agreed_at"],
        )
        for row in rows
    ]


def sign_in_names(c: Transaction, ids: Iterable[str]) -> dict[str, str]:
    """What people type to sign in."""
    query = sa.select(users.c.id, users.c.name).where(users.c.id.in_(list(ids)))
    return {row["id"]: row["name"] for row in c.rows(query)}
