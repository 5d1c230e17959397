"""From noisy tables to tables of counts that could be real: nothing negative, the right total."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.curator import Measurement

MAX_ESTIMATED_ROWS = 1e12
"""Noise without measure must not make a model that nobody can load."""

Repair = Literal["project", "clip"]


def repair_counts(counts: NDArray[Any], total: float, repair: Repair) -> NDArray[np.float64]:
    """Turn noisy counts into counts at or above 0 that add up to ``total``."""
    if repair == "project":
        return project_counts(counts, total)
    return clip_counts(counts, total)


def project_counts(counts: NDArray[Any], total: float) -> NDArray[np.float64]:
    """The nearest table (in the Euclidean sense) whose counts are at or above 0 and add up to
    ``total``.

    Where clipping lets every empty cell keep half of its noise, the projection takes the same
    amount off all cells and so leaves empty ones empty.

    Examples
    --------
    >>> project_counts(np.array([5, 3, -4]), 6.0)
    array([4., 2., 0.])
    """
    flat = np.asarray(counts, dtype=np.float64).ravel()
    total = max(float(total), 0.0)
    falling = np.sort(flat)[::-1]
    # With the k largest kept, each gives up the same amount; k is the largest for which all k stay
    # at or above 0.
    amounts = (np.cumsum(falling) - total) / np.arange(1, len(flat) + 1)
    kept = max(int(np.count_nonzero(falling > amounts)), 1)
    return np.maximum(flat - amounts[kept - 1], 0.0).reshape(np.shape(counts))


def clip_counts(counts: NDArray[Any], total: float) -> NDArray[np.float64]:
    """Negative counts to 0, then scaled to ``total``: what the PrivBayes paper does."""
    positive = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
    mass = positive.sum()
    if mass == 0:
        return np.full(positive.shape, max(float(total), 0.0) / positive.size)
    return positive * (max(float(total), 0.0) / mass)


def estimate_rows(measurements: Sequence[Measurement]) -> float:
    """The number of rows, from the totals of measured tables, each weighted by how sure it is."""
    totals = np.array([float(m.counts.sum()) for m in measurements])
    variances = np.array([m.counts.size * m.deviation**2 for m in measurements])
    weights = 1 / np.maximum(variances, 1e-12)
    return min(max(float((totals * weights).sum() / weights.sum()), 0.0), MAX_ESTIMATED_ROWS)


def round_to_total(counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole counts with the same total, to one: those with the largest rest are rounded up."""
    floors = np.floor(counts.ravel()).astype(np.int64)
    missing = round(float(counts.sum())) - int(floors.sum())
    if missing > 0:
        floors[np.argsort(floors - counts.ravel(), kind="stable")[:missing]] += 1
    return floors.reshape(counts.shape)
