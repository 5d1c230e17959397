"""Rows seen along directions: for each row its components along public or released lines.

What a row adds to a sum must be a function of that row alone, *to the bit*. A product of matrices
may add up in another order for the last rows of a block than for the others, so that one row more
would change how others are rounded. Here all of it is whole numbers below 2^53, whose sums do not
depend on their order: directions are rounded to multiples of 2^-16.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIRECTION_STEPS = 1 << 16
"""A length of 1 has this many steps in a direction."""


@dataclass(frozen=True)
class Directions:
    """Lines to see rows along.

    Parameters
    ----------
    lines
        For each direction a whole number of 2^-16 for each term.
    """

    lines: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, numbers: NDArray[Any]) -> Directions:
        """The nearest directions to some that are given by floating-point numbers."""
        whole = np.rint(np.asarray(numbers, dtype=np.float64) * DIRECTION_STEPS).astype(np.int64)
        return cls(tuple(map(tuple, whole.tolist())))

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """A line for each direction."""
        return np.array(self.lines, dtype=np.float64)

    @property
    def stretch(self) -> float:
        """By how much a row can become longer at most: the root of the sum of all squares."""
        return float(np.sqrt((self.matrix**2).sum())) / DIRECTION_STEPS

    def along(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The components of rows of whole numbers, rounded to whole numbers (halves up)."""
        return np.asarray(np.floor((values @ self.matrix.T) / DIRECTION_STEPS + 0.5))
