"""Budgets: exact sums, whatever is debited and given back."""

from __future__ import annotations

import contextlib
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from core_hubs import add_dataset, add_user, make_hub, request_synthesis
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import BudgetError, InputError
from understudy.hub import budgets, datasets, jobs, requests, roles
from understudy.hub.amounts import Price, read_amount, write_amount
from understudy.hub.datasets import DatasetSpec
from understudy.hub.errors import Conflict, NotFound, Refused
from understudy.hub.opening import Hub
from understudy.hub.records import read_job_of
from understudy.hub.roles import RuleSpec

STANDING = RuleSpec(operation="synthesise", standing=True)
floats = st.floats(1e-300, 1e6)


@given(st.lists(floats, min_size=1, max_size=20))
def test_amounts_are_added_up_and_written_without_rounding(numbers: list[float]) -> None:
    total = sum((Fraction(repr(number)) for number in numbers), Fraction(0))
    written = write_amount(total)
    assert read_amount(written) == total
    assert read_amount(write_amount(-total)) == -total
    assert "e" not in written.lower()


@given(floats.filter(lambda number: number >= 1e-12), st.floats(1e-300, 0.5))
def test_what_is_shown_errs_on_the_safe_side(epsilon: float, delta: float) -> None:
    price = Price.of(epsilon, delta) + Price.of(0.1, 1e-30)
    for left, spent, true in zip(
        price.numbers(), price.numbers_up(), (price.epsilon, price.delta), strict=True
    ):
        assert Fraction(repr(left)) <= true <= Fraction(repr(spent))


steps = st.lists(
    st.tuples(
        st.sampled_from(["ask", "cancel", "fail", "fail spent", "claim"]),
        st.integers(0, 1),
        st.sampled_from([0.1, 0.2, 0.3, 0.7, 1e-9, 0.0001]),
    ),
    max_size=15,
)


@settings(max_examples=10)
@given(steps)
def test_the_sums_are_those_of_a_model(actions: list[tuple[str, int, float]]) -> None:
    """A thousand small steps: what is left is what a plain sum of fractions says."""
    with tempfile.TemporaryDirectory() as folder:
        hub = make_hub(Path(folder))
        _compare(hub, actions)
        hub.close()


def _compare(hub: Hub, actions: list[tuple[str, int, float]]) -> None:
    with hub.db.transaction() as c:
        owner = add_user(c, "owner")
        people = [add_user(c, f"u{number}") for number in range(2)]
        dataset = add_dataset(c, owner, [STANDING], people, user_epsilon=0.6).id
        spent = dict.fromkeys(people, Fraction(0))
        asked: list[tuple[str, str, Fraction]] = []
        for action, who, number in actions:
            user, price = people[who], Fraction(repr(number))
            if action == "ask":
                fits = sum(spent.values()) + price <= 1 and spent[user] + price <= Fraction(6, 10)
                try:
                    asked.append((request_synthesis(c, user, dataset, number).id, user, price))
                    spent[user] += price
                    assert fits
                except BudgetError:
                    assert not fits
            elif asked:
                _undo(c, action, asked.pop(), spent)
        left = 1 - sum(spent.values())
        assert budgets.read_left(c, dataset).epsilon == left
        for user in people:
            own = Fraction(6, 10) - spent[user]
            assert budgets.read_left_for(c, dataset, user).epsilon == min(left, own)
        assert budgets.check_sums(c) == []


def _undo(c, action: str, one: tuple[str, str, Fraction], spent: dict[str, Fraction]) -> None:  # type: ignore[no-untyped-def]
    request, user, price = one
    if action == "cancel":
        requests.withdraw(c, user, request)
        spent[user] -= price
        return
    claimed = jobs.claim(c, "w")
    job = read_job_of(c, request)
    assert job is not None
    while claimed is not None and claimed.id != job.id:
        claimed = jobs.claim(c, "w")
    if action.startswith("fail"):
        jobs.fail(c, job.id, "w", "why", spent=action == "fail spent")
        if action == "fail":
            spent[user] -= price


def test_three_tenths_fit_where_floats_would_not(hub: Hub) -> None:
    with hub.db.transaction() as c:
        owner, user = add_user(c, "owner"), add_user(c, "user")
        dataset = add_dataset(c, owner, [STANDING], [user], epsilon=0.3, delta=3e-9).id
        for _ in range(3):
            request_synthesis(c, user, dataset, 0.1, delta=1e-9)
        assert budgets.read_left(c, dataset) == Price()
        with pytest.raises(BudgetError):
            request_synthesis(c, user, dataset, 1e-12)


def test_a_user_s_own_total_takes_the_place_of_everybody_s(hub: Hub) -> None:
    with hub.db.transaction() as c:
        owner, user = add_user(c, "owner"), add_user(c, "user")
        dataset = add_dataset(c, owner, [STANDING], [user], user_epsilon=0.2).id
        roles.set_user_budget(c, owner, dataset, user, Price.of(0.5))
        request_synthesis(c, user, dataset, 0.4)
        assert budgets.read_left_for(c, dataset, user) == Price.of(0.1)
        roles.set_user_budget(c, owner, dataset, user, None)
        assert budgets.read_left_for(c, dataset, user).epsilon == Fraction(-2, 10)
        with pytest.raises(BudgetError):
            request_synthesis(c, user, dataset, 0.01)
        with pytest.raises(Refused):
            roles.set_user_budget(c, user, dataset, user, Price.of(9.0))


def test_a_total_is_never_lowered_below_what_is_spent(hub: Hub) -> None:
    from core_hubs import SCHEMA

    with hub.db.transaction() as c:
        owner, user = add_user(c, "owner"), add_user(c, "user")
        dataset = add_dataset(c, owner, [STANDING], [user]).id
        request_synthesis(c, user, dataset, 0.5)
        for epsilon in (0.4, 0.5, 2.0):
            spec = DatasetSpec(name="D1", schema=SCHEMA, epsilon=epsilon, mode="stored")
            fails = epsilon < 0.5
            with pytest.raises(InputError) if fails else contextlib.nullcontext():
                datasets.change(c, owner, dataset, spec)
        other = DatasetSpec(name="D1", schema=SCHEMA, epsilon=2.0, mode="agent")
        with pytest.raises(InputError, match="mode"):
            datasets.change(c, owner, dataset, other)
        with pytest.raises(Refused):
            datasets.change(c, user, dataset, spec)
        assert budgets.read_left(c, dataset) == Price.of(1.5)


def test_deciding_is_the_owner_s_and_once(hub: Hub) -> None:
    with hub.db.transaction() as c:
        owner, user, other = (add_user(c, name) for name in ("owner", "user", "other"))
        rule = RuleSpec(operation="synthesise")
        dataset = add_dataset(c, owner, [rule], [user]).id
        first, second = (request_synthesis(c, user, dataset, 0.4) for _ in range(2))
        for actor in (user, other):
            with pytest.raises(Refused):
                requests.decide(c, actor, first.id, True)
        requests.decide(c, owner, first.id, True)
        requests.decide(c, owner, first.id, True)
        assert budgets.read_left(c, dataset) == Price.of(0.6)
        with pytest.raises(Conflict):
            requests.decide(c, owner, first.id, False)
        requests.decide(c, owner, second.id, False, "no")
        with pytest.raises(Conflict):
            requests.decide(c, owner, second.id, True)
        assert budgets.read_left(c, dataset) == Price.of(0.6)
        assert requests.count_waiting(c, owner) == 0


def test_what_the_policy_no_longer_allows_is_not_approved(hub: Hub) -> None:
    with hub.db.transaction() as c:
        owner, user = add_user(c, "owner"), add_user(c, "user")
        dataset = add_dataset(c, owner, [RuleSpec(operation="synthesise")], [user]).id
        request = request_synthesis(c, user, dataset, 0.4)
        role = datasets.read_object(c, dataset).roles[0]
        roles.remove_member(c, owner, dataset, role.id, user)
        with pytest.raises(Refused, match="any more"):
            requests.decide(c, owner, request.id, True)
        assert budgets.read_left(c, dataset) == Price.of(1.0)


def test_access_is_granted_by_a_role_of_that_data_set(hub: Hub) -> None:
    with hub.db.transaction() as c:
        owner, user = add_user(c, "owner"), add_user(c, "user")
        dataset = add_dataset(c, owner, [STANDING]).id
        other = add_dataset(c, owner, [STANDING], name="D2").id
        asked = requests.submit(c, user, dataset, "access", {}, "for a paper", "access key")
        with pytest.raises(InputError, match="choose the one"):
            requests.decide(c, owner, asked.id, True)
        wrong = datasets.read_object(c, other).roles[0]
        with pytest.raises(NotFound):
            requests.decide(c, owner, asked.id, True, role=wrong.id)
        right = datasets.read_object(c, dataset).roles[0]
        assert requests.decide(c, owner, asked.id, True, role=right.id).role == right.id
        assert request_synthesis(c, user, dataset, 0.1).state == "approved"
        with pytest.raises(Refused):
            request_synthesis(c, user, other, 0.1)


@pytest.mark.parametrize(
    "epsilon", [0, -1, float("nan"), float("inf"), "1", None, True, 1e-13, 1e7]
)
def test_a_price_that_is_none_is_refused(sqlite_hub: Hub, epsilon: object) -> None:
    with sqlite_hub.db.transaction() as c:
        owner, user = add_user(c, "owner"), add_user(c, "user")
        dataset = add_dataset(c, owner, [STANDING], [user]).id
        with pytest.raises(InputError):
            request_synthesis(c, user, dataset, epsilon)  # type: ignore[arg-type]
        assert budgets.read_left(c, dataset) == Price.of(1.0)


def test_two_requests_that_fit_one_by_one_are_not_both_approved(hub: Hub) -> None:
    """What was left when a request was sent need not be left when it is decided."""
    with hub.db.transaction() as c:
        owner, user, other = (add_user(c, name) for name in ("owner", "user", "other"))
        rule = RuleSpec(operation="synthesise")
        dataset = add_dataset(c, owner, [rule], [user, other], user_epsilon=0.9).id
        mine, again = (request_synthesis(c, user, dataset, 0.6) for _ in range(2))
        theirs = request_synthesis(c, other, dataset, 0.6)
        requests.decide(c, owner, mine.id, True)
        for late in (again, theirs):
            with pytest.raises(BudgetError):
                requests.decide(c, owner, late.id, True)
            assert requests.show(c, owner, late.id).state == "waiting"
            assert read_job_of(c, late.id) is None
        assert budgets.read_left(c, dataset) == Price.of(0.4)
        with pytest.raises(BudgetError):
            budgets.debit(c, dataset, user, mine.id, Price.of(0.5), "why")
        assert budgets.check_sums(c) == []
