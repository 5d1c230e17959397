"""Requests: a user asks, the owner or a standing rule decides.

Debit, trail's entry and job are one transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from understudy.errors import InputError
from understudy.hub import budgets, jobs, roles, trail
from understudy.hub.access import check, read_object, read_subject
from understudy.hub.amounts import Price
from understudy.hub.database import Transaction
from understudy.hub.encrypted.collecting import check_request
from understudy.hub.errors import Conflict, NotFound, Refused
from understudy.hub.names import ACCESS, MANAGE, PRICED, SEE, SHARED, new_id
from understudy.hub.operations import check_spec
from understudy.hub.pages import ListPage, PageOf, read_page
from understudy.hub.policy import Operation, judge
from understudy.hub.protection import read_protected
from understudy.hub.records import (
    Dataset,
    Job,
    Request,
    read_dataset,
    read_job_of,
    read_priced_row,
    read_request,
)
from understudy.hub.tables import datasets, requests

MAX_REASON = 5000
MAX_SPEC = 200_000
MAX_REQUEST_KEY = 100


def submit(
    c: Transaction,
    user: str,
    dataset: str,
    operation: str,
    spec: Mapping[str, Any],
    reason: str,
    key: str,
) -> Request:
    """Ask for access, or for an operation; the same key is the same request.

    A request for an operation is checked against the policy and both budgets at once, so that what
    cannot be granted is refused with the reason. If a standing rule covers it, it is approved here
    and now: debit, trail and job are in this transaction.

    Parameters
    ----------
    c, user, dataset
        The transaction, who asks, and of what.
    operation
        access, synthesise, ask or learn.
    spec
        What is to be done. ``epsilon`` and ``delta`` are its whole price.
    reason
        Why, for the owner.
    key
        The form's own random key.
    """
    if not 8 <= len(key) <= MAX_REQUEST_KEY:
        raise InputError(
            f"A request needs a key of 8 to {MAX_REQUEST_KEY} letters, new for each form."
        )
    if len(reason) > MAX_REASON:
        raise InputError(f"The reason has more than {MAX_REASON:,} letters; shorten it.")
    digest = _digest(dataset, operation, spec, reason)
    before = c.first(sa.select(requests).where(requests.c.user == user, requests.c.key == key))
    if before is not None:
        if before["digest"] != digest:
            raise Conflict("This form was sent before with other content; open a new one.")
        return read_priced_row(Request, before)
    price = read_price(operation, spec)
    check(c, user, Operation(name=SEE), dataset)  # before the schema has a say in any message
    asked = describe_operation(read_dataset(c, dataset), operation, spec, price)
    decision = check(c, user, asked, dataset)
    check_request(c, read_dataset(c, dataset), operation, spec)
    budgets.check_fits(c, dataset, user, price)
    request = new_id()
    c.execute(
        sa.insert(requests).values(
            id=request,
            user=user,
            dataset=dataset,
            operation=operation,
            spec=dict(spec),
            reason=reason,
            epsilon=price.epsilon,
            delta=price.delta,
            key=key,
            digest=digest,
            created_at=c.now,
        )
    )
    details = {"request": request, "operation": operation, "price": str(price)}
    trail.append(c, user, "request", dataset, details)
    if decision.standing:
        return _approve(c, f"rule:{decision.rule}", read_request(c, request), rule=decision.rule)
    return read_request(c, request)


def enter_own(
    c: Transaction, user: str, dataset: str, operation: str, spec: Mapping[str, Any]
) -> Job:
    """Enter what an owner does with a data set of her own that costs nothing, and queue its job;
    nobody else has to agree.
    """
    request = new_id()
    values = {
        "id": request,
        "user": user,
        "dataset": dataset,
        "operation": operation,
        "spec": dict(spec),
        "state": "approved",
        "key": new_id(),
        "digest": _digest(dataset, operation, spec, ""),
        "decided_by": user,
        "created_at": c.now,
        "decided_at": c.now,
    }
    c.execute(sa.insert(requests).values(values))
    details = {"request": request, "operation": operation, "price": str(Price())}
    head = trail.append(c, user, "request", dataset, details)
    return jobs.queue(c, read_request(c, request), head.number)


def decide(
    c: Transaction,
    owner: str,
    request: str,
    approve: bool,
    reason: str = "",
    role: str | None = None,
) -> Request:
    """Approve or refuse; deciding the same way twice is deciding once.

    Parameters
    ----------
    c, owner, request
        The transaction, who decides, and about what.
    approve
        Yes or no. Yes to an operation debits its price, adds to the trail and queues the job, all
        in this transaction.
    reason
        For the user.
    role
        For a request for access: the id of the role that the user is put into.
    """
    found = read_request(c, request)
    try:
        check(c, owner, Operation(name=MANAGE), found.dataset)
    except NotFound:
        raise NotFound("There is no such request.") from None
    wanted = "approved" if approve else "refused"
    if found.state == wanted:
        return found
    if found.state != "waiting":
        raise Conflict(f"The request was {found.state} already; nothing was changed.")
    if approve:
        return _approve(c, owner, found, reason=reason, role=role)
    _set_decision(c, found, "refused", decided_by=owner, decision_reason=reason)
    details = {"request": request, "reason": reason[:500]}
    trail.append(c, owner, "refuse", found.dataset, details)
    return read_request(c, request)


def withdraw(c: Transaction, user: str, request: str) -> Request:
    """Take a request back; a job that has not started is cancelled, and its price comes back."""
    found = read_request(c, request)
    if found.user != user:
        raise NotFound("There is no such request.")
    if found.state == "waiting":
        _set_decision(c, found, "withdrawn")
        trail.append(c, user, "withdraw", found.dataset, {"request": request})
    elif found.state == "approved":
        job = read_job_of(c, request)
        if job is not None:
            jobs.cancel(c, user, job.id, "Its user took it back.")
    return read_request(c, request)


def show(c: Transaction, viewer: str, request: str) -> Request:
    """A request for its user or the data set's owner; for others there is none."""
    found = read_request(c, request)
    owner = c.value(sa.select(datasets.c.owner).where(datasets.c.id == found.dataset))
    if viewer not in (found.user, owner):
        raise NotFound("There is no such request.")
    return found


def of_user(
    c: Transaction, user: str, page: PageOf | None = None, *, dataset: str | None = None
) -> ListPage[Request]:
    """A user's requests, newest first; for one data set, or all."""
    query = sa.select(requests).where(requests.c.user == user)
    if dataset is not None:
        query = query.where(requests.c.dataset == dataset)
    return _list(c, query, page)


def for_owner(
    c: Transaction, owner: str, state: str | None = None, page: PageOf | None = None
) -> ListPage[Request]:
    """The requests for an owner's data sets, newest first; of one state, or all."""
    query = sa.select(requests).where(_is_for(owner))
    if state is not None:
        query = query.where(requests.c.state == state)
    return _list(c, query, page)


def for_dataset(
    c: Transaction, actor: str, dataset: str, page: PageOf | None = None
) -> ListPage[Request]:
    """All requests for one data set, newest first; for its owner."""
    check(c, actor, Operation(name=MANAGE), dataset)
    return _list(c, sa.select(requests).where(requests.c.dataset == dataset), page)


def count_waiting(c: Transaction, owner: str) -> int:
    """How many requests wait for an owner's decision."""
    waiting = _is_for(owner) & (requests.c.state == "waiting")
    return int(c.value(sa.select(sa.func.count()).select_from(requests).where(waiting)))


def read_price(operation: str, spec: Mapping[str, Any]) -> Price:
    """The whole price that a spec names; access costs nothing."""
    if operation == ACCESS:
        return Price()
    if operation not in PRICED:
        wanted = ", ".join((ACCESS, *PRICED))
        raise InputError(f"A request asks for one of {wanted}, not {operation!r}.")
    if "epsilon" not in spec:
        raise InputError("A request names its price: give an epsilon, for example 0.5.")
    return Price.of(spec["epsilon"], spec.get("delta", 0.0))


def describe_operation(
    dataset: Dataset, operation: str, spec: Mapping[str, Any], price: Price
) -> Operation:
    """What the policy is asked: the operation, its price and its algorithm.

    The spec is checked against the data set's schema first; no row is read.
    """
    if operation == ACCESS:
        return Operation(name=ACCESS)
    protected = read_protected(dataset.neighbours, dataset.unit)
    checked = check_spec(operation, spec, dataset.read_schema(), protected)
    if Price.of(*checked.price()) != price:
        raise InputError("The spec's epsilon and delta are not its whole price.")
    foreign = getattr(checked, "algorithm", None)
    if dataset.mode in SHARED and (operation != "synthesise" or foreign is not None):
        raise InputError(
            "Several owners can be asked for synthetic tables, by methods of ours, and for nothing "
            "else."
        )
    name = foreign or getattr(checked, "method", None) or getattr(checked, "learner", None)
    return Operation(
        name=operation,
        price=price,
        algorithm=None if name is None else str(name),
        foreign=foreign is not None,
    )


def _approve(
    c: Transaction,
    actor: str,
    request: Request,
    *,
    reason: str = "",
    role: str | None = None,
    rule: str | None = None,
) -> Request:
    decided_by = None if rule is not None else actor
    values = {"decided_by": decided_by, "rule": rule, "decision_reason": reason}
    if request.operation == ACCESS:
        if role is None:
            raise InputError("Access is granted by a role; choose the one to put the user into.")
        roles.add_member(c, actor, request.dataset, role, request.user)
        _set_decision(c, request, "approved", role=role, **values)
        trail.append(c, actor, "approve", request.dataset, {"request": request.id, "role": role})
        return read_request(c, request.id)
    # The policy may have changed since it was asked: what it denies now, nobody approves.
    subject = read_subject(c, request.user)
    dataset = read_dataset(c, request.dataset)
    asked = describe_operation(dataset, request.operation, request.spec, request.price)
    still = judge(subject, asked, read_object(c, request.dataset))
    if not still:
        raise Refused(f"The policy does not allow it any more: {still.why}")
    budgets.debit(c, request.dataset, request.user, request.id, request.price, request.operation)
    details = {"request": request.id, "price": str(request.price), "operation": request.operation}
    head = trail.append(c, actor, "approve", request.dataset, details)
    _set_decision(c, request, "approved", **values)
    jobs.queue(c, request, head.number)
    return read_request(c, request.id)


def _set_decision(c: Transaction, request: Request, state: str, **values: Any) -> None:
    values = {"state": state, "decided_at": c.now, **values}
    c.execute(sa.update(requests).where(requests.c.id == request.id).values(**values))


def _digest(dataset: str, operation: str, spec: Mapping[str, Any], reason: str) -> str:
    document = {"dataset": dataset, "operation": operation, "spec": spec, "reason": reason}
    try:
        text = trail.write_details(document)
    except (TypeError, ValueError) as error:
        raise InputError("The request's spec must be plain JSON.") from error
    if len(text) > MAX_SPEC:
        raise InputError("The request's spec is too long.")
    return hashlib.sha256(text.encode()).hexdigest()


def _is_for(owner: str) -> sa.ColumnElement[bool]:
    return requests.c.dataset.in_(sa.select(datasets.c.id).where(datasets.c.owner == owner))


def _list(c: Transaction, query: sa.Select[Any], page: PageOf | None) -> ListPage[Request]:
    newest = query.order_by(requests.c.created_at.desc(), requests.c.id)
    return read_page(c, newest, page or PageOf(), lambda row: read_priced_row(Request, row))
