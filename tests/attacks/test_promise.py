"""What epsilon promises is what the best test can reach, no less and no more."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from understudy.attacks import Promise
from understudy.errors import InputError
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_randomised_response_reaches_the_largest_advantage(epsilon: float) -> None:
    truth = math.exp(epsilon) / (
        1 + math.exp(epsilon)
    )  # said with this probability: exactly epsilon-DP
    assert Promise(epsilon).advantage == pytest.approx(truth - (1 - truth))
    assert Promise(epsilon).accuracy == pytest.approx(truth)
    assert Promise(epsilon, neighbours="replace").most(1 - truth) == pytest.approx(truth)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 0.05), (2.0, 1e-6)])
def test_no_test_that_the_guarantee_allows_does_better(epsilon: float, delta: float) -> None:
    promise, ratio = Promise(epsilon, delta, "replace"), math.exp(epsilon)
    reached = 0.0
    for p, q in itertools.product(np.linspace(0, 1, 401), repeat=2):
        allowed = p <= ratio * q + delta and 1 - q <= ratio * (1 - p) + delta
        if allowed:
            reached = max(reached, p - q)
            assert p <= promise.most(q) + 1e-12
    assert reached <= promise.advantage + 1e-12
    assert reached >= promise.advantage - 0.01


def test_exchanging_two_people_is_two_steps_under_add_remove() -> None:
    promise = Promise(1.0, 1e-6)
    assert promise.exchanged == Promise(2.0, 1e-6 * (1 + math.e), "replace")
    assert Promise(1.0, neighbours="replace").exchanged == Promise(1.0, neighbours="replace")
    assert (
        promise.nearer(10, 10)
        > Promise(1.0).nearer(10, 10)
        == pytest.approx(math.exp(2) / (1 + math.exp(2)))
    )


def test_closest_records_keep_the_bound_and_can_reach_it() -> None:
    # The table is one row; the synthetic row is that row's bit, flipped with the probability that
    # epsilon demands.
    epsilon = 1.0
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    share = 0.0
    for ours, theirs in itertools.product(
        (0, 1), repeat=2
    ):  # all pairs of a row and its holdout, equally likely
        for said in (0, 1):
            chance = (truth if said == ours else 1 - truth) / 4
            nearer = 0.5 if ours == theirs else float(said == ours)
            share += chance * nearer
    bound = Promise(epsilon, neighbours="replace").nearer(1, 1)
    assert 0.5 < share <= bound
    # Given that the two rows differ, which is all that tells them apart, the bound is reached.
    assert (share - 0.25) / 0.5 == pytest.approx(bound)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"epsilon": 1.0, "delta": 2.0}, "delta must be"),
        ({"epsilon": 1.0, "neighbours": "both"}, "neighbours must be"),
    ],
)
def test_a_guarantee_that_is_none_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Promise(**given)


def test_a_ledger_promises_what_was_spent_unless_noise_was_seeded_or_nothing_read() -> None:
    ledger = Ledger(2.0, neighbours="replace")
    assert Promise.of(ledger) is None
    ledger.debit("a count", Budget(0.5), "")
    assert Promise.of(ledger) == Promise(0.5, 0.0, "replace")
    ledger.private = False
    assert Promise.of(ledger) is None


def test_an_epsilon_that_promises_nothing_overflows_nothing() -> None:
    promise = Promise(1e6, 1e-9)
    assert promise.advantage == promise.nearer(100, 50) == 1.0
    assert promise.most(0.001) == 1.0
