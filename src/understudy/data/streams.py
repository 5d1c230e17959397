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

from understudy.errors import InputError
from understudy.machine.plain_first import PlainFirst

PLAIN_SECONDS, PLAIN_EVEN_SECONDS = 5e-9, 3e-7
"""What a number takes in plain NumPy, about: drawn by itself, and shared out."""

BELOW_ONE = 1 - 2.0**-53

_BLOCK = 1 << 14  # numbers at a time: what they need stays in the cache


def check_seed(seed: Any) -> None:
    """Refuse what is no seed; None is one that the operating system draws."""
    if seed is None:
        return
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"The seed must be a whole number at or above 0, not {seed!r}.")


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


def share_out_uniforms(
    rng: np.random.Generator, groups: NDArray[Any], size: int
) -> NDArray[np.float64]:
    """Numbers in [0, 1) that the rows of each group share out evenly: its m rows have one in each
    of the m intervals [i / m, (i + 1) / m), in random order.

    Parameters
    ----------
    rng
        Where the randomness comes from.
    groups
        The number of each row's group.
    size
        How many groups there are.
    """
    key, sizes = draw_key(rng), np.bincount(groups, minlength=size)
    kernels = _KERNELS.kernels_for(PLAIN_EVEN_SECONDS * len(groups))
    if kernels is None:
        return stream_evenly(key, groups, sizes)
    numbers = np.empty(len(groups))
    kernels.fill_evenly(key, groups, sizes, numbers)
    return numbers


def stream_evenly(
    key: np.uint64, groups: NDArray[Any], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Numbers that groups share out, in plain NumPy: what
    :func:`understudy.data.stream_kernels.fill_evenly` gives, to the bit.
    """
    rows = len(groups)
    by_group = np.argsort(groups, kind="stable")
    held = sizes[groups[by_group]]
    first = (np.cumsum(sizes) - sizes)[groups[by_group]]
    rank = np.arange(rows) - first
    shares = np.minimum((rank + stream_numbers(key, rows)) / held, BELOW_ONE).tolist()
    order_key = mix_bits(np.array([key ^ np.uint64(0xD1B54A32D192ED03)]))[0]
    others = first + (stream_numbers(order_key, rows) * (rank + 1)).astype(np.int64)
    # Fisher and Yates' shuffle, in all groups from their last row on.
    for here, other in zip(range(rows - 1, -1, -1), reversed(others.tolist()), strict=True):
        shares[here], shares[other] = shares[other], shares[here]
    numbers = np.empty(rows)
    numbers[by_group] = shares
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


_KERNELS = PlainFirst(_load_kernels, Path(__file__).with_name("stream_kernels.py"), compiling=1.0)
