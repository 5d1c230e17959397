"""Which limits stand for numbers in a column (``<0.5``, ``>100``), from a noisy histogram."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.data.limits import ABOVE, BELOW, list_limits, stand_in
from understudy.privacy.discovery_cells import CellGrid
from understudy.privacy.discovery_questions import FAR_FALSE_ALARM, NoisyHistogram


def find_limits(
    asked: NoisyHistogram,
    grid: CellGrid,
    inside: NDArray[np.int64],
    counts: NDArray[np.int64],
    *,
    whole: bool = False,
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
    whole
        Whether numbers are whole: then a limit such as >0.03, which is read as 0.06, is none.
    """
    limits, least = list_limits(), asked.stands_out(len(counts), FAR_FALSE_ALARM)
    beyond = {BELOW: grid.edges[1:], ABOVE: -grid.edges[:-1]}
    direction = {BELOW: 1.0, ABOVE: -1.0}
    found = []
    for sign in (BELOW, ABOVE):
        places = [
            place
            for place, (other, limit) in enumerate(limits)
            if other == sign and not (whole and stand_in(sign, limit) % 1)
        ]
        best = max(places, key=lambda place: int(counts[place]))
        lost = inside[beyond[sign] <= direction[sign] * limits[best][1]].sum()
        if counts[best] > max(least, lost):
            found.append(limits[best])
    if len(found) == 2 and found[0][1] > found[1][1]:
        return []
    return found


def cut_at_limits(
    bins: Sequence[float],
    limits: Sequence[tuple[str, float]],
    width: float,
    *,
    whole: bool = False,
) -> tuple[float, ...]:
    """Bins of which none lies on both sides of a limit: the numbers of one that does would be
    written as the limit now and then. Bins of whole numbers are cut at whole ones.
    """
    cuts = {limit + width * (sign == ABOVE) for sign, limit in limits}
    if whole:
        cuts = {
            math.floor(limit) + 1 if sign == ABOVE else math.ceil(limit) for sign, limit in limits
        }
    return tuple(sorted({*bins, *(cut for cut in cuts if bins[0] < cut < bins[-1])}))
