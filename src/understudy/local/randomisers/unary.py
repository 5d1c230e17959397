"""Unary encodings: one bit per value, each randomised by itself."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.local.randomisers.base import (
    Integers,
    Reports,
    SupportRandomiser,
    check_reports,
)
from understudy.local.randomisers.thresholds import exp_below, exp_of
from understudy.local.randomisers.words import WHOLE, WORD_BITS, Words
from understudy.machine.plain_first import PlainFirst
from understudy.privacy.budget import exact

PART = 32
"""Bits of a report that one of its numbers holds: a JavaScript client reads these with ease."""

BATCH = 1 << 14
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
    for start in range(0, len(reports), BATCH):
        parts = np.ascontiguousarray(reports[start : start + BATCH], dtype="<u4")
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
    """Every report of so many bits."""
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
    done = 0
    while done < len(codes):
        todo = codes[done : done + BATCH]
        kernels = _KERNELS.kernels_for(1e-5 * len(todo) * blocks.shape[1])
        if kernels is None:
            for place, code in enumerate(todo.tolist()):
                blocks[done + place] = _draw_line(code, size, on_true, on_other, words)
            done += len(todo)
            continue
        taken = words.take((WORDS_PER_BLOCK * len(todo) + WORD_BITS) * blocks.shape[1])
        ready, used = kernels.draw_bits(
            todo, size, _digits(on_true), _digits(on_other), taken, blocks[done:]
        )
        words.give_back(taken[used:])
        done += ready
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


def _load_kernels() -> Any:
    from understudy.local.randomisers import kernels

    return kernels


_KERNELS = PlainFirst(_load_kernels, Path(__file__).with_name("kernels.py"), compiling=2.5)


# --------------------------------------------------------------------------- the encodings


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(SupportRandomiser):
    """One bit per value: that of the true one is reported as 1 with probability p, each other one
    with probability q, all independently.

    A report holds 32 bits in a number: bit v % 32 of number v // 32 is that of value v. Changing
    the value changes two bits, so the largest ratio is p (1 - q) / (q (1 - p)).
    """

    @property
    @abstractmethod
    def _words(self) -> tuple[int, int]:
        """Of 2^64 words, how many make the bit 1: that of the true value, and another one."""

    @property
    def p(self) -> Fraction:
        """The probability that the bit of the true value is reported as 1."""
        return Fraction(self._words[0], WHOLE)

    @property
    def q(self) -> Fraction:
        """The probability that the bit of another value is reported as 1."""
        return Fraction(self._words[1], WHOLE)

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
