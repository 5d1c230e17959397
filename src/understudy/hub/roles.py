"""Roles of a data set: who may do what, as its owner says."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from understudy.errors import InputError
from understudy.hub import budgets, trail
from understudy.hub.access import check, read_roles, read_subject
from understudy.hub.amounts import Price
from understudy.hub.database import Transaction
from understudy.hub.errors import NotFound
from understudy.hub.names import MANAGE, USES, new_id
from understudy.hub.policy import Operation, Role
from understudy.hub.tables import members, requests, roles, rules, users

MAX_ROLE_NAME_LETTERS = 200
"""Letters in a name."""


@dataclass(frozen=True, kw_only=True)
class RuleSpec:
    """A rule as an owner writes it; see :class:`understudy.hub.policy.AccessRule`."""

    operation: str
    max_epsilon: float | None = None
    max_delta: float = 0.0
    algorithms: Sequence[str] | None = None
    standing: bool = False


@dataclass(frozen=True, kw_only=True)
class RoleSpec:
    """A role as an owner writes it."""

    name: str
    members: Sequence[str] = ()  # ids of users
    attributes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rules: Sequence[RuleSpec] = ()


def set_role(c: Transaction, actor: str, dataset: str, spec: RoleSpec) -> Role:
    """Make a role, or give the one of that name other members, attributes and rules."""
    check(c, actor, Operation(name=MANAGE), dataset)
    _check_role(c, spec)
    known = (roles.c.dataset == dataset) & (roles.c.name == spec.name)
    found = c.value(sa.select(roles.c.id).where(known))
    role = found or new_id()
    attributes = {name: list(values) for name, values in spec.attributes.items()}
    if found is None:
        c.execute(
            sa.insert(roles).values(
                id=role, dataset=dataset, name=spec.name, attributes=attributes, created_at=c.now
            )
        )
    else:
        c.execute(sa.update(roles).where(roles.c.id == role).values(attributes=attributes))
        _drop_rules(c, role)
        c.execute(sa.delete(members).where(members.c.role == role))
    for rule in spec.rules:
        c.execute(sa.insert(rules).values(id=new_id(), role=role, **_rule_values(rule, c.now)))
    for user in sorted(set(spec.members)):
        c.execute(sa.insert(members).values(role=role, user=user, granted_at=c.now))
    details = {
        "role": spec.name,
        "members": sorted(set(spec.members)),
        "attributes": attributes,
        "rules": [_describe_rule(rule) for rule in spec.rules],
    }
    trail.append(c, actor, "set role", dataset, details)
    return next(r for r in read_roles(c, [dataset])[dataset] if r.id == role)


def drop_role(c: Transaction, actor: str, dataset: str, role: str) -> None:
    """Take a role, and what its members could do by it, away."""
    check(c, actor, Operation(name=MANAGE), dataset)
    name = _role_name(c, dataset, role)
    c.execute(sa.delete(members).where(members.c.role == role))
    _drop_rules(c, role)
    c.execute(sa.update(requests).where(requests.c.role == role).values(role=None))
    c.execute(sa.delete(roles).where(roles.c.id == role))
    trail.append(c, actor, "drop role", dataset, {"role": name})


def add_member(c: Transaction, actor: str, dataset: str, role: str, user: str) -> None:
    """Put a user into a role; doing it twice is doing it once."""
    check(c, actor, Operation(name=MANAGE), dataset)
    name = _role_name(c, dataset, role)
    read_subject(c, user)
    here = (members.c.role == role) & (members.c.user == user)
    if c.first(sa.select(members.c.user).where(here)) is None:
        c.execute(sa.insert(members).values(role=role, user=user, granted_at=c.now))
        trail.append(c, actor, "add member", dataset, {"role": name, "user": user})


def remove_member(c: Transaction, actor: str, dataset: str, role: str, user: str) -> None:
    """Take a user out of a role."""
    check(c, actor, Operation(name=MANAGE), dataset)
    name = _role_name(c, dataset, role)
    here = (members.c.role == role) & (members.c.user == user)
    if c.execute(sa.delete(members).where(here)).rowcount:
        trail.append(c, actor, "remove member", dataset, {"role": name, "user": user})


def set_user_budget(
    c: Transaction, actor: str, dataset: str, user: str, total: Price | None
) -> None:
    """Give a user a budget of her own on a data set; ``None``: the same as all others."""
    check(c, actor, Operation(name=MANAGE), dataset)
    read_subject(c, user)
    budgets.set_user_total(c, dataset, user, total)
    amount = None if total is None else str(total)
    trail.append(c, actor, "set user budget", dataset, {"user": user, "total": amount})


# --------------------------------------------------------------------------- details


def _check_role(c: Transaction, spec: RoleSpec) -> None:
    if not spec.name.strip() or len(spec.name) > MAX_ROLE_NAME_LETTERS:
        raise InputError(f"A role needs a name of at most {MAX_ROLE_NAME_LETTERS} letters.")
    for name, values in spec.attributes.items():
        if not values or not all(isinstance(value, str) for value in values):
            raise InputError(f"The attribute {name!r} of a role needs a list of words.")
    for rule in spec.rules:
        if rule.operation not in USES:
            raise InputError(
                f"A rule's operation must be one of {', '.join(USES)}, not {rule.operation!r}."
            )
        _rule_limit(rule)
    wanted = set(spec.members)
    found = c.rows(sa.select(users.c.id).where(users.c.id.in_(wanted)))
    if len(found) < len(wanted):
        raise InputError(f"A member of the role {spec.name!r} is not a user of this hub.")


def _rule_limit(rule: RuleSpec) -> Price | None:
    return None if rule.max_epsilon is None else Price.of(rule.max_epsilon, rule.max_delta)


def _rule_values(rule: RuleSpec, now: dt.datetime) -> dict[str, Any]:
    limit = _rule_limit(rule)
    algorithms = None if rule.algorithms is None else sorted(set(rule.algorithms))
    return {
        "operation": rule.operation,
        "max_epsilon": None if limit is None else limit.epsilon,
        "max_delta": None if limit is None else limit.delta,
        "algorithms": sa.null() if algorithms is None else algorithms,
        "standing": bool(rule.standing),
        "created_at": now,
    }


def _describe_rule(rule: RuleSpec) -> dict[str, Any]:
    return {
        "operation": rule.operation,
        "max_epsilon": rule.max_epsilon,
        "max_delta": rule.max_delta,
        "algorithms": None if rule.algorithms is None else sorted(set(rule.algorithms)),
        "standing": bool(rule.standing),
    }


def _drop_rules(c: Transaction, role: str) -> None:
    ids = sa.select(rules.c.id).where(rules.c.role == role)
    # A request keeps its decision; which rule it was stands in the trail.
    c.execute(sa.update(requests).where(requests.c.rule.in_(ids)).values(rule=None))
    c.execute(sa.delete(rules).where(rules.c.role == role))


def _role_name(c: Transaction, dataset: str, role: str) -> str:
    here = (roles.c.id == role) & (roles.c.dataset == dataset)
    name = c.value(sa.select(roles.c.name).where(here))
    if name is None:
        raise NotFound("There is no such role of this data set.")
    return str(name)
