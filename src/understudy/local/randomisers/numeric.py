"""What randomisers of numbers have in common: a public range, and a public grid over it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.local.randomisers.base import (
    Floats,
    Integers,
    Randomiser,
    check_persons,
    to_array,
)
from understudy.local.randomisers.thresholds import check_whole

NUMBER_STEPS = 1 << 20
"""A number is rounded to the nearest of this many steps from the lowest value to the highest."""

MAX_DIMENSIONS = 64


@dataclass(frozen=True, kw_only=True)
class RangeRandomiser(Randomiser):
    """A randomiser of numbers from ``low`` to ``high``.

    Parameters
    ----------
    low, high
        The smallest and the largest number, as announced. Numbers outside are refused: move them in
        on the person's device if that is meant.
    """

    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bounds(self.low, self.high)

    def _put_on_grid(self, values: Any) -> NDArray[np.int64]:
        """How many steps each number is above the lowest."""
        numbers = check_numbers(values, self.low, self.high)
        return np.rint((numbers - self.low) / (self.high - self.low) * NUMBER_STEPS).astype(
            np.int64
        )

    def _take_off_grid(self, steps: Any) -> Floats:
        """The numbers that this many steps stand for."""
        places = np.asarray(steps, dtype=np.float64)
        return self.low + places / NUMBER_STEPS * (self.high - self.low)


@dataclass(frozen=True, kw_only=True)
class MeanRandomiser(RangeRandomiser):
    """A randomiser of one or several numbers, of which the means are estimated.

    Parameters
    ----------
    dimensions
        How many numbers each person has.
    """

    dimensions: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self.dimensions, "dimensions", 1, MAX_DIMENSIONS)

    def encode(self, values: Any) -> Integers:
        """The steps of the grid, a line per person; a list of numbers where there is one each."""
        array = to_array(values)
        if array.ndim == 1 and self.dimensions == 1:
            array = array[:, None]
        if array.ndim != 2 or array.shape[1] != self.dimensions:
            raise InputError(f"Each person must have {self.dimensions:,} numbers.")
        return self._put_on_grid(array)

    @abstractmethod
    def decode(self, reports: Any) -> Floats:
        """What each report says of each number, without bias: a line per person."""

    @abstractmethod
    def noise_variance(self, values: Any) -> Floats:
        """The variance of what a report says of each number, where these are the true ones."""

    def variance(self, persons: int, values: Any = None) -> Floats:
        """The variance of each estimated mean.

        Parameters
        ----------
        persons
            How many report.
        values
            The persons' numbers, or some that stand for them; by default the worst case.
        """
        if check_persons(persons) == 0:
            return np.full(self.dimensions, np.inf)
        if values is not None:
            return self.noise_variance(values).mean(axis=0) / persons
        ends = [self.low, (self.low + self.high) / 2, self.high]
        worst = self.noise_variance([[end] * self.dimensions for end in ends])
        return worst.max(axis=0) / persons


def check_bounds(low: Any, high: Any) -> None:
    """Refuse what cannot be a range."""
    for bound in (low, high):
        if isinstance(bound, bool) or not isinstance(bound, int | float) or abs(bound) > 1e100:
            raise InputError(f"A bound must be a finite number, not {bound!r}.")
    if not low < high:
        raise InputError(f"The low bound must be below the high one, not {low!r} and {high!r}.")


def check_numbers(values: Any, low: float, high: float) -> Floats:
    """Finite numbers in a range."""
    array = to_array(values)
    if array.dtype.kind not in "iuf" and array.size:
        raise InputError("Only numbers can be reported here; truth values and text have codes.")
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise InputError("A number is missing or not finite; ask for such answers separately.")
    if numbers.size and not (numbers.min() >= low and numbers.max() <= high):
        raise InputError(
            f"A number lies outside the announced range {low:g} to {high:g}; move it in first."
        )
    return numbers


def check_sums(tally: Any, dimensions: int) -> Integers:
    """A tally of a number of reports and a sum of them, for each dimension."""
    array = to_array(tally)
    if array.dtype.kind not in "iu" or array.shape != (2, dimensions):
        raise InputError(f"A tally must be two lines of {dimensions:,} whole numbers.")
    return array.astype(np.int64)


def divide_sums(sums: Floats, counts: Integers) -> Floats:
    """Means; of nothing, not a number."""
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
