"""Equivalence classes: rows that agree on the quasi-identifiers, and what they hold otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

MAX_COUNTS = 1 << 22
"""Counts of classes by values that are held at a time."""


@dataclass(frozen=True)
class EquivalenceClasses:
    """For each row the number of its equivalence class, and how many classes there are."""

    of_row: Ints
    count: int

    @cached_property
    def sizes(self) -> Ints:
        """How many rows each class has."""
        return np.bincount(self.of_row, minlength=self.count)

    @cached_property
    def order(self) -> Ints:
        """The rows, class by class."""
        return np.argsort(self.of_row, kind="stable")

    @cached_property
    def starts(self) -> Ints:
        """Where each class begins among the rows in order."""
        return np.cumsum(self.sizes) - self.sizes

    def tabulate(self, codes: NDArray[np.integer], size: int) -> Iterator[Ints]:
        """How often each value stands in each class: one line per class, some classes at a time."""
        found, sorted_codes = self.of_row[self.order], codes[self.order].astype(np.int64)
        step = max(1, MAX_COUNTS // max(size, 1))
        for first in range(0, self.count, step):
            low, high = np.searchsorted(found, (first, first + step))
            here = min(step, self.count - first)
            cells = (found[low:high] - first) * size + sorted_codes[low:high]
            yield np.bincount(cells, minlength=here * size).reshape(here, size)


def find_classes(
    columns: Sequence[NDArray[np.integer]], sizes: Sequence[int]
) -> EquivalenceClasses:
    """The classes of rows that are equal in all columns; ``sizes`` bound the codes."""
    rows = len(columns[0]) if columns else 0
    found, bound = np.zeros(rows, dtype=np.int64), 1
    for codes, size in zip(columns, sizes, strict=True):
        if bound * size >= 1 << 62:
            found = np.unique(found, return_inverse=True)[1].astype(np.int64)
            bound = int(found.max(initial=0)) + 1
        found = found * size + codes
        bound *= size
    found = np.unique(found, return_inverse=True)[1].astype(np.int64)
    return EquivalenceClasses(found, int(found.max(initial=-1)) + 1)
