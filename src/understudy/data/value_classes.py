"""Classes of values that are no ranges: on which grid a number lies, on which weekday a date, and
which point of an integer grid is the nearest to it.

A refinement counts the first two (:mod:`understudy.privacy.refinement`), sums are taken of the last
(:mod:`understudy.privacy.sums`); the rows are coded for it by the encoders that code them for a
model, so every cell is read the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.inside import DAY_SECONDS, WEEKDAY_OF_1970, fraction
from understudy.data.schema import Quantity


@dataclass(frozen=True)
class GridClasses(Quantity):
    """A number, coded by the coarsest of some grids that it lies on.

    Code 0 is zero, which lies on all of them; the last code is a number that lies on none.
    """

    steps: tuple[float, ...] = ()
    """Coarsest first."""

    @property
    def values_size(self) -> int:
        """Zero, one code per step, and the rest."""
        return len(self.steps) + 2

    def code(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """The class of each number.

        Floating point as IEEE 754 has it, so that every engine gives the same.
        """
        numbers = numbers.astype(np.float64)
        found = np.full(len(numbers), len(self.steps) + 1, dtype=np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            for place in range(len(self.steps) - 1, -1, -1):
                factor, divides = find_scale(self.steps[place])
                if divides:
                    on_grid = np.floor(numbers / factor) * factor == numbers
                else:
                    on_grid = np.floor(numbers * factor + 0.5) / factor == numbers
                found[on_grid] = place + 1
        found[numbers == 0] = 0
        return found


@dataclass(frozen=True)
class WeekdayClasses(Quantity):
    """A date, coded by its weekday; Monday is 0."""

    @property
    def values_size(self) -> int:
        """One code per weekday."""
        return 7

    def code(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """The weekday of each date."""
        days = numbers.astype(np.int64)
        if self.kind == "datetime":
            days = days // DAY_SECONDS
        return (days + WEEKDAY_OF_1970) % 7


@dataclass(frozen=True)
class MonthDayClasses(Quantity):
    """A date, coded by its day of the month; the first is 0."""

    @property
    def values_size(self) -> int:
        """One code per day of the longest month."""
        return 31

    def code(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """The day of the month of each date."""
        days = numbers.astype(np.int64).astype("datetime64[D]")
        return (days - days.astype("datetime64[M]")).astype(np.int64)


@dataclass(frozen=True)
class GridValues(Quantity):
    """A number clipped to public bounds and rounded to a multiple of a step.

    Code 0 is the multiple nearest to the lower bound. Floating point as IEEE 754 has it (a
    comparison, a division, an addition, a floor), so that every engine gives the same. Each of
    these is monotone, so clipped numbers stay between the multiples of the two bounds: how far the
    codes reach is known, whatever rounding did on the way.
    """

    lower: float = 0.0
    upper: float = 1.0
    grid_step: float = 1.0

    @property
    def lowest(self) -> int:
        """The multiple of the step that code 0 stands for."""
        return nearest_multiple(self.lower, self.grid_step)

    @property
    def values_size(self) -> int:
        """One code for each multiple."""
        return nearest_multiple(self.upper, self.grid_step) - self.lowest + 1

    def code(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """The place of each number on the grid; not a number counts as the lower bound."""
        clipped = np.clip(numbers.astype(np.float64), self.lower, self.upper)
        found = np.floor(clipped / self.grid_step + 0.5)
        return np.nan_to_num(found, nan=self.lowest).astype(np.int64) - self.lowest


ValueClasses = GridClasses | WeekdayClasses | MonthDayClasses | GridValues


def nearest_multiple(number: float, step: float) -> int:
    """How many steps a number is, to the nearest whole one."""
    return math.floor(number / step + 0.5)


def find_scale(step: float) -> tuple[float, bool]:
    """A whole number by which a value is divided, or multiplied, to tell whether it lies on the
    grid of a step.
    """
    exact = fraction(step)
    if exact.denominator == 1:
        return float(exact), True
    if exact.numerator != 1:
        raise ValueError("a step below 1 must be one over a whole number")
    return float(Fraction(1) / exact), False
