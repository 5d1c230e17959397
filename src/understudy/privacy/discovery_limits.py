"""Which limits stand for numbers in a column (``<0.5``, ``>100``), from a noisy histogram."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.data.limits import ABOVE, BELOW, list_limits
from understudy.privacy.discovery_cells import CellGrid
from understudy.privacy.discovery_questions import FAR_FALSE_ALARM, NoisyHistogram


def find_limits(
    asked: NoisyHistogram,
    grid: CellGrid,
    inside: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> list[tuple[str, float]]:
    """The commonest limit on each side, where it stands out of the noise: post-processing.

    Whatever lies beyond a limit is written as the limit. So there is none where more numbers than
    limits lie beyond it: they would be lost.

    Parameters
    ----------
    asked
        The histogram.
    grid
        The cells of the numbers.
    inside, counts
        How many numbers are in each cell, and how many cells hold each public limit, with noise.
    """
    limits, least = list_limits(), asked.stands_out(len(counts), FAR_FALSE_ALARM)
    beyond = {BELOW: grid.edges[1:], ABOVE: -grid.edges[:-1]}
    direction = {BELOW: 1.0, ABOVE: -1.0}
    found = []
    for sign in (BELOW, ABOVE):
        places = [place for place, (other, _) in enumerate(limits) if other == sign]
        best = max(places, key=lambda place: int(counts[place]))
        lost = inside[beyond[sign] <= direction[sign] * limits[best][1]].sum()
        if counts[best] > max(least, lost):
            found.append(limits[best])
    if len(found) == 2 and found[0][1] > found[1][1]:
        return []
    return found


def cut_at_limits(
    bins: Sequence[float], limits: Sequence[tuple[str, float]], width: float
) -> tuple[float, ...]:
    """Bins of which none lies on both sides of a limit: the numbers of one that does would be
    written as the limit now and then.
    """
    cuts = {limit + width * (sign == ABOVE) for sign, limit in limits}
    return tuple(sorted({*bins, *(cut for cut in cuts if bins[0] < cut < bins[-1])}))
