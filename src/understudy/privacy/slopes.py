"""Slopes instead of steps: post-processing of a shape, nothing private."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.data.inside import fraction
from understudy.data.schema import Quantity
from understudy.privacy.cells import grid_of
from understudy.privacy.shapes import Shape, sum_by

SURVIVING = (0.8, 0.6, 0.45, 0.3, 0.2)
"""Of the rows of a tail: how many lie beyond each of its first cuts. From then on each cut halves
them, down to one row.
"""

LEAST_FALL = 2.0
"""An outermost run is a tail where the one beside it is this many times as dense."""

MIN_TAIL = 8
"""Values that a tail has, at least."""


def add_slopes(shape: Shape, attribute: Quantity, parts: int) -> Shape:
    """The shape with runs that rise or fall as their neighbours do, in steps; at both ends of a
    column of numbers rows die out.

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
    tails = {}
    if not attribute.is_moment:
        tails = _tails(sizes, rows)
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
        if run in tails:
            cuts = tails[run].cuts(last - first, float(rows[run]), narrowest)
            inner = {grid.at(first + cut) for cut in cuts}
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
    for run, tail in tails.items():
        masses[owners == run] = tail.share(widths[owners == run]) * rows[run]
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


@dataclass(frozen=True)
class _Tail:
    """Rows that die out over a run, as e^(-x / length) does from the side of its neighbour on."""

    length: float
    """In values."""
    rising: bool
    """Whether the neighbour is on the right."""

    def cuts(self, size: int, rows: float, narrowest: int) -> list[int]:
        """Where a run is cut: no part is narrower than what people round to."""
        surviving = list(SURVIVING)
        while rows * surviving[-1] > 1:
            surviving.append(surviving[-1] / 2)
        places = [round(-self.length * math.log(share)) for share in surviving]
        places = [place - place % narrowest for place in places if place < size]
        found = sorted({place for place in places if place > 0})
        if self.rising:
            return [size - place for place in found]
        return found

    def share(self, widths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of the rows of the run: how many each part of it holds."""
        if self.rising:
            return self._share(widths[::-1])[::-1]
        return self._share(widths)

    def _share(self, widths: NDArray[np.float64]) -> NDArray[np.float64]:
        beyond = np.exp(-np.concatenate([[0.0], np.cumsum(widths)]) / self.length)
        return (beyond[:-1] - beyond[1:]) / (1 - beyond[-1])


def _tails(sizes: NDArray[np.float64], rows: NDArray[np.float64]) -> dict[int, _Tail]:
    """The outermost runs with rows, where they are tails.

    A tail is as dense as its neighbour where they meet: d. So a tail of N rows and w values has the
    length for which d length (1 - e^(-w / length)) = N.
    """
    wide = np.flatnonzero((sizes >= MIN_TAIL) & (rows > 0))
    found: dict[int, _Tail] = {}
    if len(wide) < 2:
        return found
    held = np.flatnonzero(rows > 0)
    for run, beside in ((wide[0], wide[1]), (wide[-1], wide[-2])):
        density, size = rows[beside] / sizes[beside], sizes[run]
        if run not in held[[0, -1]] or LEAST_FALL * rows[run] > density * size:
            continue
        low, high = 0.0, float(size)
        for _ in range(50):
            length = (low + high) / 2
            if density * length * -math.expm1(-size / length) < rows[run]:
                low = length
            else:
                high = length
        found[int(run)] = _Tail(high, rising=bool(run < beside))
    return found
