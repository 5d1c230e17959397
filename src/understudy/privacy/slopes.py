"""Slopes instead of steps: post-processing of a shape, nothing private."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.data.inside import fraction
from understudy.data.schema import Quantity
from understudy.privacy.cells import grid_of
from understudy.privacy.shapes import Shape, sum_by


def add_slopes(shape: Shape, attribute: Quantity, parts: int) -> Shape:
    """The shape with runs that rise or fall as their neighbours do, in steps.

    A step function is furthest from a smooth density inside its steps. So each run of several
    values is given the slope between its neighbours: the gentler one of both sides, none where they
    disagree (the "minmod" limiter, which makes no new hills and no negative numbers). It holds as
    many rows as before. Single values are passed over: they are no part of a slope.

    Parameters
    ----------
    shape
        A step function.
    attribute
        The quantity; the edges of its bins stay edges of cells.
    parts
        How many steps a run is cut into, at most; none is narrower than what people round to.
    """
    grid, narrowest = grid_of(attribute), 1
    if attribute.heaping:
        narrowest = max(1, int(fraction(attribute.heaping[0][0]) / grid.step))
    sizes, rows = sum_by(shape.runs, shape.sizes), shape.possible_rows()
    slopes = _slopes(sizes, rows)
    edges: list[float] = []
    runs: list[int] = []
    ends = [*shape.starts.tolist(), len(shape.sizes)]
    for run, (start, end) in enumerate(pairwise(ends)):
        low, high = shape.edges[start], shape.edges[end]
        first, last = grid.index_from(low), grid.index_from(high)
        pieces = 1
        if slopes[run]:
            pieces = max(1, min(parts, (last - first) // narrowest))
        inner = {grid.at(first + (last - first) * piece // pieces) for piece in range(1, pieces)}
        inner |= {edge for edge in attribute.edges if low < edge < high}
        edges += [low, *sorted(inner)]
        runs += [run] * (1 + len(inner))
    edges.append(shape.edges[-1])
    owners = np.array(runs)
    places = np.array(grid.indices_from(edges), dtype=np.float64)
    widths = np.maximum(np.diff(places), 0.5)
    widths *= (sizes / sum_by(owners, widths))[owners]
    middles = np.cumsum(widths) - widths / 2 - (np.cumsum(sizes) - sizes / 2)[owners]
    masses = widths * ((rows / sizes)[owners] + slopes[owners] * middles)
    alone = np.arange(len(masses))
    return Shape(tuple(edges), widths, alone, masses, np.ones(len(masses)))


def _slopes(sizes: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much the density of each run grows from one value to the next."""
    slopes = np.zeros(len(sizes))
    wide = np.flatnonzero(sizes > 1)
    densities = rows[wide] / sizes[wide]
    middles = (np.cumsum(sizes) - sizes / 2)[wide]
    between = np.diff(densities) / np.diff(middles)
    left, right = between[:-1], between[1:]
    gentler = np.minimum(np.abs(left), np.abs(right)) * np.sign(left)
    gentler[np.sign(left) != np.sign(right)] = 0
    # Neither end of a run goes beyond its neighbours' density, nor below nothing.
    inner = densities[1:-1]
    steepest = 2 * np.minimum(np.abs(np.diff(densities)[:-1]), np.abs(np.diff(densities)[1:]))
    steepest = np.minimum(steepest, 2 * inner) / sizes[wide][1:-1]
    slopes[wide[1:-1]] = np.clip(gentler, -steepest, steepest)
    return slopes
