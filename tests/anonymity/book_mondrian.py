"""The partitioning of "Privacy-Preserving Machine Learning" (Chang et al. 2023), listings 8.1 to
8.7, to the letter: for its figures, and for nobody's data.

Groups wait in a queue; numbers are cut at ``< median`` and ``>= median``, categories at half of
their values; published are the exact means of each group and exact counts of the sensitive value,
which tell more than a range does. Its distance for t-closeness ignores values that a group does
not hold. :func:`understudy.anonymity.anonymise` is the sound way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.classes import EquivalenceClasses
from understudy.anonymity.microdata import Microdata
from understudy.anonymity.requirement import Judge

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class PublishedLine:
    """One line of the book's table: a group's means, a sensitive value, and how often."""

    summary: tuple[float | str, ...]
    value: str
    count: int


def partition_as_printed(table: Microdata, names: Sequence[str], judge: Judge) -> list[Ints]:
    """The rows of each group, in the order in which the queue finishes them."""
    columns = [_Splitter(table, name) for name in names]
    spans = [column.span(np.arange(table.rows)) or 1.0 for column in columns]

    def is_valid(rows: Ints) -> bool:
        if len(rows) == 0:
            return False
        classes = EquivalenceClasses(np.zeros(len(rows), dtype=np.int64), 1)
        return bool(judge.find_fulfilled(classes, rows)[0])

    finished: list[Ints] = []
    queue = deque([np.arange(table.rows)])
    while queue:
        rows = queue.popleft()
        widths = [column.span(rows) / span for column, span in zip(columns, spans, strict=True)]
        for place in sorted(range(len(columns)), key=lambda place: -widths[place]):
            halves = columns[place].split(rows)
            if all(map(is_valid, halves)):
                queue.extend(halves)
                break
        else:
            finished.append(rows)
    return finished


def publish_as_printed(
    table: Microdata, names: Sequence[str], sensitive: str, groups: Sequence[Ints]
) -> list[PublishedLine]:
    """Means (or joined categories) of each group beside the counts of its sensitive values."""
    summaries: list[Callable[[Ints], float | str]] = [
        _Splitter(table, name).summary for name in names
    ]
    values = table[sensitive]
    lines = []
    for rows in groups:
        summary = tuple(one(rows) for one in summaries)
        counts = np.bincount(values.codes[rows], minlength=values.size)
        for place in np.flatnonzero(counts):
            lines.append(PublishedLine(summary, values.names[place], int(counts[place])))
    return lines


class _Splitter:
    """One quasi-identifier, as the listings treat it."""

    def __init__(self, table: Microdata, name: str) -> None:
        values = table[name]
        self.codes, self.names = values.codes, values.names
        self.numbers = None
        if values.numbers is not None:
            self.numbers = values.numbers[values.codes]

    def span(self, rows: Ints) -> float:
        if self.numbers is not None:
            return float(np.ptp(self.numbers[rows]))
        return float(len(np.unique(self.codes[rows])))

    def split(self, rows: Ints) -> tuple[Ints, Ints]:
        if self.numbers is not None:
            found = self.numbers[rows]
            low = found < np.median(found)
        else:
            distinct = np.unique(self.codes[rows])
            low = np.isin(self.codes[rows], distinct[: len(distinct) // 2])
        return rows[low], rows[~low]

    def summary(self, rows: Ints) -> float | str:
        if self.numbers is not None:
            return float(self.numbers[rows].mean())
        return ",".join(self.names[place] for place in np.unique(self.codes[rows]))
