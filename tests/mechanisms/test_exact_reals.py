"""Real numbers are known as closely as they are asked for, and rounding never shows."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from chance import fits, seeded_words
from hypothesis import given
from hypothesis import strategies as st

from understudy.mechanisms.exact_reals import (
    Interval,
    Real,
    UndecidedError,
    Uniform,
    fraction_interval,
    norm,
    normals,
    round_exactly,
)

DIGITS = 30


def interval(low: int, high: int) -> Interval:
    return Interval(Decimal(low) / 7, Decimal(high) / 7, DIGITS)


def holds(found: Interval, number: float) -> bool:
    room = 1e-9 * max(1.0, abs(number))
    return float(found.low) <= number + room and float(found.high) >= number - room


@given(*[st.integers(-100, 100)] * 3, st.integers(0, 50), st.integers(0, 50))
def test_arithmetic_keeps_the_number_between(
    a: int, b: int, at: int, wide: int, wider: int
) -> None:
    one, two = interval(a, a + wide), interval(b, b + wider)
    share = (at + 100) / 200
    x, y = (a + share * wide) / 7, (b + share * wider) / 7
    assert holds(one.plus(two), x + y)
    assert holds(one.times(two), x * y)
    assert holds(one.square(), x * x)
    assert one.square().low >= 0
    if a > 0 and b > 0:
        assert holds(one.over(two), x / y)
        assert holds(one.log(), math.log(x))
        assert holds(one.root(), math.sqrt(x))


@given(st.fractions(-100, 100), st.integers(8, 200))
def test_a_fraction_lies_between_its_bounds(number: Fraction, bits: int) -> None:
    found = fraction_interval(number, bits)
    assert Fraction(found.low) <= number <= Fraction(found.high)
    assert Fraction(found.high) - Fraction(found.low) <= abs(number) / 2**bits


def test_more_bits_are_more_of_the_same_number() -> None:
    uniform = Uniform(seeded_words(1))
    rough = uniform(32)
    fine = uniform(512)
    assert rough.low <= fine.low <= fine.high <= rough.high
    assert fine.high - fine.low < Decimal(2) ** -500


@pytest.mark.parametrize("seed", range(20))
def test_rounding_does_not_depend_on_how_closely_one_looks_first(seed: int) -> None:
    """The words drawn first are the same, so the number is; only how many are looked at differs."""

    def number() -> Real:
        stored = {}
        words = seeded_words(seed)
        uniforms = normals(4, words)
        length = norm(uniforms)

        def at(bits: int) -> Interval:
            stored.setdefault("first", [uniform(512) for uniform in uniforms])
            return length(bits).times(fraction_interval(Fraction(1000), bits))

        return at

    assert round_exactly(number(), 16) == round_exactly(number(), 400)


def test_what_lies_on_an_edge_is_looked_at_more_closely() -> None:
    asked = []

    def near_a_half(bits: int) -> Interval:
        asked.append(bits)
        return fraction_interval(Fraction(1, 2) - Fraction(1, 2**200), bits)

    assert round_exactly(near_a_half) == 0
    assert asked == [64, 128, 256]


def test_a_point_that_cannot_be_told_from_the_middle_is_looked_at_more_closely() -> None:
    """Its first 64 bits are those of the middle, where no normal number is. Those that come next
    say that it lies 7 / 2^95 to the right, and as far up.
    """
    first = iter([1 << 31, 1 << 31, 0, 0, 7, 0, 7, 0])
    points = normals(2, lambda size: np.array([next(first, 0) for _ in range(size)]))
    for point in points:
        with pytest.raises(UndecidedError):
            point(64)
    expected = round(math.sqrt(-math.log(2 * (7 / 2**95) ** 2)))
    assert [round_exactly(point) for point in points] == [expected, expected]


def test_normal_numbers_are_normal() -> None:
    words = seeded_words(2)
    numbers = np.array([float(number(64).low) for number in normals(600, words)])
    shares = np.array([0.5 * math.erfc(-number / math.sqrt(2)) for number in numbers])
    assert fits(np.bincount((shares * 10).astype(int), minlength=10), np.full(10, 0.1))
