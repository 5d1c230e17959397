"""Direct encoding (k-RR): the true value, or any other one."""

from __future__ import annotations

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
    in_range,
)
from understudy.local.randomisers.drawing import KERNELS
from understudy.local.randomisers.thresholds import exp_of, share_words
from understudy.local.randomisers.words import UInts, Words


@lru_cache(maxsize=1 << 10)
def direct_words(size: int, epsilon: float) -> tuple[int, int]:
    """How many words the true value gets, and each other one; together all of them."""
    return share_words(1, size - 1, exp_of(epsilon))


def draw_direct(codes: Integers, size: int, keep: int, other: int, words: UInts) -> Integers:
    """A word below ``keep`` reports the code; the next ``other`` words report the code after it,
    the next ``other`` ones the one after that, and so on round to the one before it.
    """
    kernels = KERNELS.kernels_for(2e-8 * len(codes))
    if kernels is not None:
        reports = np.empty(len(codes), dtype=np.int64)
        kernels.draw_direct(codes, size, np.uint64(keep), np.uint64(other), words, reports)
        return reports
    offsets = (words - np.uint64(keep)) // np.uint64(other) + np.uint64(1)
    lies = (codes + offsets.astype(np.int64)) % size
    return np.where(words < np.uint64(keep), codes, lies)


@dataclass(frozen=True, kw_only=True)
class DirectEncoding(WordRandomiser):
    """Direct encoding, also called k-ary or generalised randomised response: the truth with
    probability p = e^epsilon / (e^epsilon + size - 1), each other value with q = (1 - p) /
    (size - 1).

    A report is one number, the value. One word w is read. With ``keep`` and ``other`` the whole
    numbers of words of the true value and of each other one, keep + (size - 1) other = 2^64: the
    report is the true value v if w < keep, and else (v + 1 + (w - keep) // other) mod size.

    Examples
    --------
    >>> occupation = DirectEncoding(size=14, epsilon=5.0)
    >>> round(float(occupation.p), 4), round(float(occupation.q), 4)
    (0.9195, 0.0062)
    >>> reports = occupation.perturb([3, 3, 0, 13])
    >>> occupation.estimate(occupation.tally(reports), 4).shape
    (14,)
    """

    kind: ClassVar[str] = "direct"
    max_size: ClassVar[int] = 1 << 20

    @property
    def _words(self) -> tuple[int, int]:
        return direct_words(self.size, self.epsilon)

    @property
    def ratio(self) -> Fraction:
        """The ratio p / q."""
        return Fraction(*self._words)

    def thresholds(self) -> dict[str, int]:
        """How many words keep the true value, and how many report another given one."""
        return dict(zip(("keep", "other"), self._words, strict=True))

    @property
    def width(self) -> int:
        """A report is one number."""
        return 1

    def _draw(self, codes: Integers, words: Words) -> Reports:
        return draw_direct(codes, self.size, *self._words, words.take(len(codes)))[:, None]

    def is_possible(self, reports: Any) -> NDArray[np.bool_]:
        """For each line, whether it is one of the values."""
        return in_range(check_reports(reports, 1), self.size)

    def tally(self, reports: Any) -> Integers:
        """How many reports name each value."""
        lines = check_reports(reports, 1)
        if not self.is_possible(lines).all():
            raise InputError(f"A report names none of the {self.size:,} values; leave it out.")
        return np.bincount(lines[:, 0].astype(np.int64), minlength=self.size)

    def is_possible_tally(self, tally: Integers, persons: int) -> bool:
        """Whether each report names one value."""
        return super().is_possible_tally(tally, persons) and int(tally.sum()) == persons

    def probability(self, report: Sequence[int], code: int) -> Fraction:
        """The probability of a report where this is the true value, exactly."""
        if report[0] == code:
            return self.p
        return self.q

    def possible_reports(self) -> Iterator[tuple[int, ...]]:
        """Every value."""
        return ((value,) for value in range(self.size))


@dataclass(frozen=True, kw_only=True)
class BinaryResponse(DirectEncoding):
    """Randomised response to a question of yes (1) or no (0): direct encoding of two values. Two
    fair coins, the book's form, are epsilon = ln 3.

    Examples
    --------
    >>> import math
    >>> coins = BinaryResponse(epsilon=math.log(3))
    >>> round(float(coins.p), 9), round(math.sqrt(coins.variance(32561)[1]))
    (0.75, 156)
    """

    kind: ClassVar[str] = "randomised response"
    size: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size != 2:
            raise InputError(
                f"Randomised response has two answers, not {self.size}; take DirectEncoding."
            )
