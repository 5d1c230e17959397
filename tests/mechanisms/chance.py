"""Chance that can be repeated, and a test of frequencies that hardly ever raises a false alarm."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FALSE_ALARM = 1e-9


def seeded_words(seed: int) -> Callable[[int], NDArray[np.uint32]]:
    """Words in place of the operating system's."""
    rng = np.random.default_rng(seed)
    return lambda size: rng.integers(0, 1 << 32, size, dtype=np.uint32)


def fits(observed: NDArray[np.int64], probabilities: NDArray[np.float64]) -> bool:
    """Whether counts fit probabilities, by chi-squared; the limit is Laurent and Massart's (2000,
    lemma 1). Every cell must expect 50 or more.
    """
    expected = probabilities * observed.sum()
    assert expected.min() > 50, expected
    assert abs(probabilities.sum() - 1) < 1e-9
    freedom, x = len(expected) - 1, math.log(1 / FALSE_ALARM)
    limit = freedom + 2 * math.sqrt(freedom * x) + 2 * x
    return float(((observed - expected) ** 2 / expected).sum()) < limit
