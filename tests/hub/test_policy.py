"""The policy: deny by default, whatever the roles are."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from understudy.hub.amounts import Price
from understudy.hub.names import ACCESS, CLOSE, FREE, MANAGE, PRICED, SEE, USES
from understudy.hub.policy import AccessRule, Object, Operation, Role, Subject, judge

NAMES = [*USES, ACCESS, SEE, MANAGE, CLOSE]
USERS = ["owner", "u1", "u2", "u3"]
METHODS = ["mst", "a1"]

prices = st.sampled_from([0.1, 0.5, 2.0]).map(Price.of)
rules = st.builds(
    AccessRule,
    id=st.sampled_from(["r1", "r2", "r3"]),
    operation=st.sampled_from(USES),
    limit=st.none() | prices,
    algorithms=st.none() | st.frozensets(st.sampled_from(METHODS)),
    standing=st.booleans(),
)
roles = st.builds(
    Role,
    id=st.just("role"),
    name=st.just("role"),
    members=st.frozensets(st.sampled_from(USERS)),
    attributes=st.sampled_from(
        [{}, {"institution": ["A"]}, {"institution": ["B"], "level": ["1"]}]
    ),
    rules=st.lists(rules, max_size=3).map(tuple),
)
things = st.builds(
    Object,
    dataset=st.just("d1"),
    owner=st.just("owner"),
    open=st.booleans(),
    listed=st.booleans(),
    roles=st.lists(roles, max_size=3).map(tuple),
    requester=st.none() | st.sampled_from(USERS),
)
subjects = st.builds(
    Subject,
    id=st.sampled_from(USERS),
    active=st.booleans(),
    is_admin=st.booleans(),
    attributes=st.sampled_from([{}, {"institution": "A"}, {"institution": "B", "level": "1"}]),
)
operations = st.builds(
    Operation,
    name=st.sampled_from(NAMES),
    price=prices,
    algorithm=st.none() | st.sampled_from(METHODS),
    foreign=st.booleans(),
)


@given(subjects, operations, things)
def test_without_roles_nobody_but_the_owner_uses_anything(
    subject: Subject, operation: Operation, thing: Object
) -> None:
    bare = dataclasses.replace(thing, roles=(), requester=None)
    decision = judge(subject, operation, bare)
    if operation.name in USES and subject.id != "owner":
        assert not decision
    assert decision.why.endswith(".")


@given(subjects, operations, things, rules, st.integers(0, 2))
def test_another_rule_takes_no_right_away(
    subject: Subject, operation: Operation, thing: Object, rule: AccessRule, where: int
) -> None:
    listed = list(thing.roles) or [Role(id="role", name="role")]
    chosen = listed[where % len(listed)]
    listed[where % len(listed)] = dataclasses.replace(chosen, rules=(*chosen.rules, rule))
    before = judge(subject, operation, thing)
    after = judge(subject, operation, dataclasses.replace(thing, roles=tuple(listed)))
    assert after.allowed >= before.allowed
    assert after.standing >= before.standing


@given(subjects, operations, things)
def test_a_closed_data_set_can_be_seen_and_nothing_else(
    subject: Subject, operation: Operation, thing: Object
) -> None:
    closed = dataclasses.replace(thing, open=False)
    if operation.name not in (SEE, MANAGE, CLOSE):
        assert not judge(subject, operation, closed)
    see = Operation(name=SEE)
    assert judge(subject, see, closed).allowed == judge(subject, see, thing).allowed


@given(subjects, operations, things)
def test_an_account_that_is_not_active_may_nothing(
    subject: Subject, operation: Operation, thing: Object
) -> None:
    assert not judge(dataclasses.replace(subject, active=False), operation, thing)


@given(subjects, operations, things)
def test_what_is_allowed_has_a_ground(
    subject: Subject, operation: Operation, thing: Object
) -> None:
    """Each yes to a use is the owner's, the requester's, or a rule's that says so."""
    decision = judge(subject, operation, thing)
    if not decision or operation.name not in USES or subject.id == thing.owner:
        return
    if operation.name in FREE and thing.requester == subject.id:
        return
    grounds = [
        rule
        for role in thing.roles
        if role.includes(subject)
        for rule in role.rules
        if rule.id == decision.rule and rule.operation == operation.name
    ]
    assert any(rule.limit is None or operation.price.fits(rule.limit) for rule in grounds)
    assert any(
        not operation.foreign if rule.algorithms is None else operation.algorithm in rule.algorithms
        for rule in grounds
    )
    assert thing.open


@given(subjects, things)
def test_an_administrator_has_no_rights_on_data(subject: Subject, thing: Object) -> None:
    admin = dataclasses.replace(subject, is_admin=True)
    plain = dataclasses.replace(subject, is_admin=False)
    for name in (*USES, ACCESS, SEE, MANAGE):
        operation = Operation(name=name, price=Price.of(0.1))
        assert judge(admin, operation, thing) == judge(plain, operation, thing)


def test_the_example_of_the_book() -> None:
    """Figure 10.5: U1 and U2 may query D1 and not train; U3 may run A1 on D1 and nothing else; a
    new user may nothing until the owner approves.
    """
    query = Role(
        id="r1",
        name="R1",
        members=frozenset(["u1", "u2"]),
        rules=(AccessRule(id="q", operation="ask"),),
    )
    run = Role(
        id="r2",
        name="R2",
        members=frozenset(["u3"]),
        rules=(AccessRule(id="a", operation="learn", algorithms=frozenset(["A1"])),),
    )
    thing = Object(dataset="d1", owner="owner", roles=(query, run))

    def may(user: str, name: str, algorithm: str | None = None) -> bool:
        operation = Operation(name=name, price=Price.of(0.1), algorithm=algorithm)
        return judge(Subject(id=user), operation, thing).allowed

    for user in ("u1", "u2"):
        assert may(user, "ask")
        assert not may(user, "learn", "A1")
        assert not may(user, "synthesise")
    assert may("u3", "learn", "A1")
    assert not may("u3", "learn", "A2")
    assert not any(may("u3", name, "A1") for name in USES if name != "learn")
    assert not any(may("new", name, "A1") for name in USES)
    assert may("new", ACCESS)
    approved = dataclasses.replace(query, members=query.members | {"new"})
    thing = Object(dataset="d1", owner="owner", roles=(approved, run))
    assert may("new", "ask")
    assert not may("new", "learn", "A1")


def test_several_roles_add_up_and_attributes_count() -> None:
    by_name = Role(
        id="1", name="1", members=frozenset(["u1"]), rules=(AccessRule(id="a", operation="ask"),)
    )
    by_attribute = Role(
        id="2",
        name="2",
        attributes={"institution": ["A", "B"]},
        rules=(AccessRule(id="l", operation="learn"),),
    )
    thing = Object(dataset="d1", owner="owner", roles=(by_name, by_attribute))
    both = Subject(id="u1", attributes={"institution": "B"})
    for name in ("ask", "learn"):
        assert judge(both, Operation(name=name, price=Price.of(1.0)), thing)
    other = Subject(id="u2", attributes={"institution": "C"})
    assert not judge(other, Operation(name="learn", price=Price.of(1.0)), thing)


def test_limits_are_named_in_the_refusal() -> None:
    rule = AccessRule(id="a", operation="ask", limit=Price.of(0.5), algorithms=None)
    role = Role(id="1", name="1", members=frozenset(["u1"]), rules=(rule,))
    thing = Object(dataset="d1", owner="owner", roles=(role,))
    subject = Subject(id="u1")
    assert judge(subject, Operation(name="ask", price=Price.of(0.5)), thing)
    refusal = judge(subject, Operation(name="ask", price=Price.of(0.6)), thing)
    assert "epsilon 0.6 is more than" in refusal.why
    with_delta = Operation(name="ask", price=Price.of(0.5, 1e-9))
    assert not judge(subject, with_delta, thing)
    foreign = Operation(name="ask", price=Price.of(0.5), algorithm="x", foreign=True)
    assert "built-in" in judge(subject, foreign, thing).why
    assert set(PRICED) | set(FREE) < set(USES)
