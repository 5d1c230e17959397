"""Hadamard response: one number from a small set, for very many values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.local.randomisers.base import (
    CategoricalRandomiser,
    FiniteRandomiser,
    Floats,
    Integers,
    Reports,
    check_persons,
    check_reports,
    check_tally,
    in_range,
)
from understudy.local.randomisers.thresholds import exp_of, share_words
from understudy.local.randomisers.words import WHOLE, Words


def walsh_hadamard(table: Integers) -> Integers:
    """The product of each line with the Hadamard matrix H[r, z] = (-1)^(number of ones in r and z),
    in whole numbers.

    Examples
    --------
    >>> walsh_hadamard(np.array([[3, 1, 0, 2]]))
    array([[6, 0, 2, 4]])
    """
    lines, length = table.shape
    result = table.copy()
    step = 1
    while step < length:
        pairs = result.reshape(lines, -1, 2, step)
        result = np.stack(
            [pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2
        )
        step *= 2
    return result.reshape(lines, length)


def parity(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Whether numbers below 2^32 have an odd number of ones."""
    for shift in (16, 8, 4, 2, 1):
        numbers = numbers ^ numbers >> np.uint64(shift)
    return numbers & np.uint64(1)


@lru_cache(maxsize=1 << 10)
def hadamard_shape(size: int, epsilon: float) -> tuple[int, int]:
    """Blocks, and the length of each: the powers of two with the smallest variance.

    A block of length b holds b - 1 values; with B blocks the probabilities are high for the b / 2
    numbers that fit a value, and low for the B b - b / 2 others. The variance of the count of a
    rare value, per person, is about 4 low / (b (high - low)^2).
    """
    ratio = float(exp_of(epsilon))

    def spread(shape: tuple[int, int]) -> float:
        blocks, length = shape
        low = 1 / (length / 2 * ratio + blocks * length - length / 2)
        inside = ((blocks - 1) * length * low + length / 2 * low * (ratio + 1)) / blocks
        return inside / (length / 2 * low * (ratio - 1)) ** 2

    shapes = []
    blocks = 1
    while blocks <= 2 * size:
        rows = -(-size // blocks)
        shapes.append((blocks, 1 << rows.bit_length()))
        blocks *= 2
    return min(shapes, key=spread)


@dataclass(frozen=True, kw_only=True)
class HadamardResponse(CategoricalRandomiser, FiniteRandomiser):
    """Hadamard response (Acharya, Sun and Zhang 2019): one number below blocks x length, a few
    times as many as there are values; counting takes hardly longer than reading.

    Value v belongs to block v mod blocks and to row r = v // blocks + 1 of a Hadamard matrix of
    that length. The numbers that fit it are block x length + z where r and z have an even number of
    ones in common: half of its block. Each of them is reported e^epsilon times as often as any
    other number.

    One word w is read. With ``high`` and ``low`` words for a number that fits and one that does not
    (length / 2 high + (blocks length - length / 2) low = 2^64): if w < length / 2 high, the report
    is number i = w // high of those that fit. Else i = (w - length / 2 high) // low: below length /
    2 number i of the others in the block; from there on, with j = i - length / 2, place j % length
    of block (v + 1 + j // length) mod blocks. Number i of those that fit (or not) is i with one
    binary digit put in where the highest one of r stands, chosen such that the ones in common with
    r are even (odd).

    Examples
    --------
    >>> towns = HadamardResponse(size=5000, epsilon=1.0)
    >>> towns.blocks, towns.length
    (1, 8192)
    """

    kind: ClassVar[str] = "hadamard"
    max_size: ClassVar[int] = 1 << 20

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return hadamard_shape(self.size, self.epsilon)[0]

    @property
    def length(self) -> int:
        """How many numbers a block has."""
        return hadamard_shape(self.size, self.epsilon)[1]

    @cached_property
    def _words(self) -> tuple[int, int]:
        """For numbers that fit and for others. Half a length divides 2^64 and the number of
        others: no word is left over.
        """
        half = self.length // 2
        return share_words(half, self.blocks * self.length - half, exp_of(self.epsilon))

    @property
    def ratio(self) -> Fraction:
        """The ratio high / low."""
        return Fraction(*self._words)

    def thresholds(self) -> dict[str, int]:
        """How many words each number gets: one that fits, and another one."""
        high, low = self._words
        return {"blocks": self.blocks, "length": self.length, "high": high, "low": low}

    @property
    def width(self) -> int:
        """A report is one number."""
        return 1

    def _draw(self, codes: Integers, words: Words) -> Reports:
        drawn = words.take(len(codes))
        high, low = (np.uint64(number) for number in self._words)
        blocks, length = np.uint64(self.blocks), np.uint64(self.length)
        half = np.uint64(self.length // 2)
        values = codes.astype(np.uint64)
        own, rows = values % blocks, values // blocks + np.uint64(1)
        fits = drawn < half * high
        others = (drawn - half * high) // low
        far = ~fits & (others >= half)
        near = _put_in(np.where(fits, drawn // high, others) % half, rows, ~fits)
        beyond = others - half
        elsewhere = (own + np.uint64(1) + beyond // length) % blocks
        reports = np.where(far, elsewhere * length + beyond % length, own * length + near)
        return reports.astype(np.int64)[:, None]

    def is_possible(self, reports: Any) -> NDArray[np.bool_]:
        """For each line, whether it is one of the numbers."""
        return in_range(check_reports(reports, 1), self.blocks * self.length)

    def tally(self, reports: Any) -> Integers:
        """For each value, how many reports fit it, less those in its block that do not."""
        lines = check_reports(reports, 1)
        if not self.is_possible(lines).all():
            raise InputError(f"A report is not below {self.blocks * self.length:,}; leave it out.")
        counted = np.bincount(lines[:, 0].astype(np.int64), minlength=self.blocks * self.length)
        signed = walsh_hadamard(counted.reshape(self.blocks, self.length))
        values = np.arange(self.size)
        return signed[values % self.blocks, values // self.blocks + 1]

    def is_possible_tally(self, tally: Integers, persons: int) -> bool:
        """Whether no value has more reports for or against it than there are."""
        possible = super().is_possible_tally(tally, persons)
        return possible and bool((np.abs(tally) <= persons).all())

    @property
    def _gap(self) -> Fraction:
        """What a person with a value adds to its tally, on average; all others add 0: in their own
        block, half of what fits them fits it, and all numbers of other blocks are equally likely.
        """
        high, low = self._words
        return Fraction(self.length // 2 * (high - low), WHOLE)

    def estimate(self, tally: Any, persons: int) -> Floats:
        """How many persons have each value, without bias; estimates may be negative."""
        check_persons(persons)
        return check_tally(tally, self.size) / float(self._gap)

    def variance(self, persons: int, counts: Any = None) -> Floats:
        """The variance of each estimated count: what a person adds to a tally is 1 or -1 if she
        reports a number of its block, and 0 if not.

        Parameters
        ----------
        persons
            How many report.
        counts
            How many have each value, or an estimate of that; by default equally many.
        """
        having = self._check_counts(persons, counts)
        high, low = self._words
        blocks = np.arange(self.size) % self.blocks
        with_block = np.bincount(blocks, weights=having, minlength=self.blocks)[blocks]
        inside = float(Fraction(self.length // 2 * (high + low), WHOLE))
        outside = float(Fraction(self.length * low, WHOLE))
        gap = float(self._gap)
        squares = with_block * inside + np.maximum(persons - with_block, 0) * outside
        return squares / gap**2 - having

    def probability(self, report: Sequence[int], code: int) -> Fraction:
        """The probability of a report where this is the true value, exactly."""
        high, low = self._words
        block, place = divmod(int(report[0]), self.length)
        row = code // self.blocks + 1
        if block == code % self.blocks and (row & place).bit_count() % 2 == 0:
            return Fraction(high, WHOLE)
        return Fraction(low, WHOLE)

    def possible_reports(self) -> Iterator[tuple[int, ...]]:
        """Every number."""
        return ((number,) for number in range(self.blocks * self.length))


def _put_in(
    numbers: NDArray[np.uint64], rows: NDArray[np.uint64], odd: NDArray[np.bool_]
) -> NDArray[np.uint64]:
    """Numbers with one binary digit put in where the highest one of their row stands, chosen such
    that the ones in common with the row are even in number, or odd.
    """
    highest = np.floor(np.log2(rows.astype(np.float64))).astype(np.uint64)
    unit = np.uint64(1) << highest
    lower = numbers & (unit - np.uint64(1))
    opened = (numbers >> highest << (highest + np.uint64(1))) | lower
    return opened | (parity(opened & rows) ^ odd.astype(np.uint64)) << highest
