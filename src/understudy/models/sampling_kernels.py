"""The inner loops of sampling, compiled by numba.

Every kernel is a plain function over arrays: no threads, no Python objects, no global interpreter
lock. Whoever wants more cores runs kernels on several Python threads, each on rows of its own.

Words used below. ``places[row]`` is the number of the row's parent configuration.
``cumulative[place]`` is the cumulative distribution of the child there, in which everything from
the last possible value on is 2: so no uniform number, nor a sum that was rounded up, falls off its
end, and a value with probability 0 is never drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.data.stream_kernels import mix_bits, stream_number
from understudy.machine.compiled import kernel

Array = Any  # numba infers the element types; see each docstring

SMALL_DOMAIN = 32  # up to here, comparing with every bound is faster than searching


@kernel(nogil=True)
def add_places(column: Array, lookup: Array, places: Array) -> None:
    """Add one parent's share to the configurations: ``places[row] += lookup[column[row]]``."""
    for i in range(len(column)):
        places[i] += lookup[column[i]]


@kernel(nogil=True, inline="always")
def _find_place(bounds: Array, u: Any, left: Any) -> Any:
    """The first place from ``left`` on whose bound is above ``u``; the search has no branch to
    mispredict.
    """
    n = len(bounds) - left
    while n > 1:
        half = n >> 1
        left += half * (u >= bounds[left + half - 1])
        n -= half
    return left


@kernel(nogil=True)
def invert(places: Array, cumulative: Array, uniforms: Array, out: Array) -> None:
    """Draw each row by itself: the value in whose interval the row's uniform number lies."""
    size = cumulative.shape[1]
    if size <= SMALL_DOMAIN:
        for i in range(len(out)):
            bounds = cumulative[places[i]]
            u = uniforms[i]
            value = 0
            for code in range(size - 1):
                value += u >= bounds[code]
            out[i] = value
    else:
        for i in range(len(out)):
            out[i] = _find_place(cumulative[places[i]], uniforms[i], 0)


@kernel(nogil=True)
def spread_evenly(places: Array, cumulative: Array, key: Any, out: Array) -> None:
    """Draw the rows of each configuration together, by stratified sampling.

    The m rows of a configuration share out the m intervals [i / m, (i + 1) / m) in random order,
    and each takes the value at a random point of its interval.
    """
    rows = len(out)
    groups, size = cumulative.shape
    order_key = mix_bits(key ^ np.uint64(0xD1B54A32D192ED03))
    ends = np.zeros(groups + 1, np.int64)
    for i in range(rows):
        ends[places[i] + 1] += 1
    for g in range(groups):
        ends[g + 1] += ends[g]
    values = np.empty_like(out)
    for g in range(groups):
        first, m = ends[g], ends[g + 1] - ends[g]
        bounds = cumulative[g]
        value = 0
        if m * 8 < size:  # few rows: search for each rather than walk over all values
            for i in range(m):
                value = _find_place(bounds, (i + stream_number(key, first + i)) / m, value)
                values[first + i] = value
        else:
            for i in range(m):
                point = i + stream_number(key, first + i)
                while point >= bounds[value] * m:
                    value += 1
                values[first + i] = value
        for i in range(m - 1, 0, -1):  # Fisher and Yates' shuffle
            j = int(stream_number(order_key, first + i) * (i + 1))
            values[first + i], values[first + j] = values[first + j], values[first + i]
    for i in range(rows):
        g = places[i]
        out[i] = values[ends[g]]
        ends[g] += 1
