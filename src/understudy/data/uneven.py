"""Values of a segment that are not equally likely: rounded ones, first days of months, weekdays.

What :class:`understudy.data.inside.Inside` draws, as shares and sums, so that queries see what rows
hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from understudy.data.schema import Quantity

MAX_DAYS = 200_000
"""Segments of more days (five centuries) count as even."""

WEEKDAY_OF_1970 = 3
"""The first of January 1970 was a Thursday; Monday is 0."""


@dataclass(frozen=True)
class Uneven:
    """How the places of a grid are preferred."""

    heaps: tuple[tuple[int, float], ...] = ()
    """Each width in places of the grid, with the share of values that are multiples of it."""
    weekdays: tuple[float, ...] = ()
    first_of_month: float = 0.0

    @classmethod
    def of(cls, attribute: Quantity) -> Uneven | None:
        """What is known of an attribute; ``None`` where its values are equally likely. Datetimes
        count as even inside their segments.
        """
        if attribute.heaping:
            step = Fraction(repr(float(attribute.step or 1)))
            heaps = (
                (int(Fraction(repr(float(coarse))) / step), share)
                for coarse, share in attribute.heaping
            )
            return cls(heaps=tuple(heaps))
        if attribute.kind == "date" and (attribute.weekdays or attribute.first_of_month):
            return cls(weekdays=attribute.weekdays, first_of_month=attribute.first_of_month)
        return None

    def share_below(self, first: int, count: int, places: int) -> float:
        """Which part of the values of a segment lies in the first ``places`` of its ``count``."""
        if self.heaps:
            return sum(
                share * _multiples(first, places, ratio) / whole
                for ratio, share, whole in self._steps(first, count)
            )
        if count > MAX_DAYS:
            return places / count
        return float(_day_shares(self, first, count)[0][places])

    def sum_below(self, first: int, count: int, places: int, step: Fraction) -> float:
        """The sum of these values, in proportion."""
        if not self.heaps and count <= MAX_DAYS:
            return float(_day_shares(self, first, count)[1][places])
        total = 0.0
        for ratio, share, whole in self._steps(first, count):
            found = _multiples(first, places, ratio)
            lowest = -(-first // ratio) * ratio
            middle = lowest + ratio * (found - 1) / 2
            total += share * found / whole * middle * float(step)
        return total

    def _steps(self, first: int, count: int) -> list[tuple[int, float, int]]:
        """Steps in places, the share that is rounded to each, and how many multiples a segment
        has; values whose segment has none stay where they are.
        """
        found = []
        even = 1.0
        for ratio, share in self.heaps:
            whole = _multiples(first, count, ratio)
            if whole:
                found.append((ratio, share, whole))
                even -= share
        return [*found, (1, max(even, 0.0), max(count, 1))]


def _multiples(first: int, count: int, ratio: int) -> int:
    """How many of some places are multiples."""
    return max((first + count - 1) // ratio + (-first) // ratio + 1, 0)


def move_to_first_of_month(
    places: NDArray[np.int64], first: NDArray[np.int64], count: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Days, each moved to the first of its month, or of the next one where its segment begins
    later; those whose segment holds neither stay.
    """
    months = places.astype("datetime64[D]").astype("datetime64[M]")
    before, after = (
        month.astype("datetime64[D]").astype(np.int64) for month in (months, months + 1)
    )
    moved = np.where(before >= first, before, after)
    return np.where(moved < first + count, moved, places)


@lru_cache(maxsize=4096)
def _day_shares(
    uneven: Uneven, first: int, count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The shares of the first 0, 1, 2, ... days of a segment, and the sums of these days."""
    days = np.arange(first, first + count)
    weights = np.full(count, 1 / max(count, 1))
    if uneven.weekdays:
        wanted = np.array(uneven.weekdays)[(days + WEEKDAY_OF_1970) % 7]
        if wanted.sum() > 0:
            weights = wanted / wanted.sum()
    if uneven.first_of_month:
        same = np.full(count, first), np.full(count, count)
        moved = np.bincount(move_to_first_of_month(days, *same) - first, minlength=count)
        weights = (1 - uneven.first_of_month) * weights + uneven.first_of_month * moved / count
    shares = np.concatenate([[0.0], np.cumsum(weights)])
    return shares, np.concatenate([[0.0], np.cumsum(weights * days)])
