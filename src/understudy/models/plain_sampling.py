"""Sampling in plain NumPy, for rows so few that compiled kernels would not pay.

What each function draws is, to the bit, what the one of the same name in
:mod:`understudy.models.sampling_kernels` draws, which also has the words used here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.streams import mix_bits, stream_numbers

Cumulated = NDArray[np.float64]


def placing_seconds(rows: int) -> float:
    """What looking up the codes of this many rows takes, about."""
    return 3e-6 + 3e-9 * rows


def drawing_seconds(rows: int, groups: int, size: int) -> float:
    """What one attribute of this many rows takes, about."""
    return 60e-6 + rows * (110e-9 + 10e-9 * size.bit_length()) + 5e-9 * groups


def add_places(column: NDArray[Any], lookup: NDArray[np.int32], places: NDArray[np.int32]) -> None:
    """Add one parent's share to the configurations."""
    places += lookup[column]


def invert(
    places: NDArray[np.int32], cumulative: Cumulated, uniforms: Cumulated, out: NDArray[Any]
) -> None:
    """Draw each row by itself: the value in whose interval the row's uniform number lies."""
    out[:] = _find(cumulative, places, uniforms, np.float64(1.0))


def spread_evenly(
    places: NDArray[np.int32], cumulative: Cumulated, key: np.uint64, out: NDArray[Any]
) -> None:
    """Draw the rows of each configuration together, by stratified sampling."""
    rows = len(out)
    groups, size = cumulative.shape
    held = np.bincount(places, minlength=groups)
    firsts = np.cumsum(held) - held
    by_group = np.argsort(places, kind="stable")  # where the rows of a group stand together
    group = places[by_group]
    first, m = firsts[group], held[group]
    rank = np.arange(rows) - first

    # The kernel searches for points / m where rows are few, and walks along bounds * m elsewhere:
    # both are rounded, so each is compared as it is there.
    points = rank + stream_numbers(key, rows)
    few = m * 8 < size
    points[few] /= m[few]
    values = _find(cumulative, group, points, np.where(few, 1, m)).tolist()

    # Fisher and Yates' shuffle, in all groups from their last row on.
    order_key = mix_bits(np.array([key ^ np.uint64(0xD1B54A32D192ED03)]))[0]
    others = first + (stream_numbers(order_key, rows) * (rank + 1)).astype(np.int64)
    for here, other in zip(range(rows - 1, -1, -1), reversed(others.tolist()), strict=True):
        values[here], values[other] = values[other], values[here]
    out[by_group] = values


def _find(cumulative: Cumulated, places: NDArray[np.int32], points: Cumulated, times: Any) -> Any:
    """For each row the first of its bounds, taken ``times`` so much, that is above its point."""
    size = cumulative.shape[1]
    bounds = cumulative.ravel()
    start = places.astype(np.intp) * size
    found = start.copy()
    left = size
    while left > 1:
        half = left >> 1
        found += half * (points >= bounds[found + (half - 1)] * times)
        left -= half
    return found - start
