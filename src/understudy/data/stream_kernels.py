"""Streams of random numbers, compiled by numba: the same numbers on every machine and for ever."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.machine.compiled import kernel

Array = Any  # numba infers the element types; see each docstring


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
