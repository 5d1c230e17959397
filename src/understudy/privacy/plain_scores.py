"""Scores of many tables in plain NumPy, for tables so few and small that compiled kernels would not
pay.

What each function gives is, to the bit, what the one of the same name in
:mod:`understudy.privacy.score_kernels` gives, in a number of steps that goes by public sizes alone.
Which of them works is decided by these sizes too, so a holder may use both.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


def dependence_seconds(tables: int, cells: int) -> float:
    """What :func:`dependence_masses` takes for tables with this many cells in all, about."""
    return 7e-6 * tables + 4e-9 * cells


def information_seconds(tables: int, cells: int, values: int) -> float:
    """What :func:`information_bits` takes, about; ``values`` are those of all children."""
    return 20e-6 * tables + 15e-6 * values + 40e-9 * cells


def dependence_masses(flat: Ints, offsets: Ints, child_sizes: Ints, rows: int) -> Ints:
    """2 n times n R for every table: the sum over cells of |n c_xp - c_x c_p|."""
    masses = [
        np.abs(rows * table - np.multiply.outer(table.sum(axis=1), table.sum(axis=0))).sum()
        for table in _tables(flat, offsets, child_sizes)
    ]
    return np.array(masses, np.int64)


def information_bits(flat: Ints, offsets: Ints, child_sizes: Ints, rows: int) -> Reals:
    """Bits of n I for every table: the sum over cells of c_xp log2(n c_xp / (c_x c_p))."""
    bits = [_information(table, rows) for table in _tables(flat, offsets, child_sizes)]
    return np.array(bits, np.float64)


def _tables(flat: Ints, offsets: Ints, child_sizes: Ints) -> Iterator[Ints]:
    for (first, last), size in zip(pairwise(offsets.tolist()), child_sizes.tolist(), strict=True):
        yield flat[first:last].reshape(size, -1)


def _information(table: Ints, rows: int) -> float:
    """Sums are taken in the kernel's order, and compensated as there."""
    of_child = np.maximum(table.sum(axis=1), 1).astype(np.float64)
    of_parent = np.maximum(table.sum(axis=0), 1).astype(np.float64)
    whole, rests, lost = (np.zeros(table.shape[1]) for _ in range(3))
    for counts, child in zip(table.astype(np.float64), of_child.tolist(), strict=True):
        ratio = float(rows) * np.maximum(counts, 1.0) / (child * of_parent)
        bits = ratio.view(np.uint64) + (_ONE - _ROOT_HALF)
        exponent = (bits >> np.uint64(52)).astype(np.float64) - 1023.0
        fraction = ((bits & _FRACTION) + _ROOT_HALF).view(np.float64)
        term = counts * _log2_near_one(fraction)
        grown = rests + term
        lost += _find_rounding(rests, term, grown)
        rests = grown
        whole += counts * exponent
    total, rest, missing = 0.0, 0.0, 0.0
    for more, small, dropped in zip(whole.tolist(), rests.tolist(), lost.tolist(), strict=True):
        total += more
        sum_of_both = rest + small
        missing += _find_rounding(rest, small, sum_of_both) + dropped
        rest = sum_of_both
    return total + (rest + missing)


_ONE, _ROOT_HALF = np.array([1.0, 0.5**0.5]).view(np.uint64)
_FRACTION = np.uint64((1 << 52) - 1)


def _log2_near_one(m: Reals) -> Reals:
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    y: Reals = 1 / 19 + q * (1 / 21)
    for odd in (17, 15, 13, 11, 9, 7, 5, 3):
        y = 1 / odd + q * y
    return 2.8853900817779268 * (s + s * q * y)


def _find_rounding(a: Any, b: Any, total: Any) -> Any:
    """Exactly what a + b lacks as it was rounded to ``total`` (Knuth's two-sum)."""
    of_b = total - a
    return (a - (total - of_b)) + (b - of_b)
