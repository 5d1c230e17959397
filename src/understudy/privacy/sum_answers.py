"""Answers to the question ``sum``, in the units of the columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.features import Feature


@dataclass(frozen=True)
class Noisy:
    """Sums with noise, in the units of the columns."""

    values: NDArray[np.float64]
    scale: NDArray[np.float64]
    """The scale of the noise, of each sum of a group."""
    deviation: NDArray[np.float64]
    """Its standard deviation."""


@dataclass(frozen=True, kw_only=True)
class Sums:
    """The answer to :class:`understudy.privacy.sums.Sum`: arrays whose first axes are the groups.

    Parameters
    ----------
    features
        What was summed.
    centres
        What was taken off each number, rounded to the grid, and is not in the sums and moments: the
        sum of the column itself is ``sums + centres * counts``. A line for each group where the
        question had one.
    counts
        How many rows count, one number per group.
    sums
        A further axis over the features.
    moments
        A further axis over the features for squares; two, a symmetric matrix, for products.
    distribution
        "laplace" or "gaussian", both discrete.
    """

    features: tuple[Feature, ...]
    centres: NDArray[np.float64]
    distribution: str
    counts: Noisy | None = None
    sums: Noisy | None = None
    moments: Noisy | None = None
