"""Which value a number counts as that lies between two: the nearest one, and the larger of two that
are equally near.

Whole numbers, multiples of a step and listed values are grids. A code stands for the values of the
grid between two edges, so a number has the code of the value nearest to it where codes begin not at
the edges but half-way between the last value below an edge and the first one at or above it. These
*cuts* follow from the schema alone; a cell is only compared with them, so every engine codes it
the same way.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.attributes import Quantity
from understudy.data.inside import Grid, fraction


def cut_between_values(attribute: Quantity) -> tuple[float, ...]:
    """One cut per edge: numbers at or above it are nearest to a value at or above the edge.

    Reals without a step or listed values have no grid: their cuts are the edges. The last bin of a
    real holds its upper edge, so what follows begins right above.

    Examples
    --------
    >>> age = Quantity("age", "integer", edges=(0, 18, 65, 100))
    >>> cut_between_values(age)
    (-0.5, 17.5, 64.5, 99.5)
    """
    edges = attribute.edges
    if not attribute.whole:
        edges = (*edges[:-1], math.nextafter(edges[-1], math.inf))
    if attribute.values:
        listed = sorted(attribute.values)
        return tuple(_choose_between(listed, edge) for edge in edges)
    if attribute.step is None and not attribute.whole:
        return edges
    grid = Grid(attribute.step or 1)
    # A quotient of whole numbers is the nearest float, as that of a fraction, and quicker.
    return tuple(
        (2 * index - 1) * grid.numerator / (2 * grid.denominator)
        for index in grid.indices_from(edges)
    )


def whole_cuts(attribute: Quantity) -> tuple[int, ...]:
    """The same for whole numbers, which are exact: the first one at or above each cut."""
    if attribute.step is None and not attribute.values:
        return tuple(int(edge) for edge in attribute.edges)
    return tuple(math.ceil(cut) for cut in cut_between_values(attribute))


def _choose_between(listed: list[float], edge: float) -> float:
    place = bisect_left(listed, edge)
    if place in (0, len(listed)):
        return edge
    return float((fraction(listed[place - 1]) + fraction(listed[place])) / 2)


def round_to_whole(numbers: NDArray[Any]) -> NDArray[Any]:
    """The nearest whole numbers. What is subtracted is exact, so no number is off by a rounding
    error, as ``floor(x + 0.5)`` is for the last one below a half.
    """
    if numbers.dtype.kind != "f":
        return numbers
    below = np.floor(numbers)
    with np.errstate(invalid="ignore"):
        return np.asarray(below + (numbers - below >= 0.5))
