"""Laplace (Dwork et al. 2006): noise on every cell of every table that is asked for.

Sensitivity: a replaced row leaves one cell of a table and enters another, so that table changes by
at most 2 in L1; m tables together change by at most 2m. Discrete Laplace noise of scale 2m /
epsilon on every cell is epsilon-private.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from baselines.consistency import Counts, clipped
from understudy.privacy.mechanisms import Noise


def laplace(
    tables: Sequence[NDArray[np.int64]], rows: int, epsilon: float, noise: Noise
) -> list[Counts]:
    """Noisy, then clipped and normalised tables; ``tables`` are the exact ones."""
    flat = noise.laplace(
        np.concatenate([table.ravel() for table in tables]), scale(len(tables), epsilon)
    )
    ends = np.cumsum([table.size for table in tables])
    pieces = np.split(flat, ends[:-1])
    return [
        clipped(piece.reshape(table.shape), rows)
        for piece, table in zip(pieces, tables, strict=True)
    ]


def scale(tables: int, epsilon: float) -> float:
    """The scale of the noise in each cell of this many tables."""
    return 2 * tables / epsilon
