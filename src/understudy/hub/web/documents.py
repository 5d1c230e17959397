"""What the API takes and gives, as documents that OpenAPI describes."""

from __future__ import annotations

import datetime as dt
import math
from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field, model_validator

from understudy.hub.amounts import Price
from understudy.hub.pages import ListPage as CorePage
from understudy.hub.records import Dataset, Job, ReleaseRecord, Request

Id = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,100}$", description="A random id.")]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000, description="The first page is 1.")]
LongText = Annotated[str, Field(max_length=5000)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
MAX_DOCUMENT_DEPTH = 50
MAX_WHOLE = 2**53


def check_plain(document: Any, depth: int = 0) -> None:
    """Refuse what no database or file can hold: characters that are no text, numbers that are
    none.
    """
    if depth > MAX_DOCUMENT_DEPTH:
        raise ValueError("the document is nested too deeply")
    if isinstance(document, dict):
        for name, value in document.items():
            check_plain(name, depth + 1)
            check_plain(value, depth + 1)
    elif isinstance(document, list):
        for value in document:
            check_plain(value, depth + 1)
    elif isinstance(document, str):
        if "\0" in document or any("\ud800" <= letter <= "\udfff" for letter in document):
            raise ValueError("a text has a character that is no text")
    elif isinstance(document, float) and not math.isfinite(document):
        raise ValueError("a number is not finite")
    elif isinstance(document, int) and abs(document) > MAX_WHOLE:
        raise ValueError("a number is too large")


class Sent(BaseModel):
    """A document that comes in: no unknown fields."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, document: Any) -> Any:
        check_plain(document)
        return document


class Problem(BaseModel):
    """What went wrong, in one sentence, and one word for programs."""

    problem: str
    kind: str


class GivenCost(BaseModel):
    """An (epsilon, delta)."""

    epsilon: float
    delta: float

    @classmethod
    def from_left(cls, price: Price) -> GivenCost:
        """What is left: never more than it is."""
        epsilon, delta = price.numbers()
        return cls(epsilon=epsilon, delta=delta)

    @classmethod
    def from_spent(cls, price: Price) -> GivenCost:
        """What was spent or is asked: never less than it is."""
        epsilon, delta = price.numbers_up()
        return cls(epsilon=epsilon, delta=delta)


class Listing(BaseModel):
    """One page of a list."""

    page: int
    pages: int
    total: int
    items: list[dict[str, Any]]

    @classmethod
    def of(cls, page: CorePage[Any], items: list[dict[str, Any]]) -> Listing:
        """The documents of a page's items."""
        return cls(page=page.number, pages=page.pages, total=page.total, items=items)


class RuleSent(Sent):
    """What a role allows."""

    operation: Name
    max_epsilon: Annotated[float, Field(gt=0, le=1e6)] | None = None
    max_delta: Annotated[float, Field(ge=0, lt=1)] = 0.0
    algorithms: list[Name] | None = None
    standing: bool = False


class RoleSent(Sent):
    """A role: who may do what."""

    name: Name
    members: list[Name] = Field(default=[], description="Sign-in names.", max_length=10_000)
    attributes: dict[str, list[str]] = {}
    rules: list[RuleSent] = Field(default=[], max_length=100)


class DatasetSent(Sent):
    """A data set as its owner registers it."""

    name: Name
    description: LongText = ""
    schema_: dict[str, Any] = Field(alias="schema", description="As Schema.to_dict writes it.")
    purpose: LongText = ""
    conditions: LongText = ""
    contact: LongText = ""
    epsilon: Annotated[float, Field(gt=0, le=1e6)]
    delta: Annotated[float, Field(ge=0, lt=1)] = 0.0
    user_epsilon: Annotated[float, Field(gt=0, le=1e6)] | None = None
    user_delta: Annotated[float, Field(ge=0, lt=1)] | None = None
    mode: Literal["agent", "stored", "federated", "encrypted"] = "agent"
    listed: bool = True
    neighbours: Name = "add_remove"
    person: Name | None = None
    max_rows_per_person: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    about_rows: Annotated[int, Field(ge=1, le=10**12)] | None = None
    agent: Name | None = None
    roles: list[RoleSent] = Field(default=[], max_length=100)


class RequestSent(Sent):
    """What is asked for; the same key is the same request."""

    operation: Name
    spec: dict[str, Any] = {}
    reason: LongText = ""
    key: Annotated[str, Field(min_length=8, max_length=90)]


class PreviewSent(Sent):
    """An operation whose price and error are wanted before it is asked for."""

    operation: Name
    spec: dict[str, Any]


class DecisionSent(Sent):
    """An owner's decision; a role where access was asked for."""

    approve: bool
    reason: LongText = ""
    role: Name | None = None


class UserSent(Sent):
    """A new account."""

    name: Name
    display: Annotated[str, Field(max_length=200)] = ""
    administrator: bool = False


class UserChange(Sent):
    """What changes about an account."""

    active: bool | None = None
    administrator: bool | None = None
    attributes: dict[Name, Name] | None = Field(
        default=None, description="What the administrator vouches for, such as an institution."
    )


class TokenSent(Sent):
    """A new API token."""

    label: Name
    days: Annotated[int, Field(ge=1, le=3660)] | None = 90


class NameSent(Sent):
    """A name."""

    name: Annotated[str, Field(min_length=1, max_length=100)]


class BudgetSent(Sent):
    """A budget of one user's own; nothing: as everybody's."""

    epsilon: Annotated[float, Field(gt=0, le=1e6)] | None = None
    delta: Annotated[float, Field(ge=0, lt=1)] = 0.0


class SurveySent(Sent):
    """A survey; the same key is the same survey."""

    title: Name
    introduction: LongText = ""
    items: Annotated[str, Field(min_length=1, max_length=200_000)] | dict[str, Any] = Field(
        description='Lines such as "smoker = yes|no -- Do you smoke?", or a schema.'
    )
    epsilons: Annotated[list[float], Field(min_length=1, max_length=20)]
    persons: Annotated[int, Field(ge=1, le=100_000_000)]
    invited: bool = True
    purpose: LongText = ""
    conditions: LongText = ""
    contact: LongText = ""
    key: Annotated[str, Field(min_length=8, max_length=90)]


class PersonsSent(Sent):
    """A number of persons."""

    persons: Annotated[int, Field(ge=1, le=100_000_000)]


class TokenAsked(Sent):
    """A blinded request for the token of an invitation."""

    code: Annotated[str, Field(max_length=200)]
    request: Annotated[str, Field(max_length=200)]


class AlgorithmSent(Sent):
    """A signed package, in base64."""

    package: Annotated[str, Field(max_length=1_900_000)]
    public_key: Annotated[str, Field(max_length=500)]
    signature: Annotated[str, Field(max_length=500)]


def write_time(moment: dt.datetime | None) -> str | None:
    """A moment in UTC."""
    if moment is None:
        return None
    return moment.astimezone(dt.UTC).isoformat(timespec="seconds")


def write_dataset(dataset: Dataset) -> dict[str, Any]:
    """A data set; nothing of it is private."""
    return {
        "id": dataset.id,
        "owner": dataset.owner,
        "name": dataset.name,
        "description": dataset.description,
        "schema": dict(dataset.schema),
        "purpose": dataset.purpose,
        "conditions": dataset.conditions,
        "contact": dataset.contact,
        "mode": dataset.mode,
        "state": dataset.state,
        "listed": dataset.listed,
        "neighbours": dataset.neighbours,
        "unit": dataset.unit,
        "about_rows": dataset.about_rows,
        "total": GivenCost.from_left(dataset.total).model_dump(),
        "left": GivenCost.from_left(dataset.left).model_dump(),
        "releases": dataset.releases,
    }


def write_request(request: Request, job: Job | None = None) -> dict[str, Any]:
    """A request, with its job if it has one."""
    return {
        "id": request.id,
        "user": request.user,
        "dataset": request.dataset,
        "operation": request.operation,
        "spec": dict(request.spec),
        "reason": request.reason,
        "price": GivenCost.from_spent(request.price).model_dump(),
        "state": request.state,
        "decision_reason": request.decision_reason,
        "by_rule": request.rule is not None,
        "created_at": write_time(request.created_at),
        "decided_at": write_time(request.decided_at),
        "job": None if job is None else write_job(job),
    }


def write_job(job: Job) -> dict[str, Any]:
    """A job."""
    return {
        "id": job.id,
        "request": job.request,
        "operation": job.operation,
        "spec": dict(job.spec),
        "user": job.user,
        "price": GivenCost.from_spent(job.price).model_dump(),
        "state": job.state,
        "step": job.step,
        "done": job.done,
        "steps": job.steps,
        "why": job.why,
        "refunded": job.refunded,
        "worker": job.worker,
        "created_at": write_time(job.created_at),
        "started_at": write_time(job.started_at),
        "ended_at": write_time(job.ended_at),
    }


def write_release(release: ReleaseRecord) -> dict[str, Any]:
    """A release, without the content of its files."""
    return {
        "id": release.id,
        "dataset": release.dataset,
        "operation": release.operation,
        "title": release.title,
        "use": dict(release.use),
        "price": GivenCost.from_spent(release.price).model_dump(),
        "ledger": dict(release.ledger),
        "summary": dict(release.summary),
        "trail": dict(release.trail),
        "created_at": write_time(release.created_at),
        "withdrawn_at": write_time(release.withdrawn_at),
        "files": [
            {"name": file.name, "size": file.size, "sha256": file.sha256} for file in release.files
        ],
    }
