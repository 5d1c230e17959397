"""Numbers as codes of bins whose bounds were announced: then any randomiser of values serves.

Bounds must be public before anybody answers. Equal width needs only a public range. Equal frequency
needs a public sample, such as last year's table; bounds taken from the answers themselves would
tell about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from understudy.errors import InputError
from understudy.local.randomisers.base import Floats, Integers
from understudy.local.randomisers.numeric import check_bounds, check_numbers
from understudy.local.randomisers.thresholds import check_whole

MAX_BINS = 1 << 16


@dataclass(frozen=True)
class Bins:
    """Bins between announced edges. A number on an edge belongs to the bin above it; the highest
    edge belongs to the last bin.

    Parameters
    ----------
    edges
        Rising numbers: one more than there are bins.
    """

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        edges = tuple(float(edge) for edge in self.edges)
        object.__setattr__(self, "edges", edges)
        if len(edges) < 2 or not all(low < high for low, high in pairwise(edges)):
            raise InputError("Bins need two edges or more, each above the one before.")
        check_bounds(edges[0], edges[-1])

    @property
    def size(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    def encode(self, values: Any) -> Integers:
        """The codes of numbers, 0 for the lowest bin."""
        numbers = check_numbers(values, self.edges[0], self.edges[-1])
        codes = np.searchsorted(np.array(self.edges[1:-1]), numbers, side="right")
        return codes.astype(np.int64)

    @property
    def middles(self) -> Floats:
        """The middle of each bin."""
        edges = np.array(self.edges)
        return (edges[:-1] + edges[1:]) / 2


def equal_width_bins(low: float, high: float, bins: int) -> Bins:
    """Bins of one width between announced bounds.

    Examples
    --------
    >>> equal_width_bins(0, 28, 3).encode([0, 4, 12, 16, 16, 18, 24, 26, 28])
    array([0, 0, 1, 1, 1, 1, 2, 2, 2])
    """
    check_bounds(low, high)
    check_whole(bins, "bins", 1, MAX_BINS)
    inner = [low + (high - low) * place / bins for place in range(1, bins)]
    return Bins((low, *inner, high))


def equal_frequency_bins(sample: Sequence[float] | Any, bins: int) -> Bins:
    """Bins with equally many numbers of a public sample each, as far as equal numbers allow.

    An edge lies halfway between the last number of a bin and the first one of the next.

    Examples
    --------
    >>> equal_frequency_bins([0, 4, 12, 16, 16, 18, 24, 26, 28], 3).edges
    (0.0, 14.0, 21.0, 28.0)
    """
    check_whole(bins, "bins", 1, MAX_BINS)
    numbers = np.sort(check_numbers(sample, -np.inf, np.inf).ravel())
    if len(np.unique(numbers)) < max(bins, 2):
        raise InputError(f"A sample needs {max(bins, 2):,} different numbers for {bins:,} bins.")
    ends = [len(numbers) * place // bins for place in range(1, bins)]
    inner = [(float(numbers[end - 1]) + float(numbers[end])) / 2 for end in ends]
    return Bins(tuple(sorted({float(numbers[0]), *inner, float(numbers[-1])})))
