"""From a noisy fine histogram to the shape of a column: post-processing, nothing private.

The histogram has many cells and few rows in most of them, so most of what it shows is noise.
:func:`smooth` finds the step function that explains it best at a price per step, so that a cell
stands out only where noise alone would not have made it so (a penalised least-squares fit, solved
exactly by dynamic programming). :func:`cut_bins` then puts the edges of bins where the rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

CERTAIN = 6.0
"""Standard deviations: a run of more rows is hardly noise alone."""

RUNS_AT_ONCE = 16
"""Runs that stop at so few cells are summed in one step: more of them would be mostly padding."""


@dataclass(frozen=True)
class Shape:
    """How the rows of a column lie over cells.

    Attributes
    ----------
    edges
        Where cells begin, and where the last one ends.
    sizes
        How many values each cell has.
    runs
        Which run of equal density each cell belongs to; runs are numbered from left to right.
    rows
        How many rows each run is estimated to hold.
    precisions
        How sure each of these estimates is: one over its variance.
    """

    edges: tuple[float, ...]
    sizes: NDArray[np.float64]
    runs: NDArray[np.int64]
    rows: NDArray[np.float64]
    precisions: NDArray[np.float64]

    @property
    def flat(self) -> bool:
        """Whether nothing stood out of the noise."""
        return len(self.rows) == 1 or not self.masses.any()

    @property
    def masses(self) -> NDArray[np.float64]:
        """How many rows each cell is estimated to hold."""
        densities = self.possible_rows() / sum_by(self.runs, self.sizes)
        return densities[self.runs] * self.sizes

    def possible_rows(self) -> NDArray[np.float64]:
        """The nearest estimate without negative numbers of rows, in which all rows are as many:
        what is taken off is in proportion to how unsure a number is. Where noise of many cells
        adds up to fewer rows than are certain, half of these are counted on.
        """
        certain = self.rows[self.rows * np.sqrt(self.precisions) > CERTAIN].sum()
        return nearest_counts(self.rows, 1 / self.precisions, float(certain) / 2)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first cell of each run."""
        return np.searchsorted(self.runs, np.arange(len(self.rows)))

    def peaks(self, cells: int, times: float) -> NDArray[np.bool_]:
        """Which runs are of at most ``cells`` cells and ``times`` as dense as what is around: two
        runs on each side, taken together, so that noise in a narrow run hides none. Runs that are
        denser, and single values, do not count as surroundings: peaks may lie side by side.
        """
        sizes = sum_by(self.runs, self.sizes)
        rows = np.maximum(self.rows, 0)
        densities = np.where(sizes > 1, rows / sizes, np.inf)
        padded = np.pad(np.array([rows, sizes, densities]), ((0, 0), (2, 2)))
        beside = np.zeros((2, len(sizes)))
        for place in (0, 1, 3, 4):
            around = padded[:, place : place + len(sizes)]
            beside += np.where(around[2] <= rows / sizes, around[:2], 0)
        few = np.bincount(self.runs) <= cells
        return few & (rows * beside[1] > times * beside[0] * sizes)

    def stands_alone(self, part: float, times: float) -> NDArray[np.bool_]:
        """Which runs are no wider than a part of the range and ``times`` as dense as the two runs
        on each side of them together, whatever these are.
        """
        sizes = sum_by(self.runs, self.sizes)
        padded = np.pad(np.array([self.rows, sizes]), ((0, 0), (2, 2)))
        beside = np.zeros((2, len(sizes)))
        for place in (0, 1, 3, 4):
            beside += padded[:, place : place + len(sizes)]
        narrow = sizes <= part * sizes.sum()
        return narrow & (self.rows * beside[1] > times * np.maximum(beside[0], 0) * sizes)

    def take_back(self, doubtful: NDArray[np.bool_]) -> Shape:
        """The same with no rows in doubtful runs."""
        rows = np.where(doubtful, np.minimum(self.rows, 0), self.rows)
        return Shape(self.edges, self.sizes, self.runs, rows, self.precisions)

    def update(self, rows: NDArray[np.float64], precisions: NDArray[np.float64]) -> Shape:
        """The same with what a second question says of its runs: each counts by how sure it is."""
        both = self.precisions + precisions
        mean = (self.precisions * self.rows + precisions * rows) / both
        return Shape(self.edges, self.sizes, self.runs, mean, both)

    def simplify(self, stands_out: float) -> Shape:
        """The same with neighbouring runs joined where they do not differ enough: by
        ``stands_out`` standard deviations.
        """
        sizes = sum_by(self.runs, self.sizes)
        weights = np.sqrt(self.precisions)
        starts = _best_runs(sizes * weights, self.rows * weights, stands_out**2 / 2)
        joined = np.zeros(len(self.rows), dtype=np.int64)
        joined[starts[1:]] = 1
        joined = np.cumsum(joined)
        rows = sum_by(joined, self.rows)
        precisions = 1 / sum_by(joined, 1 / self.precisions)
        return Shape(self.edges, self.sizes, joined[self.runs], rows, precisions)


def sum_by(groups: NDArray[np.int64], numbers: NDArray[Any]) -> NDArray[np.float64]:
    """The sum of the numbers of each group."""
    return np.bincount(groups, weights=numbers).astype(np.float64)


def nearest_counts(
    noisy: NDArray[np.float64], variances: NDArray[np.float64] | float = 1.0, least: float = 0.0
) -> NDArray[np.float64]:
    """The nearest counts that are not negative and as many in all, but for ``least`` of them."""
    total = max(float(noisy.sum()), least)
    low, high = 0.0, float((np.maximum(noisy, 0) / variances).max())
    for _ in range(60):
        middle = (low + high) / 2
        if np.maximum(noisy - middle * variances, 0).sum() > total:
            low = middle
        else:
            high = middle
    return np.maximum(noisy - high * variances, 0)


def smooth(
    edges: tuple[float, ...],
    sizes: NDArray[np.float64],
    noisy: NDArray[np.int64],
    stands_out: float,
    variance: float,
) -> Shape:
    """The step function that fits noisy counts best, at a price for each step.

    A cell stands by itself where its count is further than ``stands_out`` from its neighbours':
    that takes two steps, so one costs half the square of it.
    """
    starts = _best_runs(sizes, noisy.astype(np.float64), stands_out**2 / 2)
    runs = np.zeros(len(noisy), dtype=np.int64)
    runs[starts[1:]] = 1
    runs = np.cumsum(runs)
    rows = sum_by(runs, noisy)
    return Shape(edges, sizes, runs, rows, 1 / (np.bincount(runs) * variance))


def _best_runs(sizes: NDArray[np.float64], counts: NDArray[np.float64], price: float) -> list[int]:
    """Where the runs of the best step function start.

    The cost of a run is the sum of squares that remains when its counts are explained by one
    density, ``sum(y^2) - sum(y w)^2 / sum(w^2)``.
    """
    cells = len(counts)
    gain = np.zeros(cells + 1)
    came_from = np.zeros(cells + 1, dtype=np.int64)
    for first in range(0, cells, RUNS_AT_ONCE):
        ends = np.arange(first + 1, min(first + RUNS_AT_ONCE, cells) + 1)
        for end, explained in zip(ends.tolist(), _explain(sizes, counts, ends), strict=True):
            total = gain[:end] + explained[:end] - price
            came_from[end] = int(np.argmax(total))
            gain[end] = total[came_from[end]]
    starts = []
    end = cells
    while end:
        end = int(came_from[end])
        starts.append(end)
    return starts[::-1]


def _explain(
    sizes: NDArray[np.float64], counts: NDArray[np.float64], ends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How much of the squares one density explains: in row e of the runs that stop before the cell
    ``ends[e]``, by where they start.

    Sums of each run by itself: cells differ in size by many powers of ten, and the narrow ones
    would be lost in a difference of two sums over all cells.
    """
    cells = int(ends[-1])
    inside = np.arange(cells) < ends[:, None]
    sums = (
        np.cumsum(np.where(inside, numbers[:cells], 0.0)[:, ::-1], axis=1)[:, ::-1]
        for numbers in (sizes**2, counts * sizes)
    )
    width, weighted = sums
    return np.divide(weighted**2, width, out=np.zeros(width.shape), where=width > 0)


def find_spikes(
    edges: Sequence[float],
    sizes: NDArray[np.float64],
    noisy: NDArray[np.int64],
    spikes: NDArray[np.bool_],
    deviation: float,
    whole: tuple[float, float],
) -> Shape:
    """A run with some single values that hold more rows than the rest, of which nothing else is
    known: it is what is left of the run's rows.

    Parameters
    ----------
    edges, sizes
        The parts of the run.
    noisy
        Noisy counts of them.
    spikes
        Which of them are spikes.
    deviation
        The standard deviation of these counts.
    whole
        How many rows the run holds by another count, and how sure that is.
    """
    rows, precision = whole
    starts = np.zeros(len(noisy), dtype=np.int64)
    starts[1:] = spikes[1:] | spikes[:-1]
    runs = np.cumsum(starts)
    found = sum_by(runs, np.where(spikes, noisy, 0))
    gaps = sum_by(runs, np.where(spikes, 0, sizes))
    shares = gaps / max(gaps.sum(), 1.0)
    variances = np.where(gaps > 0, shares * (1 / precision + spikes.sum() * deviation**2), 0)
    variances[gaps == 0] = deviation**2
    return Shape(tuple(edges), sizes, runs, found + shares * (rows - found.sum()), 1 / variances)


def refine_cells(shape: Shape, finer: dict[int, Shape]) -> Shape:
    """The shape with some runs, known by their first cells, replaced by what is known of their
    inside.
    """
    edges: list[float] = []
    sizes: list[float] = []
    runs: list[int] = []
    rows: list[float] = []
    precisions: list[float] = []
    for run, first in enumerate(shape.starts.tolist()):
        last = int(np.searchsorted(shape.runs, run, side="right"))
        inside = finer.get(first)
        if inside is None:
            edges += shape.edges[first:last]
            sizes += shape.sizes[first:last].tolist()
            runs += [len(rows)] * (last - first)
            rows.append(float(shape.rows[run]))
            precisions.append(float(shape.precisions[run]))
            continue
        edges += inside.edges[:-1]
        sizes += inside.sizes.tolist()
        runs += (len(rows) + inside.runs).tolist()
        rows += inside.rows.tolist()
        precisions += inside.precisions.tolist()
    return Shape(
        (*edges, shape.edges[-1]),
        np.array(sizes),
        np.array(runs, dtype=np.int64),
        np.array(rows),
        np.array(precisions),
    )


def cut_bins(shape: Shape, bins: int, smallest: float = 0.01) -> tuple[float, ...]:
    """Edges of at most about ``bins`` bins that hold about equally many rows.

    A single value that holds as many rows as a bin should is a bin by itself, whatever is beside
    it.

    Parameters
    ----------
    shape
        How the rows lie.
    bins
        How many bins there should be.
    smallest
        The share of rows that makes a bin worth having.
    """
    total = shape.masses.sum()
    alone = (shape.sizes <= 1) & (shape.masses >= total / bins)
    rest = total - shape.masses[alone].sum()
    target = max(rest / max(bins - int(alone.sum()), 1), smallest * total)
    cuts = {0, len(shape.masses)}
    held = 0.0
    for place, mass in enumerate(shape.masses.tolist()):
        if alone[place]:
            cuts |= {place, place + 1}
            held = 0.0
            continue
        # Before this cell, or after it: whichever comes closer to what a bin should hold.
        if held and held + mass - target > target - held:
            cuts.add(place)
            held = 0.0
        held += mass
        if held >= target:
            cuts.add(place + 1)
            held = 0.0
    places = sorted(cuts)
    places = _without_slivers(places, shape.masses, alone, target / 3)
    return tuple(shape.edges[place] for place in places)


def _without_slivers(
    places: list[int], masses: NDArray[np.float64], alone: NDArray[np.bool_], least: float
) -> list[int]:
    """The cuts without those that part off next to nothing from a neighbour that is no spike."""
    kept = [places[0]]
    for start, end in pairwise(places):
        begin = kept[-2] if len(kept) > 1 else None
        sliver = masses[start:end].sum() < least and not alone[start]
        if sliver and begin is not None and not alone[begin]:
            kept[-1] = end
        else:
            kept.append(end)
    return kept


def part_spikes(
    shape: Shape, edges: tuple[float, ...], bins: int, smallest: float = 0.01
) -> tuple[float, ...]:
    """Edges that stay, and those of single values that hold as many rows as one of ``bins`` should.

    Such a value is parted from the rest of its bin where that is worth a bin too. Nothing else is
    cut: whoever gave the bins said how fine relations should be, and more values bring more noise.
    """
    masses, total = shape.masses, shape.masses.sum()
    owners = np.searchsorted(np.array(edges[1:-1]), np.array(shape.edges[:-1]), side="right")
    alone = (shape.sizes <= 1) & (masses >= total / bins)
    rest = np.bincount(owners, weights=np.where(alone, 0, masses), minlength=len(edges) - 1)
    found = set(edges)
    for place in np.flatnonzero(alone & (rest[owners] >= smallest * total)):
        found |= set(shape.edges[place : place + 2])
    return tuple(sorted(edge for edge in found if edge <= edges[-1]))


def segments(shape: Shape, edges: tuple[float, ...]) -> list[tuple[float, float, float, bool]]:
    """Runs of equal density, cut at the edges of bins: start, end, rows, and whether it is a single
    value.
    """
    bounds = set(edges)
    found: list[list[float]] = []
    previous = -1
    for low, high, size, mass, run in zip(
        shape.edges[:-1], shape.edges[1:], shape.sizes, shape.masses, shape.runs, strict=True
    ):
        if run == previous and low not in bounds:
            found[-1][1] = high
            found[-1][2] += mass
            found[-1][3] += size
        else:
            found.append([low, high, float(mass), float(size)])
        previous = run
    return [(low, high, mass, size <= 1) for low, high, mass, size in found]
