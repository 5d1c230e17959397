"""Names and states that lists show, in one statement each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from understudy.hub.access import check
from understudy.hub.database import Transaction
from understudy.hub.names import MANAGE
from understudy.hub.pages import Page, PageOf, read_page
from understudy.hub.policy import Operation
from understudy.hub.records import Job, Release, Request, read_priced_row, read_release_rows
from understudy.hub.tables import agents, datasets, holders, jobs, releases, requests, users


def dataset_names(c: Transaction, ids: Iterable[str]) -> dict[str, str]:
    """What data sets are called."""
    query = sa.select(datasets.c.id, datasets.c.name).where(datasets.c.id.in_(list(ids)))
    return {row["id"]: row["name"] for row in c.rows(query)}


def user_names(c: Transaction, ids: Iterable[str]) -> dict[str, str]:
    """How accounts are shown."""
    columns = users.c.id, users.c.name, users.c.display_name
    query = sa.select(*columns).where(users.c.id.in_(list(ids)))
    return {row["id"]: row["display_name"] or row["name"] for row in c.rows(query)}


def job_states(c: Transaction, ids: Sequence[str]) -> dict[str, str]:
    """The states of the jobs of some requests."""
    query = sa.select(jobs.c.request, jobs.c.state).where(jobs.c.request.in_(list(ids)))
    return {row["request"]: row["state"] for row in c.rows(query)}


def release_of_job(c: Transaction, job: str) -> Release | None:
    """What came of a job."""
    row = c.first(sa.select(releases).where(releases.c.job == job))
    if row is None:
        return None
    return read_release_rows(c, [row])[0]


def count_waiting(c: Transaction, owner: str) -> int:
    """How many requests wait for an owner's decision."""
    query = (
        sa.select(sa.func.count())
        .select_from(requests.join(datasets, datasets.c.id == requests.c.dataset))
        .where(datasets.c.owner == owner, requests.c.state == "waiting")
    )
    return int(c.value(query))


def jobs_of_dataset(
    c: Transaction, actor: str, dataset: str, page: PageOf | None = None
) -> Page[Job]:
    """Which algorithm touched a data set, for whom and when, newest first; for its owner."""
    check(c, actor, Operation(name=MANAGE), dataset)
    query = sa.select(jobs).where(jobs.c.dataset == dataset).order_by(jobs.c.place.desc())
    return read_page(c, query, page or PageOf(), lambda row: read_priced_row(Job, row))


@dataclass(frozen=True, kw_only=True)
class Holder:
    """An agent that was asked to hold a part of a federated data set."""

    agent: str
    name: str
    owner: str
    agreed_at: dt.datetime | None


def holders_of(c: Transaction, actor: str, dataset: str) -> list[Holder]:
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
        Holder(
            agent=row["id"],
            name=row["name"],
            owner=names[row["owner"]],
            agreed_at=row["agreed_at"],
        )
        for row in rows
    ]


def requests_of(c: Transaction, user: str, dataset: str, most: int = 5) -> list[Request]:
    """A user's last requests for one data set."""
    mine = sa.select(requests).where(requests.c.user == user, requests.c.dataset == dataset)
    newest = mine.order_by(requests.c.created_at.desc()).limit(most)
    return [read_priced_row(Request, row) for row in c.rows(newest)]


def requests_for(
    c: Transaction, actor: str, dataset: str, page: PageOf | None = None
) -> Page[Request]:
    """All requests for one data set, newest first; for its owner."""
    check(c, actor, Operation(name=MANAGE), dataset)
    query = sa.select(requests).where(requests.c.dataset == dataset)
    newest = query.order_by(requests.c.created_at.desc(), requests.c.id)
    return read_page(c, newest, page or PageOf(), lambda row: read_priced_row(Request, row))


def sign_in_names(c: Transaction, ids: Iterable[str]) -> dict[str, str]:
    """What people type to sign in."""
    query = sa.select(users.c.id, users.c.name).where(users.c.id.in_(list(ids)))
    return {row["id"]: row["name"] for row in c.rows(query)}
