"""Sums of prices, disjoint parts of the rows, and groups."""

from __future__ import annotations

import math

import numpy as np
import pytest

from understudy import BudgetError, InputError, Ledger
from understudy.mechanisms import Geometric, compose, compose_disjoint, compose_zcdp
from understudy.privacy.budget import Budget, epsilon_of, rho_of
from understudy.privacy.group_privacy import group_promise
from understudy.privacy.mechanisms import SeededNoise


def test_parts_cost_together_what_one_may() -> None:
    ledger = Ledger(1.0)
    parts = ledger.parallel("by region", ["north", "south"], Budget(0.4))
    for part in parts.values():
        Geometric(epsilon=0.3).release(10, part, "people")
    assert ledger.left == Budget(0.6)
    assert parts["north"].left == Budget(0.1)
    assert [entry.question for entry in ledger.entries] == [
        "by region, 2 disjoint parts: north, south",
        "north: people",
        "south: people",
    ]
    assert [entry.amount for entry in ledger.entries] == [0.4, 0.0, 0.0]
    assert "epsilon 0.3 paid for all parts" in ledger.entries[1].mechanism
    assert Ledger.from_dict(ledger.to_dict()).entries == ledger.entries
    with pytest.raises(BudgetError, match=r"only 0\.1 of 0\.4 is left"):
        Geometric(epsilon=0.3).release(10, parts["north"], "people again")
    assert len(ledger.entries) == 3


def test_the_whole_must_be_able_to_pay() -> None:
    ledger = Ledger(1.0)
    with pytest.raises(BudgetError, match="nothing was asked"):
        ledger.parallel("by region", ["north", "south"], Budget(1.1))
    assert not ledger.entries


def test_parts_share_delta_and_count_in_rho() -> None:
    ledger = Ledger(1.0, 1e-6)
    parts = ledger.parallel("by region", ["north", "south"], Budget(0.4), 1e-7)
    for part in parts.values():
        part.debit("a mean", Budget(0.4), "Gaussian", 1e-7)
    assert ledger.spent() == (0.4, 1e-7)
    with pytest.raises(BudgetError, match="was given delta 1e-07"):
        parts["north"].debit("another", Budget(0.0), "Gaussian", 1e-7)
    in_rho = Ledger(1.0, 1e-6, currency="rho")
    share = in_rho.budget.equally(2)[0]
    for part in in_rho.parallel("by region", ["north", "south"], share).values():
        part.debit("a table", share, "Gaussian")
    assert in_rho.left.amount == pytest.approx(share.amount)


def test_seeded_noise_in_a_part_marks_the_whole() -> None:
    ledger = Ledger(1.0)
    parts = ledger.parallel("by region", ["north", "south"], Budget(0.4))
    Geometric(epsilon=0.1).release(1, parts["north"], "people", noise=SeededNoise(1))
    assert not ledger.private


def test_a_part_promises_nothing_by_itself() -> None:
    ledger = Ledger(1.0)
    part = ledger.parallel("by region", ["north", "south"], Budget(0.4))["north"]
    part.debit("people", Budget(0.1), "geometric")
    with pytest.raises(InputError, match="ledger of the whole"):
        part.statement()


@pytest.mark.parametrize(
    ("ledger", "parts", "said"),
    [
        (Ledger(1.0), ["north"], "two parts or more"),
        (Ledger(1.0), ["north", "north"], "two parts or more"),
        (Ledger(1.0), [1, 2], "two parts or more"),
        (Ledger(1.0, neighbours="replace"), ["north", "south"], "leave one part and join another"),
        (Ledger(1.0, max_rows_per_person=3), ["north", "south"], "say whole_persons=True"),
    ],
)
def test_parts_that_do_not_add_up_are_refused(ledger: Ledger, parts: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ledger.parallel("by region", parts, Budget(0.4))
    assert not ledger.entries


def test_persons_who_stay_in_one_part() -> None:
    ledger = Ledger(1.0, max_rows_per_person=3)
    parts = ledger.parallel("by home", ["here", "there"], Budget(0.5), whole_persons=True)
    assert parts["here"].max_rows_per_person == 3


def test_why_a_replaced_row_is_not_in_one_part() -> None:
    """It leaves one count and joins another: both change, at epsilon each."""
    before, after = np.array([5, 5]), np.array([4, 6])
    assert float(np.abs(before - after).sum()) / Geometric(epsilon=1.0).scale == 2


# --------------------------------------------------------------------------- groups


def test_a_group_costs_as_many_times_epsilon() -> None:
    ledger = Ledger(0.1)
    assert ledger.for_group(10).epsilon == 0  # nothing was asked
    Geometric(epsilon=0.1).release(5, ledger, "a count")
    promise = ledger.for_group(30)
    assert (promise.epsilon, promise.delta) == (3.0, 0.0)
    assert "adding or removing any 30 rows" in str(promise)
    assert "a weak promise" in str(promise)


def test_a_group_is_as_far_apart_as_its_noise_says() -> None:
    """Geometric noise on counts k apart: exactly k epsilon."""
    steps = np.arange(-50, 51)
    mechanism = Geometric(epsilon=0.1)
    loss = np.abs(mechanism.log_pmf(steps) - mechanism.log_pmf(steps - 7)).max()
    assert loss == pytest.approx(group_promise(0.1, 0.0, 7).epsilon)


def test_delta_of_a_group_grows_with_every_member() -> None:
    promise = group_promise(0.5, 1e-6, 3)
    assert promise.epsilon == 1.5
    assert promise.delta == pytest.approx(1e-6 * (1 + math.exp(0.5) + math.exp(1.0)))
    assert group_promise(10.0, 1e-6, 100).delta == 1.0
    assert group_promise(0.0, 1e-6, 3).delta == pytest.approx(3e-6)


def test_rho_of_a_group_grows_by_the_square() -> None:
    ledger = Ledger(0.5, 1e-6, currency="rho")
    ledger.debit("a table", ledger.budget, "Gaussian")
    promise = ledger.for_group(4)
    assert promise.delta == 1e-6
    assert promise.epsilon == pytest.approx(epsilon_of(16 * rho_of(0.5, 1e-6), 1e-6))
    assert ledger.for_group(1).epsilon == pytest.approx(0.5)


def test_thresholds_are_not_forgotten_in_a_group() -> None:
    ledger = Ledger.for_discovery(0.5, 1e-6)
    ledger.debit("categories", Budget(0.0, "rho"), "threshold", 1e-7)
    assert ledger.for_group(4) == group_promise(0.5, 1e-6, 4, ledger.for_group(4).change)


def test_a_group_of_persons_is_called_so() -> None:
    ledger = Ledger(1.0, max_rows_per_person=5)
    Geometric(epsilon=1.0, sensitivity=5).release(5, ledger, "visits")
    assert "all rows of any 2 persons" in str(ledger.for_group(2))


@pytest.mark.parametrize("members", [0, -1, 1.5, True, "2"])
def test_a_group_has_members(members: object) -> None:
    with pytest.raises(InputError, match="whole number of members"):
        Ledger(1.0).for_group(members)  # type: ignore[arg-type]


# --------------------------------------------------------------------------- sums


def test_sums_are_exact() -> None:
    assert compose([(0.1, 1e-7)] * 3) == (0.3, 3e-7)
    assert compose_disjoint([(0.1, 1e-7), (0.2, 0.0)]) == (0.2, 1e-7)
    with pytest.raises(InputError, match="epsilon must be"):
        compose([(-0.1, 0.0)])


def test_many_releases_are_cheaper_in_rho() -> None:
    each = rho_of(0.1, 1e-6)
    epsilon, delta = compose_zcdp([each] * 100, 1e-6)
    assert delta == 1e-6
    assert 0.9 < epsilon < 1.3  # ten times one of them, not a hundred times
