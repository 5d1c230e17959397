"""Optimal local hashing: direct encoding of a hash of the value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
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
from understudy.local.randomisers.direct import direct_words, draw_direct
from understudy.local.randomisers.drawing import KERNELS
from understudy.local.randomisers.thresholds import exp_of
from understudy.local.randomisers.words import WHOLE, Words

SHIFT = 15
PLACES = 1 << (32 - SHIFT)
"""A hash function sends values to places, and equal runs of places are buckets."""

MAX_BUCKETS = 1 << 12
HALF = np.uint64(32)
REPORTS_AT_A_TIME = 1 << 12


@lru_cache(maxsize=256)
def bucket_edges(buckets: int) -> tuple[int, ...]:
    """Where each bucket begins among the places, and at last where all end."""
    return tuple(-(-bucket * PLACES // buckets) for bucket in range(buckets + 1))


def hash_values(values: Any, factors: Any, summands: Any) -> NDArray[np.uint32]:
    """The places of values: the upper 17 bits of factor x value + summand modulo 2^32."""
    with np.errstate(over="ignore"):
        hashed = np.asarray(factors, dtype=np.uint32) * np.asarray(values, dtype=np.uint32)
        return (hashed + np.asarray(summands, dtype=np.uint32)) >> np.uint32(SHIFT)


@dataclass(frozen=True, kw_only=True)
class OptimalHashing(WordRandomiser):
    """Optimal local hashing (OLH): each person draws a hash function from values to about
    e^epsilon + 1 buckets, and reports it together with the bucket of her value by direct encoding.

    A report is three numbers: factor a, summand b (both below 2^32) and bucket. Two words are read:
    of the first, a is the lower half and b the upper one; the second randomises the bucket as in
    direct encoding. The hash of v is the place (a v + b mod 2^32) >> 15, one of 2^17; its bucket is
    place x buckets >> 17.

    Whatever hash function was drawn, the report is direct encoding of a function of the value: the
    promise holds for each of them, not on average. Estimates have no bias since the hashes of two
    values below 2^16 are exactly independent and uniform: b makes the first one uniform, and as
    the difference of the values is an odd number times at most 2^15, a times it is uniform in the
    upper 17 bits (Dietzfelbinger 1996).

    Examples
    --------
    >>> towns = OptimalHashing(size=5000, epsilon=1.0)
    >>> towns.buckets, towns.width
    (4, 3)
    >>> round(towns.variance(10000, [0] * 5000)[0] ** 0.5)
    192
    """

    kind: ClassVar[str] = "optimal hashing"
    max_size: ClassVar[int] = 1 << 16

    @property
    def buckets(self) -> int:
        """How many buckets there are: the nearest number to e^epsilon + 1."""
        return max(2, min(MAX_BUCKETS, round(exp_of(self.epsilon) + 1)))

    @property
    def _words(self) -> tuple[int, int]:
        return direct_words(self.buckets, self.epsilon)

    @cached_property
    def q(self) -> Fraction:
        """The probability that the reported bucket is that of another given value.

        With n_j of 2^17 places in bucket j, the hashes of two values fall into one bucket with
        probability c = sum of n_j^2 / 2^34. The report names this one with probability p; where
        they are not in one bucket, it names that of the other value with probability 1 - p shared
        among the others. So q = c p + (1 - c) (1 - p) / (buckets - 1).
        """
        edges = bucket_edges(self.buckets)
        squares = sum((end - start) ** 2 for start, end in pairwise(edges))
        same = Fraction(squares, PLACES**2)
        return same * self.p + (1 - same) * Fraction(self._words[1], WHOLE)

    @property
    def ratio(self) -> Fraction:
        """That of direct encoding of the buckets, for each hash function."""
        return Fraction(*self._words)

    def thresholds(self) -> dict[str, int]:
        """How many words keep the true bucket, and how many report another given one."""
        keep, other = self._words
        return {"buckets": self.buckets, "keep": keep, "other": other}

    @property
    def width(self) -> int:
        """Factor, summand and bucket."""
        return 3

    def _draw(self, codes: Integers, words: Words) -> Reports:
        drawn = words.take(2 * len(codes)).reshape(-1, 2)
        factors = drawn[:, 0] & np.uint64((1 << 32) - 1)
        summands = drawn[:, 0] >> HALF
        buckets = self.bucket_of(codes, factors, summands)
        reported = draw_direct(buckets, self.buckets, *self._words, drawn[:, 1])
        lines = np.empty((len(codes), 3), dtype=np.int64)
        lines[:, 0], lines[:, 1], lines[:, 2] = factors, summands, reported
        return lines

    def bucket_of(self, values: Any, factors: Any, summands: Any) -> Integers:
        """The buckets of values by hash functions."""
        places = hash_values(values, factors, summands).astype(np.int64)
        return places * self.buckets // PLACES

    def is_possible(self, reports: Any) -> NDArray[np.bool_]:
        """For each line, whether it is a hash function and a bucket."""
        return in_range(check_reports(reports, 3), 1 << 32, 1 << 32, self.buckets)

    def tally(self, reports: Any) -> Integers:
        """For each value, how many reports name the bucket of its hash."""
        lines = check_reports(reports, 3)
        if not self.is_possible(lines).all():
            raise InputError("A report is no hash function with a bucket; leave it out.")
        edges = np.array(bucket_edges(self.buckets), dtype=np.uint32)
        counts = np.zeros(self.size, dtype=np.int64)
        for start in range(0, len(lines), REPORTS_AT_A_TIME):
            batch = lines[start : start + REPORTS_AT_A_TIME].astype(np.int64)
            kernels = KERNELS.kernels_for(6e-9 * len(batch) * self.size)
            if kernels is not None:
                kernels.count_hashed(batch, edges, SHIFT, counts)
            else:
                counts += self._count(batch, edges)
        return counts

    def _count(self, batch: Integers, edges: NDArray[np.uint32]) -> Integers:
        """What the kernel counts, some values at a time."""
        begins, ends = edges[batch[:, 2]], edges[batch[:, 2] + 1]
        counts = np.empty(self.size, dtype=np.int64)
        for value in range(self.size):
            places = hash_values(value, batch[:, 0], batch[:, 1])
            counts[value] = np.count_nonzero((places >= begins) & (places < ends))
        return counts

    def probability(self, report: Sequence[int], code: int) -> Fraction:
        """The probability of a report where this is the true value, exactly."""
        factor, summand, bucket = report
        [own] = self.bucket_of([code], [factor], [summand]).tolist()
        return Fraction(self._words[own != bucket], WHOLE**2)

    def possible_reports(self) -> Iterator[tuple[int, ...]]:
        """Too many to be listed: see :mod:`understudy.auditing.randomisers` for how they are
        audited.
        """
        raise InputError("Hash functions are too many to be listed.")
