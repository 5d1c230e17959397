"""Noisy counts of a refinement, and what a few of them say by themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from understudy.data.missingness import LEAST_COLUMNS
from understudy.privacy.mechanisms import ExactCounts
from understudy.privacy.shapes import nearest_counts

CELL_FALSE_ALARM = 0.05
"""Probability that noise alone makes some cell of a histogram stand out."""

MIN_ROWS_TO_NOISE, SURE = 8.0, 1.5
"""How many times what stands out of the noise the rows must be, before a shape is made of them: all
together, or those of one cell. Few rows are enough where most of them hold a zero.
"""

MISSING_FALSE_ALARM = 0.03
"""Probability that noise alone makes more rows lack several cells than chance has it."""

LEAST_WEEKDAY = 0.1
"""Weekdays whose shares differ by less than this part are taken as alike."""


@dataclass(frozen=True)
class NoisyTable:
    """Noisy counts, and what is known of their noise."""

    counts: ExactCounts
    scale: float
    gaussian: bool
    missing: int = 0
    """The count of missing cells, where there is one."""

    def stands_out(self, cells: int, false_alarm: float = CELL_FALSE_ALARM) -> float:
        """Counts above this are, with probability 1 - CELL_FALSE_ALARM, not noise alone in any of
        some cells.

        Discrete Laplace: P(X >= t) <= exp(-t / s). Discrete Gaussian: it is sub-Gaussian, so
        P(X >= t) <= exp(-t^2 / (2 s^2)).
        """
        logarithm = math.log(max(cells, 2) / false_alarm)
        if self.gaussian:
            return self.scale * math.sqrt(2 * logarithm)
        return self.scale * logarithm

    def enough_rows(self) -> bool:
        """Whether the rows are this many against the noise that a shape can be seen."""
        seen = self.stands_out(len(self.counts))
        return (
            int(self.counts.sum()) >= MIN_ROWS_TO_NOISE * seen
            or int(self.counts.max()) >= SURE * seen
        )

    @property
    def deviation(self) -> float:
        """About the standard deviation of the noise in a cell."""
        if self.gaussian:
            return self.scale
        return self.scale * math.sqrt(2)


def find_missing_cells(table: NoisyTable) -> tuple[float, ...]:
    """The shares of rows with 0, 1, 2, ... missing cells, where more rows lack several than chance
    would have; else nothing.

    If columns were missing independently, the numbers of missing cells would be no more spread than
    a Poisson distribution of the same mean.
    """
    rows = nearest_counts(table.counts.astype(np.float64))
    total = rows.sum()
    if total <= 0:
        return ()
    mean = float(rows @ np.arange(len(rows))) / total
    by_chance = np.array([mean**k / math.factorial(k) for k in range(len(rows))])
    by_chance *= math.exp(-mean) * total
    # Rows that lack this many cells or more, against those that chance would have.
    excess = np.cumsum((table.counts - by_chance)[::-1])[::-1]
    noise = table.deviation * np.sqrt(np.arange(len(rows), 0, -1))
    # Sums of tails of which one is twice as long as the other hardly depend on each other.
    tails = math.log2(max(len(rows) - LEAST_COLUMNS, 1) + 1)
    sure = -NormalDist().inv_cdf(MISSING_FALSE_ALARM / tails)
    if not (excess > sure * noise)[LEAST_COLUMNS:].any():
        return ()
    shares = np.round(rows / total, 6)
    shares[int(np.argmax(shares))] += 1 - shares.sum()
    return tuple(np.round(shares, 6).tolist())


def find_weekdays(table: NoisyTable, first_of_month: float = 0.0) -> tuple[float, ...]:
    """The shares of Monday to Sunday, where they differ by more than noise would have them; else
    nothing.

    The first days of months are any weekday alike: a share of dates that are put on them is taken
    off.
    """
    rows = nearest_counts(table.counts.astype(np.float64))
    rows = np.maximum(rows - first_of_month * rows.sum() / 7, 0)
    total = rows.sum()
    if total <= 0:
        return ()
    even = total / 7
    if np.abs(table.counts - even).max() < max(2 * table.stands_out(7), LEAST_WEEKDAY * even):
        return ()
    shares = np.round(rows / total, 4)
    shares[int(np.argmax(shares))] += 1 - shares.sum()
    return tuple(np.round(shares, 4).tolist())
