"""Random numbers that stay the same: with any numpy, on any machine, in any later version.

numpy promises never to change the raw output of PCG64 and of SeedSequence, but not what its
generators make of it. So a generator only gives keys here, and the numbers that rows are drawn with
come from a stream by that key.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.stream_kernels import fill_uniform


def chunk_randomness(entropy: Any, number: int) -> np.random.Generator:
    """The randomness of one chunk of rows, by the seed and the chunk's number."""
    seeds = np.random.SeedSequence(entropy, spawn_key=(number,))
    return np.random.Generator(np.random.PCG64(seeds))


def draw_key(rng: np.random.Generator) -> np.uint64:
    """The key of a new stream."""
    return np.uint64(rng.bit_generator.random_raw())


def draw_uniforms(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Numbers in [0, 1), from a new stream."""
    numbers = np.empty(count)
    fill_uniform(draw_key(rng), numbers)
    return numbers
