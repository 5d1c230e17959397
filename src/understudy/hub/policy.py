"""Who may do what to which data set: one pure function, deny by default.

A policy is (subject, operation, object), as roles per data set: a role has *attributes* (who is in
it) and *rules* (which operations it allows, within limits). A person may be in several roles, and
may do what any one of them allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy.hub.amounts import FREE_OF_CHARGE, Price
from understudy.hub.names import ACCESS, CLOSE, FREE, MANAGE, SEE, USES


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Who wants something."""

    id: str
    active: bool = True
    is_admin: bool = False
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """What is wanted, and what it would cost."""

    name: str
    price: Price = FREE_OF_CHARGE
    algorithm: str | None = None
    foreign: bool = False  # whether the algorithm was contributed, not built in


@dataclass(frozen=True, kw_only=True)
class AccessRule:
    """An operation that a role allows.

    Parameters
    ----------
    id, operation
        Its name, and what it allows.
    limit
        The largest price of one request; ``None``: no limit but the budget.
    algorithms
        The only ones that may be run; ``None``: any that is built in, and none that was
        contributed.
    standing
        Whether a request within the limits is approved without asking the owner.
    """

    id: str
    operation: str
    limit: Price | None = None
    algorithms: frozenset[str] | None = None
    standing: bool = False


@dataclass(frozen=True, kw_only=True)
class Role:
    """Who (members, attributes) may do what (rules)."""

    id: str
    name: str
    members: frozenset[str] = frozenset()
    attributes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rules: tuple[AccessRule, ...] = ()

    def includes(self, subject: Subject) -> bool:
        """Whether somebody is in it: by name, or because all its attributes are theirs."""
        if subject.id in self.members:
            return True
        return bool(self.attributes) and all(
            subject.attributes.get(name) in values for name, values in self.attributes.items()
        )


@dataclass(frozen=True, kw_only=True)
class Object:
    """A data set, or a release of one (then ``requester`` is for whom it was made)."""

    dataset: str
    owner: str
    open: bool = True
    listed: bool = True
    roles: tuple[Role, ...] = ()
    requester: str | None = None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Yes, or the reason why not.

    Parameters
    ----------
    allowed, why
        The answer, and a sentence for the person who asked.
    rule
        The rule that allows it, if one does.
    standing
        Whether that rule decides requests by itself.
    """

    allowed: bool
    why: str
    rule: str | None = None
    standing: bool = False

    def __bool__(self) -> bool:
        return self.allowed


def judge(subject: Subject, operation: Operation, thing: Object) -> Decision:
    """Decide whether a subject may do an operation to a data set; what nothing allows is denied."""
    if not subject.active:
        return _no("Your account is not active yet; its approval is up to an administrator.")
    name = operation.name
    if name == SEE:
        return _may_see(subject, thing)
    if name in (MANAGE, CLOSE):
        return _may_manage(subject, name, thing)
    if name != ACCESS and name not in USES:
        return _no(f"There is no operation {name!r}.")
    if not thing.open:
        return _no("The data set is closed; its owner may open it again.")
    if name == ACCESS:
        return _may_see(subject, thing)
    if subject.id == thing.owner:
        return Decision(allowed=True, why="You own the data set.")
    if name in FREE and thing.requester is not None and thing.requester == subject.id:
        return Decision(allowed=True, why="The release was made for you.")
    return _may_use(subject, operation, thing)


def _may_see(subject: Subject, thing: Object) -> Decision:
    if subject.id == thing.owner:
        return Decision(allowed=True, why="You own the data set.")
    if thing.listed:
        return Decision(allowed=True, why="The data set is in the catalogue.")
    if any(role.includes(subject) for role in thing.roles):
        return Decision(allowed=True, why="You are in one of its roles.")
    return _no("The data set is not in the catalogue, and you are in none of its roles.")


def _may_manage(subject: Subject, name: str, thing: Object) -> Decision:
    if subject.id == thing.owner:
        return Decision(allowed=True, why="You own the data set.")
    if name == CLOSE and subject.is_admin:
        return Decision(allowed=True, why="An administrator may close any data set.")
    return _no("Only the data set's owner may do that.")


def _may_use(subject: Subject, operation: Operation, thing: Object) -> Decision:
    roles = [role for role in thing.roles if role.includes(subject)]
    if not roles:
        return _no("You are in no role of this data set; ask its owner for access.")
    rules = [r for role in roles for r in role.rules if r.operation == operation.name]
    if not rules:
        return _no(f"None of your roles allows to {operation.name} here; ask the owner for one.")
    fitting = [rule for rule in rules if _fits(rule, operation)]
    if not fitting:
        return _no(_explain_limits(rules, operation))
    standing = [rule for rule in fitting if rule.standing]
    chosen = (standing or fitting)[0]
    return Decision(
        allowed=True, why="One of your roles allows it.", rule=chosen.id, standing=bool(standing)
    )


def _fits(rule: AccessRule, operation: Operation) -> bool:
    return _runs_algorithm(rule, operation) and _affords(rule, operation)


def _runs_algorithm(rule: AccessRule, operation: Operation) -> bool:
    if rule.algorithms is None:
        return not operation.foreign
    return operation.algorithm in rule.algorithms


def _affords(rule: AccessRule, operation: Operation) -> bool:
    return rule.limit is None or operation.price.fits(rule.limit)


def _explain_limits(rules: Sequence[AccessRule], operation: Operation) -> str:
    able = [rule for rule in rules if _runs_algorithm(rule, operation)]
    if not able:
        names = sorted({name for rule in rules for name in rule.algorithms or ["built-in ones"]})
        return f"Your roles allow this with {', '.join(names)} alone, not {operation.algorithm!r}."
    limits = [rule.limit for rule in able if rule.limit is not None]
    return (
        f"{operation.price} is more than your roles allow in one request "
        f"({max(limits, key=lambda limit: limit.epsilon)}); ask for less."
    )


def _no(why: str) -> Decision:
    return Decision(allowed=False, why=why)
