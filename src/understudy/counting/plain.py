"""Counting in plain NumPy, for tables so small that compiled kernels would not pay.

What each function gives is, number for number, what the one of the same name in
:mod:`understudy.counting.kernels` gives.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.counting.layout import MarginalLayout

Ints = NDArray[np.int64]

TOO_LARGE = -1
REPEATED = -2

STRETCH = 1 << 16
"""Rows that are counted at a time: their indices stay in the cache."""


def counting_seconds(marginals: int, axes: int, rows: int) -> float:
    """What marginals with this many axes in all take, by their rows."""
    return 5e-6 * marginals + 2e-6 * axes + 0.9e-9 * rows * (marginals + axes)


def summing_seconds(cells: int) -> float:
    """What they take besides, by their cells."""
    return 2e-9 * cells


def numbering_seconds(rows: int) -> float:
    """What :func:`number_distinct` and :func:`sum_weights` take."""
    return 30e-6 + 70e-9 * rows


def outline(starts: Ints, axes: Ints, sizes: Ints, base: Ints, limit: int) -> Ints:
    """The number of cells of every marginal: TOO_LARGE above `limit`, REPEATED if an attribute
    occurs twice.
    """
    cells = np.empty(len(starts) - 1, np.int64)
    known_sizes, known_base = sizes.tolist(), base.tolist()
    listed = axes.tolist()
    for m, (first, last) in enumerate(pairwise(starts.tolist())):
        product = 1
        met: set[int] = set()
        for axis in listed[first:last]:
            product = min(product * known_sizes[axis], limit + 1)
            met.add(known_base[axis])
        if len(met) < last - first:
            product = REPEATED
        elif product > limit:
            product = TOO_LARGE
        cells[m] = product
    return cells


def count_marginals(
    marginals: MarginalLayout,
    sizes: Ints,
    column: Callable[[int, slice], NDArray[Any]],
    weights: NDArray[np.uint32],
    rows: int,
    flat: Ints,
) -> None:
    """Add every marginal, row by row, to its place in `flat`.

    Parameters
    ----------
    column
        The codes at an axis of some of the rows.
    weights
        How often each row stands in the data; empty where each stands once.
    rows
        How many rows `column` has.
    """
    known_sizes = sizes.tolist()
    for m, (first, last) in enumerate(pairwise(marginals.starts.tolist())):
        table = flat[marginals.begins[m] : marginals.ends[m]]
        stretch = max(STRETCH, len(table))
        for begin in range(0, rows, stretch):
            part = slice(begin, min(begin + stretch, rows))
            index = np.zeros(part.stop - begin, np.intp)
            for axis in marginals.axes[first:last].tolist():
                index *= known_sizes[axis]
                index += column(axis, part)
            table += count_codes(index, weights[part], len(table))


def count_codes(codes: NDArray[Any], weights: NDArray[np.uint32], size: int) -> Ints:
    """How often each code occurs; by weights, unless these are empty."""
    if not len(weights):
        return np.bincount(codes, minlength=size)
    # Floating-point numbers, but whole ones below 2^31 in all: exact.
    return np.bincount(codes, weights, minlength=size).astype(np.int64)


def number_distinct(
    keys: NDArray[np.uint64], limit: int, ids: NDArray[np.uint32], examples: NDArray[np.uint32]
) -> int:
    """Number the distinct keys in order of appearance; -1 if there are more than `limit`."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) > limit:
        return -1
    by_appearance = np.argsort(first)
    number = np.empty(len(first), np.uint32)
    number[by_appearance] = np.arange(len(first))
    ids[:] = number[inverse]
    examples[: len(first)] = first[by_appearance]
    return len(first)


def sum_weights(
    ids: NDArray[np.uint32], weights: NDArray[np.uint32], totals: NDArray[np.uint32]
) -> None:
    """Add up the weights (empty where each is 1) of the rows that have each number."""
    totals[:] = count_codes(ids, weights, len(totals))
