"""Unary encodings: one bit per value, each randomised by itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.local.randomisers.base import (
    Integers,
    Reports,
    WordRandomiser,
    check_reports,
)
from understudy.local.randomisers.drawing import KERNELS, PERSONS_AT_A_TIME, draw_in_batches
from understudy.local.randomisers.thresholds import exp_below, exp_of
from understudy.local.randomisers.words import WHOLE, WORD_BITS, UInts, Words
from understudy.privacy.budget import exact

PART = 32
"""Bits of a report that one of its numbers holds: a JavaScript client reads these with ease."""

WORDS_PER_BLOCK = 9
"""Words that 64 bits take, about: the longest of 64 waits for a coin, 7.3 on average."""


# --------------------------------------------------------------------------- bits, in parts


def part_count(size: int) -> int:
    """How many numbers hold this many bits."""
    return -(-size // PART)


def parts_possible(reports: Reports, size: int) -> NDArray[np.bool_]:
    """For each line, whether its numbers hold bits of ``size`` values and no others."""
    limits = [1 << PART] * part_count(size)
    limits[-1] = 1 << (size - PART * (len(limits) - 1))
    possible = np.ones(len(reports), dtype=bool)
    for column, limit in zip(reports.T, limits, strict=True):
        possible &= (column >= 0) & (column < limit)
    return possible


def count_bits(reports: Reports, size: int) -> Integers:
    """How many lines have each bit."""
    counts = np.zeros(part_count(size) * PART, dtype=np.int64)
    kernels = KERNELS.kernels_for(2e-8 * reports.size)
    if kernels is not None:
        kernels.count_bits(np.ascontiguousarray(reports, dtype=np.uint32), counts)
        return counts[:size]
    for start in range(0, len(reports), PERSONS_AT_A_TIME):
        parts = np.ascontiguousarray(reports[start : start + PERSONS_AT_A_TIME], dtype="<u4")
        bits = np.unpackbits(parts.view(np.uint8), axis=1, bitorder="little")
        counts += bits.sum(axis=0, dtype=np.int64)
    return counts[:size]


def tally_bits(reports: Any, size: int) -> Integers:
    """How many reports have each bit, if all of them are possible."""
    lines = check_reports(reports, part_count(size))
    if not parts_possible(lines, size).all():
        raise InputError(f"A report has bits beyond those of the {size:,} values; leave it out.")
    return count_bits(lines, size)


def all_bits(size: int) -> Iterator[tuple[int, ...]]:
    """Every report of this many bits."""
    limits = [1 << min(PART, size - start) for start in range(0, size, PART)]
    return itertools.product(*(range(limit) for limit in limits))


def has_bit(report: Sequence[int], value: int) -> bool:
    """Whether a report speaks for a value."""
    return bool(int(report[value // PART]) >> value % PART & 1)


# --------------------------------------------------------------------------- drawing


def draw_bits(codes: Integers, size: int, on_true: int, on_other: int, words: Words) -> Reports:
    """For each code a line of bits, of which that of the code is 1 with probability ``on_true`` /
    2^64 and each other one with probability ``on_other`` / 2^64.

    64 bits are drawn at a time. Bit j of the first word is the highest binary digit of a uniform
    number U_j, bit j of the next word its second digit, and so on. Words are read until each U_j
    differs from its threshold in some digit, 64 words at most; then bit j of the report is 1 where
    U_j lies below its threshold.
    """
    blocks = np.zeros((len(codes), -(-size // WORD_BITS)), dtype=np.uint64)

    def draw_one(place: int) -> None:
        blocks[place] = _draw_line(int(codes[place]), size, on_true, on_other, words)

    def draw_many(kernels: Any, start: int, end: int, taken: UInts) -> tuple[int, int]:
        ready, used = kernels.draw_bits(
            codes[start:end], size, _digits(on_true), _digits(on_other), taken, blocks[start:end]
        )
        return ready, used

    draw_in_batches(len(codes), WORDS_PER_BLOCK * blocks.shape[1], words, draw_one, draw_many)
    parts = blocks.astype("<u8", copy=False).view("<u4")[:, : part_count(size)]
    return parts.astype(np.uint32, copy=False)


def _draw_line(code: int, size: int, on_true: int, on_other: int, words: Words) -> list[int]:
    """The bits of one code, 64 in a number."""
    line = []
    for start in range(0, size, WORD_BITS):
        undecided = (1 << min(size - start, WORD_BITS)) - 1
        own = 0
        if 0 <= code - start < WORD_BITS:
            own = 1 << (code - start)
        below, digit = 0, WORD_BITS
        while undecided and digit:
            digit -= 1
            word = words.next()
            # The thresholds' digits: that of on_other everywhere but at the code's place.
            plane = -(on_other >> digit & 1) & ~own | -(on_true >> digit & 1) & own
            below |= undecided & plane & ~word
            undecided &= ~(word ^ plane)
        line.append(below)
    return line


@lru_cache(maxsize=256)
def _digits(threshold: int) -> NDArray[np.uint64]:
    """For each binary digit of a threshold, the highest first, all ones or all zeros."""
    digits = [threshold >> place & 1 for place in reversed(range(WORD_BITS))]
    return np.array([digit * (WHOLE - 1) for digit in digits], dtype=np.uint64)


# --------------------------------------------------------------------------- the encodings


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(WordRandomiser):
    """One bit per value: that of the true one is reported as 1 with probability p, each other one
    with probability q, all independently.

    A report holds 32 bits in a number: bit v % 32 of number v // 32 is that of value v. Changing
    the value changes two bits, so the largest ratio is p (1 - q) / (q (1 - p)).
    """

    @property
    def ratio(self) -> Fraction:
        """Both bits speak for one value and against the other: p (1 - q) / (q (1 - p))."""
        return self.p * (1 - self.q) / (self.q * (1 - self.p))

    def thresholds(self) -> dict[str, int]:
        """A bit is 1 where its uniform number lies below these."""
        return dict(zip(("true", "other"), self._words, strict=True))

    @property
    def width(self) -> int:
        """32 bits in a number."""
        return part_count(self.size)

    def _draw(self, codes: Integers, words: Words) -> Reports:
        return draw_bits(codes, self.size, *self._words, words)

    def is_possible(self, reports: Any) -> NDArray[np.bool_]:
        """For each line, whether it has no bit beyond those of the values."""
        return parts_possible(check_reports(reports, self.width), self.size)

    def tally(self, reports: Any) -> Integers:
        """How many reports have the bit of each value."""
        return tally_bits(reports, self.size)

    def probability(self, report: Sequence[int], code: int) -> Fraction:
        """The probability of a report where this is the true value, exactly."""
        chance = Fraction(1)
        for value in range(self.size):
            on = (self.q, self.p)[value == code]
            chance *= (1 - on, on)[has_bit(report, value)]
        return chance

    def possible_reports(self) -> Iterator[tuple[int, ...]]:
        """Every choice of bits."""
        return all_bits(self.size)


@lru_cache(maxsize=1 << 10)
def symmetric_words(epsilon: float) -> tuple[int, int]:
    """With q = 1 - p the ratio is (p / (1 - p))^2, so p / (1 - p) <= e^(epsilon / 2) suffices."""
    other = -(-WHOLE // (exp_below(exact(epsilon) / 2) + 1))
    return WHOLE - other, other


@lru_cache(maxsize=1 << 10)
def optimal_words(epsilon: float) -> tuple[int, int]:
    """With p = 1/2 the ratio is (1 - q) / q, so q >= 1 / (e^epsilon + 1) suffices."""
    return WHOLE // 2, -(-WHOLE // (exp_of(epsilon) + 1))


@dataclass(frozen=True, kw_only=True)
class SymmetricUnary(UnaryEncoding):
    """Symmetric unary encoding (SUE): every bit is told truly with probability e^(epsilon / 2) /
    (e^(epsilon / 2) + 1).

    Examples
    --------
    >>> race = SymmetricUnary(size=5, epsilon=5.0)
    >>> round(float(race.variance(32561, [0] * 5)[0]) ** 0.5)  # of a rare value
    56
    """

    kind: ClassVar[str] = "symmetric unary"

    @property
    def _words(self) -> tuple[int, int]:
        return symmetric_words(self.epsilon)


@dataclass(frozen=True, kw_only=True)
class OptimalUnary(UnaryEncoding):
    """Optimal unary encoding (OUE): the bit of the true value is told truly with probability 1/2,
    each other one with probability e^epsilon / (e^epsilon + 1). Of all unary encodings this
    estimates rare values best.

    Examples
    --------
    >>> race = OptimalUnary(size=5, epsilon=5.0)
    >>> round(float(race.variance(32561, [0] * 5)[0]) ** 0.5)  # of a rare value
    30
    """

    kind: ClassVar[str] = "optimal unary"

    @property
    def _words(self) -> tuple[int, int]:
        return optimal_words(self.epsilon)


@lru_cache(maxsize=1 << 10)
def threshold_words(epsilon: float, theta: float) -> tuple[int, int]:
    """With Laplace noise of scale 2 / epsilon in each of the numbers 0 ... 0, 1, 0 ... 0: p = 1 -
    e^(-(1 - theta) epsilon / 2) / 2 that the 1 stays above theta, q = e^(-theta epsilon / 2) / 2
    that a 0 rises above it. p is rounded down and q up, both against the truth.
    """
    half, place = exact(epsilon) / 2, exact(theta)
    missed = -(-WHOLE // (2 * exp_below(half * (1 - place))))
    return WHOLE - missed, -(-WHOLE // (2 * exp_below(half * place)))


@lru_cache(maxsize=1 << 10)
def best_theta(epsilon: float) -> float:
    """The threshold with the smallest variance of the count of a rare value, to four digits.

    It minimises q (1 - q) / (p - q)^2 between 1/2 and 1.

    Examples
    --------
    >>> best_theta(5.0), best_theta(0.5)
    (0.8465, 0.5616)
    """

    def spread(steps: int) -> float:
        keep = 1 - math.exp((steps / 10_000 - 1) * epsilon / 2) / 2
        rise = math.exp(-steps / 10_000 * epsilon / 2) / 2
        return rise * (1 - rise) / (keep - rise) ** 2

    return min(range(5000, 10_001), key=spread) / 10_000


@dataclass(frozen=True, kw_only=True)
class ThresholdHistogram(UnaryEncoding):
    """Thresholding with histogram encoding (THE): Laplace noise of scale 2 / epsilon in each number
    of a one-hot vector, of which only is told whether it is above ``theta``.

    That is a unary encoding, so it is drawn as one: no noise is needed. Its loss is below epsilon
    for most thresholds, so :class:`OptimalUnary` is always better at the same epsilon.

    Parameters
    ----------
    theta
        The threshold, from 0 to 1; by default the one with the smallest variance.

    Examples
    --------
    >>> histogram = ThresholdHistogram(size=14, epsilon=5.0, theta=0.25)
    >>> round(float(histogram.p), 4), round(float(histogram.q), 4)
    (0.9233, 0.2676)
    """

    kind: ClassVar[str] = "threshold histogram"
    theta: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.theta is None:
            object.__setattr__(self, "theta", best_theta(self.epsilon))
        if (
            isinstance(self.theta, bool)
            or not isinstance(self.theta, int | float)
            or not 0 <= self.theta <= 1
        ):
            raise InputError(f"theta must be a number from 0 to 1, not {self.theta!r}.")

    @property
    def _words(self) -> tuple[int, int]:
        assert self.theta is not None  # it was set to the best one
        return threshold_words(self.epsilon, self.theta)
