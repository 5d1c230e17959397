"""Uniform: every cell of a table has the same count. It asks nothing of the rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from baselines.consistency import Counts


def uniform(shapes: Sequence[tuple[int, ...]], rows: int) -> list[Counts]:
    """A table for each shape."""
    return [np.full(shape, rows / math.prod(shape)) for shape in shapes]
