"""On which grid the numbers of a column lie, and how people round: from noisy counts of classes.

Everything here is post-processing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.data.inside import fraction

OFF_GRID = 0.005
"""The share of numbers that may lie beside a grid which is still called that of the column."""

LEAST_HEAP = 0.02
"""Rounding that concerns a smaller share of the numbers is not worth telling."""

ENOUGH = 10.0
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
    rows = np.maximum(counts[1:], 0).astype(np.float64)
    total = rows.sum()
    if total < ENOUGH * stands_out:
        return None, ()
    beside = total - np.cumsum(rows)[:-1]
    allowed = OFF_GRID * total + stands_out
    coarsest = np.flatnonzero(beside <= allowed)
    if not len(coarsest):
        return None, ()
    place = int(coarsest[0])
    return steps[place], _heaps(
        steps[: place + 1], rows[: place + 1], max(LEAST_HEAP, 2 * stands_out / total)
    )


def _heaps(
    steps: tuple[float, ...], rows: NDArray[np.float64], least: float
) -> tuple[tuple[float, float], ...]:
    """How large a share of the numbers is rounded to each coarser step.

    A number drawn on a grid of step t lies on the coarser grid of step s by chance once in s / t.
    With shares h(s) that are rounded to s, the share of numbers on the grid of s is the sum of h(t)
    over t >= s plus that of h(t) t / s over t < s: as many equations as unknowns.
    """
    if len(steps) < 2:
        return ()
    ratios = np.array([[min(1.0, float(fraction(t) / fraction(s))) for t in steps] for s in steps])
    shares = np.linalg.solve(ratios, np.cumsum(rows) / rows.sum())
    heaps = [
        (step, round(float(share), 4))
        for step, share in zip(steps[:-1], shares[:-1], strict=True)
        if share >= least
    ]
    most = sum(share for _, share in heaps)
    if most > 1:
        heaps = [(step, share / most) for step, share in heaps]
    return tuple(heaps)
