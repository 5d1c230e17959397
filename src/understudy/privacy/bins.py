"""From a noisy histogram to the bins of a quantity: post-processing alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.attributes import DEFAULT_BINS


@dataclass(frozen=True, kw_only=True)
class NoisyCells:
    """Noisy counts of the stretches between edges."""

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    deviation: float
    """Of the noise in each count, about."""


TRIMMED_SHARE = 0.003
TRIMMED_NOISE = 0.02
"""A tail is cut off where its noisy sum is a small share of all, and the noise in it is, too."""

MAX_TRIMMED_BY_NOISE = 0.01
"""Noise may make a tail look smaller than it is; never is more cut off on its account."""

NEXT_TO_ZERO = 0.01
"""As a part of the range: an end this close to zero is zero."""


def trim(cells: NoisyCells) -> NoisyCells:
    """Without the outer stretches that hold next to nothing, as far as one can tell."""
    first = _first_held(cells.counts, cells.deviation)
    last = len(cells.counts) - _first_held(cells.counts[::-1], cells.deviation)
    if last <= first:
        return cells
    first, last = _snap_to_zero(cells.edges, first, last)
    return NoisyCells(
        edges=cells.edges[first : last + 1],
        counts=cells.counts[first:last],
        deviation=cells.deviation,
    )


def _snap_to_zero(edges: NDArray[np.float64], first: int, last: int) -> tuple[int, int]:
    """The places of both ends, moved to zero where they lie next to it: a column that begins at
    0.0025 and goes to 80 begins at 0.
    """
    zero = int(np.searchsorted(edges, 0.0))
    if zero == len(edges) or edges[zero] != 0:
        return first, last
    near = NEXT_TO_ZERO * (edges[last] - edges[first])
    if abs(edges[first]) <= near and zero < last:
        first = zero
    elif abs(edges[last]) <= near and zero > first:
        last = zero
    return first, last


def _first_held(counts: NDArray[np.int64], deviation: float) -> int:
    """How many cells at the start of some can be cut off."""
    whole = max(float(counts.sum()), 0.0)
    noise = deviation * np.sqrt(np.arange(1, len(counts) + 1))
    sums = np.cumsum(counts)
    held = (counts > 4 * deviation) | (noise > TRIMMED_NOISE * whole)
    certain = len(counts)
    if held.any():
        certain = int(held.argmax())
    allowed = TRIMMED_SHARE * whole + np.minimum(noise, MAX_TRIMMED_BY_NOISE * whole)
    free = np.flatnonzero((sums <= allowed)[:certain])
    if len(free) == 0:
        return 0
    return int(free[-1]) + 1


def cut_bins(cells: NoisyCells, bins: int = DEFAULT_BINS) -> tuple[float, ...]:
    """A bin of its own for each stretch that holds many rows, and about equally many of the other
    rows in each of the other bins.
    """
    counts = np.maximum(cells.counts, 0)
    least = 3 * cells.deviation
    spikes = counts >= max(counts.sum() / bins, least)
    rest = counts[~spikes].sum() / max(bins - spikes.sum(), 2)
    target = max(float(rest), least)
    edges = [float(cells.edges[0])]
    inside, was_spike = 0.0, False
    for low, count, spike in zip(
        cells.edges[:-1].tolist(), cells.counts.tolist(), spikes.tolist(), strict=True
    ):
        if low > edges[-1] and (spike or was_spike or inside >= target):
            edges.append(low)
            inside = 0.0
        inside += count
        was_spike = spike
    edges.append(float(cells.edges[-1]))
    return tuple(edges)


def drop_empty_ends(cells: NoisyCells) -> tuple[float, ...]:
    """Each stretch as a bin, without those at both ends that hold no more than noise would."""
    held = np.flatnonzero(cells.counts > 1.5 * cells.deviation)
    if len(held) == 0:
        return tuple(cells.edges.tolist())
    return tuple(cells.edges[held[0] : held[-1] + 2].tolist())
