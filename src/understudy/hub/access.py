"""The policy over what stands in the database: subjects, objects, and a check that raises."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from understudy.hub import policy
from understudy.hub.amounts import Price
from understudy.hub.database import Transaction
from understudy.hub.errors import NotFound, Refused
from understudy.hub.names import ACCESS, SEE
from understudy.hub.policy import AccessRule, Object, Operation, Role, Subject
from understudy.hub.tables import datasets, members, roles, rules, users


def read_roles(c: Transaction, ids: Iterable[str]) -> dict[str, tuple[Role, ...]]:
    """The roles of some data sets, in three statements."""
    ids = list(ids)
    found = c.rows(sa.select(roles).where(roles.c.dataset.in_(ids)).order_by(roles.c.name))
    names = [row["id"] for row in found]
    who: dict[str, set[str]] = {name: set() for name in names}
    what: dict[str, list[AccessRule]] = {name: [] for name in names}
    if names:
        for row in c.rows(sa.select(members).where(members.c.role.in_(names))):
            who[row["role"]].add(row["user"])
        kept = sa.select(rules).where(rules.c.role.in_(names)).order_by(rules.c.id)
        for row in c.rows(kept):
            what[row["role"]].append(_read_rule(row))
    by_dataset: dict[str, list[Role]] = {dataset: [] for dataset in ids}
    for row in found:
        role = Role(
            id=row["id"],
            name=row["name"],
            members=frozenset(who[row["id"]]),
            attributes=row["attributes"],
            rules=tuple(what[row["id"]]),
        )
        by_dataset[row["dataset"]].append(role)
    return {dataset: tuple(listed) for dataset, listed in by_dataset.items()}


def read_object(c: Transaction, dataset: str, requester: str | None = None) -> Object:
    """A data set as the policy sees it."""
    columns = datasets.c.owner, datasets.c.state, datasets.c.listed
    row = c.first(sa.select(*columns).where(datasets.c.id == dataset))
    if row is None:
        raise NotFound("There is no such data set.")
    return Object(
        dataset=dataset,
        owner=row["owner"],
        open=row["state"] == "open",
        listed=bool(row["listed"]),
        roles=read_roles(c, [dataset])[dataset],
        requester=requester,
    )


def read_subject(c: Transaction, user: str) -> Subject:
    """A user as the policy sees them."""
    columns = users.c.state, users.c.is_admin, users.c.attributes
    row = c.first(sa.select(*columns).where(users.c.id == user))
    if row is None:
        raise NotFound("There is no such user.")
    return Subject(
        id=user,
        active=row["state"] == "active",
        is_admin=bool(row["is_admin"]),
        attributes=row["attributes"],
    )


def check(
    c: Transaction, actor: str, operation: Operation, dataset: str, requester: str | None = None
) -> policy.Decision:
    """The policy's yes, or :class:`Refused` with its reason; who may not see it finds nothing."""
    subject, thing = read_subject(c, actor), read_object(c, dataset, requester)
    decision = policy.judge(subject, operation, thing)
    if decision:
        return decision
    if operation.name != ACCESS and not policy.judge(subject, Operation(name=SEE), thing):
        raise NotFound("There is no such data set.")
    raise Refused(decision.why)


def _read_rule(row: sa.RowMapping) -> AccessRule:
    limit = None
    if row["max_epsilon"] is not None:
        limit = Price(row["max_epsilon"], row["max_delta"])
    names = row["algorithms"]
    return AccessRule(
        id=row["id"],
        operation=row["operation"],
        limit=limit,
        algorithms=None if names is None else frozenset(names),
        standing=bool(row["standing"]),
    )
