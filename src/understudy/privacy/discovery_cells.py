"""The public cells in which discovery counts the numbers of a column, once its range and the step
of its values are chosen: value by value where noise allows, else in stretches that are even, and
finer towards zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.counting.partition import MAX_UNIT_EDGE, SENTINELS, Ends, ends_of

Numbers = NDArray[np.float64]

MAX_UNIT_CELLS = 4096
"""Ranges of more values are never counted value by value."""

MIN_EVEN_CELLS, MAX_EVEN_CELLS = 16, 256
"""How many stretches of equal width a range is cut into."""

FIRST_BEYOND = 1 / 16
"""Of what is held: how wide the first cell beyond it is."""

NEXT_TO_ZERO = 1e-6
"""Reals without a step: zero has a cell up to here."""


@dataclass(frozen=True)
class Range:
    """The stretch of numbers that was chosen for a column."""

    low: float
    high: float
    first: int
    last: int
    """The places of the ends among those of the kind: the outermost between which it lies."""

    def part(self, ends: Ends, low: float, high: float) -> Range:
        """A part of the range."""
        first = int(np.searchsorted(ends.edges, low, side="right")) - 1
        last = int(np.searchsorted(ends.edges, high, side="left"))
        return Range(low, high, first, last)

    def within_digits(self, digits: int) -> Range:
        """The part of a range of codes that a number of digits can show."""
        highest = 10.0**digits
        if self.high <= highest:
            return self
        return self.part(ends_of("integer"), max(self.low, 0.0), highest)


@dataclass(frozen=True)
class Precision:
    """How precise a noisy histogram will be: public."""

    rows: float
    deviation: float
    """Of the noise in each cell."""
    fixed_cells: int = 0
    """How many cells of equal width there are, where that does not follow from the noise."""

    @property
    def unit_cells(self) -> float:
        """How many values can be counted one by one: the noise of a sixteenth of them is together
        at most a hundredth of the rows.
        """
        allowed = 16 * (0.01 * self.rows / self.deviation) ** 2
        return min(max(allowed, MAX_UNIT_EDGE), MAX_UNIT_CELLS)

    @property
    def even_cells(self) -> int:
        """How many cells of equal width are worth it: evenly filled, each holds four deviations."""
        if self.fixed_cells:
            return self.fixed_cells
        allowed = self.rows / (4 * self.deviation)
        return int(min(max(allowed, MIN_EVEN_CELLS), MAX_EVEN_CELLS))


@dataclass(frozen=True)
class CellGrid:
    """Cells of a range.

    Attributes
    ----------
    edges
        Where cells begin, on the grid, and where the last one ends.
    cuts
        The same, half a step below: numbers between values count as the nearest.
    unit
        Whether each cell is one value.
    step
        Of the values; 0 where they have none.
    """

    edges: Numbers
    cuts: Numbers
    unit: bool
    step: float


def lay_cells(
    kind: str,
    ends: Ends,
    stretch: Range,
    step: float,
    precision: Precision,
    held: tuple[float, float] | None = None,
) -> CellGrid:
    """Cells for a range of integers or reals with a step, or (0) without one.

    Where ``held`` says between which numbers nearly all rows are, cells are even there and grow
    beyond: the noise of few cells hides less of a tail than that of many.
    """
    if not step:
        edges = _even_edges(ends, stretch, 0.0, precision, held)
        cuts = np.append(edges[:-1], np.nextafter(edges[-1], np.inf))
        return CellGrid(edges, cuts, unit=False, step=0.0)
    per_unit = 1 / step
    if step < 1:
        per_unit = round(per_unit)
    first = math.ceil(stretch.low * per_unit - 1e-9)
    last = math.ceil(stretch.high * per_unit - 1e-9)
    if kind == "real":  # a range of reals holds its upper end
        last = math.floor(stretch.high * per_unit + 1e-9) + 1
    last = max(last, first + 1)
    if held is None and last - first <= precision.unit_cells:
        edges = np.arange(first, last + 1) / per_unit
        grid = CellGrid(edges, edges - step / 2, unit=True, step=step)
        if (np.diff(grid.cuts) > 0).all():
            return grid
    edges = _even_edges(ends, stretch, step, precision, held)
    if kind == "integer":
        edges = np.unique(np.rint(edges))
    cuts = edges - step / 2
    if kind == "real":
        cuts[-1] = edges[-1] + step / 2
    # Among numbers so large that half a step is lost in rounding, narrow cells are joined.
    apart = np.append(np.diff(cuts) > 0, True)
    edges, cuts = edges[apart], cuts[apart]
    if len(edges) < 2:  # all of them are lost in it: one cell holds the whole range
        edges = np.array([stretch.low, max(stretch.high, np.nextafter(stretch.low, np.inf))])
        cuts = np.array([edges[0], np.nextafter(edges[1], np.inf)])
    edges[0] = stretch.low
    return CellGrid(edges, cuts, unit=False, step=step)


def _even_edges(
    ends: Ends,
    stretch: Range,
    step: float,
    precision: Precision,
    held: tuple[float, float] | None,
) -> Numbers:
    """Even cells, and those between public ends, which grow with the distance from zero; beyond
    what is held, cells that grow with the distance from it.
    """
    low, high = stretch.low, stretch.high
    start, end = low, high
    if held is not None:
        start, end = held
    width = _round_width((end - start) / precision.even_cells, step)
    even = np.arange(math.floor(start / width) + 1, math.ceil(end / width)) * width
    between = ends.edges[stretch.first + 1 : stretch.last]
    between = between[ends.round[stretch.first + 1 : stretch.last]]
    smallest = step or NEXT_TO_ZERO
    between = between[np.abs(between) >= max(smallest, 1e-4 * (end - start))]
    if held is not None:
        between = between[(between >= start) & (between <= end)]
        even = np.concatenate([even, _growing_edges(start, end, low, high, width)])
    alone = [0.0, smallest]
    if step >= 1:
        alone = [float(edge) for value in SENTINELS for edge in (value, value + 1)]
    inner = np.concatenate([even, between, np.array(alone)])
    if step:
        places = inner / step
        inner = np.round(np.ceil(places - 1e-9 - 1e-12 * np.abs(places)) * step, 12)
    inner = np.round(inner, 12) + 0.0  # no edge is written -0.0
    inner = inner[(inner > low) & (inner < high)]
    return np.array([low, *np.unique(inner), high])


def _growing_edges(start: float, end: float, low: float, high: float, width: float) -> Numbers:
    """Edges beyond a stretch, up to the ends of the range: each distance is twice the one before,
    in multiples of a width.
    """
    reach = max((end - start) * FIRST_BEYOND, width)
    found = [start, end]
    while end + reach < high or start - reach > low:
        found += [math.ceil((end + reach) / width) * width]
        found += [math.floor((start - reach) / width) * width]
        reach *= 2
    return np.array(found)


def _round_width(least: float, step: float) -> float:
    """The smallest width at or above some other that people would cut at: 1, 2 or 5 times a power
    of ten, and a multiple of the step.
    """
    least = max(least, step)
    power = 10.0 ** math.floor(math.log10(least))
    for factor in (1, 2, 5, 10):
        width = factor * power
        multiple = not step or abs(width / step - round(width / step)) < 1e-6
        if width >= least * (1 - 1e-9) and multiple:
            return width
    return 10 * power
