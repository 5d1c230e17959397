"""The distinct cells of a column: what depends on a cell alone is found once for each of them, and
then looked up for every row.

Texts come with their distinct words. Whole numbers, dates and truth values are counted, where the
largest is not much further from the smallest than there are rows. Other columns have no such list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from understudy.data.columns import Column

MIN_COUNTED_NUMBERS = 1 << 10
"""Fewer numbers are not counted first: each is as quickly dealt with by itself."""

MAX_RANGE = 1 << 22
"""Numbers further apart are not counted: a list this long no longer fits the caches."""

LOOKUP_STRETCH = 1 << 16
"""Rows that are looked up at a time: their places stay in the cache, and take no room."""


class DistinctCells:
    """The distinct cells of a column, and which of them each row has.

    Parameters
    ----------
    column
        All cells.
    low, high
        The smallest number and the largest; of a text, the places of its words.
    """

    def __init__(self, column: Column, low: int, high: int) -> None:
        self._values = column.values
        self._missing = column.missing
        self._low = low
        self._length = high - low + 1
        self._occurring: NDArray[np.intp] | slice = slice(None)
        if column.kind == "text":
            values: NDArray[Any] = np.arange(self._length)
        else:
            self._occurring = np.flatnonzero(self._all_counts)
            values = (self._occurring + low).astype(column.values.dtype)
        self._present = len(values)
        missing = None
        if column.missing is not None:
            values = np.append(values, values.dtype.type(low))
            missing = (np.arange(len(values)) == self._present).astype(np.uint8)
        self.column = replace(column, values=values, missing=missing, raw=None)
        """One row per cell; where some are missing, such a one comes last."""

    @classmethod
    def of(cls, column: Column) -> DistinctCells | None:
        """The distinct cells of a column; None where there may be nearly as many as rows."""
        values = column.values
        if column.kind == "text":
            return cls(column, 0, len(column.words) - 1) if column.words else None
        if len(values) < MIN_COUNTED_NUMBERS or values.dtype.kind not in "bi":
            return None
        low, high = int(values.min()), int(values.max())
        if high - low >= min(len(values), MAX_RANGE):
            return None
        return cls(column, low, high)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many rows have each cell."""
        counts = self._all_counts[self._occurring]
        if self._missing is not None:
            counts = np.append(counts, np.count_nonzero(self._missing))
        return counts

    @cached_property
    def _all_counts(self) -> NDArray[np.int64]:
        counts = np.zeros(self._length, dtype=np.int64)
        for rows, places in self._stretches():
            present = places
            if self._missing is not None:
                present = places[self._missing[rows] == 0]
            found = np.bincount(present)
            counts[: len(found)] += found
        return counts

    def look_up(self, answers: NDArray[Any]) -> NDArray[Any]:
        """For each row the answer for its cell, from one answer per cell."""
        by_place = np.empty(self._length, dtype=answers.dtype)
        by_place[self._occurring] = answers[: self._present]
        found = np.empty(len(self._values), dtype=answers.dtype)
        for rows, places in self._stretches():
            found[rows] = by_place[places]
        if self._missing is not None:
            found[self._missing > 0] = answers[-1]
        return found

    def _stretches(self) -> Iterator[tuple[slice, NDArray[np.intp]]]:
        for first in range(0, len(self._values), LOOKUP_STRETCH):
            rows = slice(first, first + LOOKUP_STRETCH)
            places = self._values[rows].astype(np.intp)
            if self._low:
                places -= self._low
            yield rows, places
