"""Scores of many tables at once, compiled. Tables lie flat one after the other, the child's side first.

What is added up is kept in integers wherever the score allows, so those results are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from understudy.compiled import kernel

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


@kernel(nogil=True)
def _dependence_alone(
    flat: Array, offsets: Array, child_sizes: Array, rows: int, masses: Array
) -> None:
    for t in range(len(child_sizes)):
        masses[t] = _dependence_mass(flat[offsets[t] : offsets[t + 1]], child_sizes[t], rows)


@kernel(parallel=True)
def _dependence_shared(
    flat: Array, offsets: Array, child_sizes: Array, rows: int, masses: Array
) -> None:
    for t in prange(len(child_sizes)):
        masses[t] = _dependence_mass(flat[offsets[t] : offsets[t + 1]], child_sizes[t], rows)


@kernel(nogil=True)
def _information_alone(
    flat: Array, offsets: Array, child_sizes: Array, rows: int, bits: Array
) -> None:
    for t in range(len(child_sizes)):
        bits[t] = _information(flat[offsets[t] : offsets[t + 1]], child_sizes[t], rows)


@kernel(parallel=True)
def _information_shared(
    flat: Array, offsets: Array, child_sizes: Array, rows: int, bits: Array
) -> None:
    for t in prange(len(child_sizes)):
        bits[t] = _information(flat[offsets[t] : offsets[t + 1]], child_sizes[t], rows)


@kernel(nogil=True)
def _dependence_mass(cells: Array, size: int, rows: int) -> Any:
    by_child, by_parent = _margins(cells, size)
    width = len(by_parent)
    mass = np.int64(0)
    for x in range(size):
        for p in range(width):
            mass += abs(rows * cells[x * width + p] - by_child[x] * by_parent[p])
    return mass


@kernel(nogil=True)
def _information(cells: Array, size: int, rows: int) -> Any:
    by_child, by_parent = _margins(cells, size)
    width = len(by_parent)
    total = 0.0
    for x in range(size):
        for p in range(width):
            count = cells[x * width + p]
            if count:
                total += count * np.log2(
                    (float(rows) * count) / (float(by_child[x]) * by_parent[p])
                )
    return total


@kernel(nogil=True)
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


@kernel(parallel=True)
def assignment_masses(flat: Array, offsets: Array, rows: int, threads: int) -> Array:
    """2 n F for every table with a binary child: an integer at or below 0."""
    masses = np.zeros(len(offsets) - 1, np.int64)
    for thread in prange(threads):
        best = np.empty((2, rows // 2 + 1), np.int32)
        for t in range(thread, len(masses), threads):
            start, end = offsets[t], offsets[t + 1]
            middle = (start + end) // 2
            masses[t] = -_lacking(flat[start:middle], flat[middle:end], rows, best)
    return masses


@kernel()
def _lacking(zeros: Array, ones: Array, rows: int, best: Array) -> Any:
    """The least of (n - 2 K0)+ + (n - 2 K1)+ over assignments of the parent values to the two values of the child.

    First give each parent value to the side where it has more rows. No assignment has a larger K0 + K1, so if neither
    side has more than half of all rows, that is the answer. Otherwise only moves from the heavy side to the other can
    help: moving a value takes its ``heavy`` rows from there and brings its ``light`` rows over. Up to half of the
    ``excess`` may leave for nothing; what leaves beyond that falls short.

    A set of moves that falls short is worth considering only if it would not fall short without any one of its values,
    since leaving a value behind saves more there (heavy) than it loses here (light).
    """
    heavy, light = zeros, ones
    kept, other = _larger_sides(heavy, light)
    if 2 * other > rows:
        heavy, light = ones, zeros
        kept, other = _larger_sides(heavy, light)
    if 2 * kept <= rows:
        return 2 * (rows - kept - other)
    movable = np.flatnonzero((heavy >= light) & (light > 0))
    # By size, so that the programme's range stays short for as long as it can.
    movable = movable[np.argsort(heavy[movable])]
    return _least_after_moves(
        heavy[movable], light[movable], 2 * kept - rows, rows - 2 * other, best[0], best[1]
    )


@kernel()
def _larger_sides(heavy: Array, light: Array) -> Any:
    """What each side gets if every parent value goes where it has more rows; ``heavy`` gets those that are even."""
    kept = other = np.int64(0)
    for p in range(len(heavy)):
        if heavy[p] >= light[p]:
            kept += heavy[p]
        else:
            other += light[p]
    return kept, other


@kernel()
def _least_after_moves(
    heavy: Array, light: Array, excess: Any, wanted: Any, old: Array, new: Array
) -> Any:
    """The dynamic programme over integer masses: old[s] is the most that moving up to s rows brings over."""
    spare = excess // 2
    least = max(np.int64(0), wanted)
    top = np.int64(0)
    old[0] = 0
    for p in range(len(heavy)):
        size, gain = np.int64(heavy[p]), np.int64(light[p])
        # This value is the one that falls short: s rows went before it.
        for s in range(max(np.int64(0), spare - size + 1), spare + 1):
            short = 2 * (s + size) - excess
            if short >= least:
                break
            least = min(least, short + max(np.int64(0), wanted - 2 * (old[min(s, top)] + gain)))
        # Or it is moved as well.
        if size <= spare:
            reach = min(top + size, spare)
            _relax(old, new, size, np.int32(gain), top, reach)
            old, new = new, old
            top = reach
            least = min(least, max(np.int64(0), wanted - 2 * old[top]))
    return least


@kernel()
def _relax(old: Array, new: Array, size: Any, gain: Any, top: Any, reach: Any) -> None:
    """new[s] = max(old[s], old[s - size] + gain) up to ``reach``, where old[s] is old[top] beyond top.

    Slices of 32 bits, so that the compiler makes vector instructions of them.
    """
    below = min(size, top + 1)
    new[:below] = old[:below]
    if size > top + 1:
        new[top + 1 : size] = old[top]
    if size <= top:
        _larger(new[size : top + 1], old[size : top + 1], old[: top + 1 - size], gain)
    start = max(size, top + 1)
    for s in range(start, reach + 1):
        new[s] = max(old[top], np.int32(old[s - size] + gain))


@kernel(inline="always")
def _larger(out: Array, stay: Array, move: Array, gain: Any) -> None:
    for i in range(out.size):
        moved = np.int32(move[i] + gain)
        stayed = stay[i]
        out[i] = moved if moved > stayed else stayed
