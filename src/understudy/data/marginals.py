"""Marginals: which attributes, each at which generalisation level, a table of counts is over."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Axis(NamedTuple):
    """One side of a table of counts: an attribute at a generalisation level (0 is the finest)."""

    attribute: str
    level: int = 0

    def __str__(self) -> str:
        """``age`` at the finest level, ``age^2`` two levels up."""
        if self.level:
            return f"{self.attribute}^{self.level}"
        return self.attribute


Marginal = tuple[Axis, ...]


def marginal(*parts: str | tuple[str, int]) -> Marginal:
    """Build a marginal from attribute names and ``(name, level)`` pairs.

    Examples
    --------
    >>> marginal("age", ("education", 2))
    (Axis(attribute='age', level=0), Axis(attribute='education', level=2))
    """
    return tuple(Axis(part) if isinstance(part, str) else Axis(*part) for part in parts)


def describe(axes: Marginal) -> str:
    """How a marginal is written in ledgers and messages."""
    if axes:
        return " x ".join(str(axis) for axis in axes)
    return "(rows)"


def sum_onto(table: NDArray[Any], held: Marginal, axes: Marginal) -> tuple[NDArray[Any], int]:
    """Sum a table over ``held`` onto some of its axes, in the order that they are named in; also
    how many cells each sum is of.
    """
    spare = tuple(place for place, axis in enumerate(held) if axis not in axes)
    kept = [axis for axis in held if axis in axes]
    summed = math.prod(table.shape[place] for place in spare)
    return table.sum(axis=spare).transpose([kept.index(axis) for axis in axes]), summed
