"""The state of requests, and the owner's decision on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from understudy.errors import InputError, UnderstudyError
from understudy.hub import accounts, budgets
from understudy.hub import requests as asking
from understudy.hub.access import read_object
from understudy.hub.accounts import User
from understudy.hub.database import Transaction
from understudy.hub.names import ACCESS
from understudy.hub.pages import ListPage, PageOf
from understudy.hub.records import Job, read_dataset, read_job_of
from understudy.hub.records import Request as Asked
from understudy.hub.web import lists
from understudy.hub.web.documents import Id
from understudy.hub.web.forms import SentForm
from understudy.hub.web.problems import status_of
from understudy.hub.web.rendering import go_to, render
from understudy.hub.web.specs import LABELS, Preview, describe, preview
from understudy.hub.web.state import Site
from understudy.hub.web.viewer import TheHub, Viewer

router = APIRouter()


@dataclass(frozen=True, kw_only=True)
class RequestLine:
    """A request in a list."""

    request: Asked
    dataset_name: str
    state: str
    who: str = ""


@router.get("/requests")
def show_requests(request: Request, hub: TheHub, viewer: Viewer, page: int = 1) -> Response:
    """What the viewer has asked for, newest first."""
    with hub.db.reading() as c:
        found = asking.of_user(c, viewer.id, PageOf(number=page, size=20))
        lines = list_lines(c, found)
    return render(request, "requests.html", title="My requests", page=lines, labels=LABELS)


@router.get("/requests/{request_id}")
def show_request(request: Request, hub: TheHub, viewer: Viewer, request_id: Id) -> Response:
    """One request: its state, live; for the owner, what it costs and the decision."""
    return _page(request, hub, viewer, request_id)


@router.post("/requests/{request_id}/withdraw")
def withdraw(hub: TheHub, viewer: Viewer, request_id: Id, form: SentForm) -> Response:
    """Take one's own request back."""
    with hub.db.transaction() as c:
        asking.withdraw(c, viewer.id, request_id)
    return go_to(f"/requests/{request_id}", said="withdrawn")


@router.post("/requests/{request_id}/decide")
def decide(
    request: Request, hub: TheHub, viewer: Viewer, request_id: Id, form: SentForm
) -> Response:
    """Approve or refuse."""
    try:
        decision = form.choice("decision", "The decision", ("approve", "refuse"))
        reason = form.text("reason", "The reason", required=False)
        role = form.text("role", "The role", required=False, most=100) or None
        if decision == "refuse" and not reason:
            raise InputError("Say why you refuse; the person who asked reads it.")
        with hub.db.transaction() as c:
            asking.decide(c, viewer.id, request_id, decision == "approve", reason, role)
    except UnderstudyError as error:
        status = status_of(error)
        if status == 404:
            raise
        return _page(request, hub, viewer, request_id, status, problem=str(error))
    said = {"approve": "approved", "refuse": "refused"}[decision]
    return go_to(f"/requests/{request_id}", said=said)


def list_lines(c: Transaction, found: ListPage[Asked]) -> ListPage[RequestLine]:
    """Requests with the names that a list shows."""
    names = lists.dataset_names(c, {one.dataset for one in found.items})
    people = lists.user_names(c, {one.user for one in found.items})
    states = lists.job_states(c, [one.id for one in found.items])
    items = tuple(
        RequestLine(
            request=one,
            dataset_name=names[one.dataset],
            state=states.get(one.id, one.state),
            who=people[one.user],
        )
        for one in found.items
    )
    return ListPage(items=items, number=found.number, size=found.size, total=found.total)


def _page(
    request: Request, hub: Site, viewer: User, request_id: Id, status: int = 200, **values: Any
) -> Response:
    with hub.db.reading() as c:
        asked = asking.show(c, viewer.id, request_id)
        dataset = read_dataset(c, asked.dataset)
        job = read_job_of(c, request_id)
        release = lists.release_of_job(c, job.id) if job is not None else None
        who = accounts.find_user(c, asked.user)
        left_for = budgets.read_left_for(c, asked.dataset, asked.user)
        roles = [(role.id, role.name) for role in read_object(c, asked.dataset).roles]
        computer = ""
        if job is not None and job.worker is not None:
            computer = lists.actor_names(c, [job.worker])[job.worker]
    seen = Preview()
    if asked.operation != ACCESS and asked.state == "waiting":
        seen = preview(asked.operation, dict(asked.spec), dataset)
    waiting = asked.state == "waiting" or (job is not None and job.state in ("queued", "running"))
    label = LABELS.get(asked.operation, asked.operation)
    mine = asked.user == viewer.id
    return render(
        request,
        "request.html",
        status,
        title=f"{label}: {dataset.name}",
        label=f"{label}: {dataset.name}",
        asked=asked,
        dataset=dataset,
        job=job,
        computer=computer,
        release=release,
        who=who,
        mine=mine,
        chapter="/requests" if mine else "/mine",
        decides=dataset.owner == viewer.id and asked.state == "waiting",
        left_for=left_for,
        roles=roles,
        preview=seen,
        lines=describe(asked.operation, dict(asked.spec)),
        steps=list_steps(asked, job),
        live=waiting,
        **values,
    )


def list_steps(asked: Asked, job: Job | None) -> list[dict[str, str]]:
    """Where a request stands on its way."""
    steps = [{"label": "Sent", "kind": "done"}]
    decided = {"waiting": "now", "approved": "done"}.get(asked.state, "bad")
    label = "Decision"
    if asked.state != "waiting":
        label = asked.state.capitalize()
    steps.append({"label": label, "kind": decided})
    if asked.operation == ACCESS or asked.state in ("refused", "withdrawn"):
        return steps
    state = "" if job is None else job.state
    queued = {"": "", "queued": "now"}.get(state, "done")
    if job is not None and state in ("failed", "interrupted", "cancelled"):
        if job.started_at is not None:
            steps.append({"label": "Fetched", "kind": "done"})
        return [*steps, {"label": state.capitalize(), "kind": "bad"}]
    running = {"running": "now", "done": "done"}.get(state, "")
    ended = "done" if state == "done" else ""
    steps.append({"label": "Fetched", "kind": queued})
    steps.append({"label": "Computed" if state == "done" else "Computing", "kind": running})
    steps.append({"label": "Released", "kind": ended})
    return steps
