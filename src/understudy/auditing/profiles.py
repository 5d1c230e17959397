"""The exact epsilon, at a delta, of choices and Gaussian tables together.

On a path of answers, tables add up to one Gaussian whose mu is the root of all squared distances
over their scales; a choice, or a draw, is a pair of distributions over a few outcomes. Together
they are a mixture of shifted Gaussians, whose delta is known in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.mechanisms.gaussian import bracket

Floats = NDArray[np.float64]
Outcomes = tuple[Floats, Floats]
"""The log-probabilities of some outcomes on a table, and on its neighbour."""

CELLS = 2_000
"""Losses of choices are rounded, downwards, to this part of their whole range."""


def joint_epsilon(squares: float, choices: Sequence[Outcomes], delta: float) -> float:
    """The smallest epsilon that holds at a delta, in both directions; never too large.

    Parameters
    ----------
    squares
        mu^2 of all tables together.
    choices
        What was chosen or drawn beside them.
    delta
        The delta.
    """
    turned = [(log_q, log_p) for log_p, log_q in choices]
    return max(_one_way(squares, one, delta) for one in (choices, turned))


def _one_way(squares: float, choices: Sequence[Outcomes], delta: float) -> float:
    losses, shares = _add_up(choices)
    return bracket(lambda epsilon: _delta_at(epsilon, squares, losses, shares) > delta)[0]


def _add_up(choices: Sequence[Outcomes]) -> tuple[Floats, Floats]:
    """The distribution of the sum of the choices' losses, on a grid."""
    ends = [(float((p - q).min()), float((p - q).max())) for p, q in choices]
    width = sum(high - low for low, high in ends)
    if not width:
        return np.zeros(1), np.ones(1)
    step = width / CELLS
    start, shares = 0.0, np.ones(1)
    for (log_p, log_q), (low, _) in zip(choices, ends, strict=True):
        cells = np.floor((log_p - log_q - low) / step + 1e-9).astype(np.int64)
        weights = np.bincount(cells, np.exp(log_p))
        longer = np.zeros(len(shares) + len(weights) - 1)
        for cell in np.flatnonzero(weights):
            longer[cell : cell + len(shares)] += weights[cell] * shares
        start, shares = start + low, longer
    kept = np.flatnonzero(shares)
    return np.asarray(start + step * kept, dtype=np.float64), shares[kept]


def _delta_at(epsilon: float, squares: float, losses: Floats, shares: Floats) -> float:
    """The delta at an epsilon: that of the Gaussian at what a choice leaves of it, on average."""
    left = epsilon - losses
    if squares <= 0:
        return float(shares @ np.maximum(-np.expm1(left), 0.0))
    mu = math.sqrt(squares)
    found = _tail(left / mu - mu / 2) - np.exp(left) * _tail(left / mu + mu / 2)
    return float(shares @ np.maximum(found, 0.0))


def _tail(x: Floats) -> Floats:
    values = [math.erfc(one) / 2 for one in (x / math.sqrt(2)).tolist()]
    return np.array(values, dtype=np.float64)
