"""What stands in the database, as values: data sets, requests, jobs, releases."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa

from understudy.data.schema import Schema
from understudy.hub.amounts import Price
from understudy.hub.database import Transaction
from understudy.hub.errors import NotFound
from understudy.hub.tables import datasets, jobs, release_files, releases, requests


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A data set, as it stands."""

    id: str
    owner: str
    name: str
    description: str
    schema: Mapping[str, Any]
    purpose: str
    conditions: str
    contact: str
    mode: str
    state: str
    listed: bool
    neighbours: str
    unit: Any
    total: Price
    per_user: Price | None
    spent: Price
    releases: int
    agent: str | None
    source: str | None
    rows_object: str | None
    about_rows: int | None
    created_at: dt.datetime
    changed_at: dt.datetime
    closed_at: dt.datetime | None

    @property
    def left(self) -> Price:
        """What may still be spent."""
        return self.total - self.spent

    def read_schema(self) -> Schema:
        """The schema, built."""
        return Schema.from_dict(self.schema)

    @property
    def use(self) -> dict[str, str]:
        """The metadata of use that travels with each release."""
        return {
            "data_set": self.name,
            "purpose": self.purpose,
            "conditions": self.conditions,
            "contact": self.contact,
        }


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a user asked for, and what was decided."""

    id: str
    user: str
    dataset: str
    operation: str
    spec: Mapping[str, Any]
    reason: str
    price: Price
    state: str
    key: str
    digest: str
    decided_by: str | None
    rule: str | None
    role: str | None
    decision_reason: str
    created_at: dt.datetime
    decided_at: dt.datetime | None


@dataclass(frozen=True, kw_only=True)
class Job:
    """The work that an approved request makes."""

    id: str
    request: str
    dataset: str
    user: str
    operation: str
    spec: Mapping[str, Any]
    price: Price
    state: str
    place: int
    worker: str | None
    lease_until: dt.datetime | None
    step: str
    done: int
    steps: int
    why: str
    refunded: bool
    created_at: dt.datetime
    started_at: dt.datetime | None
    ended_at: dt.datetime | None


@dataclass(frozen=True, kw_only=True)
class ReleaseFile:
    """A file of a release, as the vault has it."""

    name: str
    media_type: str
    size: int
    sha256: str
    object: str


@dataclass(frozen=True, kw_only=True)
class ReleaseRecord:
    """What left the owner: files, ledger, metadata of use, and the head of the trail."""

    id: str
    dataset: str
    job: str | None
    user: str | None
    operation: str
    title: str
    use: Mapping[str, Any]
    ledger: Mapping[str, Any]
    summary: Mapping[str, Any]
    price: Price
    trail: Mapping[str, Any]
    created_at: dt.datetime
    withdrawn_at: dt.datetime | None
    files: tuple[ReleaseFile, ...]


Record = TypeVar("Record", Request, Job)


def read_dataset(c: Transaction, dataset: str) -> Dataset:
    """A data set, whoever asks: :func:`understudy.hub.access.check` says who may."""
    row = c.first(sa.select(datasets).where(datasets.c.id == dataset))
    if row is None:
        raise NotFound("There is no such data set.")
    return read_dataset_row(row)


def read_request(c: Transaction, request: str) -> Request:
    """A request, whoever asks."""
    row = c.first(sa.select(requests).where(requests.c.id == request))
    if row is None:
        raise NotFound("There is no such request.")
    return read_priced_row(Request, row)


def read_job(c: Transaction, job: str) -> Job:
    """A job, whoever asks."""
    row = c.first(sa.select(jobs).where(jobs.c.id == job))
    if row is None:
        raise NotFound("There is no such job.")
    return read_priced_row(Job, row)


def read_job_of(c: Transaction, request: str) -> Job | None:
    """The job of a request, if it has one."""
    row = c.first(sa.select(jobs).where(jobs.c.request == request))
    return None if row is None else read_priced_row(Job, row)


def read_release(c: Transaction, release: str) -> ReleaseRecord:
    """A release with its files, whoever asks."""
    row = c.first(sa.select(releases).where(releases.c.id == release))
    if row is None:
        raise NotFound("There is no such release.")
    return read_release_rows(c, [row])[0]


def read_release_rows(c: Transaction, rows: list[sa.RowMapping]) -> list[ReleaseRecord]:
    """Releases with their files, in one more statement."""
    ids = [row["id"] for row in rows]
    files: dict[str, list[ReleaseFile]] = {name: [] for name in ids}
    query = sa.select(release_files).where(release_files.c.release.in_(ids))
    for row in c.rows(query.order_by(release_files.c.name)):
        values = {name: row[name] for name in ReleaseFile.__dataclass_fields__}
        files[row["release"]].append(ReleaseFile(**values))
    return [
        ReleaseRecord(
            **{name: row[name] for name in ReleaseRecord.__dataclass_fields__ if name in row},
            price=Price(row["epsilon"], row["delta"]),
            files=tuple(files[row["id"]]),
        )
        for row in rows
    ]


def read_dataset_row(row: sa.RowMapping) -> Dataset:
    """A data set from its row."""
    values = {name: row[name] for name in Dataset.__dataclass_fields__ if name in row}
    per_user = None
    if row["user_epsilon"] is not None:
        per_user = Price(row["user_epsilon"], row["user_delta"])
    return Dataset(
        **values,
        total=Price(row["total_epsilon"], row["total_delta"]),
        per_user=per_user,
        spent=Price(row["spent_epsilon"], row["spent_delta"]),
    )


def read_priced_row(kind: type[Record], row: sa.RowMapping) -> Record:
    """A request or a job from its row."""
    values = {name: row[name] for name in kind.__dataclass_fields__ if name in row}
    return kind(**values, price=Price(row["epsilon"], row["delta"]))
