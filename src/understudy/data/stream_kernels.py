"""Streams of random numbers, compiled by numba: the same numbers on every machine and for ever."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.machine.compiled import kernel

Array = Any  # numba infers the element types; see each docstring

BELOW_ONE = 1 - 2.0**-53


@kernel(nogil=True, inline="always")
def mix_bits(word: Any) -> Any:
    """The finaliser of SplitMix64: 64 bits in, 64 well-mixed bits out."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel(nogil=True, inline="always")
def stream_number(key: Any, counter: Any) -> Any:
    """A number in [0, 1), the ``counter``-th of the stream ``key`` (SplitMix64)."""
    word = mix_bits(key + (np.uint64(counter) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
    return np.float64(word >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel(nogil=True)
def fill_uniform(key: Any, out: Array) -> None:
    """Fill ``out`` (float64) with the numbers of a stream."""
    for i in range(len(out)):
        out[i] = stream_number(key, i)


@kernel(nogil=True)
def fill_evenly(key: Any, groups: Array, sizes: Array, out: Array) -> None:
    """Fill ``out`` (float64) with numbers that the rows of each group share out evenly.

    The m rows of a group have one number in each of the m intervals [i / m, (i + 1) / m), in random
    order. ``groups[row]`` is the row's group, ``sizes[group]`` how many rows it has.
    """
    order_key = mix_bits(key ^ np.uint64(0xD1B54A32D192ED03))
    ends = np.zeros(len(sizes) + 1, np.int64)
    numbers = np.empty(len(out))
    for g in range(len(sizes)):
        first, m = ends[g], sizes[g]
        ends[g + 1] = first + m
        for i in range(m):
            numbers[first + i] = (i + stream_number(key, first + i)) / m
        for i in range(m - 1, 0, -1):  # Fisher and Yates' shuffle
            j = int(stream_number(order_key, first + i) * (i + 1))
            numbers[first + i], numbers[first + j] = numbers[first + j], numbers[first + i]
    for i in range(len(out)):
        g = groups[i]
        out[i] = min(numbers[ends[g]], BELOW_ONE)
        ends[g] += 1
