"""Majority: everyone gets the label that a noisy count finds more common.

Sensitivity: the number of rows with label 1 changes by at most 1 when a row is replaced; discrete
Laplace noise of scale 1 / epsilon makes it epsilon-private.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.mechanisms import Noise


def majority(labels: NDArray[np.bool_], epsilon: float, noise: Noise) -> bool:
    """The label that all get."""
    count: NDArray[Any] = noise.laplace(np.array([labels.sum()], dtype=np.int64), 1 / epsilon)
    return bool(count[0] > len(labels) / 2)
