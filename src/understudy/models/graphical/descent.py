"""Descent: the distribution that comes nearest to all noisy tables at once.

Least squares pools tables that share attributes (:mod:`understudy.models.graphical.pooling`), but
the pooled ones may be negative in places, and no distribution has them. Repairing each table by
itself moves effects that are well known as far as those that are mostly noise. Here the misfit of
all effects together, each weighted by how sure it is, falls by mirror descent over distributions of
the same form (McKenna, Sheldon and Miklau 2019): what no distribution can have gives way where
least is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from understudy.models.graphical import Group
from understudy.models.graphical.fitting import Fit
from understudy.models.graphical.pooling import Pool, parts_of

Floats = NDArray[np.float64]
Tables = dict[Group, Floats]

FIRST_CHANGE = 0.1
"""The most that the first step changes the logarithm of a factor."""

GROWTH = 1.5
"""How much longer a step is tried after one that was not too long."""

MAX_HALVINGS = 30
"""After this many, rounding decides what is a fall: the descent is at its end."""


def descend(fit: Fit, pool: Pool, rows: float, steps: int) -> None:
    """Move a distribution towards the pooled tables of its groups, step by step.

    The misfit is quadratic in the distribution's tables. So it falls by at least half of what its
    slope promised where it still falls at the end of a step; a step beyond that is halved.

    Parameters
    ----------
    fit
        Where to begin; it is moved.
    pool
        All measured tables.
    rows
        How many rows there are.
    steps
        How many steps to take at most.
    """
    if steps < 1:
        return
    misfit = _Misfit(fit, pool, rows)
    now = fit.marginals()
    slopes = misfit.slopes(now)
    steepest = max(float(np.abs(slope).max()) for slope in slopes.values())
    if steepest <= 0:
        return
    length = FIRST_CHANGE / steepest
    for _ in range(steps):
        factors = fit.factors
        for _ in range(MAX_HALVINGS):
            fit.replace_factors(
                {group: factor - length * slopes[group] for group, factor in factors.items()}
            )
            new = fit.marginals()
            new_slopes = misfit.slopes(new)
            if sum(np.vdot(new_slopes[group], now[group] - new[group]) for group in now) >= 0:
                break
            length /= 2
        else:
            fit.replace_factors(factors)
            return
        now, slopes = new, new_slopes
        length *= GROWTH


class _Misfit:
    """Half the sum over all effects of the squared distance between pool and distribution, in units
    of the variance.
    """

    def __init__(self, fit: Fit, pool: Pool, rows: float) -> None:
        self.rows = rows
        self.pooled: Tables = {}
        self.weights: dict[Group, dict[Group, float]] = {}
        told: set[Group] = set()
        for group in fit.groups:
            known = [part for part in parts_of(group) if part and pool.precision(part) > 0]
            mine = {part: pool.precision(part) for part in known if part not in told}
            told.update(mine)  # an effect that several groups tell counts once
            self.pooled[group] = pool.table(group)
            self.weights[group] = _weights_of_margins(group, fit.attributes.sizes, mine)

    def slopes(self, shares: Mapping[Group, Floats]) -> Tables:
        """How fast the misfit grows with each cell of the groups' tables."""
        found: Tables = {}
        for group, table in shares.items():
            gap = self.rows * table - self.pooled[group]
            slope = np.zeros_like(gap)
            for part, weight in self.weights[group].items():
                outside = tuple(axis for axis, name in enumerate(group) if name not in part)
                slope += weight * gap.sum(axis=outside, keepdims=True)
            found[group] = self.rows * slope
        return found


def _weights_of_margins(
    group: Group, sizes: Mapping[str, int], precisions: Mapping[Group, float]
) -> dict[Group, float]:
    """The weights with which a table's margins add up to its effects, times their precisions.

    An effect is a margin without the means of it along each set of its attributes: by inclusion and
    exclusion a sum of smaller margins. The total changes nothing and is left out.
    """
    weights = dict.fromkeys((part for part in parts_of(group) if part), 0.0)
    for effect, precision in precisions.items():
        for part in parts_of(effect):
            averaged = [name for name in effect if name not in part]
            if part:
                sign = (-1) ** len(averaged)
                weights[part] += sign * precision / math.prod(sizes[name] for name in averaged)
    return {part: weight for part, weight in weights.items() if weight}
