"""A look with few cells at a column of which many cells told nothing: its rows are few against the
noise.

Amounts, counts and durations spread over orders of magnitude: of bins of one width nearly all
rows lie in the first, and there again in the first part. The cells grow with the distance from
zero, or from the end that is nearer to it, so some ten of them reach any range, and noise adds up
over few. What they show is explained in two ways: by a step function of the values, as any shape,
or of their logarithms. The second has to be clearly better where the first sees nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Quantity
from understudy.privacy.cells import Cells, grid_of, range_end
from understudy.privacy.noisy_tables import NoisyTable
from understudy.privacy.shapes import Shape, smooth, sum_by

CELL_GROWTH = 8
"""Each cell is that many times as wide as the one before it."""

SPANNED = 3
"""A bin of so many cells, or parts of them, reaches over orders of magnitude."""


def lay_few_cells(attribute: Quantity) -> Cells:
    """The partition: a cell for the first value, then cells that grow."""
    grid = grid_of(attribute)
    first, last = grid.index_from(attribute.edges[0]), grid.index_from(range_end(attribute))
    start = min(max(first, 0), last - 1)
    places = [start, start + 1]
    places += [start + distance for distance in _distances(last - start)]
    places += [start - distance + 1 for distance in _distances(start - first)]
    return Cells(attribute, map(grid.at, sorted(set(places))))


def reaches_far(attribute: Quantity) -> bool:
    """Whether some bin spans cells of several sizes, so that they tell what bins do not."""
    if attribute.is_moment or attribute.values:
        return False
    bins = attribute.edges
    if attribute.free_bins:
        bins = (bins[0], bins[-1])
    starts = np.array(lay_few_cells(attribute).edges[:-1])
    owners = np.searchsorted(np.array(bins[1:-1]), starts, side="right")
    return int(np.bincount(owners).max()) >= SPANNED


def _distances(length: int) -> Iterator[int]:
    distance = 1
    while distance < length:
        yield distance
        distance *= CELL_GROWTH


def find_shape(cells: Cells, table: NoisyTable, price: float) -> Shape:
    """The step function of values or of logarithms that explains noisy counts of cells better.

    Parameters
    ----------
    cells, table
        What was counted.
    price
        By how much a cell must differ from its neighbours to stand by itself.
    """
    step = price**2 / 2
    variance = table.deviation**2
    even = smooth(cells.edges, cells.sizes, table.counts, price, variance)
    scaled = smooth(cells.edges, np.ones(len(cells.sizes)), table.counts, price, variance)
    gain = _cost(even, table.counts, step) - _cost(scaled, table.counts, step)
    if gain <= step * even.flat:
        return even
    held = np.bincount(scaled.runs)[scaled.runs]
    rows = scaled.possible_rows()[scaled.runs] / held
    alone = np.arange(len(rows))
    return Shape(cells.edges, cells.sizes, alone, rows, scaled.precisions[scaled.runs] * held**2)


def _cost(shape: Shape, counts: NDArray[np.int64], step: float) -> float:
    """The squares that a step function leaves, and the price of its steps."""
    products = sum_by(shape.runs, counts * shape.sizes)
    widths = sum_by(shape.runs, shape.sizes**2)
    left = float((counts.astype(np.float64) ** 2).sum() - (products**2 / widths).sum())
    return left + step * len(shape.rows)
