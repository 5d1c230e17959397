"""Data sets and their owners by the API."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool

from understudy.data.schema import Schema
from understudy.hub import accounts, budgets, datasets, federated, jobs, roles
from understudy.hub import requests as asking
from understudy.hub.access import check, read_roles
from understudy.hub.amounts import Price
from understudy.hub.database import Transaction
from understudy.hub.datasets import DatasetSpec
from understudy.hub.names import MANAGE
from understudy.hub.pages import PageOf
from understudy.hub.policy import Operation, Role
from understudy.hub.roles import RoleSpec, RuleSpec
from understudy.hub.web import lists
from understudy.hub.web.documents import (
    BudgetSent,
    DatasetSent,
    GivenCost,
    Id,
    Listing,
    PageNumber,
    RoleSent,
    write_dataset,
    write_job,
    write_request,
    write_time,
)
from understudy.hub.web.pages.trail import make_export
from understudy.hub.web.uploads import check_takes_rows, keep_rows, pull_chunks
from understudy.hub.web.viewer import Bearer, TheHub

router = APIRouter()

SearchWords = Annotated[str, Query(max_length=200, description="Words to search for.")]


@router.get("/datasets", tags=["data sets"])
def list_datasets(hub: TheHub, user: Bearer, q: SearchWords = "", page: PageNumber = 1) -> Listing:
    """The catalogue."""
    with hub.db.reading() as c:
        found = datasets.catalogue(c, user.id, PageOf(number=page), q.replace("\0", ""))
    items = [
        {
            "id": one.id,
            "name": one.name,
            "description": one.description,
            "purpose": one.purpose,
            "owner": one.owner,
            "owner_name": one.owner_name,
            "mode": one.mode,
            "state": one.state,
            "columns": one.columns,
            "total": GivenCost.from_left(one.total).model_dump(),
            "left": GivenCost.from_left(one.left).model_dump(),
            "releases": one.releases,
        }
        for one in found.items
    ]
    return Listing.of(found, items)


@router.post("/datasets", status_code=201, tags=["owners"])
def register(hub: TheHub, user: Bearer, sent: DatasetSent) -> dict[str, Any]:
    """Register a data set; its owner is whose token this is."""
    with hub.db.transaction() as c:
        made = datasets.register(c, user.id, read_spec(c, sent))
    return write_dataset(made)


@router.get("/datasets/{dataset}", tags=["data sets"])
def show(hub: TheHub, user: Bearer, dataset: Id) -> dict[str, Any]:
    """A data set, and what is left of its budget for you."""
    with hub.db.reading() as c:
        found = datasets.show(c, user.id, dataset)
        mine = budgets.read_left_for(c, dataset, user.id)
    return write_dataset(found) | {"left_for_you": GivenCost.from_left(mine).model_dump()}


@router.put("/datasets/{dataset}", tags=["owners"])
def change(hub: TheHub, user: Bearer, dataset: Id, sent: DatasetSent) -> dict[str, Any]:
    """Change texts and budgets; roles are changed by themselves."""
    with hub.db.transaction() as c:
        check(c, user.id, Operation(name=MANAGE), dataset)
        changed = datasets.change(c, user.id, dataset, read_spec(c, sent))
    return write_dataset(changed)


@router.post("/datasets/{dataset}/close", tags=["owners"])
def close(hub: TheHub, user: Bearer, dataset: Id) -> dict[str, Any]:
    """Close a data set at once."""
    with hub.db.transaction() as c:
        return write_dataset(datasets.close(c, user.id, dataset))


@router.post("/datasets/{dataset}/reopen", tags=["owners"])
def reopen(hub: TheHub, user: Bearer, dataset: Id) -> dict[str, Any]:
    """Open a data set again."""
    with hub.db.transaction() as c:
        return write_dataset(datasets.reopen(c, user.id, dataset))


@router.put(
    "/datasets/{dataset}/rows",
    tags=["owners"],
    openapi_extra={
        "requestBody": {
            "content": {"text/csv": {"schema": {"type": "string", "format": "binary"}}},
            "required": True,
        }
    },
)
async def store_rows(request: Request, hub: TheHub, user: Bearer, dataset: Id) -> dict[str, Any]:
    """Store the rows of a data set whose mode is stored: encrypted as they come in."""
    await run_in_threadpool(check_takes_rows, hub, user, dataset)
    chunks = pull_chunks(request.stream())
    return write_dataset(await run_in_threadpool(keep_rows, hub, user, dataset, chunks))


@router.get("/datasets/{dataset}/requests", tags=["owners"])
def list_requests(hub: TheHub, user: Bearer, dataset: Id, page: PageNumber = 1) -> Listing:
    """All requests for a data set; for its owner."""
    with hub.db.reading() as c:
        found = asking.for_dataset(c, user.id, dataset, PageOf(number=page))
    return Listing.of(found, [write_request(one) for one in found.items])


@router.get("/datasets/{dataset}/jobs", tags=["owners"])
def list_jobs(hub: TheHub, user: Bearer, dataset: Id, page: PageNumber = 1) -> Listing:
    """Which algorithm touched the data set, for whom and when; for its owner."""
    with hub.db.reading() as c:
        found = jobs.of_dataset(c, user.id, dataset, PageOf(number=page))
    return Listing.of(found, [write_job(one) for one in found.items])


@router.get("/datasets/{dataset}/roles", tags=["owners"])
def list_roles(hub: TheHub, user: Bearer, dataset: Id) -> list[dict[str, Any]]:
    """The policy of a data set; for its owner."""
    with hub.db.reading() as c:
        check(c, user.id, Operation(name=MANAGE), dataset)
        found = read_roles(c, [dataset])[dataset]
    return [write_role(role) for role in found]


@router.put("/datasets/{dataset}/roles", tags=["owners"])
def set_role(hub: TheHub, user: Bearer, dataset: Id, sent: RoleSent) -> dict[str, Any]:
    """Make a role, or replace the one of that name."""
    with hub.db.transaction() as c:
        check(c, user.id, Operation(name=MANAGE), dataset)
        return write_role(roles.set_role(c, user.id, dataset, read_role(c, sent)))


@router.delete("/datasets/{dataset}/roles/{role}", tags=["owners"])
def drop_role(hub: TheHub, user: Bearer, dataset: Id, role: Id) -> dict[str, str]:
    """Take a role away."""
    with hub.db.transaction() as c:
        roles.drop_role(c, user.id, dataset, role)
    return {"state": "removed"}


@router.get("/datasets/{dataset}/holders", tags=["owners"])
def list_holders(hub: TheHub, user: Bearer, dataset: Id) -> list[dict[str, Any]]:
    """The agents that were asked to hold parts of a federated data set; for its owner."""
    with hub.db.reading() as c:
        found = lists.holders_of(c, user.id, dataset)
    return [
        {"agent": one.agent, "name": one.name, "agreed_at": write_time(one.agreed_at)}
        for one in found
    ]


@router.put("/datasets/{dataset}/holders/{agent}", tags=["owners"])
def invite_holder(hub: TheHub, user: Bearer, dataset: Id, agent: Id) -> dict[str, str]:
    """Ask another owner's agent to hold a part of a federated data set."""
    with hub.db.transaction() as c:
        federated.invite(c, user.id, dataset, agent)
    return {"state": "invited"}


@router.put("/datasets/{dataset}/budgets/{other}", tags=["owners"])
def set_budget(
    hub: TheHub, user: Bearer, dataset: Id, other: Id, sent: BudgetSent
) -> dict[str, Any]:
    """Give a user a budget of their own, or the same as everybody's."""
    total = None
    if sent.epsilon is not None:
        total = Price.of(sent.epsilon, sent.delta)
    with hub.db.transaction() as c:
        roles.set_user_budget(c, user.id, dataset, other, total)
        left = budgets.read_left_for(c, dataset, other)
    return {"left": GivenCost.from_left(left).model_dump()}


@router.get("/inbox", tags=["owners"])
def list_waiting(hub: TheHub, user: Bearer, page: PageNumber = 1) -> Listing:
    """Requests that wait for your decision."""
    with hub.db.reading() as c:
        found = asking.for_owner(c, user.id, "waiting", PageOf(number=page))
    return Listing.of(found, [write_request(one) for one in found.items])


@router.get("/trail", tags=["owners"])
def export_trail(hub: TheHub, user: Bearer) -> dict[str, Any]:
    """The trail, to be checked elsewhere: what concerns your data sets, all of it for an
    administrator.
    """
    with hub.db.reading() as c:
        return make_export(c, user)


def read_spec(c: Transaction, sent: DatasetSent) -> DatasetSpec:
    """A data set as the services take it."""
    unit: Any = "row"
    if sent.person is not None:
        unit = {"person": sent.person, "max_rows_per_person": sent.max_rows_per_person}
    return DatasetSpec(
        name=sent.name,
        description=sent.description,
        schema=Schema.from_dict(sent.schema_, "The schema").to_dict(),
        purpose=sent.purpose,
        conditions=sent.conditions,
        contact=sent.contact,
        epsilon=sent.epsilon,
        delta=sent.delta,
        user_epsilon=sent.user_epsilon,
        user_delta=sent.user_delta,
        mode=sent.mode,
        listed=sent.listed,
        neighbours=sent.neighbours,
        unit=unit,
        agent=sent.agent,
        about_rows=sent.about_rows,
        roles=[read_role(c, role) for role in sent.roles],
    )


def read_role(c: Transaction, sent: RoleSent) -> RoleSpec:
    """A role as the services take it."""
    return RoleSpec(
        name=sent.name,
        members=[accounts.find_by_name(c, name).id for name in sent.members],
        attributes=sent.attributes,
        rules=[RuleSpec(**rule.model_dump()) for rule in sent.rules],
    )


def write_role(role: Role) -> dict[str, Any]:
    """A role."""
    return {
        "id": role.id,
        "name": role.name,
        "members": sorted(role.members),
        "attributes": {name: list(values) for name, values in role.attributes.items()},
        "rules": [
            {
                "operation": rule.operation,
                "limit": None
                if rule.limit is None
                else GivenCost.from_left(rule.limit).model_dump(),
                "algorithms": None if rule.algorithms is None else sorted(rule.algorithms),
                "standing": rule.standing,
            }
            for rule in role.rules
        ],
    }
