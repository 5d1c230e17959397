"""Real numbers drawn at random, exactly: known as closely as anybody asks.

A uniform number is a stream of random bits of which only as many are drawn as are needed. What is
computed from it is computed twice, rounded down and rounded up, so that the true value lies
between. Where that does not settle a question (which whole number is it nearest to?), more bits are
drawn. So the answer is that of real numbers, and no rounding shows in it.

Sums, products and quotients are rounded in the right direction by :mod:`decimal`; its logarithms
and roots are rounded to the nearest number, so the next one on either side bounds them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache

from understudy.privacy.exact_noise import WORD, WordSource, system_words

FIRST_BITS = 64
"""How closely a number is known at first."""


@dataclass(frozen=True)
class Interval:
    """A real number lies from ``low`` to ``high``; arithmetic keeps that true."""

    low: Decimal
    high: Decimal
    digits: int

    @property
    def _down(self) -> Context:
        return Context(prec=self.digits, rounding=ROUND_FLOOR)

    @property
    def _up(self) -> Context:
        return Context(prec=self.digits, rounding=ROUND_CEILING)

    def plus(self, other: Interval) -> Interval:
        """The sum."""
        return self._make(self._down.add(self.low, other.low), self._up.add(self.high, other.high))

    def times(self, other: Interval) -> Interval:
        """The product: its ends are among those of the factors' ends."""
        ends = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return self._make(
            min(self._down.multiply(a, b) for a, b in ends),
            max(self._up.multiply(a, b) for a, b in ends),
        )

    def square(self) -> Interval:
        """The square, which is never negative."""
        both = self.times(self)
        if self.low <= 0 <= self.high:
            return self._make(Decimal(0), both.high)
        return both

    def over(self, other: Interval) -> Interval:
        """The quotient by a positive number of a number that is not negative."""
        return self._make(
            self._down.divide(self.low, other.high), self._up.divide(self.high, other.low)
        )

    def log(self) -> Interval:
        """The natural logarithm of a positive number."""
        return self._make(
            self._down.next_minus(self._down.ln(self.low)),
            self._up.next_plus(self._up.ln(self.high)),
        )

    def root(self) -> Interval:
        """The square root of a number that is not negative."""
        low = self._down.next_minus(self._down.sqrt(max(self.low, Decimal(0))))
        return self._make(max(low, Decimal(0)), self._up.next_plus(self._up.sqrt(self.high)))

    def _make(self, low: Decimal, high: Decimal) -> Interval:
        return Interval(low, high, self.digits)


def fraction_interval(number: Fraction, bits: int) -> Interval:
    """A rational number, known to about this many bits."""
    return _quotient(number.numerator, number.numerator, number.denominator, bits)


def _quotient(low: int, high: int, whole: int, bits: int) -> Interval:
    """What lies from low / whole to high / whole, in digits enough for this many bits."""
    digits = bits * 31 // 100 + 10
    denominator = Decimal(whole)
    return Interval(
        Context(prec=digits, rounding=ROUND_FLOOR).divide(Decimal(low), denominator),
        Context(prec=digits, rounding=ROUND_CEILING).divide(Decimal(high), denominator),
        digits,
    )


Real = Callable[[int], Interval]
"""A real number, as closely as it is asked for, in bits."""


class Uniform:
    """A number from 0 to 1, all equally likely, of which ever more bits can be drawn."""

    def __init__(self, words: WordSource = system_words) -> None:
        self._words = words
        self._number, self._bits = 0, 0

    def __call__(self, bits: int) -> Interval:
        """The number, known to at least this many bits."""
        while self._bits < bits:
            self._number = self._number << WORD | int(self._words(1)[0])
            self._bits += WORD
        return _quotient(self._number, self._number + 1, 1 << self._bits, bits)


def normal_pair(words: WordSource = system_words) -> tuple[Real, Real]:
    """Two independent standard normal numbers, by Marsaglia's polar method.

    A point is drawn from a square until it lies within the circle of radius 1; with s the square of
    its distance from the middle, its coordinates times sqrt(-2 log(s) / s) are normal.
    """
    while True:
        across, up = Uniform(words), Uniform(words)
        if _within_circle(across, up):
            break

    def coordinate(which: Uniform) -> Real:
        @cache
        def at(bits: int) -> Interval:
            square = _distance(across, up, bits)
            if square.low <= 0:
                raise UndecidedError
            minus_two = Interval(Decimal(-2), Decimal(-2), square.digits)
            stretch = square.log().times(minus_two).over(square).root()
            return _from_minus_one(which, bits).times(stretch)

        return at

    return coordinate(across), coordinate(up)


class UndecidedError(Exception):
    """More bits are needed."""


def _from_minus_one(uniform: Uniform, bits: int) -> Interval:
    """A uniform number from -1 to 1."""
    whole = uniform(bits)
    two, minus_one = (
        Interval(Decimal(number), Decimal(number), whole.digits) for number in (2, -1)
    )
    return whole.times(two).plus(minus_one)


def _distance(across: Uniform, up: Uniform, bits: int) -> Interval:
    return _from_minus_one(across, bits).square().plus(_from_minus_one(up, bits).square())


def _within_circle(across: Uniform, up: Uniform) -> bool:
    bits = WORD
    while True:
        square = _distance(across, up, bits)
        if square.high < 1:
            return True
        if square.low >= 1:
            return False
        bits *= 2


def normals(count: int, words: WordSource = system_words) -> list[Real]:
    """Independent standard normal numbers, as many as asked for."""
    found: list[Real] = []
    while len(found) < count:
        found += normal_pair(words)
    return found[:count]


def norm(numbers: list[Real]) -> Real:
    """The Euclidean norm of several numbers."""

    @cache
    def at(bits: int) -> Interval:
        first, *rest = (number(bits).square() for number in numbers)
        for square in rest:
            first = first.plus(square)
        return first.root()

    return at


def round_exactly(number: Real, first_bits: int = FIRST_BITS) -> int:
    """The nearest whole number to a real one: with probability 1 some number of bits settles it."""
    bits = first_bits
    while True:
        try:
            interval = number(bits)
        except UndecidedError:
            bits *= 2
            continue
        low, high = (math.floor(Fraction(end) + Fraction(1, 2)) for end in _ends(interval))
        if low == high:
            return low
        bits *= 2


def _ends(interval: Interval) -> tuple[Decimal, Decimal]:
    return interval.low, interval.high
