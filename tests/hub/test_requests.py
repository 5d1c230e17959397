"""From a request to a release: debit, trail and job are one transaction."""

from __future__ import annotations

import pytest
from core_hubs import (
    add_dataset,
    add_user,
    finish_job,
    job_of,
    request_synthesis,
)

from understudy.errors import BudgetError
from understudy.hub import budgets, jobs, requests, trail
from understudy.hub.amounts import Price
from understudy.hub.errors import Conflict, NotFound, Refused
from understudy.hub.opening import Hub
from understudy.hub.roles import RuleSpec

RULE = RuleSpec(operation="synthesise")
STANDING = RuleSpec(operation="synthesise", max_epsilon=0.5, standing=True)


def test_a_request_is_approved_computed_and_released(hub: Hub) -> None:
    with hub.db.transaction() as c:
        owner, user = add_user(c, "owner"), add_user(c, "user")
        dataset = add_dataset(c, owner, [RULE], [user], purpose="health", contact="a@b.c")
        request = request_synthesis(c, user, dataset.id)
        assert request.state == "waiting"
        assert budgets.read_left(c, dataset.id) == Price.of(1.0)
    with hub.db.transaction() as c:
        assert requests.decide(c, owner, request.id, True).state == "approved"
        assert budgets.read_left(c, dataset.id) == Price.of(0.9)
        assert job_of(c, request).state == "queued"
    with hub.db.transaction() as c:
        job = jobs.claim(c, "worker")
        assert job is not None
        assert job.state == "running"
    release = finish_job(hub, job, "worker", b"a,b\n1,2\n")
    assert release.use["purpose"] == "health"
    assert hub.vault.read(release.files[0].object) == b"a,b\n1,2\n"
    head = trail.read_head_document(release.trail)
    assert trail.verify(hub.db, hub.keys.trail, [head])


def test_a_standing_rule_decides_within_its_limit(hub: Hub) -> None:
    with hub.db.transaction() as c:
        owner, user = add_user(c, "owner"), add_user(c, "user")
        dataset = add_dataset(c, owner, [RULE, STANDING], [user], epsilon=2.0)
        assert request_synthesis(c, user, dataset.id, 0.5).state == "approved"
        assert request_synthesis(c, user, dataset.id, 0.6).state == "waiting"
        assert budgets.read_left(c, dataset.id) == Price.of(1.5)


def test_the_same_key_is_the_same_request(hub: Hub) -> None:
    with hub.db.transaction() as c:
        owner, user = add_user(c, "owner"), add_user(c, "user")
        dataset = add_dataset(c, owner, [STANDING], [user])
        once = request_synthesis(c, user, dataset.id, 0.5, key="the same key")
        assert request_synthesis(c, user, dataset.id, 0.5, key="the same key") == once
        assert budgets.read_left(c, dataset.id) == Price.of(0.5)
        with pytest.raises(Conflict, match="other content"):
            request_synthesis(c, user, dataset.id, 0.4, key="the same key")


def test_who_is_in_no_role_is_refused(hub: Hub) -> None:
    with hub.db.transaction() as c:
        owner, user = add_user(c, "owner"), add_user(c, "user")
        dataset = add_dataset(c, owner, [STANDING])
        with pytest.raises(Refused, match="ask its owner for access"):
            request_synthesis(c, user, dataset.id)
        hidden = add_dataset(c, owner, [STANDING], listed=False)
        with pytest.raises(NotFound):
            request_synthesis(c, user, hidden.id)


def test_more_than_is_left_is_refused(hub: Hub) -> None:
    with hub.db.transaction() as c:
        owner, user, other = (add_user(c, name) for name in ("owner", "user", "other"))
        dataset = add_dataset(c, owner, [STANDING], [user, other], user_epsilon=0.6)
        request_synthesis(c, user, dataset.id, 0.5)
        with pytest.raises(BudgetError, match=r"you have epsilon 0\.1 left"):
            request_synthesis(c, user, dataset.id, 0.2)
        request_synthesis(c, other, dataset.id, 0.5)
        with pytest.raises(BudgetError, match="the data set has epsilon 0 left"):
            request_synthesis(c, other, dataset.id, 0.1)
        assert budgets.check_sums(c) == []
