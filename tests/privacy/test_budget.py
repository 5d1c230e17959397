"""Amounts of privacy: exact sums, and the conversion between rho and (epsilon, delta)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy import InputError
from understudy.privacy import budget
from understudy.privacy.budget import (
    SMALLEST_EPSILON,
    Budget,
    check_delta,
    check_epsilon,
    check_neighbours,
    epsilon_of,
    exact,
    rho_of,
    round_down,
    total,
)

amounts = st.floats(1e-12, 1e6)


@given(
    whole=amounts,
    weights=st.lists(st.floats(0, 1e6), min_size=1, max_size=30).filter(lambda w: sum(w) > 1e-9),
)
def test_the_parts_of_a_split_never_exceed_the_whole_and_lose_next_to_nothing(
    whole: float, weights: list[float]
) -> None:
    parts = Budget(whole).split(*weights)
    together = total([part.amount for part in parts])
    assert together <= exact(whole)
    assert together >= exact(whole) * (1 - Fraction(1, 10**13))
    for part, weight in zip(parts, weights, strict=True):
        assert part.amount == pytest.approx(whole * weight / sum(weights), rel=1e-9, abs=1e-300)


@given(
    whole=st.integers(1, 10**6).map(lambda steps: steps * math.ulp(0.0)),
    weights=st.lists(st.integers(1, 9).map(float), min_size=1, max_size=5),
)
def test_the_smallest_floats_are_split_without_making_any(
    whole: float, weights: list[float]
) -> None:
    """They have fewer than 15 digits: half of the very smallest would be rounded up to it."""
    parts = Budget(whole).split(*weights)
    assert total([part.amount for part in parts]) <= exact(whole)


@given(st.fractions(-1e6, 1e6, max_denominator=10**9))
def test_rounding_down_loses_no_more_than_the_fifteenth_digit(amount: Fraction) -> None:
    """Whatever its sign is: a stranger's question may name a price below nothing."""
    rounded = exact(round_down(amount))
    assert amount - abs(amount) / 10**14 <= rounded <= amount


@given(whole=amounts, parts=st.integers(1, 200), currency=st.sampled_from(["epsilon", "rho"]))
def test_equal_parts_are_equal_and_keep_the_currency(
    whole: float, parts: int, currency: Any
) -> None:
    shares = Budget(whole, currency).equally(parts)
    assert len(shares) == parts
    assert len({share.amount for share in shares}) == 1
    assert {share.currency for share in shares} == {currency}


def test_three_times_a_tenth_fits_three_tenths() -> None:
    assert 0.1 + 0.1 + 0.1 > 0.3  # what floating point would say
    assert total([0.1, 0.1, 0.1]) == exact(0.3)


def test_a_split_by_decimal_weights_is_exact() -> None:
    assert [part.amount for part in Budget(1.0).split(0.3, 0.7)] == [0.3, 0.7]
    assert [part.amount for part in Budget(0.3).equally(3)] == [0.1, 0.1, 0.1]


@given(amount=st.fractions(Fraction(1, 10**9), 10**9))
def test_rounding_down_never_rounds_up(amount: Fraction) -> None:
    rounded = exact(round_down(amount))
    assert rounded <= amount
    assert rounded >= amount * (1 - Fraction(1, 10**14))


@pytest.mark.parametrize(
    "weights", [(), (0.0,), (0.0, 0.0), (-1.0, 2.0), (math.nan,), (math.inf, 1.0)]
)
def test_weights_that_make_no_sense_are_refused(weights: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="weights"):
        Budget(1.0).split(*weights)


# --------------------------------------------------------------------------- guarantees


@pytest.mark.parametrize(
    "epsilon", [0, -1, math.nan, math.inf, -math.inf, "1", None, True, [1], 1e-310]
)
def test_an_epsilon_that_is_none_is_refused(epsilon: Any) -> None:
    with pytest.raises(InputError, match="epsilon must be"):
        check_epsilon(epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1, 1.5, math.nan, math.inf, "0", None, False])
def test_a_delta_that_is_none_is_refused(delta: Any) -> None:
    with pytest.raises(InputError, match="delta must be"):
        check_delta(delta)


@pytest.mark.parametrize("neighbours", ["add-remove", "", None, ["replace"]])
def test_a_neighbour_relation_that_is_none_is_refused(neighbours: Any) -> None:
    with pytest.raises(InputError, match="neighbours must be"):
        check_neighbours(neighbours)


@pytest.mark.parametrize("value", [1, 0.5, 1e-6, SMALLEST_EPSILON, 700])
def test_proper_epsilons_become_floats(value: float) -> None:
    assert check_epsilon(value) == value
    assert isinstance(check_epsilon(value), float)


# --------------------------------------------------------------------------- conversion


def delta_of(rho: float, epsilon: float) -> float:
    """Canonne, Kamath and Steinke (2020), proposition 12: the infimum over alpha > 1 of
    exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) * (1 - 1/alpha)^alpha,
    searched here by golden sections in log(alpha - 1), where its logarithm has one valley.
    """

    def height(x: float) -> float:
        order = 1 + math.exp(x)
        return (order - 1) * (order * rho - epsilon) - x + order * math.log1p(-1 / order)

    ratio = (math.sqrt(5) - 1) / 2
    low, high = -12.0, 30.0
    for _ in range(200):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if height(left) < height(right) else (left, high)
    return math.exp(min(0.0, height((low + high) / 2)))


@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.015, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9, 1e-15])
def test_the_conversion_is_the_tight_one(rho: float, delta: float) -> None:
    epsilon = epsilon_of(rho, delta)
    if epsilon == 0:  # so little is spent that delta covers it
        assert delta_of(rho, epsilon) <= delta
    else:
        assert delta_of(rho, epsilon) == pytest.approx(delta, rel=1e-4)


@pytest.mark.parametrize("rho", [1e-3, 0.1, 1.0])
def test_the_conversion_beats_the_simple_bound(rho: float) -> None:
    assert epsilon_of(rho, 1e-6) < rho + 2 * math.sqrt(rho * math.log(1e6))


@settings(max_examples=5)
@given(epsilon=st.floats(0.01, 20), digits=st.integers(2, 12))
def test_rho_and_epsilon_are_inverse_and_rho_is_never_too_large(
    epsilon: float, digits: int
) -> None:
    delta = 10.0**-digits
    rho = rho_of(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon
    assert epsilon_of(rho * (1 + 1e-9), delta) > epsilon * (1 - 1e-9)
    assert delta_of(rho, epsilon) <= delta * (1 + 1e-6)


def test_rho_is_found_in_few_conversions_where_a_bisection_takes_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[float] = []

    def convert(rho: float, delta: float) -> float:
        asked.append(rho)
        return epsilon_of(rho, delta)

    monkeypatch.setattr(budget, "epsilon_of", convert)
    for epsilon, delta in ((0.137, 1e-9), (1.37, 1e-6), (73.1, 1e-12)):
        asked.clear()
        rho = rho_of.__wrapped__(epsilon, delta)
        assert len(asked) < 20
        low, high = 0.0, 2.0 ** math.ceil(math.log2(max(rho, 1.0)) + 1e-9)
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if epsilon_of(middle, delta) <= epsilon else (low, middle)
        assert rho == pytest.approx(low, rel=2e-12)


def test_nothing_costs_nothing() -> None:
    assert epsilon_of(0.0, 1e-6) == 0.0


def test_an_epsilon_beyond_all_accounting_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match="protect nobody"):
        rho_of(1e300, 1e-9)
