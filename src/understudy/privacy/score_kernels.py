"""Scores of many tables at once, compiled.

Tables lie flat one after the other, the child's side first.

What is added up is kept in integers wherever the score allows, so those results are exact.

Holders answer strangers, who may look at the clock. So the number of steps of every kernel is that
of public sizes, and in score F of sums of counts besides, which one row moves by one: no step is
left out because of what a count is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from understudy.machine.compiled import kernel

Array = Any


FEW_CELLS = 1 << 20
"""Below this many cells waking a second thread costs more than it brings."""


def dependence_masses(flat: Array, offsets: Array, child_sizes: Array, rows: int) -> Array:
    """2 n times n R for every table: the sum over cells of |n c_xp - c_x c_p|.

    It is at most 2 n^2: exact while n < 2^31.
    """
    masses = np.zeros(len(child_sizes), np.int64)
    fill = _dependence_alone if len(flat) < FEW_CELLS else _dependence_shared
    fill(flat, offsets, child_sizes, rows, masses)
    return masses


def information_bits(flat: Array, offsets: Array, child_sizes: Array, rows: int) -> Array:
    """Bits of n I for every table: the sum over cells of c_xp log2(n c_xp / (c_x c_p)).

    It is within 25 n 2^-53, while n < 2^31 and a table has at most 2^28 cells. With u = 2^-53:

    - The ratio in a logarithm is two products and a quotient, each rounded once from whole numbers
      below 2^31: within 3 u of itself, which moves its logarithm by 3 u log2 e < 4.4 u. The
      logarithm is a whole number, which is exact, and a rest of at most 1/2, which is within 3 u
      (`_log2_near_one`). Times the count that is 7.4 u c, and 0.5 u c for the rounding of the
      product. Counts add up to n: 8 n u.
    - The whole parts are whole numbers below 2^53 in all: their sum is exact.
    - The rests are added up with compensation. What each addition loses is kept exactly, and is at
      most u times the sum so far, n / 2 at most; it is adding up what was lost that is rounded. For
      a child of s values and w values of its parents that comes to less than n (s + w)^2 u^2. Where
      s or w is 1 all logarithms are 0, so s + w <= 2^27 + 2, and it is less than 2.1 n u.
    - In the end two rests are added, which are at most n / 2, and the whole part to them, where n I
      <= n log2 min(s, w) <= 14 n: 14.5 n u for the rounding of these two sums.
    """
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


@kernel(nogil=True, error_model="numpy")
def _information(cells: Array, size: int, rows: int) -> Any:
    """A logarithm is a whole number e plus a rest within 1/2; the sum of c e is exact.

    The sums of the rests are compensated: one of each parent value, then one over all of them.
    """
    by_child, by_parent = _margins(cells, size)
    width = len(by_parent)
    of_parent = np.empty(width, np.float64)
    for p in range(width):
        of_parent[p] = max(by_parent[p], 1)
    whole = np.zeros(width, np.float64)
    rests = np.zeros(width, np.float64)
    lost = np.zeros(width, np.float64)
    for x in range(size):
        of_child = float(max(by_child[x], 1))
        counts = cells[x * width : (x + 1) * width]
        _add_logarithms(counts, float(rows), of_child, of_parent, whole, rests, lost)
    total, rest, missing = 0.0, 0.0, 0.0
    for p in range(width):
        total += whole[p]
        grown = rest + rests[p]
        missing += _rounding_error(rest, rests[p], grown) + lost[p]
        rest = grown
    return total + (rest + missing)


@kernel(nogil=True, error_model="numpy")
def _add_logarithms(
    counts: Array,
    rows: float,
    of_child: float,
    of_parent: Array,
    whole: Array,
    rests: Array,
    lost: Array,
) -> None:
    """Add c log2(n c / (c_x c_p)) for the cells of a child's value: always the same steps.

    No branch and no call, so that the compiler makes vector instructions of it, and a row changes
    nothing about the time. That is also why the logarithm is not the library's, which is faster at
    1 and near it. An empty cell gets the logarithm of something and counts for nothing.
    """
    for p in range(counts.size):
        count = np.float64(np.uint32(counts[p]))
        ratio = np.float64(rows * max(count, 1.0) / (of_child * of_parent[p]))
        bits = ratio.view(np.uint64) + _ONE - _ROOT_HALF
        exponent = np.float64(np.int32(bits >> np.uint64(52))) - 1023.0
        fraction = np.uint64((bits & _FRACTION) + _ROOT_HALF).view(np.float64)
        term = count * _log2_near_one(fraction)
        grown = rests[p] + term
        lost[p] += _rounding_error(rests[p], term, grown)
        rests[p] = grown
        whole[p] += count * exponent


_ONE = np.uint64(np.float64(1.0).view(np.uint64))
_ROOT_HALF = np.uint64(np.float64(0.5**0.5).view(np.uint64))
_FRACTION = np.uint64((1 << 52) - 1)


@kernel(nogil=True, error_model="numpy", inline="always")
def _log2_near_one(m: float) -> Any:
    """log2 of a number between the roots of 1/2 and 2.

    It is (2 / ln 2) artanh s with s = (m - 1) / (m + 1), |s| < 0.172. The series ends at s^21,
    where what is left out is below 2^-61. With u = 2^-53, m - 1 is exact, so s is within 2 u of its
    size, the series adds u and a little, the factor 2 u: less than 6 u in all, of at most 1/2.
    """
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    y = 1 / 19 + q * (1 / 21)
    y = 1 / 17 + q * y
    y = 1 / 15 + q * y
    y = 1 / 13 + q * y
    y = 1 / 11 + q * y
    y = 1 / 9 + q * y
    y = 1 / 7 + q * y
    y = 1 / 5 + q * y
    y = 1 / 3 + q * y
    return 2.8853900817779268 * (s + s * q * y)


@kernel(nogil=True, inline="always")
def _rounding_error(a: float, b: float, total: float) -> Any:
    """Exactly what a + b lacks as it was rounded to ``total`` (Knuth's two-sum: no branch)."""
    of_b = total - a
    return (a - (total - of_b)) + (b - of_b)


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


def assignment_masses(flat: Array, offsets: Array, threads: int) -> Array:
    """2 n F for every table with a binary child: an integer at or below 0. Exact while n < 2^31."""
    excesses = _excesses(flat, offsets)
    masses = np.zeros(len(excesses), np.int64)
    _fill_assignment_masses(flat, offsets, excesses, threads, masses)
    return masses


@kernel(nogil=True)
def _excesses(flat: Array, offsets: Array) -> Array:
    """For every table, how many rows more have the child's first value than its second."""
    excesses = np.zeros(len(offsets) - 1, np.int64)
    for t in range(len(excesses)):
        middle = (offsets[t] + offsets[t + 1]) // 2
        excesses[t] = flat[offsets[t] : middle].sum() - flat[middle : offsets[t + 1]].sum()
    return excesses


@kernel(parallel=True)
def _fill_assignment_masses(
    flat: Array, offsets: Array, excesses: Array, threads: int, masses: Array
) -> None:
    room = knapsack_room(np.abs(excesses).max())
    for thread in prange(threads):
        most = np.empty((2, room), np.int32)
        for t in range(thread, len(masses), threads):
            start, end = offsets[t], offsets[t + 1]
            middle = (start + end) // 2
            common, rare = flat[start:middle], flat[middle:end]
            if excesses[t] < 0:
                common, rare = rare, common
            masses[t] = _collect_most(common, rare, abs(excesses[t]), most) - (
                common.sum() + rare.sum()
            )


@kernel(nogil=True)
def knapsack_room(excess: int) -> Any:
    """How many numbers each of the two rows of the knapsack has room for: more than half of the
    largest excess.

    Where the second row begins, in its page of memory and line of the cache, is the same for all
    tables. Where it went by the excess, one row could change the time by 1 to 2 %.
    """
    return (excess // 2 // _PAGE + 1) * _PAGE + _SKEW


@kernel(nogil=True)
def _collect_most(common: Array, rare: Array, excess: int, most: Array) -> Any:
    """The largest of 2 r(B) - (2 c(B) - excess)+ over sets B of parent values: 2 n F + n.

    B gets the child's rarer value, all others the common one; c(B) and r(B) are the rows with the
    common and the rare value in B. With C and R rows in all, C - R = excess and C + R = n: the
    common side collects C - c(B), and is short of n / 2 by half of (2 c(B) - excess)+; the rare
    side collects r(B), never more than n / 2, and is short by half of n - 2 r(B).

    So it is a knapsack: c(B) may come to half of the excess for nothing, and each row beyond costs
    one. ``old[s]`` is the most of r(B) where c(B) <= s, for s up to half of the excess; ``beyond``
    is the best of all sets that pass it. A set passes it with one of its values, and from there on
    every value counts by itself.

    **Time.** There is no way out early, and nothing is left out. The number of steps is at most
    three for each parent value and each s, and goes by the sums of the counts, in order: one row
    moves each sum by at most one, so it adds or takes a step or two for each parent value, whatever
    the table is.
    """
    keys = _sort_by_common(common, rare)
    old, new = most[0], most[1]
    spare = excess // 2
    beyond = _NOWHERE
    top = np.int64(0)  # c of all values so far, at most spare: old[s] stays the same from there on
    old[0] = 0
    for key in keys:
        size, gain = key >> 31, key & _LOW
        passing = _most_above_line(old[max(0, spare - size + 1) : top + 1])
        passing += gain - size - max(0, spare - size + 1)
        beyond = max(beyond, beyond + 2 * (gain - size), 2 * passing + excess)
        reach = min(top + size, spare)
        old[top + 1 : reach + 1] = old[top]
        below = min(size, reach + 1)
        new[:below] = old[:below]
        _take_larger(
            new[below : reach + 1],
            old[below : reach + 1],
            old[: reach + 1 - below],
            np.int32(gain),
        )
        old, new = new, old
        top = reach
    return max(beyond, 2 * np.int64(old[top]))


_PAGE = 1024  # numbers of 32 bits in a page of memory
_SKEW = 528  # half a page and a line of the cache: the rows never begin at like places of a page
_NOWHERE = -(1 << 40)  # less than any sum of counts, and far from overflowing
_LOW = (1 << 31) - 1


@kernel(nogil=True)
def _sort_by_common(common: Array, rare: Array) -> Array:
    """Both counts of each parent value in one number, by the first of them.

    Small ones come first, so that their sums stay small for long. Four rounds by eight bits each,
    which take the same steps whatever the counts are.
    """
    keys = (common << 31) | rare
    sorted_keys = np.empty_like(keys)
    for shift in (31, 39, 47, 55):
        ends = np.zeros(257, np.int64)
        for key in keys:
            ends[((key >> shift) & 255) + 1] += 1
        for digit in range(256):
            ends[digit + 1] += ends[digit]
        for key in keys:
            digit = (key >> shift) & 255
            sorted_keys[ends[digit]] = key
            ends[digit] += 1
        keys, sorted_keys = sorted_keys, keys
    return keys


@kernel(nogil=True)
def _most_above_line(values: Array) -> Any:
    """The largest of values[i] - i; nowhere, if there are none."""
    if not values.size:
        return np.int64(_NOWHERE)
    highest = values[0]
    for i in range(values.size):
        highest = max(highest, np.int32(values[i] - np.int32(i)))
    return np.int64(highest)


@kernel(nogil=True, inline="always")
def _take_larger(out: Array, stay: Array, move: Array, gain: Any) -> None:
    """Slices of 32 bits, so that the compiler makes vector instructions of them."""
    for i in range(out.size):
        moved = np.int32(move[i] + gain)
        stayed = stay[i]
        out[i] = moved if moved > stayed else stayed
