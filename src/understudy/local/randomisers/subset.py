"""Subset selection: some of the values, the true one more often among them than any other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.local.randomisers.base import Integers, Reports, SupportRandomiser, check_reports
from understudy.local.randomisers.drawing import draw_in_batches
from understudy.local.randomisers.thresholds import exp_of
from understudy.local.randomisers.unary import (
    PART,
    count_bits,
    has_bit,
    part_count,
    parts_possible,
)
from understudy.local.randomisers.words import WHOLE, WORD_BITS, Words


def draw_subset(code: int, size: int, chosen: int, keep: int, words: Words) -> set[int]:
    """A set of ``chosen`` values. A word below ``keep`` puts the true one in. The rest of the set
    is drawn from the other values, numbered from the one after the true one on, by Floyd's method:
    for each number from size - 1 - rest to size - 2, one that is drawn up to it, or itself where
    that is in the set already.
    """
    found = set()
    rest = chosen
    if words.next() < keep:
        found.add(code)
        rest -= 1
    for last in range(size - 1 - rest, size - 1):
        value = (code + 1 + words.below(last + 1)) % size
        if value in found:
            value = (code + 1 + last) % size
        found.add(value)
    return found


@dataclass(frozen=True, kw_only=True)
class SubsetSelection(SupportRandomiser):
    """Subset selection (Ye and Barg 2018; Wang et al. 2016): a set of about size / (e^epsilon + 1)
    values, as bits like those of a unary encoding. No randomiser has a smaller variance; with sets
    of one value it is direct encoding.

    A set with the true value is e^epsilon times as likely as one without. With ``chosen`` values in
    a set, the true one is among them with probability p = chosen e^epsilon / (chosen e^epsilon +
    size - chosen).

    One word decides whether the true value is in the set; then one word is read for each other
    value (:meth:`~understudy.local.randomisers.words.Words.below`), as
    :func:`~understudy.local.randomisers.subset.draw_subset` says.

    Examples
    --------
    >>> SubsetSelection(size=40, epsilon=1.0).chosen
    11
    """

    kind: ClassVar[str] = "subset selection"
    max_size: ClassVar[int] = 1 << 12

    @cached_property
    def chosen(self) -> int:
        """How many values are in a set."""
        return max(1, round(self.size / (exp_of(self.epsilon) + 1)))

    @cached_property
    def _keep(self) -> int:
        """How many words put the true value into the set, rounded down.

        There are comb(size - 1, chosen - 1) sets with a given value and comb(size - 1, chosen)
        without it, (size - chosen) / chosen times as many.
        """
        matching = self.chosen * exp_of(self.epsilon)
        keep = int(WHOLE * matching / (matching + self.size - self.chosen))
        if self.p_of(keep) <= self.q_of(keep):
            raise InputError("epsilon is too small for this many values; ask for fewer.")
        return keep

    @cached_property
    def _shares(self) -> NDArray[np.uint64]:
        """For each number below size - 1, how many words draw each of the numbers up to it. All
        2^64 of them draw 0 where there is no other, which no word can say.
        """
        shares = [WHOLE // (last + 1) for last in range(1, self.size - 1)]
        return np.array([0, *shares], dtype=np.uint64)

    def p_of(self, keep: int) -> Fraction:
        """The probability that the true value is in the set."""
        return Fraction(keep, WHOLE)

    def q_of(self, keep: int) -> Fraction:
        """The probability that another given value is in the set: the expected number of others,
        shared among them.
        """
        return (self.chosen - Fraction(keep, WHOLE)) / (self.size - 1)

    @property
    def p(self) -> Fraction:
        """The probability that the true value is in the set."""
        return self.p_of(self._keep)

    @property
    def q(self) -> Fraction:
        """The probability that another given value is in the set."""
        return self.q_of(self._keep)

    @property
    def ratio(self) -> Fraction:
        """How many times as likely a set is with the true value as without."""
        return self.p * (self.size - self.chosen) / ((1 - self.p) * self.chosen)

    def thresholds(self) -> dict[str, int]:
        """How many values are in a set, and how many words put the true one in."""
        return {"chosen": self.chosen, "keep": self._keep}

    @property
    def width(self) -> int:
        """32 bits in a number."""
        return part_count(self.size)

    def _draw(self, codes: Integers, words: Words) -> Reports:
        blocks = np.zeros((len(codes), -(-self.size // WORD_BITS)), dtype=np.uint64)

        def draw_one(place: int) -> None:
            code = int(codes[place])
            for value in draw_subset(code, self.size, self.chosen, self._keep, words):
                blocks[place, value // WORD_BITS] |= np.uint64(1 << value % WORD_BITS)

        def draw_many(kernels: Any, start: int, end: int, taken: Any) -> tuple[int, int]:
            ready, used = kernels.draw_subsets(
                codes[start:end],
                self.chosen,
                np.uint64(self._keep),
                self._shares,
                taken,
                blocks[start:end],
            )
            return ready, used

        draw_in_batches(len(codes), 1 + self.chosen, words, draw_one, draw_many)
        parts = blocks.astype("<u8", copy=False).view("<u4")[:, : self.width]
        return parts.astype(np.uint32, copy=False)

    def is_possible(self, reports: Any) -> NDArray[np.bool_]:
        """For each line, whether it is a set of the right number of values."""
        lines = check_reports(reports, self.width)
        possible = parts_possible(lines, self.size)
        ones = np.bitwise_count(lines[possible].astype(np.uint32)).sum(axis=1, dtype=np.int64)
        possible[possible] = ones == self.chosen
        return possible

    def tally(self, reports: Any) -> Integers:
        """How many sets each value is in."""
        lines = check_reports(reports, self.width)
        if not self.is_possible(lines).all():
            raise InputError(f"A report is not a set of {self.chosen:,} values; leave it out.")
        return count_bits(lines, self.size)

    def is_possible_tally(self, tally: Integers, persons: int) -> bool:
        """Whether each set has as many values as it must have."""
        possible = super().is_possible_tally(tally, persons)
        return possible and int(tally.sum()) == self.chosen * persons

    def probability(self, report: Sequence[int], code: int) -> Fraction:
        """The probability of a set where this is the true value, exactly."""
        if has_bit(report, code):
            return self.p / comb(self.size - 1, self.chosen - 1)
        return (1 - self.p) / comb(self.size - 1, self.chosen)

    def possible_reports(self) -> Iterator[tuple[int, ...]]:
        """Every set."""
        for values in combinations(range(self.size), self.chosen):
            parts = [0] * self.width
            for value in values:
                parts[value // PART] |= 1 << value % PART
            yield tuple(parts)
