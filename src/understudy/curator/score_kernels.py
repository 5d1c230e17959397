"""Scores of many tables at once, compiled. Tables lie flat one after the other, the child's side first.

What is added up is kept in integers wherever the score allows, so those results are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

Array = Any


FEW_CELLS = 1 << 20
"""Below this many cells waking a second thread costs more than it brings."""


def dependence_masses(flat: Array, offsets: Array, child_sizes: Array, rows: int) -> Array:
    """Sum over cells of |n c_xp - c_x c_p| for every table: 2 n times n R. Exact while n^2 < 2^62."""
    masses = np.zeros(len(child_sizes), np.int64)
    fill = _dependence_alone if len(flat) < FEW_CELLS else _dependence_shared
    fill(flat, offsets, child_sizes, rows, masses)
    return masses


def information_bits(flat: Array, offsets: Array, child_sizes: Array, rows: int) -> Array:
    """Sum over cells of c_xp log2(n c_xp / (c_x c_p)) for every table: n I in bits."""
    bits = np.zeros(len(child_sizes), np.float64)
    fill = _information_alone if len(flat) < FEW_CELLS else _information_shared
    fill(flat, offsets, child_sizes, rows, bits)
    return bits


@njit(cache=True, nogil=True)
def _dependence_alone(flat: Array, offsets: Array, child_sizes: Array, rows: int, masses: Array) -> None:
    for t in range(len(child_sizes)):
        masses[t] = _dependence_mass(flat[offsets[t] : offsets[t + 1]], child_sizes[t], rows)


@njit(cache=True, parallel=True)
def _dependence_shared(flat: Array, offsets: Array, child_sizes: Array, rows: int, masses: Array) -> None:
    for t in prange(len(child_sizes)):
        masses[t] = _dependence_mass(flat[offsets[t] : offsets[t + 1]], child_sizes[t], rows)


@njit(cache=True, nogil=True)
def _information_alone(flat: Array, offsets: Array, child_sizes: Array, rows: int, bits: Array) -> None:
    for t in range(len(child_sizes)):
        bits[t] = _information(flat[offsets[t] : offsets[t + 1]], child_sizes[t], rows)


@njit(cache=True, parallel=True)
def _information_shared(flat: Array, offsets: Array, child_sizes: Array, rows: int, bits: Array) -> None:
    for t in prange(len(child_sizes)):
        bits[t] = _information(flat[offsets[t] : offsets[t + 1]], child_sizes[t], rows)


@njit(cache=True, nogil=True)
def _dependence_mass(cells: Array, size: int, rows: int) -> Any:
    by_child, by_parent = _margins(cells, size)
    width = len(by_parent)
    mass = np.int64(0)
    for x in range(size):
        for p in range(width):
            mass += abs(rows * cells[x * width + p] - by_child[x] * by_parent[p])
    return mass


@njit(cache=True, nogil=True)
def _information(cells: Array, size: int, rows: int) -> Any:
    by_child, by_parent = _margins(cells, size)
    width = len(by_parent)
    total = 0.0
    for x in range(size):
        for p in range(width):
            count = cells[x * width + p]
            if count:
                total += count * np.log2((float(rows) * count) / (float(by_child[x]) * by_parent[p]))
    return total


@njit(cache=True, nogil=True)
def _margins(cells: Array, size: int) -> Any:
    width = len(cells) // size
    by_parent = np.zeros(width, np.int64)
    by_child = np.zeros(size, np.int64)
    for x in range(size):
        for p in range(width):
            count = cells[x * width + p]
            by_parent[p] += count
            by_child[x] += count
    return by_child, by_parent


@njit(cache=True, parallel=True)
def assignment_masses(flat: Array, offsets: Array, rows: int, threads: int) -> Array:
    """2 n F for every table with a binary child: an integer at or below 0."""
    masses = np.zeros(len(offsets) - 1, np.int64)
    for thread in prange(threads):
        best = np.empty((2, (rows + 1) // 2 + 1), np.int32)
        for t in range(thread, len(masses), threads):
            start, end = offsets[t], offsets[t + 1]
            width = (end - start) // 2
            masses[t] = _assignment_mass(flat[start : start + width], flat[start + width : end], rows, best)
    return masses


@njit(cache=True)
def _assignment_mass(zeros: Array, ones: Array, rows: int, best: Array) -> Any:
    """The dynamic programme over integer masses for one table with rows ``zeros`` (X = 0) and ``ones`` (X = 1).

    Every parent value gives its mass in one of the two rows to K0 or K1. best[a] is the largest K1 that can be had
    with K0 at least a; K0 beyond half of the rows counts as half. Parent values seen with one value of X only are no
    choice at all, and are dealt with before.
    """
    half: Any = (rows + 1) // 2
    sure_ones: Any = np.int64(0)
    top: Any = np.int64(0)
    for p in range(len(zeros)):
        if zeros[p] == 0:
            sure_ones += ones[p]
        elif ones[p] == 0:
            top += zeros[p]
    top = min(top, half)
    old, new = best[0], best[1]
    for a in range(top + 1):
        old[a] = 0
    for p in range(len(zeros)):
        zero, one = np.int64(zeros[p]), np.int32(ones[p])
        if zero == 0 or one == 0:
            continue
        reach = min(top + zero, half)
        # To have at least a from row 0, take this value there on top of at least a - zero, or leave it to row 1.
        for a in range(min(zero, top + 1)):
            new[a] = max(old[a] + one, old[0])
        for a in range(zero, top + 1):
            new[a] = max(old[a] + one, old[a - zero])
        for a in range(top + 1, min(zero, reach + 1)):
            new[a] = old[0]
        for a in range(max(top + 1, zero), reach + 1):
            new[a] = old[a - zero]
        old, new = new, old
        top = reach
    least: Any = np.int64(2) * rows
    for a in range(top + 1):
        lacking = max(np.int64(0), rows - 2 * a) + max(np.int64(0), rows - 2 * (sure_ones + old[a]))
        least = min(least, lacking)
    return -least
