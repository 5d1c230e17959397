"""Requests by the API."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from understudy.errors import InputError
from understudy.hub import budgets, datasets
from understudy.hub import requests as asking
from understudy.hub.access import check
from understudy.hub.names import PRICED, SEE
from understudy.hub.pages import PageOf
from understudy.hub.policy import Operation
from understudy.hub.records import read_job_of
from understudy.hub.web import lists
from understudy.hub.web.documents import (
    DecisionSent,
    GivenCost,
    Id,
    Listing,
    PageNumber,
    PreviewSent,
    RequestSent,
    write_request,
)
from understudy.hub.web.specs import preview
from understudy.hub.web.viewer import Bearer, TheHub

router = APIRouter(tags=["requests"])


@router.post("/datasets/{dataset}/preview")
def show_preview(hub: TheHub, user: Bearer, dataset: Id, sent: PreviewSent) -> dict[str, Any]:
    """What an operation would cost and be worth; nothing is asked and nothing spent."""
    if sent.operation not in PRICED:
        raise InputError(f"The operation must be one of {', '.join(PRICED)}.")
    with hub.db.reading() as c:
        check(c, user.id, Operation(name=SEE), dataset)
        found = datasets.show(c, user.id, dataset)
        mine = budgets.read_left_for(c, dataset, user.id)
    seen = preview(sent.operation, sent.spec, found)
    if seen.problem:
        raise InputError(seen.problem)
    return {
        "price": GivenCost.from_spent(seen.price).model_dump(),
        "left_for_you": GivenCost.from_left(mine).model_dump(),
        "fits": seen.price.fits(mine),
        "expect": list(seen.lines),
        "tables": list(seen.tables),
    }


@router.post("/datasets/{dataset}/requests", status_code=201)
def submit(hub: TheHub, user: Bearer, dataset: Id, sent: RequestSent) -> dict[str, Any]:
    """Ask for access or for an operation; the same key is the same request."""
    with hub.db.transaction() as c:
        made = asking.submit(
            c, user.id, dataset, sent.operation, sent.spec, sent.reason, f"api:{sent.key}"
        )
        return write_request(made, read_job_of(c, made.id))


@router.get("/requests")
def list_requests(hub: TheHub, user: Bearer, page: PageNumber = 1) -> Listing:
    """Your own requests, newest first."""
    with hub.db.reading() as c:
        found = asking.of_user(c, user.id, PageOf(number=page))
    return Listing.of(found, [write_request(one) for one in found.items])


@router.get("/requests/{request}")
def show(hub: TheHub, user: Bearer, request: Id) -> dict[str, Any]:
    """A request, its job, and its release once there is one."""
    with hub.db.reading() as c:
        found = asking.show(c, user.id, request)
        job = read_job_of(c, request)
        release = lists.release_of_job(c, job.id) if job is not None else None
    return write_request(found, job) | {"release": None if release is None else release.id}


@router.post("/requests/{request}/withdraw")
def withdraw(hub: TheHub, user: Bearer, request: Id) -> dict[str, Any]:
    """Take a request back."""
    with hub.db.transaction() as c:
        return write_request(asking.withdraw(c, user.id, request))


@router.post("/requests/{request}/decision")
def decide(hub: TheHub, user: Bearer, request: Id, sent: DecisionSent) -> dict[str, Any]:
    """Approve or refuse; for the owner of the data set."""
    if not sent.approve and not sent.reason.strip():
        raise InputError("Say why you refuse; the person who asked reads it.")
    with hub.db.transaction() as c:
        made = asking.decide(c, user.id, request, sent.approve, sent.reason, sent.role)
        return write_request(made, read_job_of(c, request))
