"""Roles of a data set: what goes with one that is taken away, and what stays."""

from __future__ import annotations

import pytest
from core_hubs import add_dataset, add_user, request_synthesis

from understudy.hub import requests, roles, trail
from understudy.hub.access import read_roles
from understudy.hub.database import Transaction
from understudy.hub.errors import NotFound, Refused
from understudy.hub.opening import Hub
from understudy.hub.records import read_request
from understudy.hub.roles import RoleSpec, RuleSpec

STANDING = RuleSpec(operation="synthesise", standing=True)


def grant_access(c: Transaction, owner: str, user: str, dataset: str, role: str) -> str:
    asked = requests.submit(c, user, dataset, "access", {}, "for a paper", f"access of {user}")
    requests.decide(c, owner, asked.id, True, role=role)
    return asked.id


def test_a_role_that_is_dropped_takes_its_own_members_rules_and_grants_along(hub: Hub) -> None:
    with hub.db.transaction() as c:
        owner, uma, kim = (add_user(c, name) for name in ("owner", "uma", "kim"))
        dataset = add_dataset(c, owner).id
        first, second = (
            roles.set_role(c, owner, dataset, RoleSpec(name=name, rules=[STANDING])).id
            for name in ("first", "second")
        )
        of_uma = grant_access(c, owner, uma, dataset, first)
        of_kim = grant_access(c, owner, kim, dataset, second)
        done = request_synthesis(c, uma, dataset, 0.1)
        assert (done.state, done.rule is None) == ("approved", False)

        roles.drop_role(c, owner, dataset, first)
        # What was decided stays, by a role and a rule that are no more; the others keep theirs.
        assert [read_request(c, each).role for each in (of_uma, of_kim)] == [None, second]
        assert {read_request(c, each).state for each in (of_uma, of_kim, done.id)} == {"approved"}
        assert read_request(c, done.id).rule is None
        with pytest.raises(Refused):
            request_synthesis(c, uma, dataset, 0.1)
        assert request_synthesis(c, kim, dataset, 0.1).state == "approved"
        assert [role.name for role in read_roles(c, [dataset])[dataset]] == ["R1", "second"]


def test_a_role_is_dropped_by_the_owner_of_its_data_set(hub: Hub) -> None:
    with hub.db.transaction() as c:
        owner, uma = add_user(c, "owner"), add_user(c, "uma")
        dataset = add_dataset(c, owner, [STANDING], [uma]).id
        [role] = read_roles(c, [dataset])[dataset]
        other = add_dataset(c, owner, name="D2").id
        with pytest.raises(Refused):
            roles.drop_role(c, uma, dataset, role.id)
        with pytest.raises(NotFound):
            roles.drop_role(c, owner, other, role.id)
        assert read_roles(c, [dataset])[dataset] == (role,)


def test_a_role_that_is_set_again_has_its_new_members_and_rules_alone(hub: Hub) -> None:
    with hub.db.transaction() as c:
        owner, uma, kim = (add_user(c, name) for name in ("owner", "uma", "kim"))
        dataset = add_dataset(c, owner, [STANDING], [uma]).id
        apart = roles.set_role(
            c, owner, dataset, RoleSpec(name="R2", members=[uma], rules=[STANDING])
        )
        again = RoleSpec(name="R1", members=[kim], rules=[RuleSpec(operation="learn")])
        changed = roles.set_role(c, owner, dataset, again)
        assert changed.members == {kim}
        assert [rule.operation for rule in changed.rules] == ["learn"]
        assert apart in read_roles(c, [dataset])[dataset]


def test_a_member_is_added_once_and_removed_alone(hub: Hub) -> None:
    with hub.db.transaction() as c:
        owner, uma, kim = (add_user(c, name) for name in ("owner", "uma", "kim"))
        dataset = add_dataset(c, owner, [STANDING], [kim]).id
        [role] = read_roles(c, [dataset])[dataset]
        for _ in range(2):
            roles.add_member(c, owner, dataset, role.id, uma)
        assert read_roles(c, [dataset])[dataset][0].members == {uma, kim}
        for _ in range(2):
            roles.remove_member(c, owner, dataset, role.id, uma)
        assert read_roles(c, [dataset])[dataset][0].members == {kim}
        with pytest.raises(Refused):
            request_synthesis(c, uma, dataset, 0.1)
        done = [line.action for line in trail.read_entries(c)]
        assert (done.count("add member"), done.count("remove member")) == (1, 1)
