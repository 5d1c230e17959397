"""What finding the values of a column takes, be they words or numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from understudy.counting.partition import Tally
from understudy.data.attributes import Text
from understudy.data.tables import MARKS
from understudy.privacy.discovery_questions import MARK_FALSE_ALARM, Asker, NoisyHistogram

MIN_HELD = 0.4
"""Of the cells that are not empty: where a domain holds less, nothing was found."""


@dataclass(frozen=True)
class ValueFinder:
    """Asks for one noisy histogram per column, and makes an attribute of it.

    Each method says with the attribute whether anything could be told from the noise.
    """

    asker: Asker
    tallies: Mapping[str, Tally]
    """Exact counts of all columns."""
    rows: float
    """The noisy number of rows."""
    present: Mapping[str, float] = field(default_factory=dict)
    """About how many cells of a column are not empty, or fewer."""
    rows_deviation: float = 0.0
    """Of the noise in the number of rows."""

    def give_up(self, name: str, missing: str | None, counts: NDArray[np.int64]) -> Text:
        """A column in which nothing was found says so in every row: numbers from a range that is a
        guess would look as if they meant something. Where most cells are missing, all are.
        """
        if missing is not None and counts.max() > self.rows / 2:
            return Text(name, "text", replacement=missing)
        return Text(name, "text")

    def _holds_enough(self, name: str, counts: NDArray[np.int64]) -> bool:
        """Whether a domain holds a fair share of the cells that are not empty."""
        return bool(counts.sum() > MIN_HELD * self.present.get(name, self.rows))


def missing_mark(
    asked: NoisyHistogram, counts: NDArray[np.int64], false_alarm: float = MARK_FALSE_ALARM
) -> str | None:
    """How missing values are written, where there are any: most often by nothing."""
    if counts[0] >= asked.stands_out(1) and counts[0] >= counts.max():
        return MARKS[0]
    best = int(counts.argmax())
    if counts[best] >= asked.stands_out(len(counts), false_alarm):
        return MARKS[best]
    return None
