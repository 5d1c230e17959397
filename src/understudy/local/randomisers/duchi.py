"""Duchi's randomiser: only signs are reported."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.local.randomisers.base import (
    FiniteRandomiser,
    Floats,
    Integers,
    Reports,
    check_persons,
    check_reports,
)
from understudy.local.randomisers.drawing import draw_in_batches
from understudy.local.randomisers.numeric import (
    NUMBER_STEPS,
    MeanRandomiser,
    check_sums,
    divide_sums,
)
from understudy.local.randomisers.thresholds import exp_of
from understudy.local.randomisers.unary import (
    all_bits,
    has_bit,
    part_count,
    parts_possible,
    tally_bits,
)
from understudy.local.randomisers.words import WHOLE, WORD_BITS, Words

STEP_BITS = NUMBER_STEPS.bit_length() - 1
"""A word without all but its upper bits is compared with a step: as many as steps have."""


@lru_cache(maxsize=1 << 10)
def agreeing_signs(dimensions: int) -> int:
    """How many lines of signs agree with a given one in more than half of the places.

    Examples
    --------
    >>> agreeing_signs(3), agreeing_signs(4)
    (4, 5)
    """
    ties = 0
    if dimensions % 2 == 0:
        ties = comb(dimensions, dimensions // 2)
    return (2**dimensions - ties) // 2


@lru_cache(maxsize=1 << 10)
def agree_words(dimensions: int, epsilon: float) -> int:
    """How many words make a report agree with the signs in more than half of the places, rounded
    down: e^epsilon C / ((e^epsilon - 1) C + 2^dimensions) of them, C being the number of reports
    that do.
    """
    many, ratio = agreeing_signs(dimensions), exp_of(epsilon)
    return int(WHOLE * ratio * many / ((ratio - 1) * many + 2**dimensions))


def draw_signs(steps: Sequence[int], agree: int, words: Words) -> int:
    """The signs that are reported for numbers at these steps, bit j being 1 for a plus.

    For each number a word is read: its sign is a plus if the upper 20 bits are below the step. A
    word below ``agree`` says that the report agrees with the signs in more than half of the places,
    any other one that it does not. Then words are read until one does, bit j telling whether the
    report agrees at place j.
    """
    truth = 0
    for place, step in enumerate(steps):
        truth |= (words.next() >> (WORD_BITS - STEP_BITS) < step) << place
    agrees = words.next() < agree
    every = (1 << len(steps)) - 1
    while True:
        drawn = words.next() & every
        if (2 * drawn.bit_count() > len(steps)) == agrees:
            return ~(truth ^ drawn) & every


@dataclass(frozen=True, kw_only=True)
class Duchi(MeanRandomiser, FiniteRandomiser):
    """Duchi's randomiser of one or several numbers: each is rounded at random to its lowest or
    highest value, and a line of signs is reported that agrees with these in more than half of the
    places, or in at most half of them.

    For an even number of dimensions there are ties. They count as not agreeing, and the probability
    of agreeing is lowered for it (Nguyen et al. 2016); the form in which they count as both loses
    ln(1 + e^epsilon).

    A report holds 32 signs in a number, as a unary encoding does. Words are read as
    :func:`~understudy.local.randomisers.duchi.draw_signs` says.

    Examples
    --------
    >>> Duchi(epsilon=1.0, dimensions=4).loss <= 1.0
    True
    """

    kind: ClassVar[str] = "duchi"

    @property
    def agree(self) -> int:
        """How many words make a report agree in more than half of the places."""
        return agree_words(self.dimensions, self.epsilon)

    @property
    def ratio(self) -> Fraction:
        """That of a report that agrees, and of one that does not."""
        many = agreeing_signs(self.dimensions)
        return Fraction(self.agree * (2**self.dimensions - many), (WHOLE - self.agree) * many)

    def thresholds(self) -> dict[str, int]:
        """How many words make a report agree in more than half of the places."""
        return {"agree": self.agree}

    @property
    def slope(self) -> Fraction:
        """The mean of the reported sign at a place where the true one is a plus.

        Among lines of signs that agree in more than half of the places, comb(d - 1, j - 1) agree at
        a given place and in j places in all. So the sum of signs at that place is the number of
        lines of the other d - 1 that are split evenly, or as evenly as can be.
        """
        d, many = self.dimensions, agreeing_signs(self.dimensions)
        split = comb(d - 1, d // 2)
        honest = Fraction(self.agree, WHOLE)
        return honest * Fraction(split, many) - (1 - honest) * Fraction(split, 2**d - many)

    @property
    def width(self) -> int:
        """32 signs in a number."""
        return part_count(self.dimensions)

    def _draw(self, codes: Integers, words: Words) -> Reports:
        signs = np.zeros(len(codes), dtype=np.uint64)

        def draw_one(place: int) -> None:
            signs[place] = draw_signs(codes[place].tolist(), self.agree, words)

        def draw_many(kernels: Any, start: int, end: int, taken: Any) -> tuple[int, int]:
            halfway, agree = WORD_BITS - STEP_BITS, np.uint64(self.agree)
            ready, used = kernels.draw_signs(
                codes[start:end], halfway, agree, taken, signs[start:end]
            )
            return ready, used

        draw_in_batches(len(codes), self.dimensions + 3, words, draw_one, draw_many)
        parts = signs.astype("<u8", copy=False).view("<u4").reshape(len(codes), 2)[:, : self.width]
        return parts.astype(np.uint32, copy=False)

    def is_possible(self, reports: Any) -> NDArray[np.bool_]:
        """For each line, whether it has no sign beyond those of the numbers."""
        return parts_possible(check_reports(reports, self.width), self.dimensions)

    def tally(self, reports: Any) -> Integers:
        """For each dimension how many reports there are, and how many pluses."""
        pluses = tally_bits(reports, self.dimensions)
        return np.stack([np.full(self.dimensions, len(reports)), pluses])

    def estimate(self, tally: Any, persons: int) -> Floats:
        """The mean of each number, without bias."""
        check_persons(persons)
        counts, pluses = check_sums(tally, self.dimensions)
        return self._remove_bias(2 * divide_sums(pluses.astype(np.float64), counts) - 1)

    def _remove_bias(self, signs: Floats) -> Floats:
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        return middle + half * signs / float(self.slope)

    def decode(self, reports: Any) -> Floats:
        """What each report says of each number, without bias: one of two values, far outside."""
        lines = check_reports(reports, self.width)
        bits = [lines[:, place // 32] >> place % 32 & 1 for place in range(self.dimensions)]
        return self._remove_bias(2.0 * np.stack(bits, axis=1) - 1)

    def noise_variance(self, values: Any) -> Floats:
        """The variance of what a report says of each number: the square of its size less the square
        of the number, both from the middle.
        """
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        places = self._take_off_grid(self.encode(values)) - middle
        return (half / float(self.slope)) ** 2 - places**2

    def probability(self, report: Sequence[int], code: Any) -> Fraction:
        """The probability of a report where these are the true steps, exactly."""
        steps = np.atleast_1d(code).tolist()
        honest, many = Fraction(self.agree, WHOLE), agreeing_signs(self.dimensions)
        signs = [has_bit(report, place) for place in range(self.dimensions)]
        chance = Fraction(0)
        for truth in itertools.product((False, True), repeat=self.dimensions):
            weight = Fraction(1)
            for plus, step in zip(truth, steps, strict=True):
                weight *= Fraction((NUMBER_STEPS - step, step)[plus], NUMBER_STEPS)
            agreed = sum(one == other for one, other in zip(signs, truth, strict=True))
            if 2 * agreed > self.dimensions:
                chance += weight * honest / many
            else:
                chance += weight * (1 - honest) / (2**self.dimensions - many)
        return chance

    def possible_reports(self) -> Iterator[tuple[int, ...]]:
        """Every line of signs."""
        return all_bits(self.dimensions)
