"""The public partition of a column's range that a refinement counts: fine where people's numbers
are likely to be, whatever the rows hold.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from understudy.data.inside import DAY_SECONDS, Grid, fraction
from understudy.data.schema import Quantity
from understudy.data.time_formats import EPOCH

MAX_CELLS = 1024
"""Ranges of at most this many values get a cell for each."""

EVEN_CELLS = 256
CELLS_PER_OCTAVE = 4
"""Wider ranges get cells of equal width, and cells that grow with the distance from zero and from
both ends.
"""

CELL_STEPS = (
    *(factor * 10.0**power for power in range(6, -1, -1) for factor in (5, 1)),
    *(round(factor * 0.1**power, power) for power in range(1, 7) for factor in (5, 1)),
)
"""Grids that people use, coarsest first; each is a multiple of the next."""


class Cells:
    """A partition of the range of a quantity.

    Attributes
    ----------
    edges
        Where cells begin, and where the last one ends; multiples of the step inside the range.
    sizes
        How many values each cell has; reals without a step count by their decimals.
    """

    def __init__(self, attribute: Quantity, edges: Iterable[float]) -> None:
        self.attribute = attribute
        grid = grid_of(attribute)
        first, last = attribute.edges[0], range_end(attribute)
        # The upper edge of a real may lie between two multiples: nothing lies beyond it.
        upper = grid.at(grid.index_to(attribute.edges[-1]))
        inner = {edge for edge in self._snap(grid, edges) if first < edge < last}
        inner -= {edge for edge in inner if edge > upper and not attribute.whole}
        self.edges = (first, *sorted(inner), last)
        if attribute.values:
            listed = np.searchsorted(np.array(attribute.values), np.array(self.edges))
            self.sizes: NDArray[np.float64] = np.maximum(np.diff(listed), 0).astype(np.float64)
            self.sizes[self.sizes == 0] = 0.5  # nothing lies there, but for what is out of domain
        else:
            places = grid.indices_from(self.edges)
            self.sizes = np.maximum(np.diff(np.array(places, dtype=np.float64)), 0.5)

    def _snap(self, grid: Grid, edges: Iterable[float]) -> Iterable[float]:
        """Edges on the grid: the first multiples at or above them; edges of bins stay."""
        if self.attribute.values:
            return edges
        given, bounds = list(edges), set(self.attribute.edges)
        moved = [edge for edge in given if edge not in bounds]
        kept = [edge for edge in given if edge in bounds]
        return [*kept, *map(grid.at, grid.indices_from(moved))]

    def as_attribute(self) -> Quantity:
        """The attribute whose bins are the cells; missing values have a code of their own."""
        return replace(
            self.attribute,
            missing=self.attribute.missing or "",
            edges=self.edges,
            equal_width=False,
            detail=(),
            heaping=(),
            weekdays=(),
            first_of_month=0.0,
        )


def grid_of(attribute: Quantity) -> Grid:
    """The finest grid on which values are told apart."""
    if attribute.step is not None:
        return Grid(attribute.step)
    if attribute.whole:
        return Grid(1)
    return Grid(10.0**-attribute.places)


def range_end(attribute: Quantity) -> float:
    """Where the last cell ends: the upper edge of a real is a value itself."""
    if attribute.whole:
        return attribute.edges[-1]
    grid = grid_of(attribute)
    return grid.at(grid.index_to(attribute.edges[-1]) + 1)


def first_cells(attribute: Quantity) -> Cells:
    """The partition that is counted first."""
    low, high = attribute.edges[0], range_end(attribute)
    grid = grid_of(attribute)
    first, last = grid.index_from(low), grid.index_from(high)
    if attribute.values:
        return Cells(attribute, {*attribute.values, *attribute.edges})
    if last - first <= MAX_CELLS:
        return Cells(attribute, {*map(grid.at, range(first, last)), *attribute.edges})
    core = _without_tails(attribute)
    if core is None:
        even = {*_even(attribute, low, high)}
    else:
        even = {*_even(attribute, *core), *_beyond(*core, low, high)}
        begin, end = map(grid.index_from, core)
        if end - begin <= MAX_CELLS:
            singles = set(map(grid.at, range(begin, end)))
            return Cells(attribute, {*singles, *_beyond(*core, low, high), *attribute.edges})
    if attribute.first_of_month:
        return Cells(attribute, {*_calendar(attribute), *_find_given_edges(attribute)})
    if attribute.kind in ("date", "datetime"):
        return Cells(attribute, {*even, *_calendar(attribute), *_find_given_edges(attribute)})
    singles = {grid.at(first + 1), grid.at(last - 1)}
    octaves = _octaves(attribute, grid)
    if attribute.heaping:
        octaves = (edge for edge in octaves if abs(edge) < low + attribute.heaping[0][0])
    return Cells(attribute, {*even, *octaves, *singles, *_find_given_edges(attribute)})


def _without_tails(attribute: Quantity) -> tuple[float, float] | None:
    """Where the bins lie but for the outermost ones, if these are the larger part of the range:
    tails that hold next to nothing, in which fine cells would be wasted.
    """
    edges = attribute.edges
    if attribute.free_bins or attribute.is_moment or len(edges) < 4:
        return None
    if edges[-2] - edges[1] > (edges[-1] - edges[0]) / 2:
        return None
    return edges[1], edges[-2]


def _beyond(start: float, end: float, low: float, high: float) -> set[float]:
    """Edges of cells that grow with the distance from a stretch."""
    distances = [(end - start) / EVEN_CELLS * 2 ** (place / 2) for place in range(2 * 64)]
    found = {start - distance for distance in distances} | {
        end + distance for distance in distances
    }
    return {start, end, *(edge for edge in found if low < edge < high)}


def _even(attribute: Quantity, low: float, high: float) -> Iterator[float]:
    """Edges of cells of equal width. Where people round, each cell has as many round numbers, in
    its midst: else cells with one more would look like hills.
    """
    width = (high - low) / EVEN_CELLS
    start = low
    if attribute.heaping:
        coarse = attribute.heaping[0][0]
        width = math.ceil(width / coarse) * coarse
        start = math.floor(low / coarse) * coarse - coarse / 2
    cells = math.ceil((high - start) / width)
    return (start + width * place for place in range(1, cells))


def split_cell(attribute: Quantity, low: float, high: float, parts: int) -> list[float]:
    """Edges that part a cell, both ends included: into its values if they are few, else into the
    round ones and what lies between.
    """
    grid = grid_of(attribute)
    first, last = grid.index_from(low), grid.index_from(high)
    if last - first <= parts:
        return [low, *map(grid.at, range(first + 1, last)), high]
    round_values: list[float] = []
    for coarse in CELL_STEPS:
        ratio = fraction(coarse) / grid.step
        if ratio.denominator != 1:
            continue
        step = int(ratio)
        multiples = range(-(-first // step) * step, last, step)
        if 2 * len(multiples) > parts:
            break
        round_values = [grid.at(place) for one in multiples for place in (one, one + 1)]
    parts -= len(round_values)
    even = [grid.at(first + (last - first) * place // parts) for place in range(1, parts)]
    inner = {edge for edge in (*even, *round_values) if low < edge < high}
    return [low, *sorted(inner), high]


def _find_given_edges(attribute: Quantity) -> tuple[float, ...]:
    """Edges of bins that stay what they are."""
    if attribute.free_bins:
        return ()
    return attribute.edges


def _octaves(attribute: Quantity, grid: Grid) -> Iterator[float]:
    """Cells that grow with the distance from zero and from both ends."""
    low, high = attribute.edges[0], attribute.edges[-1]
    unit = float(grid.step)
    octaves = math.ceil(math.log2((high - low) / unit))
    distances = [
        unit * 2 ** (place / CELLS_PER_OCTAVE) for place in range(octaves * CELLS_PER_OCTAVE)
    ]
    for distance in (0.0, *distances):
        yield low + distance
        yield high - distance
        if low < 0 < high:
            yield distance
            yield -distance


def _calendar(attribute: Quantity) -> Iterator[float]:
    """The first day of each month, and the rest of it, unless it is known how many dates are the
    first of a month; of each year, where months are too many.
    """
    unit = 1
    if attribute.kind == "datetime":
        unit = DAY_SECONDS
    low, high = (int(edge // unit) for edge in (attribute.edges[0], attribute.edges[-1]))
    first = EPOCH + dt.timedelta(days=low)
    last = EPOCH + dt.timedelta(days=high - 1)  # nothing lies beyond, and there may be no such day
    months = range(1, 13)
    if high - low > 31 * MAX_CELLS // 3:
        months = range(1, 2)
    for year in range(first.year, last.year + 1):
        for month in months:
            start = (dt.datetime(year, month, 1) - EPOCH).days
            yield start * unit
            if not attribute.first_of_month:
                yield (start + 1) * unit
