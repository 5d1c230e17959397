"""Which tables to count, so that many marginals are summed from few of them; compiled by numba.

What is said of kernels in :mod:`understudy.counting.kernels` holds here too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.counting.kernels import MERGED_CELLS, axis_bit, clear, copy_into, count_ones
from understudy.counting.layout import Axes
from understudy.machine.compiled import kernel

Array = Any  # numba infers the element types; see each docstring


@kernel(nogil=True)
def merge(
    masks: Array,
    cells: Array,
    closures: Array,
    axes: Axes,
    rows: int,
    owner: Array,
    tables: Array,
) -> None:
    """Decide which tables to count so that every marginal can be summed from one of them.

    This takes the sharing of prefixes to its end: the table over (a, b, c, d, e) costs one pass
    over the rows and holds ten triples. Greedily, the first marginal without a table starts one,
    which then takes in the axis that saves most, while it saves anything. An axis of level 0 also
    provides the coarser levels of its attribute.

    The unit of cost is one row counted into a small table. Summing one cell for one marginal costs
    about as much, and a row of a table of MERGED_CELLS some three more, as that no longer fits the
    caches (measured). Marginals are compared with those near them only (`window`), so that planning
    stays a small part of counting.

    Parameters
    ----------
    masks : uint64 (marginals, words)
        Sorted, so that marginals with the same leading axes are near each other.
    cells : int64 (marginals,)
        Sizes of their tables, at most MERGED_CELLS each.
    closures : uint64 (axes, words)
        Per axis, the mask of the axes that it provides.
    rows : int
        Rows to count (after collapsing).
    owner : int64 (marginals,), written
        The marginal whose table each is summed from.
    tables : uint64 (marginals, words), written
        For the owners, the axes of the table to count.
    """
    words = masks.shape[1]
    window = min(max(rows // 32, 1), 4096)
    pending = np.empty(window, np.int64)
    gains = np.zeros(len(axes.sizes), np.int64)
    table = np.empty(words, np.uint64)
    provided = np.empty(words, np.uint64)
    for begin in range(0, len(masks), window):
        waiting = min(window, len(masks) - begin)
        for i in range(waiting):
            pending[i] = begin + i
        while waiting > 0:
            seed = pending[0]
            size = cells[seed]
            copy_into(masks[seed], table)
            _close(table, closures, provided)
            while True:
                served = _gains(masks, pending[:waiting], provided, gains)
                axis, new_size = _best(gains, table, size, served, axes, rows)
                if axis < 0:
                    break
                if axes.base[axis] == axis:  # level 0 replaces the coarser levels of its attribute
                    for w in range(words):
                        table[w] &= ~closures[axis, w]
                table[axis >> 6] |= axis_bit(axis)
                size = new_size
                _close(table, closures, provided)
            copy_into(table, tables[seed])
            left = 0
            for i in range(waiting):
                m = pending[i]
                if _within(masks[m], provided):
                    owner[m] = seed
                else:
                    pending[left] = m
                    left += 1
            waiting = left


@kernel(nogil=True)
def _gains(masks: Array, pending: Array, provided: Array, gains: Array) -> int:
    """Per axis, how many pending marginals lack just that axis; returns how many lack nothing."""
    clear(gains)
    served = 0
    one = np.uint64(1)
    none = np.uint64(0)
    for m in pending:
        missing = none
        word = 0
        lone = True
        for w in range(masks.shape[1]):
            rest = masks[m, w] & ~provided[w]
            if rest != none:
                if missing != none:
                    lone = False
                missing = rest
                word = w
        if missing == none:
            served += 1
        elif lone and missing & (missing - one) == none:
            gains[word * 64 + 63 - np.int64(count_ones(missing - one))] += 1
    return served


@kernel(nogil=True)
def _best(
    gains: Array, table: Array, size: int, served: int, axes: Axes, rows: int
) -> tuple[int, int]:
    """The axis that saves most when added to a table, and the table's size with it; -1 if none
    saves anything.
    """
    best = -1
    best_size = 0
    best_saving = 0.0
    sizes, base = axes.sizes, axes.base
    first = 0
    # The axes of one attribute are numbered consecutively, from its level 0.
    while first < len(sizes):
        end = first
        total = 0
        replaced = 1
        while end < len(sizes) and base[end] == first:
            total += gains[end]
            if table[end >> 6] & axis_bit(end) != np.uint64(0):
                replaced *= sizes[end]
            end += 1
        if total > 0:
            for axis in range(first, end):
                gain = total if axis == first else gains[axis]
                grown = size * sizes[axis] // (replaced if axis == first else 1)
                if gain == 0 or grown > MERGED_CELLS:
                    continue
                more = grown - size
                slower = 3.0 * rows * more / MERGED_CELLS
                summing = 1.0 * more * (served + gain)
                saving = gain * rows - slower - summing
                if saving > best_saving:
                    best, best_size, best_saving = axis, grown, saving
        first = end
    return best, best_size


@kernel(nogil=True)
def _close(table: Array, closures: Array, provided: Array) -> None:
    clear(provided)
    for axis in range(len(closures)):
        if table[axis >> 6] & axis_bit(axis) != np.uint64(0):
            for w in range(len(provided)):
                provided[w] |= closures[axis, w]


@kernel(nogil=True)
def _within(mask: Array, other: Array) -> bool:
    beyond = np.uint64(0)
    for w in range(len(mask)):
        beyond |= mask[w] & ~other[w]
    return bool(beyond == np.uint64(0))
