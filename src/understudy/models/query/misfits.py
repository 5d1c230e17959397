"""How much real rows differ from a model where no table was measured: learned from a few groups.

Let m be the variance of an effect in rows that are drawn from the model. In real rows it is e^t m,
and t differs from group to group of attributes: it is normal, with a mean and a deviation that
differ from release to release. Groups that were kept apart from the fit tell of both, as far as
their noise lets them. What is needed is the t of a group that nobody has seen: its predictive
distribution has all three in it, the differences between groups, the few groups and their noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NORMAL = 1.959964
"""Half the width of an interval of 95 %, in standard deviations of a normal error."""

EXPONENTS = np.arange(-6.0, 9.01, 0.25)
"""What t may be."""

MEANS = np.arange(-3.0, 5.01, 0.25)
PRIOR_MISFIT, PRIOR_SPREAD = 1.0, 1.5
"""The mean of t, before any group is seen: that of releases of made-up tables."""

SPREADS = (0.5, 1.0, 1.5, 2.0)
"""What the deviation of t may be; all are equally likely beforehand."""


@dataclass(frozen=True, kw_only=True)
class GroupErrors:
    """How far a model is from one table that it never saw.

    Parameters
    ----------
    residual
        In each cell.
    sure
        The variance that is known without the factor.
    misfit
        The variance that the factor is of.
    freedom
        How many cells are free, once the tables of fewer attributes are known.
    """

    residual: NDArray[np.float64]
    sure: NDArray[np.float64]
    misfit: NDArray[np.float64]
    freedom: float

    def log_likelihoods(self) -> NDArray[np.float64]:
        """For each exponent."""
        variance = self.sure + np.exp(EXPONENTS)[:, None] * self.misfit
        terms = np.log(variance) + self.residual**2 / variance
        found: NDArray[np.float64] = -0.5 * terms.mean(axis=1) * self.freedom
        return found


def find_factor(groups: Sequence[GroupErrors]) -> float:
    """The factor of m by which intervals of a group that nobody has seen hold 95 %, were misfit all
    of its error.
    """
    likely = [np.exp(found - found.max()) for found in (g.log_likelihoods() for g in groups)]
    weights, densities = [], []
    for spread in SPREADS:
        for mean in MEANS:
            density = np.exp(-0.5 * ((EXPONENTS - mean) / spread) ** 2)
            density /= density.sum()
            belief = -0.5 * ((mean - PRIOR_MISFIT) / PRIOR_SPREAD) ** 2
            belief += sum(math.log(max(float(density @ one), 1e-300)) for one in likely)
            weights.append(belief)
            densities.append(density)
    chances = np.exp(np.array(weights) - max(weights))
    predictive = chances / chances.sum() @ np.array(densities)
    return _wide_enough(predictive)


def _wide_enough(predictive: NDArray[np.float64]) -> float:
    """The factor whose normal interval holds 95 % of errors whose factor is drawn."""
    deviations = np.exp(EXPONENTS / 2)
    low, high = 0.0, float(deviations[-1])
    for _ in range(50):
        middle = (low + high) / 2
        outside = sum(
            chance * math.erfc(NORMAL * middle / deviation / math.sqrt(2))
            for chance, deviation in zip(predictive.tolist(), deviations.tolist(), strict=True)
        )
        if outside > 0.05:
            low = middle
        else:
            high = middle
    return high**2
