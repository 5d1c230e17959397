"""From a noisy histogram to the bins of a quantity: post-processing alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

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
    stands_out: float
    """A count above this is hardly noise alone in any of the cells."""


LIKELY = 2.0
"""Deviations of the noise: more rows than that are hardly noise alone."""

CLOSE_TO_ZERO = 0.01
"""As a part of the range: an end this close to zero is zero."""


def trim(cells: NoisyCells, seen: float, bins: int = DEFAULT_BINS) -> NoisyCells:
    """Without the outer stretches that hold next to nothing, as far as one can tell.

    To cut off a tail of N rows moves them to the end of what is left. To keep it moves rows, too:
    the outermost bin reaches over the tail, which gets S of its rows where N are, by its part of
    the width; but no more than a closer look at the inside of bins would leave unseen. So a tail is
    cut off where N is estimated to be less than S - N and than what is seen later, and where no
    stretch of it is certain to hold rows.

    Parameters
    ----------
    cells
        What was counted.
    seen
        A stretch of this many rows is seen by a closer look.
    bins
        How many bins there will be.
    """
    first = _first_held(cells, seen, bins)
    reversed_cells = NoisyCells(
        edges=-cells.edges[::-1],
        counts=cells.counts[::-1],
        deviation=cells.deviation,
        stands_out=cells.stands_out,
    )
    last = len(cells.counts) - _first_held(reversed_cells, seen, bins)
    if last <= first:
        return cells
    first, last = _snap_to_zero(cells.edges, first, last)
    return NoisyCells(
        edges=cells.edges[first : last + 1],
        counts=cells.counts[first:last],
        deviation=cells.deviation,
        stands_out=cells.stands_out,
    )


def drop_below_zero(cells: NoisyCells) -> NoisyCells:
    """Without the stretches below zero, unless they are likely to hold rows: amounts and counts
    below zero look wrong, however few they are.
    """
    zero = int(np.searchsorted(cells.edges, 0.0))
    likely = LIKELY * cells.deviation * math.sqrt(zero)
    if not 0 < zero < len(cells.counts) or cells.edges[zero] != 0:
        return cells
    if cells.counts[:zero].sum() > likely:
        return cells
    return replace(cells, edges=cells.edges[zero:], counts=cells.counts[zero:])


def _snap_to_zero(edges: NDArray[np.float64], first: int, last: int) -> tuple[int, int]:
    """The places of both ends, moved to zero where they lie next to it: a column that begins at
    0.0025 and goes to 80 begins at 0.
    """
    zero = int(np.searchsorted(edges, 0.0))
    if zero == len(edges) or edges[zero] != 0:
        return first, last
    near = CLOSE_TO_ZERO * (edges[last] - edges[first])
    if abs(edges[first]) <= near and zero < last:
        first = zero
    elif abs(edges[last]) <= near and zero > first:
        last = zero
    return first, last


def _first_held(cells: NoisyCells, seen: float, bins: int) -> int:
    """How many cells at the start of some can be cut off."""
    sums = np.cumsum(cells.counts).astype(np.float64)
    target = max(float(sums[-1]) / bins, 3 * cells.deviation)
    full = np.flatnonzero(sums >= target)
    if not len(full):
        return 0
    tails = cells.edges[1:] - cells.edges[0]
    spread = target * np.minimum(tails / tails[full[0]], 1.0)
    lost = _expect_rows(sums, cells.deviation * np.sqrt(np.arange(1, len(sums) + 1)))
    allowed = lost <= np.minimum(spread - lost, seen)
    free = np.flatnonzero(allowed[: _certainly_held(cells)])
    if len(free) == 0:
        return 0
    return int(free[-1]) + 1


def find_held(cells: NoisyCells) -> tuple[int, int]:
    """From which cell to before which one rows certainly are; everywhere if nothing stands out."""
    first, _ = _first_certain(cells.counts, cells.stands_out)
    last, _ = _first_certain(cells.counts[::-1], cells.stands_out)
    if first == len(cells.counts):
        return 0, len(cells.counts)
    return first, len(cells.counts) - last


def _certainly_held(cells: NoisyCells) -> int:
    """How many cells come before the end of any stretch that noise alone would not fill so."""
    return _first_certain(cells.counts, cells.stands_out)[1]


def _first_certain(counts: NDArray[np.int64], stands_out: float) -> tuple[int, int]:
    """The first and the last cell of the stretch that ends first, and is the shortest of these,
    among those that noise alone would not fill so; the number of cells if there is none.
    """
    sums = np.concatenate([[0], np.cumsum(counts)])
    first = last = length = len(counts)
    width = 1
    while width <= length:
        within = sums[width:] - sums[:-width]
        held = np.flatnonzero(within > stands_out * math.sqrt(width))
        if len(held) and held[0] + width - 1 < last:
            first, last = int(held[0]), int(held[0]) + width - 1
        width *= 2
    return first, last


def _expect_rows(sums: NDArray[np.float64], noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many rows noisy sums are expected to hold, knowing that none holds fewer than none: the
    mean of a Gaussian cut off at zero.
    """
    distances = np.maximum(sums / noise, -30.0)
    density = np.exp(-(distances**2) / 2) / math.sqrt(2 * math.pi)
    below = [math.erfc(-distance / math.sqrt(2)) / 2 for distance in distances.tolist()]
    return np.asarray(noise * (distances + density / np.array(below)))


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


def keep_tails(cells: NoisyCells, edges: tuple[float, ...]) -> tuple[float, ...]:
    """Edges of bins with a bin more for each tail that was cut off.

    Noise hides tails of a few percent of the rows, and to cut one off moves its rows to the end of
    what is left. A bin of its own for an empty one costs what noise adds to it later, when the
    model counts it at a far better price: a few rows. Numbers below zero are left out: where none
    are certain, there are hardly any.
    """
    low, high = float(cells.edges[0]), float(cells.edges[-1])
    if low < 0 <= edges[0]:
        low = 0.0
    if low <= 0 and edges[0] <= CLOSE_TO_ZERO * (edges[-1] - edges[0]):
        low = edges[0]
    if high > 0 >= edges[-1]:
        high = edges[-1]
    return tuple(sorted({low, *edges, high}))


def drop_empty_ends(cells: NoisyCells, total: float, spread: float) -> tuple[float, ...]:
    """Each stretch as a bin, without those at both ends that had better not be kept.

    To drop bins moves the rows that they hold. To keep empty ones puts rows there that noise makes
    up, in each about the mean of what noise adds above zero: 0.4 of its deviation.

    Parameters
    ----------
    cells
        What was counted.
    total, spread
        How many rows all of them hold by another count, and the deviation of that: what the other
        bins leave of it is a second estimate of the rows at an end.
    """
    first = _first_worth_keeping(cells.counts, cells.deviation, total, spread)
    last = len(cells.counts)
    last -= _first_worth_keeping(cells.counts[::-1], cells.deviation, total, spread)
    if last <= first:
        return tuple(cells.edges.tolist())
    return tuple(cells.edges[first : last + 1].tolist())


def _first_worth_keeping(
    counts: NDArray[np.int64], deviation: float, total: float, spread: float
) -> int:
    """How many bins at the start are dropped."""
    bins = np.arange(1, len(counts) + 1)
    sums = np.cumsum(counts).astype(np.float64)
    left_over = total - (sums[-1] - sums)
    variances = deviation**2 * bins
    others = spread**2 + deviation**2 * (len(counts) - bins)
    both = (sums * others + left_over * variances) / (variances + others)
    lost = _expect_rows(both, np.sqrt(variances * others / (variances + others)))
    free = np.flatnonzero(lost <= deviation * bins / math.sqrt(2 * math.pi))
    if not len(free):
        return 0
    return int(free[-1]) + 1
