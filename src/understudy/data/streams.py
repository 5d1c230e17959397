"""Random numbers that stay the same: with any numpy, on any machine, in any later version.

numpy promises never to change the raw output of PCG64 and of SeedSequence, but not what its
generators make of it. So a generator only gives keys here, and the numbers that rows are drawn with
come from a stream by that key.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.machine.plain_first import PlainFirst

PLAIN_SECONDS = 5e-9
"""What a number takes in plain NumPy, about."""

_BLOCK = 1 << 14  # numbers at a time: what they need stays in the cache


def chunk_randomness(entropy: Any, number: int) -> np.random.Generator:
    """The randomness of one chunk of rows, by the seed and the chunk's number."""
    seeds = np.random.SeedSequence(entropy, spawn_key=(number,))
    return np.random.Generator(np.random.PCG64(seeds))


def draw_key(rng: np.random.Generator) -> np.uint64:
    """The key of a new stream."""
    return np.uint64(rng.bit_generator.random_raw())


def draw_uniforms(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Numbers in [0, 1), from a new stream."""
    key = draw_key(rng)
    kernels = _KERNELS.kernels_for(PLAIN_SECONDS * count)
    if kernels is None:
        return stream_numbers(key, count)
    numbers = np.empty(count)
    kernels.fill_uniform(key, numbers)
    return numbers


def stream_numbers(key: np.uint64, count: int) -> NDArray[np.float64]:
    """The first numbers of a stream, in plain NumPy: what
    :func:`understudy.data.stream_kernels.fill_uniform` gives, to the bit.
    """
    numbers = np.empty(count)
    for first in range(0, count, _BLOCK):
        last = min(first + _BLOCK, count)
        words = np.arange(first + 1, last + 1, dtype=np.uint64)
        words *= np.uint64(0x9E3779B97F4A7C15)
        words += key
        np.multiply(mix_bits(words) >> np.uint64(11), 2.0**-53, out=numbers[first:last])
    return numbers


def mix_bits(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64: 64 bits in, 64 well-mixed bits out."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _load_kernels() -> Any:
    from understudy.data import stream_kernels

    return stream_kernels


_KERNELS = PlainFirst(_load_kernels, Path(__file__).with_name("stream_kernels.py"), compiling=0.5)
