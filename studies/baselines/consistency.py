"""The two steps that the paper grants every baseline: negative counts become 0, then counts are
scaled to sum to n.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]


def clipped(table: NDArray[Any], rows: int) -> Counts:
    """A table without negative counts that sums to n; uniform where nothing is left."""
    positive = np.maximum(table, 0.0)
    total = positive.sum()
    return positive * (rows / total) if total > 0 else np.full(table.shape, rows / table.size)
