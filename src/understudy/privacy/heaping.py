"""On which grid the numbers of a column lie, and how people round: from noisy counts of classes.

Everything here is post-processing.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.data.inside import fraction

OFF_GRID = 0.005
"""The share of numbers that may lie beside a grid which is still called that of the column."""

LEAST_HEAP = 0.02
"""Rounding that concerns a smaller share of the numbers is not worth telling."""

MIN_HEAPS_TO_NOISE = 10.0
"""How many times what stands out of the noise the numbers must be, before anything is made of
them.
"""


def find_grid(
    steps: tuple[float, ...], counts: NDArray[np.int64], stands_out: float
) -> tuple[float | None, tuple[tuple[float, float], ...]]:
    """The step of a column and the shares that are rounded to coarser ones.

    Parameters
    ----------
    steps
        The grids, coarsest first.
    counts
        Noisy counts of zero, of the numbers whose coarsest grid each step is, and of the rest.
    stands_out
        Counts above this are hardly noise alone.
    """
    total = float(counts[1:].sum())
    if total < MIN_HEAPS_TO_NOISE * stands_out:
        return None, ()
    multiples = _multiples(steps)
    beside = total - multiples @ counts[1:-1]
    # Noise in the classes beside a grid adds up.
    noise = stands_out * np.maximum(np.sqrt(len(steps) + 1 - multiples.sum(axis=1)) / 2, 1)
    coarsest = np.flatnonzero(beside <= OFF_GRID * total + noise)
    if not len(coarsest):
        return None, ()
    step = steps[int(coarsest[0])]
    return step, find_heaps(steps, counts, stands_out, step)


def find_heaps(
    steps: tuple[float, ...], counts: NDArray[np.int64], stands_out: float, step: float
) -> tuple[tuple[float, float], ...]:
    """The shares of numbers, all multiples of a step, that are rounded to coarser ones; parameters
    as of :func:`find_grid`.
    """
    rows = np.maximum(counts[1:], 0).astype(np.float64)
    coarser = [
        place
        for place, coarse in enumerate(steps)
        if coarse >= step and (fraction(coarse) / fraction(step)).denominator == 1
    ]
    found = tuple(steps[place] for place in coarser)
    classes = rows[coarser]
    total = classes.sum()
    if len(found) < 2 or total < MIN_HEAPS_TO_NOISE * stands_out:
        return ()
    on_grid = _multiples(found) @ classes / total
    return _heaps(found, on_grid, max(LEAST_HEAP, 2 * stands_out / total))


def _multiples(steps: tuple[float, ...]) -> NDArray[np.float64]:
    """Whether each step (across) is a multiple of each (down)."""
    exact = [fraction(step) for step in steps]
    return np.array([[float((t / s).denominator == 1) for t in exact] for s in exact])


def _heaps(
    steps: tuple[float, ...], on_grid: NDArray[np.float64], least: float
) -> tuple[tuple[float, float], ...]:
    """How large a share of the numbers is rounded to each coarser step, given those that lie on
    each grid.

    A number drawn on a grid of step t lies on the grid of step s by chance once in lcm(s, t) / t.
    With shares h(t) that are rounded to t, the share of numbers on the grid of s is the sum of
    h(t) t / lcm(s, t): as many equations as unknowns.
    """
    exact = [fraction(step) for step in steps]
    ratios = np.array([[float(t / _common_multiple(s, t)) for t in exact] for s in exact])
    shares = np.linalg.solve(ratios, on_grid)
    heaps = [
        (step, round(float(share), 4))
        for step, share in zip(steps[:-1], shares[:-1], strict=True)
        if share >= least
    ]
    most = sum(share for _, share in heaps)
    if most > 1:
        heaps = [(step, share / most) for step, share in heaps]
    return tuple(heaps)


def _common_multiple(one: Fraction, two: Fraction) -> Fraction:
    """The smallest number that is a multiple of both."""
    unit = math.lcm(one.denominator, two.denominator)
    return Fraction(math.lcm(int(one * unit), int(two * unit)), unit)


def find_first_of_month(counts: NDArray[np.int64], stands_out: float) -> float:
    """The share of dates that are put on the first of a month, from noisy counts of the days of the
    month: what the first has more than the days up to the 28th, which all months have.
    """
    total = float(np.maximum(counts, 0).sum())
    more = float(counts[0] - np.median(counts[1:28]))
    if total < MIN_HEAPS_TO_NOISE * stands_out or more < max(2 * stands_out, LEAST_HEAP * total):
        return 0.0
    return round(min(more / total, 1.0), 4)
